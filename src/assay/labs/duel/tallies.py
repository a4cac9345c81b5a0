"""Where every turn of the slice went: scored, without a reference, or left out for a fault of ours."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernel.canonical import Json
from assay.labs.duel.crown import Duel
from assay.labs.duel.records import TurnRecord

__all__ = ["NO_REFERENCE", "TEACHER_FAULT", "Tally", "tally_turns"]

NO_REFERENCE = "no-reference"
TEACHER_FAULT = "teacher-not-finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The turns that were played, and where they went.

    Args:
        played: Turns in the log.
        no_reference: Turns on which no reference of the teacher's holds an action.
        left_out: Turns left out for both sides, by reason; faults of ours, all of them.
        paired: Turns that both sides were scored on.
    """

    played: int
    no_reference: int
    left_out: dict[str, int]
    paired: int

    @property
    def left_out_share(self) -> float:
        """Share of the played turns on which nobody was scored, for whatever reason."""
        lost = sum(self.left_out.values()) + self.no_reference
        return lost / self.played if self.played else 0.0

    @property
    def told(self) -> dict[str, Json]:
        """The tally as a verdict holds it."""
        return {
            "played": self.played,
            "noReference": self.no_reference,
            "leftOut": {reason: self.left_out[reason] for reason in sorted(self.left_out)},
            "paired": self.paired,
        }


def tally_turns(turns: Sequence[TurnRecord], duel: Duel) -> Tally:
    """Where the turns went."""
    left_out = Counter(record.left_out for record in turns if record.left_out is not None)
    faults = {fault.turn for fault in duel.faults if fault.owner == "teacher"}
    left_out.update({TEACHER_FAULT: len(faults)} if faults else {})
    return Tally(
        played=len(turns),
        no_reference=sum(record.played is None and record.left_out is None for record in turns),
        left_out=dict(left_out),
        paired=duel.paired,
    )
