"""Order statistics of many ratios of integers, exactly."""

from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from assay.stats.limbs import join_chunks, join_limbs

__all__ = ["Ratios"]


class Ratios:
    """Ratios ``numerators / (denominators * scale)`` that can be asked for the k-th smallest or largest.

    They are compared by their correctly rounded quotients first, which never put two ratios in the wrong order, and
    exactly where those are equal.

    Args:
        numerators: Integers as limbs (see :mod:`assay.stats.limbs`), int64 array (limbs, n).
        denominators: Positive whole numbers below 2^53, int64 array (n,).
        scale: A positive whole number of any size; every ratio is within a double's range.

    >>> tenths = Ratios(np.array([[2, 1, -1]]), np.array([3, 3, 3]), scale=10)
    >>> tenths.smallest(2), tenths.largest(1)
    (Fraction(1, 30), Fraction(1, 15))
    """

    def __init__(self, numerators: NDArray[np.int64], denominators: NDArray[np.int64], *, scale: int) -> None:
        self._numerators = numerators
        self._denominators = denominators
        self._scale = scale
        self._quotients = _divide(numerators, denominators, scale)

    def smallest(self, rank: int) -> Fraction:
        """The *rank*-th smallest ratio, counted from 1 with repetition, at most their number."""
        quotient = np.partition(self._quotients, rank - 1)[rank - 1]
        level = self._quotients == quotient
        tops, bottoms = join_limbs(self._numerators[:, level]).tolist(), self._denominators[level].tolist()
        counts = Counter(zip(tops, bottoms, strict=True))
        exact = sorted((Fraction(top, bottom), count) for (top, bottom), count in counts.items())
        ends = list(accumulate(count for _, count in exact))
        place = rank - int(np.count_nonzero(self._quotients < quotient))
        return exact[bisect_left(ends, place)][0] / self._scale

    def largest(self, rank: int) -> Fraction:
        """The *rank*-th largest ratio, counted from 1 with repetition, at most their number."""
        return self.smallest(len(self._quotients) - rank + 1)


def _divide(numerators: NDArray[np.int64], denominators: NDArray[np.int64], scale: int) -> NDArray[np.float64]:
    if len(numerators) == 1:
        return numerators[0] / denominators
    quotients = np.empty(len(denominators), dtype=np.float64)
    for part, tops in join_chunks(numerators):
        # Python divides integers of any size with one rounding; the scale keeps the quotient within a double's range.
        quotients[part] = tops / (denominators[part].astype(object) * scale)
    return quotients
