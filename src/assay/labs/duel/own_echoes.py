"""Figures of a side's own log-probabilities (``lpA_*``), by which the v2 rule decided and which no later one reads."""

from collections.abc import Iterable, Sequence

from assay.labs.duel.eras import Era
from assay.labs.duel.leakage import leaks
from assay.labs.duel.means import mean_known
from assay.labs.duel.rows import Pair

__all__ = ["baseline_size", "calibration_ratio", "own_lift", "passes_own_gate"]


def own_lift(pair: Pair, with_thought: str, without: str) -> float | None:
    """One own number less another, by their public names; none where either is missing."""
    own = pair.a
    if own is None:
        return None
    more, less = own.get(with_thought), own.get(without)
    return None if more is None or less is None else more - less


def passes_own_gate(pair: Pair, threshold: float, share: float, era: Era) -> bool:
    """Whether the side's own lift of its action is measured and large enough, and the action does not leak.

    Raises:
        NameNotText: As :func:`assay.labs.duel.leakage.leaks`.
    """
    lift = own_lift(pair, "lpA_ya_za", "lpA_ya_e")
    return lift is not None and lift >= threshold and not leaks(pair.z_a, pair.y_a, share, era=era)


def baseline_size(pairs: Iterable[Pair]) -> float | None:
    """The mean size of ``lpA_yc_e``; none where no pair has it."""
    return _mean_size(pairs, "lpA_yc_e")


def calibration_ratio(pairs: Sequence[Pair]) -> float | None:
    """The mean size of ``lpA_yc_za`` over that of ``lpA_yc_e``; none where that is missing or not positive."""
    thought, baseline = _mean_size(pairs, "lpA_yc_za"), baseline_size(pairs)
    return thought / baseline if thought is not None and baseline is not None and baseline > 0 else None


def _mean_size(pairs: Iterable[Pair], name: str) -> float | None:
    own = (pair.a.get(name) for pair in pairs if pair.a is not None)
    return mean_known(None if number is None else abs(number) for number in own)
