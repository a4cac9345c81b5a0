"""The paired test that decides a duel, and the two gates of the challenger."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn, TypeAlias

from assay.labs.duel.faults import Fault, Mended, mend
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.legs import NonFinite, TurnScores
from assay.labs.duel.means import deviation, mean
from assay.labs.duel.rows import Row
from assay.labs.duel.sides import PairFigures, Side, describe, figure_pairs

__all__ = ["Comparison", "Decision", "Duel", "NonFinite", "RejectionReason", "compare_turns", "decide", "judge"]

RejectionReason: TypeAlias = Literal["thought_too_short", "causality_fail"]

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The paired test over the differences of turns: mean, standard error and their ratio.

    Fewer than two differences test nothing: margin 0, infinite standard error, z 0.
    """

    margin: float
    se: float
    z: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """How a duel came out.

    Args:
        margin: Mean of the challenger's turn scores less the king's, in nats a byte.
        se: Its standard error; infinite with fewer than two paired turns.
        z: Their ratio; infinite for a positive margin without any spread.
        challenger_wins: Whether the challenger takes the crown.
        paired: Turns that both sides were scored on.
        forfeit_turns: Those of them that at least one side forfeited.
        thought_floor_blocked: Whether the challenger's thoughts were too short.
        causality_blocked: Whether too few of its pairs passed the licence B.
        differences: Each paired turn's id and difference, in order of ids.
        faults: What the safe era mended before scoring.
        challenger_duplicates: Rows of the challenger's whose turn another of its rows has, too.
        king_duplicates: The same of the king's.
    """

    margin: float
    se: float
    z: float
    challenger_wins: bool
    paired: int
    forfeit_turns: int
    thought_floor_blocked: bool
    causality_blocked: bool
    differences: tuple[tuple[str, float], ...]
    faults: tuple[Fault, ...] = ()
    challenger_duplicates: int = 0
    king_duplicates: int = 0

    @property
    def rejection_reason(self) -> RejectionReason | None:
        """Which gate stopped the challenger; the shorter thought is named first."""
        if self.thought_floor_blocked:
            return "thought_too_short"
        return "causality_fail" if self.causality_blocked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A duel with the summaries of both sides.

    Args:
        duel: How it came out.
        challenger: The challenger's summary.
        king: The king's summary.
        rows: The rows that were scored, mended where the era mends them.
        scores: Their scores, each computed already.
    """

    duel: Duel
    challenger: Side
    king: Side
    rows: Mended = field(repr=False, compare=False)
    scores: TurnScores = field(repr=False, compare=False)


def decide(challenger_rows: Sequence[Row], king_rows: Sequence[Row], knobs: Knobs) -> Decision:
    """As :func:`judge`, with the summaries of both sides over the rows that were scored; every turn is scored once.

    Raises:
        EchoMissing: As :func:`judge`, of any turn.
        NonFinite: As :func:`judge`.
    """
    scores = TurnScores(knobs)
    mended = mend(challenger_rows, king_rows, knobs)
    challenger, king = describe(mended.challenger, scores), describe(mended.king, scores)
    duel = _judge(mended, scores, challenger.figures)
    return Decision(duel=duel, challenger=challenger, king=king, rows=mended, scores=scores)


def judge(challenger_rows: Sequence[Row], king_rows: Sequence[Row], knobs: Knobs) -> Duel:
    """How the duel comes out, whatever the order of the rows; the last row of a turn counts.

    A turn that only one side has is not scored, nor is a forfeited one where a forfeit has no score. Under the safe era
    the rows are mended first (:mod:`assay.labs.duel.faults`).

    Args:
        challenger_rows: The challenger's rows.
        king_rows: The king's rows; the king is never gated.
        knobs: The contract's numbers.

    Raises:
        EchoMissing: A paired turn cannot be scored.
        NonFinite: A difference of the test is not finite, or a crown would stand on a number that is not.
        NameNotText: In the network's era, where an action of the challenger's has a ``name`` that is no text.
    """
    mended = mend(challenger_rows, king_rows, knobs)
    return _judge(mended, TurnScores(knobs), figure_pairs(mended.challenger, knobs))


def compare_turns(differences: Sequence[tuple[str, float]], least_se: float = 0.0) -> Comparison:
    """Mean, standard error and z of the differences of turns.

    Args:
        differences: Each turn's id and difference.
        least_se: What the standard error is at least.

    Raises:
        NonFinite: One of two or more is not finite.
    """
    if len(differences) < 2:
        return Comparison(margin=0.0, se=math.inf, z=0.0)
    broken = [turn for turn, difference in differences if not math.isfinite(difference)]
    if broken:
        _refuse("differences", broken)
    values = [difference for _, difference in differences]
    margin, se = mean(values), max(deviation(values) / math.sqrt(len(values)), least_se)
    z = margin / se if se > 0 else (math.inf if margin > 0 else 0.0)
    return Comparison(margin=margin, se=se, z=z)


def _judge(mended: Mended, scores: TurnScores, figures: PairFigures) -> Duel:
    knobs = scores.knobs
    pairs = _pair_up(mended.challenger, mended.king, drop_forfeits=knobs.forfeit_turn_score is None)
    differences = tuple((own.turn, _score(own, scores) - _score(other, scores)) for own, other in pairs)
    tested = compare_turns(differences)
    short = len(pairs) > 1 and _is_short(figures, knobs)
    uncaused = len(pairs) > 1 and _lacks_cause(figures, knobs)
    wins = tested.margin > knobs.k_sigma * tested.se and tested.margin > knobs.min_margin and not (short or uncaused)
    if wins:
        _require_finite(pairs, scores, figures)
    return Duel(
        margin=tested.margin,
        se=tested.se,
        z=tested.z,
        challenger_wins=wins,
        paired=len(pairs),
        forfeit_turns=sum(own.forfeit or other.forfeit for own, other in pairs),
        thought_floor_blocked=short,
        causality_blocked=uncaused,
        differences=differences,
        faults=mended.faults,
        challenger_duplicates=mended.challenger_duplicates,
        king_duplicates=mended.king_duplicates,
    )


def _pair_up(challenger: Iterable[Row], king: Iterable[Row], *, drop_forfeits: bool) -> list[tuple[Row, Row]]:
    """The rows of the turns that both sides have, in order of ids; the last row of a turn stands for it."""
    own, other = {row.turn: row for row in challenger}, {row.turn: row for row in king}
    pairs = [(own[turn], other[turn]) for turn in sorted(own.keys() & other.keys())]
    return [pair for pair in pairs if not (drop_forfeits and (pair[0].forfeit or pair[1].forfeit))]


def _score(row: Row, scores: TurnScores) -> float:
    legs, floor = scores.score(row), scores.knobs.forfeit_turn_score
    if legs is not None:
        return legs.turn
    return math.nan if floor is None else floor


def _is_short(figures: PairFigures, knobs: Knobs) -> bool:
    median = figures.median_len_z
    return knobs.min_thought_chars > 0 and (median is None or median < knobs.min_thought_chars)


def _lacks_cause(figures: PairFigures, knobs: Knobs) -> bool:
    rate = figures.b_gate_pass_rate
    return knobs.causality_gamma > 0 and (rate is None or rate < knobs.causality_gamma)


def _require_finite(pairs: Iterable[tuple[Row, Row]], scores: TurnScores, figures: PairFigures) -> None:
    """Lets no crown stand on a leg or a licence that the network's rule would have read past."""
    scored = ((row, scores.score(row)) for pair in pairs for row in pair)
    broken = [row.turn for row, legs in scored if legs is not None and not legs.finite]
    if broken:
        _refuse("legs", broken)
    if scores.knobs.causality_gamma > 0 and not math.isfinite(figures.mean_b or 0.0):
        _refuse("lifts of the challenger's actions", [])


def _refuse(what: str, turns: Sequence[str]) -> NoReturn:
    shown = ", ".join(turns[:_SHOWN]) + (f" and {len(turns) - _SHOWN} more" if len(turns) > _SHOWN else "")
    where = f" on turns {shown}" if turns else ""
    msg = f"expected finite {what}{where}, got one that is not; the duel cannot be decided on it"
    raise NonFinite(msg, turns=list(turns))
