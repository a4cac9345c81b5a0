"""The numbers that decide a duel, as the contract registers them: the only way a number reaches the scoring."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.labs.duel.eras import Era

__all__ = ["Knobs", "ScoreMode"]

ScoreMode: TypeAlias = Literal["reason", "min_rg", "min_rga"]
"""``reason``: the tempered lift alone (v3 without ``tau``, v4 with it); ``min_rg``: v5; ``min_rga``: v6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What scoring and crown depend on. Log-probabilities are nats a UTF-8 byte.

    Args:
        era: Whose reading of the rules applies.
        score_mode: How a turn's score is made of its legs.
        tau: Temperature of the log-mean-exp; none or not positive takes the plain mean.
        band_c: Half-width of the grounding band in sample standard deviations of the teacher's own thoughts.
        band_floor: Half-width of the grounding band at least.
        forfeit_turn_score: What a side scores on a turn without an action; none leaves such turns out of the pairing.
        k_sigma: Standard errors that the margin has to exceed.
        min_margin: What the margin has to exceed whatever its standard error.
        min_thought_chars: Code points that the challenger's median stripped thought has to have; 0 asks nothing.
        causality_gamma: Share of pairs that has to pass the licence B; 0 asks nothing.
        causality_tau: Lift of the action by the thought from which a pair passes B.
        leak_share: Share of the action's tokens inside the thought from which the action counts as leaked.
    """

    era: Era
    score_mode: ScoreMode
    tau: float | None
    band_c: float
    band_floor: float
    forfeit_turn_score: float | None
    k_sigma: float
    min_margin: float
    min_thought_chars: int
    causality_gamma: float
    causality_tau: float = 0.02
    leak_share: float = 0.6
