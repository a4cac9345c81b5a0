"""The reference pages are what the code says, and a page that is not is noticed."""

import importlib.util
import stat
import sys
from pathlib import Path

import pytest

from assay.app.cli.main import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = REPOSITORY / "docs" / "reference"


def load_script():
    spec = importlib.util.spec_from_file_location("make_reference", REPOSITORY / "tools" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_reference = load_script()

SOURCE = '''"""Seals: what was fixed before.

More that the page leaves out.
"""

__all__ = ["Seal", "open_seal"]


class Seal(Base):
    """A seal; see :class:`~assay.kernel.seal.Other` and ``bytes``."""

    digest: str
    _hidden: int

    def check(self, *, now: str) -> bool:
        """Whether it holds."""

    def _mend(self):
        """Private."""


def open_seal(path: Path, limit: int = 3) -> Seal:
    """The seal in a file.

    Args:
        path: Where it lies.
        limit: How many
            attempts there are.

    Raises:
        SealBroken: It does not hold.
    """


def forgotten():
    """Not listed."""
'''

PAGE = """## assay.seal

Seals: what was fixed before.

### class Seal

```python
class Seal(Base):
    digest: str
```

A seal; see `assay.kernel.seal.Other` and `bytes`.

#### Seal.check

```python
def check(self, *, now: str) -> bool
```

Whether it holds.

### open_seal

```python
def open_seal(path: Path, limit: int=3) -> Seal
```

The seal in a file.

**Args**

- `path`: Where it lies.
- `limit`: How many
  attempts there are.

**Raises**

- `SealBroken`: It does not hold.
"""

PROGRAM_HELP = """assay: what it is

usage: assay COMMAND [ARGUMENTS]

  run         register a file
  experiment  what is particular
              to experiments

examples:
  assay run registration.yaml
"""

EXPERIMENT_HELP = """usage: assay experiment [-h] ACTION ...

what is particular

positional arguments:
  ACTION
    new       write a file,
              asking nothing
    a-long-name-for-an-action
              does it

options:
  -h, --help  show this help message and exit
"""

RUN_HELP = """usage: assay run [-h] [--out FOLDER] file

positional arguments:
  file          the file that ACTION reads
"""

PROGRAM = f"""#!/bin/sh
case "$*" in
--help) cat <<'END'
{PROGRAM_HELP}END
;;
'experiment --help') cat <<'END'
{EXPERIMENT_HELP}END
;;
*) echo 'usage: assay leaf' ;;
esac
"""


def test_the_page_of_public_names_is_what_the_code_says():
    assert make_reference.find_stale(PAGES, {"api.md": make_reference.write_api(REPOSITORY / "src" / "assay")}) == []


def test_the_page_of_commands_is_what_the_program_says():
    if sys.version_info[:2] != (3, 11):
        pytest.skip("needs Python 3.11, whose way of laying out help the page shows")
    assert (
        make_reference.find_stale(PAGES, {"cli.md": make_reference.write_cli(Path(sys.executable).parent / "assay")})
        == []
    )


def test_no_command_of_the_program_is_left_out():
    shown = make_reference.list_commands(make_reference.read_help(Path(sys.executable).parent / "assay", ()))
    assert shown == list(COMMANDS)


def test_public_names_are_shown_with_signature_and_sections(tmp_path):
    source = tmp_path / "assay"
    (source / "app").mkdir(parents=True)
    (source / "seal.py").write_text(SOURCE, encoding="utf-8")
    (source / "app" / "main.py").write_text(SOURCE, encoding="utf-8")
    page = make_reference.write_api(source)
    assert page[page.index("## ") :] == PAGE


def test_every_command_below_every_command_is_shown(tmp_path):
    program = tmp_path / "assay"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    headings = [line for line in make_reference.write_cli(program).splitlines() if line.startswith("## ")]
    assert headings == [
        "## assay",
        "## assay run",
        "## assay experiment",
        "## assay experiment new",
        "## assay experiment a-long-name-for-an-action",
    ]


@pytest.mark.parametrize(
    ("shown", "commands"),
    [
        (PROGRAM_HELP, ["run", "experiment"]),
        (EXPERIMENT_HELP, ["new", "a-long-name-for-an-action"]),
        (RUN_HELP, []),
    ],
)
def test_commands_are_read_from_help(shown, commands):
    assert make_reference.list_commands(shown) == commands


@pytest.mark.parametrize("held", [None, "old\n"])
def test_a_page_that_differs_or_is_missing_is_noticed(tmp_path, held):
    if held is not None:
        (tmp_path / "api.md").write_text(held, encoding="utf-8")
    assert make_reference.find_stale(tmp_path, {"api.md": "new\n"}) == ["api.md"]
    (tmp_path / "api.md").write_text("new\n", encoding="utf-8")
    assert make_reference.find_stale(tmp_path, {"api.md": "new\n"}) == []
