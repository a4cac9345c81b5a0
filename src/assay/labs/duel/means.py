"""Means, spreads and tempered means that come out the same on every machine.

A crown hangs on a strict comparison, so nothing here depends on the order of a sum or on a system's mathematics
library: sums are of exact integers with one rounding at the end, and exp and ln are decimal's, which are correctly
rounded. Non-finite numbers are carried on as a float sum would carry them, never hidden.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

__all__ = ["deviation", "mean", "mean_known", "median", "spread", "tempered_mean"]

_EXTRA_BITS: Final = 128
# Eight digits beyond what a double shows; no traps, since exp of a very small number is rightly zero.
_DIGITS: Final = Context(prec=25, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])


def mean(values: Sequence[float]) -> float:
    """The exact mean of at least one number, rounded once; non-finite where any of the numbers is.

    >>> mean([0.002] * 10)
    0.002
    """
    count = len(values)
    if count == 1:
        return values[0]
    try:
        numerators, scale = _share_scale(values)
    except (OverflowError, ValueError):
        return sum(value for value in values if not math.isfinite(value))
    return sum(numerators) / (scale * count)


def mean_known(values: Iterable[float | None]) -> float | None:
    """The exact mean of the values that are there; none where none is."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def deviation(values: Sequence[float]) -> float:
    """The sample standard deviation (n - 1) of at least two numbers, correctly rounded; NaN where one is not finite."""
    try:
        numerators, scale = _share_scale(values)
    except (OverflowError, ValueError):
        return math.nan
    count, total = len(numerators), sum(numerators)
    squares = count * sum(numerator * numerator for numerator in numerators) - total * total
    return _root_of_ratio(squares, count * (count - 1) * scale * scale)


def median(values: Sequence[int]) -> float:
    """The middle of at least one integer, or the mean of the two middle ones."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values: Sequence[float]) -> float:
    """The largest less the smallest of at least one number."""
    return max(values) - min(values)


def tempered_mean(values: Sequence[float], tau: float | None) -> float:
    """``max + tau * ln(mean(exp((v - max) / tau)))`` of at least one number; the plain mean for no or no positive tau.

    One number alone comes back as it is. NaN where one is NaN or plus infinity, or where all of several are minus
    infinity: as the float formula has it.

    Args:
        values: The numbers.
        tau: The temperature, in the numbers' unit; the smaller, the nearer to the largest number.
    """
    if len(values) == 1:
        return values[0]
    if tau is None or tau <= 0:
        return mean(values)
    top = max(values)
    if not math.isfinite(top) or not math.isfinite(tau) or any(math.isnan(value) for value in values):
        return math.nan
    heat, peak = Decimal(tau), Decimal(top)
    total = Decimal(0)
    for value in sorted(values):
        if value == top:
            total = _DIGITS.add(total, 1)
        elif value > -math.inf:
            below = _DIGITS.divide(_DIGITS.subtract(Decimal(value), peak), heat)
            total = _DIGITS.add(total, _DIGITS.exp(below))
    lift = _DIGITS.ln(_DIGITS.divide(total, len(values)))
    return float(_DIGITS.add(peak, _DIGITS.multiply(heat, lift)))


def _share_scale(values: Sequence[float]) -> tuple[list[int], int]:
    """The numbers as integers over one power of two, exactly."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max(denominator for _, denominator in ratios)
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _root_of_ratio(numerator: int, denominator: int) -> float:
    """The square root, rounded once: many bits more than a double holds, the last one odd where it is not exact."""
    if not numerator:
        return 0.0
    shift = max(0, (_EXTRA_BITS + denominator.bit_length() - numerator.bit_length()) // 2)
    scaled, rest = divmod(numerator << (2 * shift), denominator)
    root = math.isqrt(scaled)
    if rest or root * root != scaled:
        root |= 1
    try:
        return root / (1 << shift)
    except OverflowError:
        return math.inf
