"""The score of a turn: what the thought lifts (R), whether it reads as the teacher's would (G), what it does (A).

All numbers are nats a UTF-8 byte under the frozen teacher. The side's own echoes (``lpA_*``) are never read here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.means import deviation, mean, spread, tempered_mean
from assay.labs.duel.rows import Pair, Row

__all__ = [
    "EchoMissing",
    "GroundingMissing",
    "Leg",
    "Legs",
    "NonFinite",
    "TurnScores",
    "action_leg",
    "grounding_leg",
    "score_turn",
]

Leg: TypeAlias = Literal["r", "g", "a"]

_GROUNDED: Final = ("min_rg", "min_rga")


class NonFinite(EvidenceInvalid):
    """A number that is none, or none that is finite, would have decided."""

    code = "non-finite"


class EchoMissing(EvidenceInvalid):
    """A number that the score is made of was not measured."""

    code = "echo-missing"


class GroundingMissing(EchoMissing):
    """No log-probability of a thought under the turn's prefix: the grounding leg cannot be told."""

    code = "grounding-missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """The score of a turn and what it was made of; a leg is none where the score mode does not ask for it.

    Args:
        turn: The score.
        reason: The tempered mean of the lifts.
        spread: The largest lift less the smallest: how much hangs on a single reference.
        r: The tempered mean of the lifts over their mean.
        g: How far the thought lies within the band of the teacher's own thoughts; negative outside.
        a: The tempered mean of what the teacher's thoughts lift of the side's action.
    """

    turn: float
    reason: float
    spread: float
    r: float | None = None
    g: float | None = None
    a: float | None = None

    @property
    def binding(self) -> Leg:
        """The leg that made the score: the least, R before G and G before A where they are equal."""
        r, g, a = self.r, self.g, self.a
        if r is None or g is None:
            return "r"
        if a is None:
            return "g" if g < r else "r"
        if g < r and g <= a:
            return "g"
        return "a" if a < r and a < g else "r"

    @property
    def finite(self) -> bool:
        """Whether every number in it is finite."""
        return all(part is None or math.isfinite(part) for part in (self.turn, self.reason, self.r, self.g, self.a))


def score_turn(pairs: Sequence[Pair], knobs: Knobs) -> Legs:
    """The score of a turn that was not forfeited.

    No pairs score minus infinity. A leg that is not a number drops out of the minimum in the network's era, as it did
    there, and is refused in the safe one.

    Raises:
        GroundingMissing: The mode asks for G, and no thought was measured, or none of the teacher's.
        EchoMissing: The mode asks for A, and no action was measured.
        NonFinite: A leg is not finite, or (in the network's era) the width of the band is not.
    """
    if not pairs:
        return Legs(turn=-math.inf, reason=-math.inf, spread=0.0)
    lifts = [pair.c_yc_za - pair.c_yc_e for pair in pairs]
    reason = tempered_mean(lifts, knobs.tau)
    # Whatever else an old contract called its mode, the network scored it as the plain lift.
    if knobs.score_mode not in _GROUNDED:
        return _checked(Legs(turn=reason, reason=reason, spread=spread(lifts)), knobs.era)
    r = reason - mean(lifts)
    g = grounding_leg(pairs, knobs.band_c, knobs.band_floor)
    if g is None:
        msg = "expected lpC_za_x and lpC_zc_x in the pairs of a turn under a grounded mode, got none of one or both"
        raise GroundingMissing(msg)
    a = _require_action(pairs, knobs.tau) if knobs.score_mode == "min_rga" else None
    # Python's min keeps its first argument where the second is not a number: what the network's rule did.
    turn = min(r, g) if a is None else min(r, g, a)
    return _checked(Legs(turn=turn, reason=reason, spread=spread(lifts), r=r, g=g, a=a), knobs.era)


def grounding_leg(pairs: Sequence[Pair], band_c: float, band_floor: float) -> float | None:
    """How far inside the band of the teacher's own thoughts the side's thought lies; none where either is unmeasured.

    Each distinct thought text counts once, with the number of its last pair.

    Raises:
        NonFinite: The band's width would be made of numbers that are not all finite.
    """
    teacher = [pair.c_zc_x for pair in pairs if pair.c_zc_x is not None]
    own = {pair.z_a: pair.c_za_x for pair in pairs if pair.c_za_x is not None}
    if not teacher or not own:
        return None
    middle = mean(teacher)
    width = max(band_c * _deviate(teacher), band_floor)
    thought = mean(list(own.values()))
    return min(thought - (middle - width), (middle + width) - thought)


def action_leg(pairs: Sequence[Pair], tau: float | None) -> float | None:
    """The tempered mean of what the teacher's thoughts lift of the side's action; none where nothing was measured."""
    lifts = [pair.c_ya_zc - pair.c_ya_e for pair in pairs if pair.c_ya_zc is not None and pair.c_ya_e is not None]
    return tempered_mean(lifts, tau) if lifts else None


class TurnScores:
    """The scores of rows under one set of knobs, each computed once."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs
        # By identity, since a row holds a mapping and has no hash; holding the row keeps its identity its own.
        self._known: dict[int, tuple[Row, Legs]] = {}

    def score(self, row: Row) -> Legs | None:
        """The legs of a row, or none where the side forfeited the turn.

        Raises:
            EchoMissing: As :func:`score_turn`.
            NonFinite: As :func:`score_turn`.
        """
        if row.pairs is None:
            return None
        known = self._known.get(id(row))
        if known is None:
            known = row, self._score(row.turn, row.pairs)
            self._known[id(row)] = known
        return known[1]

    def _score(self, turn: str, pairs: Sequence[Pair]) -> Legs:
        try:
            return score_turn(pairs, self.knobs)
        except (EchoMissing, NonFinite) as error:
            msg = f"turn {turn!a}: {error.message}"
            raise type(error)(msg, turn=turn) from error


def _deviate(teacher: list[float]) -> float:
    if len(teacher) < 2:
        return 0.0
    if not all(map(math.isfinite, teacher)):
        msg = f"expected finite lpC_zc_x in every pair of a turn, got {teacher}; the band has no width"
        raise NonFinite(msg)
    return deviation(teacher)


def _require_action(pairs: Sequence[Pair], tau: float | None) -> float:
    a = action_leg(pairs, tau)
    if a is None:
        msg = "expected lpC_ya_zc and lpC_ya_e in the pairs of a turn under score mode min_rga, got no pair with both"
        raise EchoMissing(msg)
    return a


def _checked(legs: Legs, era: Era) -> Legs:
    if era is Era.SAFE and not legs.finite:
        msg = f"expected finite legs of a turn, got {legs}"
        raise NonFinite(msg)
    return legs
