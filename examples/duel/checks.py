"""What has to be true of a folder when a shell task is done. Reads files, runs nothing, follows no link."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that has to be true of a folder; exactly one of the last four is set.

    Args:
        path: What is looked at, from the folder.
        text: The file holds just this; white space at the end of lines and of the file does not count.
        part: The file holds this somewhere.
        gone: There is nothing there.
        folder: There is a folder there.
    """

    path: str
    text: str | None = None
    part: str | None = None
    gone: bool = False
    folder: bool = False

    def find_fault(self, root: Path) -> str | None:
        """What is wrong in the folder `root`, as the agent is told; none when nothing is."""
        place = root / self.path
        if self.gone:
            return f"{self.path} is still there" if place.is_symlink() or place.exists() else None
        if self.folder:
            return None if place.is_dir() and not place.is_symlink() else f"there is no folder {self.path}"
        found = _read_file(place)
        if found is None:
            return f"there is no file {self.path}"
        return None if self._is_met(found) else f"{self.path} is not right yet"

    def _is_met(self, found: str) -> bool:
        if self.part is not None:
            return self.part in found
        return _normalise(found) == _normalise(self.text or "")


def find_fault(checks: Iterable[Check], root: Path) -> str | None:
    """The first thing that is wrong in the folder `root`; none when the task is done."""
    return next((fault for check in checks if (fault := check.find_fault(root)) is not None), None)


def _read_file(place: Path) -> str | None:
    if place.is_symlink() or not place.is_file() or place.stat().st_size > _MOST_BYTES:
        return None
    return place.read_text(encoding="utf-8", errors="replace")


def _normalise(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
