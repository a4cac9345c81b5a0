"""The v2 rule, under which the public records of before 10 August 2026 were decided; for replay only.

It scored the teacher's lift together with the side's own, and gated either side by numbers that the side itself gave
(facts 1.3). Nothing later reads those.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.labs.duel.crown import Comparison, compare_turns
from assay.labs.duel.eras import Era
from assay.labs.duel.legs import EchoMissing
from assay.labs.duel.means import mean
from assay.labs.duel.own_echoes import baseline_size, calibration_ratio, own_lift, passes_own_gate
from assay.labs.duel.rows import Pair, Row
from assay.labs.duel.sides import share_of_bank

__all__ = ["LegacyDuel", "LegacyKnobs", "LegacySide", "judge_legacy", "summarise_legacy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyKnobs:
    """What the v2 rule depends on, with the values that it ended with.

    Args:
        k_sigma: Standard errors that the margin has to exceed.
        min_se: What the standard error is at least.
        min_margin: What the margin has to exceed whatever its standard error.
        tau: Own lift of its action from which a pair passes the gate.
        gamma: Share of pairs that has to pass it.
        gamma_bank: Share of pairs that has to be above every published prior.
        l1_weight: Weight of the own lift of the reference action.
        l1_clip: Largest size of that lift; none, or not positive, does not clip.
        r_lo: Least calibration ratio.
        r_hi: Largest calibration ratio.
        check_calib: Whether the calibration ratio is asked for.
        baseline_band: How many times the king's baseline the challenger's may be; none does not ask.
        leak_share: Share of the action's tokens inside the thought from which the action counts as leaked.
    """

    k_sigma: float = 2.0
    min_se: float = 0.005
    min_margin: float = 0.02
    tau: float = 0.02
    gamma: float = 0.3
    gamma_bank: float = 0.08
    l1_weight: float = 1.0
    l1_clip: float | None = 0.1
    r_lo: float = 0.3
    r_hi: float = 4.0
    check_calib: bool = True
    baseline_band: float | None = 1.25
    leak_share: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacySide:
    """The summary of a side.

    Args:
        valid: Whether it passed its gates; a side that did not decides the duel against the challenger.
        score: Mean over pairs of the mixed lift; none without pairs.
        gate_pass_rate: Share of pairs that pass the gate.
        bank_frac: Share of pairs above every published prior; none where no row carries it, which asks nothing.
        calib_ratio: Mean size of ``lpA_yc_za`` over that of ``lpA_yc_e``.
        baseline_abs: Mean size of ``lpA_yc_e``.
        n_turns: Distinct turns, forfeited ones too.
        n_pairs: Pairs, over all turns.
    """

    valid: bool
    score: float | None
    gate_pass_rate: float
    bank_frac: float | None
    calib_ratio: float | None
    baseline_abs: float | None
    n_turns: int
    n_pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyDuel:
    """How a duel came out under the v2 rule; margin 0 and an infinite standard error where a side was not valid."""

    margin: float
    se: float
    z: float
    challenger_wins: bool
    paired: int
    challenger: LegacySide
    king: LegacySide
    differences: tuple[tuple[str, float], ...]


def judge_legacy(
    challenger_rows: Sequence[Row],
    king_rows: Sequence[Row],
    knobs: LegacyKnobs,
    *,
    challenger_bank_frac: float | None = None,
    king_bank_frac: float | None = None,
) -> LegacyDuel:
    """How a duel came out under the v2 rule; the last row of a turn counts, and forfeited turns do not.

    Args:
        challenger_rows: The challenger's rows.
        king_rows: The king's rows; the king is gated, too.
        knobs: The rule's numbers.
        challenger_bank_frac: The challenger's share above the published priors, in place of its rows'.
        king_bank_frac: The king's, likewise.

    Raises:
        EchoMissing: A pair lacks one of the side's own numbers.
        NameNotText: An action has a ``name`` that is no text.
        NonFinite: A difference of the test is not finite.
    """
    king = summarise_legacy(king_rows, knobs, king_bank_frac)
    challenger = _hold_to_band(summarise_legacy(challenger_rows, knobs, challenger_bank_frac), king, knobs)
    own, other = _score_turns(challenger_rows, knobs), _score_turns(king_rows, knobs)
    differences = tuple((turn, own[turn] - other[turn]) for turn in sorted(own.keys() & other.keys()))
    tested = Comparison(margin=0.0, se=math.inf, z=0.0)
    if challenger.valid and king.valid:
        tested = compare_turns(differences, knobs.min_se)
    return LegacyDuel(
        margin=tested.margin,
        se=tested.se,
        z=tested.z,
        challenger_wins=tested.margin > knobs.k_sigma * tested.se and tested.margin > knobs.min_margin,
        paired=len(differences),
        challenger=challenger,
        king=king,
        differences=differences,
    )


def summarise_legacy(rows: Sequence[Row], knobs: LegacyKnobs, bank_frac: float | None = None) -> LegacySide:
    """The summary of a side, before it is held to the other's baseline.

    Raises:
        EchoMissing: A pair lacks one of the side's own numbers.
        NameNotText: An action has a ``name`` that is no text.
    """
    pairs = [pair for row in rows for pair in row.pairs or ()]
    rate = sum(_passes_gate(pair, knobs) for pair in pairs) / len(pairs) if pairs else 0.0
    bank = share_of_bank(rows) if bank_frac is None else bank_frac
    ratio = calibration_ratio(pairs)
    calibrated = not knobs.check_calib or (ratio is not None and knobs.r_lo <= ratio <= knobs.r_hi)
    return LegacySide(
        valid=rate >= knobs.gamma and (1.0 if bank is None else bank) >= knobs.gamma_bank and calibrated,
        score=mean([_mix(pair, knobs) for pair in pairs]) if pairs else None,
        gate_pass_rate=rate,
        bank_frac=bank,
        calib_ratio=ratio,
        baseline_abs=baseline_size(pairs),
        n_turns=len({row.turn for row in rows}),
        n_pairs=len(pairs),
    )


def _hold_to_band(challenger: LegacySide, king: LegacySide, knobs: LegacyKnobs) -> LegacySide:
    own, other = challenger.baseline_abs or 0.0, king.baseline_abs or 0.0
    if knobs.baseline_band is not None and own > 0 and other > 0 and own > knobs.baseline_band * other:
        return replace(challenger, valid=False)
    return challenger


def _score_turns(rows: Sequence[Row], knobs: LegacyKnobs) -> dict[str, float]:
    """The mean mixed lift of each turn with an action; minus infinity without a pair."""
    scored: dict[str, float] = {}
    for row in rows:
        if row.pairs is not None:
            scored[row.turn] = mean([_mix(pair, knobs) for pair in row.pairs]) if row.pairs else -math.inf
    return scored


def _mix(pair: Pair, knobs: LegacyKnobs) -> float:
    own = _require_lift(pair, "lpA_yc_za", "lpA_yc_e")
    clip = knobs.l1_clip
    # Clipping would make a number of one that is none: left as it is, it is refused at the test.
    if clip is not None and clip > 0 and math.isfinite(own):
        own = max(-clip, min(clip, own))
    return pair.c_yc_za - pair.c_yc_e + knobs.l1_weight * own


def _passes_gate(pair: Pair, knobs: LegacyKnobs) -> bool:
    _require_lift(pair, "lpA_ya_za", "lpA_ya_e")
    return passes_own_gate(pair, knobs.tau, knobs.leak_share, Era.NETWORK)


def _require_lift(pair: Pair, with_thought: str, without: str) -> float:
    lift = own_lift(pair, with_thought, without)
    if lift is None:
        msg = f"expected {with_thought} and {without} in every pair under the v2 rule, got a pair without one of them"
        raise EchoMissing(msg)
    return lift
