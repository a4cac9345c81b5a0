"""The licence B: whether a thought lifts its own action without giving it away (facts 1.7)."""

from dataclasses import dataclass

from assay.labs.duel.eras import Era
from assay.labs.duel.leakage import LEAK_SHARE, leaks
from assay.labs.duel.rows import Pair

__all__ = ["Licence", "licence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """What a pair's own lift is, and whether it passes; both none where the lift was not measured."""

    b: float | None
    passes: bool | None


def licence(pair: Pair, *, threshold: float, share: float = LEAK_SHARE, era: Era) -> Licence:
    """The licence of a pair: passed from ``threshold`` on, unless the action leaks; a lift that is no number fails.

    Args:
        pair: The pair; the lift is that of the side's action by its own thought, in nats a byte, subtracted as it is.
        threshold: Lift from which it passes.
        share: As :func:`assay.labs.duel.leakage.leaks` takes it.
        era: As there.

    Raises:
        NameNotText: As there, of a lift that is large enough. The facts leave open which the network asked first; to
            stop on fewer pairs loses no verdict that it reached.
    """
    if pair.c_ya_za is None or pair.c_ya_e is None:
        return Licence(b=None, passes=None)
    b = pair.c_ya_za - pair.c_ya_e
    return Licence(b=b, passes=b >= threshold and not leaks(pair.z_a, pair.y_a, share, era=era))
