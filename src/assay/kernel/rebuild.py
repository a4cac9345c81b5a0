"""Rebuilding one log from its entries, and holding it against what the checkpoints signed of it."""

from collections.abc import Sequence
from typing import NamedTuple

from assay.kernel.checkpoint import Checkpoint
from assay.kernel.digests import to_text
from assay.kernel.layout import LogSpec
from assay.kernel.logs import BEFORE_FIRST, Block, Fault, Place, follows
from assay.kernel.merkle import HASH_BYTES, Frontier, TreeScheme

__all__ = ["Mark", "Rebuild", "marks_of"]


class Mark(NamedTuple):
    """What one checkpoint states of one log: its size, Merkle root and last entry hash."""

    checkpoint: int
    size: int
    root: bytes
    last: bytes


def marks_of(spec: LogSpec, points: Sequence[Checkpoint]) -> list[Mark]:
    """What each checkpoint states of one log, by size."""
    marks = [Mark(point.sequence, *_head(point, spec)) for point in points]
    return sorted(marks, key=lambda mark: (mark.size, mark.checkpoint))


def _head(point: Checkpoint, spec: LogSpec) -> tuple[int, bytes, bytes]:
    head = point.heads[spec.name]
    return head.size, head.root, head.last


class Rebuild:
    """One log as it is rebuilt, block by block, in memory that does not grow with the log.

    Args:
        spec: The log's declaration.
        tree: The Merkle scheme.
        marks: What the checkpoints state of this log, by size.
    """

    def __init__(self, spec: LogSpec, tree: TreeScheme, marks: Sequence[Mark]) -> None:
        """Starts before the first entry."""
        self._spec = spec
        self._tree = tree
        self._marks = list(reversed(marks))
        self._before = BEFORE_FIRST
        self.frontier = Frontier(tree)
        self.place = Place(0, bytes(32))

    def feed(self, block: Block) -> list[Fault]:
        """Everything wrong in a block, in how it follows from the one before, and at the checkpoints inside it."""
        faults = [*self._meet_marks(), *block.faults]
        if block.lines:
            faults.extend(follows(block.first, self._before, self.place.sequence + 1))
            self._before = block.last
        hashes = bytes(block.hashes)
        while hashes:
            # As far as the next checkpoint, or to the end of the block.
            count = self._marks[-1].size - self.place.sequence if self._marks else len(hashes)
            piece, hashes = hashes[: count * HASH_BYTES], hashes[count * HASH_BYTES :]
            self.frontier.extend(self._tree.leaves(self.place.sequence + 1, piece))
            self.place = Place(self.place.sequence + len(piece) // HASH_BYTES, piece[-HASH_BYTES:])
            faults.extend(self._meet_marks())
        return faults

    def finish(self) -> list[Fault]:
        """What the checkpoints state beyond the last entry there is."""
        faults = self._meet_marks()
        for mark in reversed(self._marks):
            message = f"checkpoint {mark.checkpoint} covers {mark.size} entries, there are {self.place.sequence}"
            faults.append(Fault("root", mark.size, message))
        return faults

    def _meet_marks(self) -> list[Fault]:
        faults: list[Fault] = []
        while self._marks and self._marks[-1].size == self.place.sequence:
            mark = self._marks.pop()
            root = self.frontier.root()
            if (mark.root, mark.last) != (root, self.place.hash):
                message = (
                    f"checkpoint {mark.checkpoint} states root {to_text(mark.root)} and last entry "
                    f"{to_text(mark.last)} at {mark.size} entries; the entries give {to_text(root)} and "
                    f"{to_text(self.place.hash)}"
                )
                faults.append(Fault("root", mark.size, message))
        return faults
