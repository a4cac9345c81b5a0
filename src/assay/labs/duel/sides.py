"""What a verdict says of one side: its score, the legs behind it, and figures of its texts.

Scores and legs are means over turns. Lengths, licences and lifts are taken over pairs, so that a turn with three
references weighs three times one with a single reference (facts 1.5); forfeited turns have no weight in them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from assay.labs.duel.eras import Era
from assay.labs.duel.faults import mend
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.leakage import NameNotText
from assay.labs.duel.legs import Leg, Legs, TurnScores
from assay.labs.duel.licence import Licence, licence
from assay.labs.duel.means import mean, mean_known, median
from assay.labs.duel.own_echoes import baseline_size, calibration_ratio, own_lift, passes_own_gate
from assay.labs.duel.rows import Pair, Row

__all__ = [
    "NETWORK_CAUSALITY_TAU",
    "NO_NAME",
    "PairFigures",
    "Side",
    "describe",
    "figure_pairs",
    "share_of_bank",
    "summarise",
]

NO_NAME: Final = "?"
"""The name of a side without rows."""

NETWORK_CAUSALITY_TAU: Final = 0.02
"""The lift from which a pair passed B on the network, whatever its contract said (facts 1.6)."""

_LEAST_DENOMINATOR: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigures:
    """Figures over the pairs of a side; each is none where no pair has what it is made of.

    Args:
        n_pairs: Pairs, over all turns.
        gate_pass_rate: Share of pairs that pass the v2 rule's gate, which the side's own numbers decide; telemetry.
        calib_ratio: Mean size of ``lpA_yc_za`` over that of ``lpA_yc_e``; telemetry.
        baseline_abs: Mean size of ``lpA_yc_e``; telemetry.
        mean_l1lift: Mean of ``lpA_yc_za - lpA_yc_e``; telemetry.
        mean_eta: Mean share of the teacher's own lift that the side's thought gives.
        mean_len_z: Mean length of the stripped thought in code points.
        median_len_z: Median of the same.
        mean_len_y: Mean length of the action, not stripped.
        mean_b: Mean lift of the side's action by its own thought.
        b_gate_pass_rate: Share of pairs with a measured lift that pass the licence B.
    """

    n_pairs: int = 0
    gate_pass_rate: float = 0.0
    calib_ratio: float | None = None
    baseline_abs: float | None = None
    mean_l1lift: float | None = None
    mean_eta: float | None = None
    mean_len_z: float | None = None
    median_len_z: float | None = None
    mean_len_y: float | None = None
    mean_b: float | None = None
    b_gate_pass_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The summary of a side. A side without a single pair has score minus infinity and counts no turns.

    Args:
        miner: The side's name.
        reason: Mean score of its turns, forfeits at what a forfeit scores; minus infinity without pairs.
        n_turns: Distinct turns.
        n_forfeits: Rows without an action.
        forfeit_rate: Their share of all rows; none without rows.
        forfeit_turn_score: What a forfeit scored; none where such turns were left out.
        bank_frac: Mean share of pairs above every published prior; telemetry of the v2 rule.
        mean_r_leg: Mean of R over turns, under a grounded score mode.
        mean_g_leg: Mean of G.
        mean_a_leg: Mean of A, under ``min_rga``.
        g_bind_frac: Share of turns whose score G made.
        a_bind_frac: Share of turns whose score A made.
        mean_spread: Mean over turns of the largest lift less the smallest: how much hangs on single references.
        figures: What is taken over pairs.
    """

    miner: str
    reason: float
    n_turns: int
    n_forfeits: int
    forfeit_rate: float | None
    forfeit_turn_score: float | None
    bank_frac: float | None = None
    mean_r_leg: float | None = None
    mean_g_leg: float | None = None
    mean_a_leg: float | None = None
    g_bind_frac: float | None = None
    a_bind_frac: float | None = None
    mean_spread: float | None = None
    figures: PairFigures = PairFigures()


def summarise(rows: Sequence[Row], knobs: Knobs, scores: TurnScores | None = None) -> Side:
    """The summary of a side's rows, in any order.

    Under the safe era the rows are mended first, for themselves (:mod:`assay.labs.duel.faults`); the network counted
    every row of a turn that had several.

    Args:
        rows: One side's rows.
        knobs: The contract's numbers.
        scores: Scores under the same knobs that were computed before.

    Raises:
        EchoMissing: A turn cannot be scored.
        NonFinite: As :func:`assay.labs.duel.legs.score_turn`.
    """
    return describe(mend(rows, (), knobs).challenger, scores or TurnScores(knobs))


