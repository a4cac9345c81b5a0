"""Where a duel ends: after its slice, or with the turn that decides it under a registered sequential rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernel.canonical import Json
from assay.labs.duel.always_valid import DuelWatch, SequentialDecision
from assay.labs.duel.crown import judge
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.side_rows import TurnRows

__all__ = ["Stop", "TurnWatch", "difference_of", "watch_turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where a duel had to end.

    Args:
        played: Turns of the slice until the deciding one, that one included; None where nothing decided early.
        decision: What the sequential rule says; None where the contract has none.
    """

    played: int | None = None
    decision: SequentialDecision | None = None

    def expected(self, turns: int) -> int:
        """How many turns the log of a finished duel has."""
        return turns if self.played is None else self.played

    @property
    def told(self) -> dict[str, Json] | None:
        """The decision as a verdict holds it."""
        if self.decision is None:
            return None
        said = self.decision
        return {
            "outcome": said.outcome,
            "decidedAfter": self.played,
            "differences": said.turns,
            "clipped": said.clipped,
            "lower": said.lower,
            "upper": said.upper,
        }


class TurnWatch:
    """Looks at the turns of a duel one after another, in the order of the slice."""

    def __init__(self, contract: DuelContract) -> None:
        """Looks by the contract's rule; without one nothing ever ends early."""
        rule = contract.sequential
        self._knobs = contract.knobs
        self._seen = 0
        self._decided: int | None = None
        self._watch = None
        if rule is not None:
            self._watch = DuelWatch(rule, contract.duel.min_margin, planned=contract.slice.turns)

    @property
    def decided(self) -> bool:
        """Whether no further turn is to be played."""
        return self._decided is not None

    def add(self, rows: TurnRows | None) -> None:
        """Takes the next turn; one that was not scored moves nothing."""
        self._seen += 1
        if self._watch is None or self.decided or rows is None:
            return
        difference = difference_of(rows, self._knobs)
        if difference is not None and self._watch.add(difference) != "undecided":
            self._decided = self._seen

    def stop(self) -> Stop:
        """Where the duel has to end, by what was seen so far."""
        return Stop(played=self._decided, decision=self._watch.decision() if self._watch else None)


def watch_turns(contract: DuelContract, rows: Sequence[TurnRows | None]) -> Stop:
    """Where a duel with these turns had to end."""
    watch = TurnWatch(contract)
    for item in rows:
        watch.add(item)
    return watch.stop()


def difference_of(rows: TurnRows, knobs: Knobs) -> float | None:
    """The challenger's score less the king's on one turn; None where the turn is left out."""
    differences = judge([rows.challenger], [rows.king], knobs).differences
    return differences[0][1] if differences else None
