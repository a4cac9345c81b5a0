"""The axis of a forest plot and the text of its numbers, the same for pages and terminals.

All of it is exact rational arithmetic: no logarithm and no rounding of a machine's mathematics library can move a tick.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from assay.verifier.figures import Forest, ForestRow

__all__ = ["Scale", "forest_scale", "share_text"]

ABSENT = "–"
_TICKS = 6
_LONGEST_FIXED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An axis from ``lower`` to ``upper`` with round ticks, and how numbers on it are written.

    ``signed`` puts a plus before what is above zero, as differences are read.
    """

    lower: Fraction
    upper: Fraction
    step: Fraction
    signed: bool = False

    @property
    def ticks(self) -> tuple[Fraction, ...]:
        """The round values to mark, ascending; the ends of the axis are among them."""
        count = int((self.upper - self.lower) / self.step)
        return tuple(self.lower + index * self.step for index in range(count + 1))

    def place(self, value: float | Fraction) -> float:
        """Where the value lies, from 0 at the lower end to 1 at the upper; what is outside is drawn at the end."""
        if isinstance(value, float) and not math.isfinite(value):
            return 1.0 if value > 0 else 0.0
        share = (Fraction(value) - self.lower) / (self.upper - self.lower)
        return float(min(max(share, Fraction(0)), Fraction(1)))

    def value_text(self, value: float | None) -> str:
        """The value with the decimals that this axis can resolve; a dash for none."""
        if value is None:
            return ABSENT
        if math.isnan(value):
            return "not a number"
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return self._number_text(Fraction(value), self.step / 50)

    def tick_text(self, tick: Fraction) -> str:
        """The tick with the decimals of the step."""
        return self._number_text(tick, self.step) if tick else "0"

    def interval_text(self, row: ForestRow) -> str:
        """The row's interval in brackets, or nothing where it has none."""
        if row.lower is None and row.upper is None:
            return ""
        return f"[{self.value_text(row.lower)}, {self.value_text(row.upper)}]"

    def _number_text(self, value: Fraction, resolution: Fraction) -> str:
        decimals = max(0, -_exponent(resolution))
        largest = _exponent(max(abs(self.lower), abs(self.upper)))
        if decimals > _LONGEST_FIXED or largest > _LONGEST_FIXED:
            text = _scientific_text(abs(value), min(max(0, largest - _exponent(resolution)), 16))
        else:
            text = _fixed_text(abs(value), decimals)
        if not text.strip("0.,e+-"):
            return text
        return ("−" if value < 0 else "+" if self.signed else "") + text


def forest_scale(figure: Forest) -> Scale:
    """The axis of a forest plot: every point, the pooled intervals and zero are on it.

    The rows' own intervals stretch the axis by at most the distance between those on either side, so that one wide
    interval cannot press all others into a line; whoever draws marks what runs off the axis.
    """
    zero = figure.zero if math.isfinite(figure.zero) else 0.0
    rows = figure.rows + figure.pooled
    core = _finite([zero, *(row.value for row in rows), *_ends(figure.pooled)])
    every = core + _finite(_ends(figure.rows))
    reach = max(core) - min(core)
    lower, upper = min(every), max(every)
    if reach:
        lower, upper = max(lower, min(core) - reach), min(upper, max(core) + reach)
    if lower == upper:
        lower, upper = lower - 1, upper + 1
    step = _round_step((upper - lower) / _TICKS)
    return Scale(lower=floor(lower / step) * step, upper=ceil(upper / step) * step, step=step, signed=zero == 0)


def share_text(part: int, whole: int) -> str:
    """The part in per cent of the whole with one decimal; a dash where there is no whole."""
    return f"{_fixed_text(Fraction(part * 100, whole), 1)}%" if whole > 0 and part >= 0 else ABSENT


def _ends(rows: tuple[ForestRow, ...]) -> list[float]:
    return [end for row in rows for end in (row.lower, row.upper) if end is not None]


def _finite(values: Iterable[float]) -> list[Fraction]:
    return [Fraction(value) for value in values if math.isfinite(value)]


def _exponent(value: Fraction) -> int:
    """The power of ten of the leading digit of a positive value; 0 for zero."""
    if value == 0:
        return 0
    return len(str(floor(value))) - 1 if value >= 1 else -len(str(ceil(1 / value) - 1))


def _round_step(least: Fraction) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that is no less."""
    power = Fraction(10) ** _exponent(least)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _fixed_text(value: Fraction, decimals: int) -> str:
    scaled = round(value * 10**decimals)
    whole, rest = divmod(scaled, 10**decimals)
    return f"{whole:,}.{rest:0{decimals}d}" if decimals else f"{whole:,}"


def _scientific_text(value: Fraction, decimals: int) -> str:
    exponent = _exponent(value)
    mantissa = _fixed_text(value / Fraction(10) ** exponent, decimals)
    if mantissa.startswith("10"):
        exponent += 1
        mantissa = _fixed_text(value / Fraction(10) ** exponent, decimals)
    return f"{mantissa}e{exponent:+03d}"
