"""Names that agents and models wrote cannot steer a terminal or a page, and only one module writes to the streams."""

import ast
import json
import re
from pathlib import Path

import pytest

from assay.app.characters import visible

SOURCES = Path(__file__).resolve().parents[2] / "src" / "assay"
ECHO = "app/cli/echo.py"

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
BIDI = "\u202egnp.exe\u2066"
MARKUP = "<script>alert(1)</script>"
HOSTILE = {"arm": f"new{ESCAPE}", "unit": f"task{BIDI}{MARKUP}", "cluster": f"{MARKUP}{ESCAPE}{BIDI}\r"}

# What a terminal or a reader may take for an order: C0 but the line feed, C1, bidi and zero-width characters.
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@pytest.fixture
def hostile(study):
    """The small study, with the worst of names in every place where the data can carry one."""
    names = {"new": HOSTILE["arm"], "task-0001": HOSTILE["unit"], "family-1": HOSTILE["cluster"]}
    cells = [[names.get(cell, cell) for cell in line.split(",")] for line in study.lines]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in cells]
    with study.data.open("w", encoding="utf-8", newline="") as file:
        file.write("\n".join(quoted) + "\n")
    document = study.document()
    document["arms"]["treatment"] = HOSTILE["arm"]
    document["question"] = f"Is {MARKUP} better?{ESCAPE}"
    document["seenBefore"] = [{"who": f"nobody{BIDI}", "what": MARKUP}]
    document["decision"][0]["says"] = f"It is.{ESCAPE}{MARKUP}"
    study.hostile = document
    return study


def seal(study):
    return study.register(json.dumps(study.hostile), "registration.json")


def assert_tame(answer):
    assert not RAW.search(answer.out)
    assert not RAW.search(answer.err)


def test_the_check_finds_what_it_looks_for():
    assert all(RAW.search(text) for text in HOSTILE.values())
    assert not RAW.search(visible("\n".join(HOSTILE.values()), newlines=True))


def test_nothing_raw_reaches_the_terminal(hostile, cli):
    run = cli("run", seal(hostile), "--out", hostile.out)
    assert run.exit == 0
    assert_tame(run)
    assert visible(HOSTILE["arm"]) in run.out
    for command, *more in (
        ["report"],
        ["verify"],
        ["inspect"],
        ["inspect", "--log", "rows"],
        ["inspect", "--file", "verdict.json"],
    ):
        answer = cli(command, hostile.bundle, *more)
        assert answer.exit == 0
        assert_tame(answer)


def test_json_carries_the_names_exactly_and_in_ascii(hostile, cli):
    answer = cli("run", seal(hostile), "--out", hostile.out, "--json")
    assert answer.out.isascii()
    assert_tame(answer)
    verdict = answer.json["verdict"]
    assert verdict["arms"]["treatment"] == HOSTILE["arm"]
    assert HOSTILE["cluster"] in {cluster["cluster"] for cluster in verdict["clusters"]}


def test_nothing_raw_reaches_the_page(hostile, cli):
    page = hostile.folder / "report.html"
    cli("run", seal(hostile), "--out", hostile.out, "--quiet")
    assert cli("report", hostile.bundle, "--html", page).exit == 0
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not RAW.search(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study.hostile["arms"].update(control=HOSTILE["unit"]),
        lambda study: study.hostile["data"]["columns"].update(unit=HOSTILE["arm"]),
        lambda study: study.hostile["outcome"].update(true=[HOSTILE["cluster"]]),
        lambda study: study.hostile["data"].update(file=f"x{ESCAPE}.csv"),
        lambda study: study.hostile.update({HOSTILE["cluster"]: 1}),
        lambda study: study.hostile.update(lab=HOSTILE["unit"]),
        lambda study: study.hostile.update(id=HOSTILE["arm"]),
    ],
)
def test_nothing_raw_is_in_an_error(hostile, cli, change):
    change(hostile)
    for more in ((), ("--json",)):
        answer = cli("run", seal(hostile), "--out", hostile.out, *more)
        assert answer.exit == 2
        assert_tame(answer)


@pytest.mark.parametrize("words", [["verify"], ["run"], ["inspect"], ["keys", "show"], ["keys", "new"], []])
def test_nothing_raw_comes_back_from_the_command_line(cli, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    answer = cli(*words, f"no{ESCAPE}{BIDI}/where")
    assert answer.exit == 2
    assert_tame(answer)


def test_nothing_raw_comes_from_a_tampered_bundle(bundle, cli):
    (bundle / "manifest.json").rename(bundle / f"x{ESCAPE}")
    answer = cli("verify", bundle)
    assert answer.exit == 1
    assert_tame(answer)


def test_a_registration_written_from_hostile_data_names_the_arms_exactly(hostile, cli):
    written = cli("experiment", "new", hostile.data)
    assert written.exit == 0
    assert_tame(written)
    path = hostile.folder / "written.yaml"
    path.write_text(written.out, encoding="utf-8")
    run = cli("run", path, "--out", hostile.out, "--json")
    assert run.exit == 0
    assert HOSTILE["arm"] in run.json["verdict"]["arms"].values()


def find_writes(source):
    """The lines that print, or that take hold of a standard stream."""
    names = {"stdout", "stderr", "__stdout__", "__stderr__"}
    for node in ast.walk(ast.parse(source)):
        printed = isinstance(node, ast.Name) and node.id == "print"
        taken = isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "sys"
        imported = isinstance(node, ast.ImportFrom) and node.module == "sys" and names & {a.name for a in node.names}
        by_number = (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in {"os.write", "os.fdopen", "open"}
            and node.args
            and ast.unparse(node.args[0]) in {"1", "2"}
        )
        if printed or taken or imported or by_number:
            yield node.lineno


def test_only_the_echo_writes_to_the_streams():
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in SOURCES.rglob("*.py")
        if (lines := list(find_writes(path.read_text(encoding="utf-8"))))
    }
    assert set(found) == {ECHO}


@pytest.mark.parametrize(
    "source",
    [
        "print('x')",
        "import sys\nsys.stdout.write('x')",
        "import sys\nsay = sys.stderr",
        "from sys import stdout",
        "import sys\nsys.__stdout__.write('x')",
        "import os\nos.write(1, b'x')",
        "say = print",
    ],
)
def test_a_planted_write_is_found(source):
    assert list(find_writes(source))
