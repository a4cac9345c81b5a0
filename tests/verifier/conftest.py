"""Sound bundles of the toy lab with all of their keys, for tests that then do something to them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.kernel.bundle import export_bundle
from assay.kernel.keys import Signer, read_signer
from assay.kernel.layout import default_layout
from assay.kernel.roles import roles_of
from assay.kernel.run import Plan, open_run
from assay.kernel.writer import Cadence
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy
from assay.testing.labs import TOY, ToyLab, finish_run
from assay.testing.tampering import Forgery, fresh_keys, open_forgery
from assay.verifier.verify import Question, verify_bundle

AMENDED = {"why": "a value was left out", "seen": "no row"}


@dataclass(frozen=True)
class Made:
    """A sound bundle and everything its operator knows."""

    path: Path
    keys: dict[str, Signer]
    document: dict

    def open(self) -> Forgery:
        return open_forgery(self.path)

    def public(self, role):
        return self.open_key(role).to_json()["publicKey"]

    def open_key(self, role):
        return self.keys[role].public


def make_bundle(folder, values=(3, 12, 5), *, cadence=4, amendments=0, close=True, batch=1):
    """Runs the toy lab in a folder and exports what it leaves; amendments change the document's id before the work."""
    lab = ToyLab(batch)
    document = {"lab": "toy", "version": 1, "id": "first", "values": list(values), "limit": 10}
    plan = Plan(
        lab="toy",
        layout=TOY.layout,
        document=document,
        cadence=Cadence(entries=cadence),
        clock=SteppingClock(),
        entropy=drawn_entropy(1, "run"),
    )
    to = folder / "bundle"
    with open_run(folder / "run", plan) as run:
        for number in range(amendments):
            document = {**document, "id": f"amended-{number}"}
            run.amend(document, **AMENDED)
        registration = TOY.load(document)
        if close:
            finish_run(lab, registration, run, folder)
        else:
            lab.prepare(registration, folder).run(run, type("Unwatched", (), {"advance": lambda *_: None})())
            run.writer.checkpoint()
        export_bundle(run.store, TOY.layout, lab="toy", signers=run.sealed.signers, to=to)
    keys = {role: read_signer(folder / "run" / "keys" / f"{role}.key") for role in roles_of(TOY.layout)}
    return Made(to, keys, document)


@pytest.fixture(scope="session")
def make():
    """Makes bundles; see :func:`make_bundle`."""
    return make_bundle


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """A closed run with several checkpoints and two amendments, as a folder."""
    return make_bundle(tmp_path_factory.mktemp("sound"), (3, 12, 5, 7, 40, 1, 9), cadence=5, amendments=2)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The smallest closed run with two checkpoints: two logs, one attached file, no lab that knows it."""
    folder = tmp_path_factory.mktemp("small")
    layout = default_layout("mini", ("events",))
    plan = Plan(lab="mini", layout=layout, document={"a": 1}, clock=SteppingClock(), entropy=drawn_entropy(1, "small"))
    with open_run(folder / "run", plan) as run:
        run.attach("a.txt", b"Ab\n")
        run.close()
        export_bundle(run.store, layout, lab="mini", signers=run.sealed.signers, to=folder / "bundle")
        export_bundle(run.store, layout, lab="mini", signers=run.sealed.signers, to=folder / "bundle.zip")
    return folder / "bundle"


@pytest.fixture(scope="session")
def strangers():
    """A key for every role, none of them the run's."""
    return fresh_keys(TOY.layout, drawn_entropy(1, "stranger"))


@pytest.fixture
def verify():
    """Verifies a path, or a forgery after writing it, with the toy lab at hand unless told otherwise."""
    return ask


def ask(path, *, labs=None, **asked):
    return verify_bundle(path, Question(labs={"toy": TOY} if labs is None else labs, **asked))
