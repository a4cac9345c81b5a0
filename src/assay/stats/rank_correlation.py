"""Spearman's rank correlation with an exact permutation test and an interval.

Ranks of ties are averaged and counted double, so that everything a test decides on is a whole number. Under the
hypothesis that the two orders have nothing to do with each other every pairing of them is equally likely: up to ten
pairs all pairings are gone through, beyond that they are drawn by a registered seed.

The interval and the approximate p-value describe; they decide nothing.

Source: Spearman, "The proof and measurement of association between two things", American Journal of Psychology 15
(1904); Bonett and Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
Psychometrika 65 (2000), for the variance of the transformed coefficient; Abramowitz and Stegun, "Handbook of
Mathematical Functions", 26.7.3 and 26.7.4, for the t distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import asin, factorial, fsum, pi, sqrt
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.draws import Draws
from assay.stats.exact import read_fraction, read_share

__all__ = [
    "MOST_EXACT_PAIRS",
    "MOST_PAIRS",
    "Direction",
    "PermutationPlan",
    "RankCorrelation",
    "RankInterval",
    "approximate_p",
    "rank_correlation",
    "rank_interval",
]

Direction: TypeAlias = Literal["two-sided", "greater", "less"]
Integers: TypeAlias = NDArray[np.int64]

MOST_EXACT_PAIRS: Final = 10
MOST_PAIRS: Final = 10_000
MOST_PERMUTATIONS: Final = 1_000_000

_CHUNK_WORDS: Final = 2**20
_PLACES: Final = 10
_LEAST_PAIRS_OF_INTERVAL: Final = 4
"""The variance divides by the number of pairs less 3."""
_DECIMAL: Final = Context(prec=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationPlan:
    """How pairings are chosen: all of them for few pairs, drawn ones for more.

    Args:
        seed: The registered seed of the draws.
        name: The registered name of their random stream.
        exact_up_to: The largest number of pairs whose pairings are all gone through, at most 10.
        permutations: The number of drawn pairings otherwise, from 1 to 1,000,000.

    Raises:
        BadInput: A number is out of range.
    """

    seed: int
    name: str = "rank-correlation"
    exact_up_to: int = MOST_EXACT_PAIRS
    permutations: int = 100_000

    def __post_init__(self) -> None:
        if type(self.exact_up_to) is not int or not 0 <= self.exact_up_to <= MOST_EXACT_PAIRS:
            msg = f"the permutation test is exact up to 0 to {MOST_EXACT_PAIRS} pairs, not {self.exact_up_to!r}"
            raise BadInput(msg)
        if type(self.permutations) is not int or not 1 <= self.permutations <= MOST_PERMUTATIONS:
            msg = f"a number of permutations is from 1 to {MOST_PERMUTATIONS:,}, not {self.permutations!r}"
            raise BadInput(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """Spearman's coefficient and its permutation test.

    ``p`` is ``at_least_as_extreme / permutations`` where all pairings were gone through, and
    ``(at_least_as_extreme + 1) / (permutations + 1)`` where they were drawn.
    """

    pairs: int
    rho: float
    method: Literal["exact", "monte-carlo"]
    direction: Direction
    permutations: int
    at_least_as_extreme: int
    p: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RankInterval:
    """An approximate interval for a rank correlation: Fisher's z with the variance of Bonett and Wright."""

    lower: float
    upper: float
    level: float


def rank_correlation(
    first: Sequence[float | Fraction],
    second: Sequence[float | Fraction],
    plan: PermutationPlan,
    *,
    direction: Direction = "two-sided",
) -> RankCorrelation | None:
    """The rank correlation of pairs, or None where one of the two holds one value alone: it orders nothing.

    Drawn pairing r gives to place i of *second* the place that word ``r * n + i`` (from 0) of ``Stream(seed, name)``
    has among the n words of r, the first of equal words first.

    Args:
        first: One number of each pair.
        second: The other number of each pair.
        plan: How pairings are chosen.
        direction: What counts as extreme: coefficients far from zero, large ones, or small ones.

    Raises:
        BadInput: There are not as many numbers on both sides, fewer than 2 or more than 10,000 pairs, or a number that
            is not finite.

    Complexity: n 2^n sums of arrays, or *permutations* sorts of n words.

    >>> result = rank_correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], PermutationPlan(seed=7))
    >>> result.rho, result.method, result.p
    (0.8, 'exact', Fraction(2, 15))
    """
    if len(first) != len(second) or not 2 <= len(first) <= MOST_PAIRS:
        msg = f"a rank correlation takes 2 to {MOST_PAIRS:,} pairs, not {len(first)} against {len(second)} numbers"
        raise BadInput(msg)
    left, right = _rank(first), _rank(second)
    spread = _covary(left, left) * _covary(right, right)
    if not spread:
        return None
    observed = _covary(left, right)
    exact = len(first) <= plan.exact_up_to
    hits = _count_all(left, right, observed, direction) if exact else _count_drawn(left, right, plan, direction)
    permutations = factorial(len(first)) if exact else plan.permutations
    return RankCorrelation(
        pairs=len(first),
        rho=float(_DECIMAL.divide(Decimal(observed), _DECIMAL.sqrt(Decimal(spread)))),
        method="exact" if exact else "monte-carlo",
        direction=direction,
        permutations=permutations,
        at_least_as_extreme=hits,
        p=Fraction(hits, permutations) if exact else Fraction(hits + 1, permutations + 1),
    )


