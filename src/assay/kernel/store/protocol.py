"""The `Store` protocol: where a run's committed evidence lies. One store holds one run and has one owner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Batch", "CheckpointRow", "EntryRow", "FileRow", "ForkRow", "Store"]


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One committed entry: its place, its 32-byte hash and its canonical line (without the line feed)."""

    log: str
    sequence: int
    hash: bytes
    line: bytes


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One checkpoint: its number, its 32-byte hash, its canonical bytes, and the signed note of each log's head."""

    sequence: int
    hash: bytes
    line: bytes
    notes: bytes


@dataclass(frozen=True, slots=True)
class FileRow:
    """One attached file, whole."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ForkRow:
    """A second entry that claims a sequence already taken; kept beside the first, never instead of it."""

    log: str
    sequence: int
    hash: bytes
    line: bytes


@dataclass(slots=True)
class Batch:
    """What one commit adds, all of it or nothing."""

    entries: list[EntryRow] = field(default_factory=list[EntryRow])
    checkpoints: list[CheckpointRow] = field(default_factory=list[CheckpointRow])
    files: list[FileRow] = field(default_factory=list[FileRow])


class Store(Protocol):
    """Append-only storage of one run.

    Every method raises ``StoreFault`` when the storage fails; after a failed :meth:`commit` nothing of the batch is
    there, also not after the process is killed at any moment.
    """

    def commit(self, batch: Batch) -> None:
        """Adds a batch durably and atomically. A sequence or path that is taken is a ``StoreFault``."""
        ...

    def size(self, log: str) -> int:
        """The number of committed entries of a log."""
        ...

    def entries(self, log: str, first: int = 1) -> Iterator[EntryRow]:
        """The committed entries of a log from a sequence on, in order."""
        ...

    def checkpoints(self) -> Iterator[CheckpointRow]:
        """The checkpoints in order."""
        ...

    def paths(self) -> Sequence[str]:
        """The paths of the attached files, in code point order."""
        ...

    def file(self, path: str) -> bytes | None:
        """The bytes of an attached file, or ``None``."""
        ...

    def keep_fork(self, fork: ForkRow) -> None:
        """Keeps a second entry of a taken sequence; from then on the run is forked."""
        ...

    def forks(self) -> Sequence[ForkRow]:
        """The second entries that were kept."""
        ...

    def close(self) -> None:
        """Gives the store up; another process may own it then."""
        ...
