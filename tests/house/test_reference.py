"""The reference pages are what the code says, and a page that is not is noticed."""

import importlib.util
import stat
import sys
from pathlib import Path

import pytest

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

PROGRAM = """#!/bin/sh
case "$1" in
--help) echo 'usage: assay [-h] [--color {auto,never}] {run,key} ...' ;;
key) [ "$2" = --help ] && echo 'usage: assay key [-h] {new} ...' || echo 'usage: assay key new' ;;
*) echo "usage: assay $1" ;;
esac
"""


def test_the_page_of_public_names_is_what_the_code_says():
    assert make_reference.find_stale(PAGES, {"api.md": make_reference.write_api(REPOSITORY / "src" / "assay")}) == []


def test_the_page_of_commands_is_what_the_program_says():
    if importlib.util.find_spec("assay.app.cli.main") is None:
        pytest.skip("needs the command line, assay.app.cli.main")
    if sys.version_info[:2] != (3, 11):
        pytest.skip("needs Python 3.11, whose way of laying out help the page shows")
    assert (
        make_reference.find_stale(PAGES, {"cli.md": make_reference.write_cli(Path(sys.executable).parent / "assay")})
        == []
    )


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
    assert headings == ["## assay", "## assay run", "## assay key", "## assay key new"]


@pytest.mark.parametrize("held", [None, "old\n"])
def test_a_page_that_differs_or_is_missing_is_noticed(tmp_path, held):
    if held is not None:
        (tmp_path / "api.md").write_text(held, encoding="utf-8")
    assert make_reference.find_stale(tmp_path, {"api.md": "new\n"}) == ["api.md"]
    (tmp_path / "api.md").write_text("new\n", encoding="utf-8")
    assert make_reference.find_stale(tmp_path, {"api.md": "new\n"}) == []
