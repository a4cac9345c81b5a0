"""Every tutorial is run: its commands in order, in one fresh folder, and the output it shows is what comes out.

In a shown output `…` stands for anything within a line, and a line that is only `…` for any number of lines.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((REPOSITORY / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    command: str
    shown: str


def read_steps(text: str) -> list[Step]:
    steps = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            steps.append(Step(command, shown))
    return steps


def pattern_of(shown: str) -> re.Pattern[str]:
    lines = shown.rstrip("\n").split("\n")
    parts = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", r".*?") + r"\s*\n" for line in lines
    ]
    return re.compile("".join(parts) + r"\s*")


def run(step: Step, folder: Path) -> str:
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
    }
    command = ["bash", "-c", step.command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}  # as a terminal interleaves them
    return subprocess.run(command, cwd=folder, env=environment, text=True, check=False, **pipes).stdout


def test_there_is_a_tutorial_and_it_has_steps():
    assert TUTORIALS
    for tutorial in TUTORIALS:
        assert len(read_steps(tutorial.read_text())) >= 5, tutorial.name


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_shows_what_its_commands_print(tutorial, tmp_path):
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    for step in read_steps(tutorial.read_text()):
        printed = run(step, tmp_path)
        if step.shown.strip():
            assert pattern_of(step.shown).fullmatch(printed.rstrip("\n") + "\n"), (
                f"$ {step.command}\n--- shown\n{step.shown}\n--- printed\n{printed}"
            )


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("one\n", "one\n", True),
        ("one …\n", "one and more\n", True),
        ("one\n…\nthree\n", "one\ntwo\nthree\n", True),
        ("one\n", "two\n", False),
        ("one\n", "one\ntwo\n", False),
        ("one\n…\nfour\n", "one\ntwo\nthree\n", False),
    ],
)
def test_the_comparison_itself_can_fail(shown, printed, fits):
    assert (pattern_of(shown).fullmatch(printed) is not None) == fits
