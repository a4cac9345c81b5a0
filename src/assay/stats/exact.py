"""Exact numbers: outcomes as the decimals they show, and sums of them as integers, so that no order matters.

A real outcome or a registered level reaches us as a double, but what was registered is the decimal that its shortest
text shows: 0.1 means one tenth. Everything that decides is computed from those decimals as integers over a common
power of ten.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from assay.kernel.errors import BadInput

__all__ = ["Scaled", "read_fraction", "read_share", "scale_to_integers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """Numbers as ``values[i] / scale``, exactly, with the least power of ten that serves for all of them."""

    values: tuple[int, ...]
    scale: int


def read_fraction(number: float) -> Fraction:
    """The decimal that the shortest text of *number* shows, exactly.

    Raises:
        BadInput: *number* is not a number, or not a finite one.

    >>> read_fraction(0.1)
    Fraction(1, 10)
    """
    digits, exponent = _read_decimal(number)
    return Fraction(digits) * Fraction(10) ** exponent


def read_share(number: float, what: str) -> Fraction:
    """As :func:`read_fraction`, for a level or an error rate, which lies strictly between 0 and 1.

    Raises:
        BadInput: It does not; *what* names it in the message.

    >>> 1 - read_share(0.95, "the level")
    Fraction(1, 20)
    """
    share = read_fraction(number)
    if not 0 < share < 1:
        msg = f"{what} lies strictly between 0 and 1, which {number!r} does not"
        raise BadInput(msg)
    return share


def scale_to_integers(numbers: Iterable[float]) -> Scaled:
    """The decimals that *numbers* show, as integers over one power of ten.

    Raises:
        BadInput: One of them is not a number, or not a finite one.

    >>> scale_to_integers([0.25, 1, -3.5])
    Scaled(values=(25, 100, -350), scale=100)
    """
    read = [_read_decimal(number) for number in numbers]
    lowest = min((exponent for _, exponent in read), default=0)
    lowest = min(lowest, 0)
    return Scaled(values=tuple(digits * 10 ** (exponent - lowest) for digits, exponent in read), scale=10**-lowest)


def _read_decimal(number: float) -> tuple[int, int]:
    """Digits and power of ten, without trailing zeros after the point."""
    if isinstance(number, int):
        return int(number), 0
    if not isinstance(number, float) or not isfinite(number):  # pyright: ignore[reportUnnecessaryIsInstance]
        msg = f"an outcome or a level is a finite number, not {number!r}"
        raise BadInput(msg)
    if not number:
        return 0, 0
    sign, digits, exponent = Decimal(float.__repr__(number)).as_tuple()
    text = "".join(map(str, digits))
    shown = text.rstrip("0")
    size = int(shown)
    return -size if sign else size, int(exponent) + len(text) - len(shown)
