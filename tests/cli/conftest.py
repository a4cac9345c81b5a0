"""A small experiment on disk, and the command line: in this process, or in one of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.app.cli.main import main

ENTRY = "from assay.app.cli.main import entry; entry()"
# A process that gives up root's right to read everything, once it has read its own code.
NOBODY = """
import os
import {modules}
"".encode("utf-8-sig")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
"""
KINDS = {1: "evidence-invalid", 2: "usage-invalid", 3: "indeterminate", 4: "refused", 5: "unavailable"}
CLUSTERS = 8
UNITS = 40

YAML = """\
lab: experiment
version: 1
id: small-study
question: Does the new model solve more tasks than the old one?
data:
  file: outcomes.csv
  sha256: {sha256}
  source: written by a test
  columns: {{arm: model, unit: task, cluster: family, outcome: solved}}
seenBefore:
  - who: the author of this test
    what: every outcome
arms: {{treatment: new, control: old}}
outcome: {{kind: binary, "true": ["yes"], "false": ["no"]}}
interval: {{kind: cluster-bootstrap, level: 0.95, draws: 2000, seed: 7}}
test: {{kind: cluster-sign-flip, alpha: 0.05, seed: 7}}
decision:
  - verdict: new-better
    when:
      all:
        - {{field: significant, op: eq, value: true}}
        - {{field: direction, op: eq, value: positive}}
        - {{field: interval, op: eq, value: above-zero}}
    says: The new model solves more tasks.
  - verdict: old-better
    when:
      all:
        - {{field: significant, op: eq, value: true}}
        - {{field: direction, op: eq, value: negative}}
        - {{field: interval, op: eq, value: below-zero}}
    says: The old model solves more tasks.
  - verdict: at-odds
    when: {{field: significant, op: eq, value: true}}
    says: The test finds a difference that the interval does not show.
  - verdict: nothing-shown
    when: {{field: interval, op: eq, value: includes-zero}}
    says: No difference was shown.
  - verdict: interval-only
    when: {{field: significant, op: eq, value: false}}
    says: The interval shows a difference that the test does not find.
"""

TOML = """\
lab = "experiment"
version = 1
id = "small-study"
question = "Does the new model solve more tasks than the old one?"
arms = {{treatment = "new", control = "old"}}
outcome = {{kind = "binary", true = ["yes"], false = ["no"]}}
interval = {{kind = "cluster-bootstrap", level = 0.95, draws = 2000, seed = 7}}
test = {{kind = "cluster-sign-flip", alpha = 0.05, seed = 7}}

[data]
file = "outcomes.csv"
sha256 = "{sha256}"
source = "written by a test"
columns = {{arm = "model", unit = "task", cluster = "family", outcome = "solved"}}

[[seenBefore]]
who = "the author of this test"
what = "every outcome"

[[decision]]
verdict = "new-better"
says = "The new model solves more tasks."
[[decision.when.all]]
field = "significant"
op = "eq"
value = true
[[decision.when.all]]
field = "direction"
op = "eq"
value = "positive"
[[decision.when.all]]
field = "interval"
op = "eq"
value = "above-zero"

[[decision]]
verdict = "old-better"
says = "The old model solves more tasks."
[[decision.when.all]]
field = "significant"
op = "eq"
value = true
[[decision.when.all]]
field = "direction"
op = "eq"
value = "negative"
[[decision.when.all]]
field = "interval"
op = "eq"
value = "below-zero"

[[decision]]
verdict = "at-odds"
says = "The test finds a difference that the interval does not show."
when = {{field = "significant", op = "eq", value = true}}

[[decision]]
verdict = "nothing-shown"
says = "No difference was shown."
when = {{field = "interval", op = "eq", value = "includes-zero"}}

