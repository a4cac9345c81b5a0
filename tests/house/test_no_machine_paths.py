"""No file of the repository holds a path of somebody's machine, a registry's host or an unfinished note."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Spelt in pieces, so that this file passes its own test.
FORBIDDEN = {
    "a machine's path": re.compile(r"(?<![\w.])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me"]) + r")/"),
    "a registry's host": re.compile(
        r"(?:py" + r"pi\.org|python" + r"hosted\.org|npm" + r"js\.(?:org|com)|debian\.org)"
    ),
    "an unfinished note": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b"),
}
PINNED = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!]*")


def list_files():
    """Every file that is tracked or about to be: those that git does not ignore."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("needs git and a checkout to know which files are tracked")
    listing = subprocess.run(
        ["git", "-C", REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    )
    paths = (REPOSITORY / name for name in listing.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def find_traces(text):
    return [
        f"{number}: {what}"
        for number, line in enumerate(text.splitlines(), start=1)
        for what, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]


def find_unpinned(text):
    """The lines of a constraints file that are neither a comment nor one name at one version."""
    return [line for line in text.splitlines() if not line.startswith("#") and not PINNED.fullmatch(line)]


def test_no_file_holds_a_trace_of_a_machine():
    files = list_files()
    assert len(files) > 20
    traces = {
        str(path.relative_to(REPOSITORY)): found
        for path in files
        if (found := find_traces(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert traces == {}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("open('/wo" + "rk/main')", "a machine's path"),
        ("see /ro" + "ot/.cache", "a machine's path"),
        ("file:///ho" + "me/someone/x", "a machine's path"),
        ("index: https://files.python" + "hosted.org/x", "a registry's host"),
        ("https://py" + "pi.org/simple", "a registry's host"),
        ("# TO" + "DO later", "an unfinished note"),
    ],
)
def test_a_trace_is_found(line, what):
    assert find_traces(f"first\n{line}\n") == [f"2: {what}"]


@pytest.mark.parametrize("line", ["GET /runs/1/work/2", "a framework/root/leaf", "mastodon"])
def test_an_ordinary_line_is_not_a_trace(line):
    assert find_traces(line) == []


def test_constraints_are_sorted_pins_and_nothing_else():
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    names = [line.partition("==")[0].lower() for line in text.splitlines() if not line.startswith("#")]
    assert find_unpinned(text) == []
    assert names == sorted(set(names))
    assert not {"assay", "torch", "pip", "setuptools"} & set(names)


@pytest.mark.parametrize(
    "line", ["a @ file:///x/a.whl", "-e .", "--index-url https://x", "a>=1", "a", "a==1+local", ""]
)
def test_a_line_that_is_no_pin_is_found(line):
    assert find_unpinned(f"# pins\na==1.0\n{line}\nb==2\n") == [line]