def describe(rows: Sequence[Row], scores: TurnScores) -> Side:
    """As :func:`summarise`, of rows that were mended before.

    Raises:
        EchoMissing: As :func:`summarise`.
        NonFinite: As :func:`summarise`.
    """
    floor = scores.knobs.forfeit_turn_score
    legs = [scored for row in rows if (scored := scores.score(row)) is not None]
    grounded, acted = [leg for leg in legs if leg.g is not None], [leg for leg in legs if leg.a is not None]
    figures = figure_pairs(rows, scores.knobs)
    forfeits = len(rows) - len(legs)
    turn_scores = [leg.turn for leg in legs] + ([] if floor is None else [floor] * forfeits)
    return Side(
        miner=rows[0].miner if rows else NO_NAME,
        reason=mean(turn_scores) if figures.n_pairs else -math.inf,
        n_turns=len({row.turn for row in rows}) if figures.n_pairs else 0,
        n_forfeits=forfeits,
        forfeit_rate=forfeits / len(rows) if rows else None,
        forfeit_turn_score=floor if rows else None,
        bank_frac=share_of_bank(rows),
        mean_r_leg=mean_known(leg.r for leg in grounded),
        mean_g_leg=mean_known(leg.g for leg in grounded),
        mean_a_leg=mean_known(leg.a for leg in acted),
        g_bind_frac=_share_bound(grounded, "g"),
        a_bind_frac=_share_bound(acted, "a"),
        mean_spread=mean_known(leg.spread for leg in legs),
        figures=figures,
    )


def figure_pairs(rows: Iterable[Row], knobs: Knobs) -> PairFigures:
    """The figures over the pairs of these rows.

    Raises:
        NameNotText: In the network's era, where a pair's action has a ``name`` that is no text.
    """
    pairs = [pair for row in rows for pair in row.pairs or ()]
    if not pairs:
        return PairFigures()
    threshold = NETWORK_CAUSALITY_TAU if knobs.era is Era.NETWORK else knobs.causality_tau
    licences = _license(pairs, threshold, knobs)
    passed = [held.passes for held in licences if held.passes is not None]
    gated = [_passes_own_gate(pair, threshold, knobs) for pair in pairs]
    lengths = [len(pair.z_a.strip()) for pair in pairs]
    return PairFigures(
        n_pairs=len(pairs),
        gate_pass_rate=sum(gated) / len(pairs),
        calib_ratio=calibration_ratio(pairs),
        baseline_abs=baseline_size(pairs),
        mean_l1lift=mean_known(own_lift(pair, "lpA_yc_za", "lpA_yc_e") for pair in pairs),
        mean_eta=mean_known(map(_share_of_lift, pairs)),
        mean_len_z=sum(lengths) / len(pairs),
        median_len_z=median(lengths),
        mean_len_y=sum(len(pair.y_a) for pair in pairs) / len(pairs),
        mean_b=mean_known(held.b for held in licences),
        b_gate_pass_rate=sum(passed) / len(passed) if passed else None,
    )


def share_of_bank(rows: Iterable[Row]) -> float | None:
    """The mean share of pairs above every published prior, over the rows that carry it; the v2 rule's."""
    return mean_known(row.bank_frac for row in rows if not row.forfeit)


def _license(pairs: Iterable[Pair], threshold: float, knobs: Knobs) -> list[Licence]:
    """The licence of each pair; pairs of one rollout share all that it hangs on, and their texts are searched once."""
    known: dict[tuple[str, str, float | None, float | None], Licence] = {}
    licences: list[Licence] = []
    for pair in pairs:
        rollout = pair.z_a, pair.y_a, pair.c_ya_za, pair.c_ya_e
        held = known.get(rollout)
        if held is None:
            held = licence(pair, threshold=threshold, share=knobs.leak_share, era=knobs.era)
            known[rollout] = held
        licences.append(held)
    return licences


def _passes_own_gate(pair: Pair, threshold: float, knobs: Knobs) -> bool:
    """As the v2 rule has it; what the side told of itself must not end a scorer that only tells it on."""
    try:
        return passes_own_gate(pair, threshold, knobs.leak_share, knobs.era)
    except NameNotText:
        return False


def _share_bound(legs: Sequence[Legs], leg: Leg) -> float | None:
    return sum(each.binding == leg for each in legs) / len(legs) if legs else None


def _difference(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else more - less


def _share_of_lift(pair: Pair) -> float | None:
    """The share of the teacher's own lift that the side's thought gives; none where that lift is nothing or unknown."""
    own, teachers = pair.c_yc_za - pair.c_yc_e, _difference(pair.c_yc_zc, pair.c_yc_e)
    if teachers is None or not math.isfinite(own) or not math.isfinite(teachers):
        return None
    return None if abs(teachers) < _LEAST_DENOMINATOR else own / teachers