def rank_interval(rho: float, pairs: int, *, level: float = 0.95) -> RankInterval | None:
    """An interval about *rho*, or None where there is none: fewer than 4 pairs, or a coefficient of 1 or -1.

    It is approximate; ``level`` is its nominal coverage.

    Raises:
        BadInput: The level does not lie strictly between 0 and 1, or *rho* not between -1 and 1.

    >>> rank_interval(-0.421, 29)
    RankInterval(lower=-0.6910474688, upper=-0.0478192636, level=0.95)
    """
    _require_coefficient(rho)
    tail = (1 - read_share(level, "the level of an interval")) / 2
    if pairs < _LEAST_PAIRS_OF_INTERVAL or abs(rho) == 1:
        return None
    # Logarithms, roots and exponentials of decimals are rounded correctly, so they are the same on any machine.
    with localcontext(_DECIMAL):
        r = Decimal(repr(float(rho)))
        z = ((1 + r) / (1 - r)).ln() / 2
        reach = Decimal(repr(round(NormalDist().inv_cdf(1 - float(tail)), _PLACES)))
        reach *= ((1 + r * r / 2) / (pairs - 3)).sqrt()
        return RankInterval(lower=_untransform(z - reach), upper=_untransform(z + reach), level=level)


def approximate_p(rho: float, pairs: int) -> float:
    """The two-sided p-value of *rho* by the t distribution with ``pairs - 2`` degrees of freedom, to ten places.

    It is what most programs print, and it serves to read published coefficients whose data are not at hand.

    Raises:
        BadInput: There are fewer than 3 pairs or more than 10,000, or *rho* does not lie between -1 and 1.

    >>> approximate_p(-0.421, 29)
    0.0229479623
    """
    _require_coefficient(rho)
    freedom = pairs - 2
    if not 1 <= freedom <= MOST_PAIRS - 2:
        msg = f"the t distribution is computed for 3 to {MOST_PAIRS} pairs, not {pairs}"
        raise BadInput(msg)
    # With t = rho sqrt(freedom / (1 - rho^2)), the handbook's angle has the sine rho.
    sine, square = abs(rho), 1 - rho * rho
    odd = freedom % 2
    terms: list[float] = []
    term = sqrt(square) if odd else 1.0
    for step in range(2 + odd, freedom + 1, 2):
        terms.append(term)
        term *= square * (step - 1) / step
    within = sine * fsum(terms)
    inside = 2 / pi * (asin(sine) + within) if odd else within
    return round(max(0.0, 1 - inside), _PLACES)


def _require_coefficient(rho: float) -> None:
    if not -1 <= rho <= 1:
        msg = f"a correlation lies between -1 and 1, which {rho!r} does not"
        raise BadInput(msg)


def _untransform(z: Decimal) -> float:
    grown = (2 * z).exp()
    return round(float((grown - 1) / (grown + 1)), _PLACES)


def _rank(numbers: Sequence[float | Fraction]) -> Integers:
    """Twice the average rank of each number, counted from 1."""
    exact = [number if isinstance(number, Fraction) else read_fraction(number) for number in numbers]
    ordered = sorted(exact)
    first: dict[Fraction, int] = {}
    count: dict[Fraction, int] = {}
    for place, number in enumerate(ordered):
        first.setdefault(number, place)
        count[number] = count.get(number, 0) + 1
    return np.array([2 * first[number] + count[number] + 1 for number in exact], dtype=np.int64)


def _covary(left: Integers, right: Integers) -> int:
    """The covariance of doubled ranks, times a number that depends on how many they are alone."""
    return len(left) * int(left @ right) - int(left.sum()) * int(right.sum())


def _count_extreme(totals: Integers, observed: int, direction: Direction) -> NDArray[np.bool_]:
    if direction == "greater":
        return totals >= observed
    if direction == "less":
        return totals <= observed
    return np.abs(totals) >= abs(observed)


def _count_all(left: Integers, right: Integers, observed: int, direction: Direction) -> int:
    """How many of all pairings are extreme: those of the first k places, by the partners they use and their sum."""
    size = len(left)
    longest = int(np.sort(left) @ np.sort(right)) + 1
    ways = np.zeros((2**size, longest), dtype=np.int64)
    ways[0, 0] = 1
    for used in range(1, 2**size):
        place = used.bit_count() - 1
        for partner in range(size):
            if used >> partner & 1:
                step = int(left[place] * right[partner])
                ways[used, step:] += ways[used ^ (1 << partner), : longest - step]
    totals = size * np.arange(longest, dtype=np.int64) - int(left.sum()) * int(right.sum())
    return int(ways[-1][_count_extreme(totals, observed, direction)].sum())


def _count_drawn(left: Integers, right: Integers, plan: PermutationPlan, direction: Direction) -> int:
    size, hits = len(left), 0
    observed, shift = _covary(left, right), int(left.sum()) * int(right.sum())
    draws = Draws(Stream(plan.seed, plan.name).key)
    chunk = max(1, _CHUNK_WORDS // size)
    for start in range(0, plan.permutations, chunk):
        count = min(chunk, plan.permutations - start)
        places = np.argsort(draws.raw(count * size).reshape(count, size), axis=1, kind="stable")
        totals = size * (right[places] @ left) - shift
        hits += int(np.count_nonzero(_count_extreme(totals, observed, direction)))
    return hits
