"""The slice of a duel: which turns of the corpus are played, drawn again by anyone from the index and the contract."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from assay.kernel.errors import BadInput
from assay.labs.duel.corpus.index import Index
from assay.labs.duel.mandates import check_slice
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.slices import draw, slice_digest, slice_seed

__all__ = ["DrawnSlice", "draw_slice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSlice:
    """The turns of a duel.

    Args:
        seed: What they were drawn by: beacon and challenger's key.
        rows: Their rows in the corpus index, in the order of play.
        turns: Their ids.
        dialects: The dialect of each.
    """

    seed: int
    rows: tuple[int, ...]
    turns: tuple[str, ...]
    dialects: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over the ids, in hex."""
        return slice_digest(self.turns)

    def count_dialects(self) -> Mapping[str, int]:
        """How many turns each dialect has."""
        return dict(sorted(Counter(self.dialects).items()))


def draw_slice(contract: DuelContract, index: Index) -> DrawnSlice:
    """The slice that a contract draws from a corpus index.

    Raises:
        BadInput: The index holds fewer turns than the contract asks for, or the slice holds a dialect that is unknown
            or not admitted.
    """
    if len(index.turn_ids) < contract.slice.turns:
        msg = f"slice.turns is {contract.slice.turns}, and the corpus holds {len(index.turn_ids)} turns"
        raise BadInput(msg)
    seed = slice_seed(contract.slice.beacon, contract.challenger.key)
    rows = tuple(draw(index.strata, contract.slice.turns, seed))
    dialects = tuple(index.kinds[row] for row in rows)
    check_slice(dialects, contract.dialects)
    return DrawnSlice(seed=seed, rows=rows, turns=tuple(index.turn_ids[row] for row in rows), dialects=dialects)
