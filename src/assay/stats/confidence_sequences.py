"""A confidence sequence for a mean: an interval that may be looked at after every value and stays valid.

Somebody who holds that the mean is at most *m* cannot object to a fair bet against it: stake a share of the capital
that is fixed before the value is seen, and multiply the capital by ``1 + stake * (value - m)``. If the mean is at most
*m* whatever came before, the capital is expected not to grow, and it reaches ``2 / alpha`` with a probability of at
most ``alpha / 2``, at whatever moment one looks (Ville's inequality). So a mean whose capital has grown that far is
rejected; a second capital bets the other way. How the values are distributed does not matter, if they are bounded.

The stakes follow the spread of the values seen so far and are tuned to half of the turns that are planned. Any other
number of planned turns keeps the error; it only costs power.

Everything is computed in decimal arithmetic of 50 digits, whose every operation has one right answer on any machine,
and capital is rounded down, so a bound is never too tight.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86 (2024): predictable plug-in stakes in two one-sided capital processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from assay.kernel.errors import BadInput
from assay.stats.exact import read_fraction, read_share

__all__ = ["Bounds", "MeanWatch"]

_DIGITS: Final = 50
_STAKE_DIGITS: Final = 20
_STEPS: Final = 30
"""Halvings by which a bound is found: it is told to within ``clip / 2^29``."""

_ONE: Final = Decimal(1)
_DOWN: Final = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
_UP: Final = Context(prec=_DIGITS, rounding=ROUND_CEILING)
_STAKE: Final = Context(prec=_STAKE_DIGITS, rounding=ROUND_FLOOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The means that are not rejected lie between these two; both ends are rejected, or are the end of the range."""

    lower: float
    upper: float


class MeanWatch:
    """Watches values one by one, and says when their mean lies above or below a bar.

    The statement is about the mean of the values as clipped: the expectation of each given all that came before it.

    Args:
        alpha: How often either side may be claimed wrongly, over all looks together; half of it goes to each side.
        clip: Values beyond ``-clip`` and ``clip`` are moved there, and counted.
        bar: What the mean is compared with, strictly within the range.
        planned: How many values there will be at most, for the size of the stakes.

    Raises:
        BadInput: A number is out of range.

    >>> watch = MeanWatch(0.05, 0.1, bar=0.002, planned=400)
    >>> for _ in range(200):
    ...     watch.add(0.01)
    >>> watch.above, watch.below
    (True, False)
    """

    def __init__(self, alpha: float, clip: float, *, bar: float, planned: int) -> None:
        self._clip = _read(clip)
        self._bar = _read(bar)
        self._least = self._clip.copy_negate()
        if not self._least < self._bar < self._clip:
            msg = f"the bar lies strictly between -clip and clip, which {bar!r} does not for a clip of {clip!r}"
            raise BadInput(msg)
        if type(planned) is not int or planned < 1:
            msg = f"the number of planned values is a whole number from 1, not {planned!r}"
            raise BadInput(msg)
        share = read_share(alpha, "alpha")
        self._wanted = _UP.divide(Decimal(2 * share.denominator), Decimal(share.numerator))
        self._most = _STAKE.divide(Decimal("0.5"), self._clip)
        self._tuned = _STAKE.divide(_DOWN.multiply(Decimal(4), _DOWN.ln(self._wanted)), Decimal(planned))
        self._sum = Decimal(0)
        self._squares = _DOWN.divide(self._clip * self._clip, Decimal(4))
        self._values: list[Decimal] = []
        self._stakes: list[Decimal] = []
        self._up = self._down = _ONE
        self._clipped = 0

    @property
    def turns(self) -> int:
        """How many values have been seen."""
        return len(self._values)

    @property
    def clipped(self) -> int:
        """How many of them lay outside the range."""
        return self._clipped

    @property
    def above(self) -> bool:
        """Whether every mean up to the bar, the bar included, is rejected now."""
        return self._up >= self._wanted

    @property
    def below(self) -> bool:
        """Whether every mean from the bar on, the bar included, is rejected now."""
        return self._down >= self._wanted

    def add(self, value: float) -> None:
        """Takes the next value into account.

        Raises:
            BadInput: It is not a finite number.
        """
        exact = _read(value)
        inside = min(max(exact, self._least), self._clip)
        self._clipped += inside != exact
        stake = self._choose_stake()
        self._values.append(inside)
        self._stakes.append(stake)
        self._up = _bet(self._up, stake, inside, self._bar)
        self._down = _bet(self._down, stake, inside.copy_negate(), self._bar.copy_negate())
        self._learn(inside)

    def bounds(self) -> Bounds:
        """What is not rejected now, to within ``clip / 2^29``, widened; it agrees with ``above`` and ``below``.

        Complexity: 60 passes over the values seen.
        """
        lower = self._find_bound(self._stakes, self._values)
        upper = self._find_bound(self._stakes, [value.copy_negate() for value in self._values]).copy_negate()
        if self.above:
            lower = max(lower, self._bar)
        if self.below:
            upper = min(upper, self._bar)
        return Bounds(lower=float(lower), upper=float(upper))

    def _choose_stake(self) -> Decimal:
        """From what has been seen alone: the stake that is best for the spread so far, at most 1 / (2 clip)."""
        variance = _STAKE.divide(self._squares, Decimal(len(self._values) + 1))
        if not variance:
            return self._most
        return min(self._most, _STAKE.sqrt(_STAKE.divide(self._tuned, variance)))

    def _learn(self, value: Decimal) -> None:
        """Adds to the spread about a mean that starts from one value of 0, and a variance that does from clip^2 / 4."""
        self._sum = _DOWN.add(self._sum, value)
        mean = _DOWN.divide(self._sum, Decimal(len(self._values) + 1))
        deviation = _DOWN.subtract(value, mean)
        self._squares = _DOWN.add(self._squares, _DOWN.multiply(deviation, deviation))

    def _find_bound(self, stakes: Sequence[Decimal], values: Sequence[Decimal]) -> Decimal:
        """The largest mean on the grid that is rejected as too small; the least mean of the range if none is."""
        low, high = 0, 2**_STEPS
        while high - low > 1:
            middle = (low + high) // 2
            if self._rejects(self._place(middle), stakes, values):
                low = middle
            else:
                high = middle
        return self._place(low)

    def _place(self, step: int) -> Decimal:
        share = _DOWN.divide(Decimal(step), Decimal(2 ** (_STEPS - 1)))
        return _DOWN.multiply(self._clip, _DOWN.subtract(share, _ONE))

    def _rejects(self, mean: Decimal, stakes: Sequence[Decimal], values: Sequence[Decimal]) -> bool:
        capital = _ONE
        for stake, value in zip(stakes, values, strict=True):
            capital = _bet(capital, stake, value, mean)
        return capital >= self._wanted


def _bet(capital: Decimal, stake: Decimal, value: Decimal, mean: Decimal) -> Decimal:
    return _DOWN.multiply(capital, _DOWN.fma(stake, _DOWN.subtract(value, mean), _ONE))


def _read(number: float) -> Decimal:
    """The decimal that the shortest text of a number shows."""
    fraction = read_fraction(number)
    return _DOWN.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))
