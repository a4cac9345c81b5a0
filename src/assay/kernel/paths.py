"""Which paths of a bundle are taken: no file twice, and nothing a file and a folder at once."""

from collections.abc import Iterable, Iterator

__all__ = ["RESERVED", "TakenPaths"]

# What the format itself writes, by first segment; under these names nothing else can lie.
RESERVED = ("manifest.json", "checkpoints", "proofs", "notes", "anchors")


class TakenPaths:
    """The files that are there, and with them the folders they lie in.

    >>> taken = TakenPaths(["logs/rows.jsonl"])
    >>> [taken.conflict(path) for path in ("logs/rows.jsonl", "logs", "logs/rows.jsonl/1", "logs/turns.jsonl")]
    ['logs/rows.jsonl', 'logs/', 'logs/rows.jsonl', None]
    """

    __slots__ = ("_files", "_folders")

    def __init__(self, files: Iterable[str] = ()) -> None:
        """Takes the paths of some files."""
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self.extend(files)

    def extend(self, files: Iterable[str]) -> None:
        """Takes the paths of more files."""
        for path in files:
            self._files.add(path)
            self._folders.update(_folders_of(path))

    def conflict(self, path: str) -> str | None:
        """The file, or the folder with a slash after it, beside which a file cannot lie at ``path``; else ``None``."""
        if path in self._folders:
            return path + "/"
        return next((taken for taken in (path, *_folders_of(path)) if taken in self._files), None)


def _folders_of(path: str) -> Iterator[str]:
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)