[[decision]]
verdict = "interval-only"
says = "The interval shows a difference that the test does not find."
when = {{field = "significant", op = "eq", value = false}}
"""


@dataclass
class Answer:
    """What a command line left: its exit code and its two streams."""

    exit: int
    out: str
    err: str

    @property
    def json(self):
        """The one object on standard output: one line, and nothing beside it."""
        assert self.out.count("\n") == 1
        assert self.out.endswith("\n")
        value = json.loads(self.out)
        assert type(value) is dict
        return value


class Study:
    """A folder with outcomes of three models and a registration that compares two of them."""

    def __init__(self, folder, clusters=CLUSTERS, units=UNITS):
        self.folder = folder
        self.lines = ["model,task,family,solved"]
        for unit in range(units):
            for model, solved in (("new", unit % 5 > 0), ("old", unit % 3 == 0), ("spare", unit % 2 == 0)):
                self.lines.append(f"{model},task-{unit:04},family-{unit % clusters},{'yes' if solved else 'no'}")
        self.data = folder / "outcomes.csv"
        self.out = folder / "out"
        self.bundle = self.out / "bundle.zip"
        self.write_data()

    def write_data(self, lines=None):
        self.data.write_text("\n".join(self.lines if lines is None else lines) + "\n", encoding="utf-8")

    def text(self, template=YAML):
        return template.format(sha256=hashlib.sha256(self.data.read_bytes()).hexdigest())

    def document(self):
        """The registration as data, to be changed and written as JSON."""
        return tomllib.loads(self.text(TOML))

    def register(self, text=None, name="registration.yaml"):
        """Writes a registration of the data as it is now."""
        path = self.folder / name
        path.write_text(self.text() if text is None else text, encoding="utf-8")
        return path

    def files(self):
        """What lies in the folder, by relative path, with its bytes."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "COLUMNS", "ASSAY_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def templates():
    """The registration as text, by format; the digest of the data is to be filled in."""
    return {"yaml": YAML, "toml": TOML}


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


@pytest.fixture
def make_study(tmp_path):
    def make(**sizes):
        folder = tmp_path / "study"
        folder.mkdir()
        return Study(folder, **sizes)

    return make


@pytest.fixture
def cli(capsys):
    """Runs one command line in this process."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(cli):
    """Runs a command line that must fail, also with --json: one error, told twice in the same words."""

    def run(*words, code, says=()):
        plain, twin = cli(*words), cli(*words, "--json")
        error = twin.json["error"]
        assert set(error) == {"kind", "code", "message", "details", "exit"}
        assert (plain.exit, twin.exit, error["exit"], error["kind"]) == (code, code, code, KINDS[code])
        assert plain.out == ""
        assert plain.err == twin.err == f"error: {error['message']}\n"
        for part in says:
            assert str(part) in error["message"]
        return error

    return run


@pytest.fixture
def unprivileged(spawn):
    """Runs one command line in a folder, as somebody whom the permissions of files bind."""

    def run(folder, *words):
        folder.chmod(0o755)  # the folders above it stay closed to others: every name is relative
        modules = [f"assay.app.cli.{words[0]}_command"]
        modules += ["assay.app.cli.terminal", "assay.app.runner", "assay.labs.experiment.lab"] * (words[0] == "run")
        before = NOBODY.format(modules=", ".join(modules)) if os.geteuid() == 0 else ""
        return spawn(*words, before=before, cwd=folder)

    return run


@pytest.fixture(scope="session")
def program():
    """The words that start the command line in a process of its own."""
    return [sys.executable, "-c", ENTRY]


@pytest.fixture
def spawn():
    """Runs one command line in a process of its own; ``before`` is code that the process runs first."""

    def run(*words, before="", **settings):
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **settings.pop("env", {})}
        done = subprocess.run(
            [sys.executable, "-c", f"{before}\n{ENTRY}", *map(str, words)],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            timeout=60,
            check=False,
            **settings,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A finished run that nobody may change: its study, with the registration and the run's folder."""
    study = Study(tmp_path_factory.mktemp("made"))
    author = study.folder / "me.key"
    assert main(["keys", "new", str(author), "--quiet"]) == 0
    assert main(["run", str(study.register()), "--out", str(study.out), "--key", str(author), "--quiet"]) == 0
    return study


@pytest.fixture
def bundle(made, tmp_path):
    """A copy of the finished run's bundle as a folder, to be tampered with."""
    folder = tmp_path / "bundle"
    shutil.unpack_archive(made.bundle, folder, "zip")
    return folder


@pytest.fixture
def zipped(made, tmp_path):
    """A copy of the finished run's bundle as it was written."""
    return Path(shutil.copy(made.bundle, tmp_path / "bundle.zip"))
