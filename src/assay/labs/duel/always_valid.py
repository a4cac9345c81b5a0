"""Ending a duel as soon as it is decided, without a price for having looked after every turn.

A fixed-size test that is repeated turn after turn crowns a copy of the king sooner or later. Here the difference is
watched through a confidence sequence (see :mod:`assay.stats.confidence_sequences`), which is valid at every turn at
once: a challenger whose true mean difference is at or below the bar is crowned with a probability of at most
``alpha / 2``, whenever the duel stops.

What is watched is the mean of the differences as clipped to the registered range, turn by turn in the order of the
slice. The order is drawn by a beacon, so that no turn can be known to be better than those before it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.kernel.errors import BadInput
from assay.labs.duel.sections import Sequential
from assay.stats.confidence_sequences import MeanWatch

__all__ = ["DuelWatch", "Outcome", "SequentialDecision", "decide"]

Outcome: TypeAlias = Literal["crown", "king-stays", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialDecision:
    """What the sequence says.

    Args:
        outcome: ``crown`` where every mean up to the bar is rejected, ``king-stays`` where every mean from the bar on
            is. Undecided at the end of the slice, the king stays.
        stopped_at: The turn, counted from 1, after which it was decided; None where it was not.
        turns: Differences that were looked at.
        clipped: How many of them lay outside the registered range.
        lower: No mean up to this one is believed.
        upper: No mean from this one on is believed.
    """

    outcome: Outcome
    stopped_at: int | None
    turns: int
    clipped: int
    lower: float
    upper: float

    @property
    def crowned(self) -> bool:
        """Whether the challenger takes the crown."""
        return self.outcome == "crown"


class DuelWatch:
    """The running form: one difference at a time, in the order of the slice.

    Args:
        rule: The registered rule.
        min_margin: The bar that the mean difference has to exceed.
        planned: How many turns the slice has; the registered number, also where the duel stops before.

    Raises:
        BadInput: The bar is not within the range that differences are clipped to.
    """

    def __init__(self, rule: Sequential, min_margin: float, *, planned: int) -> None:
        if min_margin >= rule.clip:
            msg = (
                f"the bar minMargin is {min_margin!r}, but differences are clipped to {rule.clip!r}, so that no mean "
                f"can exceed it; register a wider sequential.clip"
            )
            raise BadInput(msg)
        self._least_turns = rule.min_turns
        self._watch = MeanWatch(rule.alpha, rule.clip, bar=min_margin, planned=planned)
        self._outcome: Outcome = "undecided"

    @property
    def outcome(self) -> Outcome:
        """What is decided so far."""
        return self._outcome

    def add(self, difference: float) -> Outcome:
        """What is decided with this difference, challenger minus king; once decided it stays so.

        Raises:
            BadInput: The difference is not a finite number, or the duel is decided and had to stop.
        """
        if self._outcome != "undecided":
            msg = f"the duel was decided after turn {self._watch.turns} ({self._outcome}); no further turn counts"
            raise BadInput(msg)
        self._watch.add(difference)
        if self._watch.turns >= self._least_turns:
            if self._watch.above:
                self._outcome = "crown"
            elif self._watch.below:
                self._outcome = "king-stays"
        return self._outcome

    def decision(self) -> SequentialDecision:
        """What the sequence says now, with its bounds."""
        bounds, turns = self._watch.bounds(), self._watch.turns
        return SequentialDecision(
            outcome=self._outcome,
            stopped_at=None if self._outcome == "undecided" else turns,
            turns=turns,
            clipped=self._watch.clipped,
            lower=bounds.lower,
            upper=bounds.upper,
        )


def decide(differences: Iterable[float], rule: Sequential, min_margin: float, *, planned: int) -> SequentialDecision:
    """What the rule decides on these differences; those after the turn that decides are not looked at.

    Args:
        differences: Challenger minus king, turn by turn in the order of the slice.
        rule: The registered rule.
        min_margin: The bar that the mean difference has to exceed.
        planned: How many turns the slice has.

    Raises:
        BadInput: As :class:`DuelWatch`.
    """
    watch = DuelWatch(rule, min_margin, planned=planned)
    for difference in differences:
        if watch.add(difference) != "undecided":
            break
    return watch.decision()
