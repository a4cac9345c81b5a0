"""The whole-cluster sign-flip test, and the interval that inverts that very test.

Under the null hypothesis that the mean is zero, with outcomes that are symmetric about it, each cluster's sum is as
likely to come with the other sign. So the observed total is compared with the totals under all 2^C choices of signs,
or, where C is too large for that, under choices drawn by a registered seed.

A choice of signs splits the clusters in two: those that keep their sign and those that do not. Let P and M be the sums
of the outcomes in the two parts, p and m the numbers of outcomes. Under the hypothesis that the mean is t, the choice
gives a total at least as large in size as the observed one iff ``|(P - t p) - (M - t m)| >= |(P - t p) + (M - t m)|``,
that is iff ``(P - t p)(M - t m) <= 0``: iff t lies between the two parts' means, ends included. A choice that leaves a
part empty always counts. Every such interval contains the pooled mean, so the p-value of t falls on either side of it,
and the values of t that the test does not reject are found by ranking the ends of the intervals.

Source: Fisher, "The Design of Experiments" (1935), chapter III; Hemerik and Goeman, "Exact testing with random
permutations", TEST 27 (2018), for counting the observed assignment among the drawn ones.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.clusters import ClusterSums
from assay.stats.draws import Draws
from assay.stats.exact import read_share
from assay.stats.limbs import IntegerArray, join_chunks, split_limbs
from assay.stats.ratios import Ratios

__all__ = [
    "MOST_EXACT_CLUSTERS",
    "MOST_REPLICATES",
    "Alternative",
    "FlipPlan",
    "Method",
    "SignFlip",
    "SignFlipInterval",
    "sign_flip_interval",
    "sign_flip_test",
]

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
Method: TypeAlias = Literal["exact", "monte-carlo"]

MOST_EXACT_CLUSTERS: Final = 20
MOST_REPLICATES: Final = 1_000_000

_CHUNK: Final = 2**18
"""Signs drawn at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipPlan:
    """How signs are chosen: all choices for few clusters, drawn ones for more.

    Args:
        seed: The registered seed of the draws.
        name: The registered name of their random stream.
        exact_up_to: The largest number of clusters whose choices are all gone through, at most 20.
        replicates: The number of drawn choices otherwise, from 1 to 1,000,000.

    Raises:
        BadInput: A number is out of range.
    """

    seed: int
    name: str = "sign-flip"
    exact_up_to: int = MOST_EXACT_CLUSTERS
    replicates: int = 100_000

    def __post_init__(self) -> None:
        if type(self.exact_up_to) is not int or not 0 <= self.exact_up_to <= MOST_EXACT_CLUSTERS:
            msg = f"the sign-flip test is exact up to 0 to {MOST_EXACT_CLUSTERS} clusters, not {self.exact_up_to!r}"
            raise BadInput(msg)
        if type(self.replicates) is not int or not 1 <= self.replicates <= MOST_REPLICATES:
            msg = f"a number of replicates is a whole number from 1 to {MOST_REPLICATES:,}, not {self.replicates!r}"
            raise BadInput(msg)

    def method_for(self, clusters: ClusterSums) -> Method:
        """How the signs of *clusters* are chosen under this plan."""
        return "exact" if len(clusters) <= self.exact_up_to else "monte-carlo"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """The outcome of a sign-flip test.

    ``p`` is ``at_least_as_extreme / assignments`` where all assignments were gone through, and
    ``(at_least_as_extreme + 1) / (assignments + 1)`` where they were drawn.
    """

    method: Method
    alternative: Alternative
    clusters: int
    assignments: int
    at_least_as_extreme: int
    p: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipInterval:
    """The means that the two-sided sign-flip test does not reject at ``1 - level``; both ends belong to it.

    An end is None where the test rejects nothing on that side, however far out: there are too few clusters.
    """

    lower_exact: Fraction | None
    upper_exact: Fraction | None
    level: float
    method: Method
    clusters: int

    @property
    def lower(self) -> float | None:
        """The lower end, rounded once, in the unit of the outcomes."""
        return None if self.lower_exact is None else float(self.lower_exact)

    @property
    def upper(self) -> float | None:
        """The upper end, rounded once, in the unit of the outcomes."""
        return None if self.upper_exact is None else float(self.upper_exact)


def sign_flip_test(clusters: ClusterSums, plan: FlipPlan, *, alternative: Alternative = "two-sided") -> SignFlip:
    """How often the total under flipped signs is at least as extreme as the observed one.

    Clusters whose sum is zero are among the assignments; they change no exact p-value. In drawn assignment r, cluster c
    (both from 0, clusters in the order of their names) changes its sign iff pick ``r*C + c`` of
    ``Stream(seed, name).below(2)`` is 1.

    Args:
        clusters: Exact sums.
        plan: How signs are chosen.
        alternative: What counts as extreme: totals far from zero, large ones, or small ones.

    Raises:
        BadInput: The plan's seed or name cannot be used.

    Complexity: 2^(C-1) sums, or replicates times C draws; under 100 MB.

    >>> clusters = ClusterSums(ids=tuple("abcdef"), sums=(2, 1, 1, 1, 1, 1), sizes=(2, 1, 2, 1, 2, 1))
    >>> result = sign_flip_test(clusters, FlipPlan(seed=7))
    >>> result.method, result.at_least_as_extreme, result.assignments
    ('exact', 2, 64)
    """
    method = plan.method_for(clusters)
    kept = _choose_kept(_tabulate(clusters), plan, method)
    hits = _count_hits(kept, sum(clusters.sums), method, alternative)
    if method == "exact":
        assignments = 2 ** len(clusters)
        p = Fraction(hits, assignments)
    else:
        assignments = plan.replicates
        p = Fraction(hits + 1, assignments + 1)
    return SignFlip(
        method=method,
        alternative=alternative,
        clusters=len(clusters),
        assignments=assignments,
        at_least_as_extreme=hits,
        p=p,
    )


def sign_flip_interval(clusters: ClusterSums, plan: FlipPlan, *, level: float) -> SignFlipInterval:
    """The interval of the pooled mean that inverts the two-sided :func:`sign_flip_test` of the same plan.

    Zero lies outside it iff that test gives ``p <= 1 - level``, exactly.

    Args:
        clusters: Exact sums.
        plan: How signs are chosen.
        level: The interval's level, strictly between 0 and 1, read as the decimal it shows.

    Raises:
        BadInput: The level, or the plan's seed or name, cannot be used.

    Complexity: As the test.

    >>> clusters = ClusterSums(ids=tuple("abcdef"), sums=(2, 1, 1, 1, 1, 1), sizes=(2, 1, 2, 1, 2, 1))
    >>> interval = sign_flip_interval(clusters, FlipPlan(seed=7), level=0.95)
    >>> interval.lower, interval.upper
    (0.5, 1.0)
    """
    alpha = 1 - read_share(level, "the level of an interval")
    method = plan.method_for(clusters)
    table = _tabulate(clusters)
    kept = _choose_kept(table, plan, method)
    proper = (kept[-1] > 0) & (kept[-1] < clusters.rows)
    # The observed assignment is among those gone through; beside drawn ones it counts as one more.
    choices = len(proper) + (method == "monte-carlo")
    kept = kept[:, proper]
    rank = floor(alpha * choices) + 1 - (choices - kept.shape[1])
    lower, upper = _rank_ends(kept, table.sum(axis=1, keepdims=True), clusters, rank) if rank > 0 else (None, None)
    return SignFlipInterval(lower_exact=lower, upper_exact=upper, level=level, method=method, clusters=len(clusters))


def _tabulate(clusters: ClusterSums) -> NDArray[np.int64]:
    """One column a cluster: the limbs of its sum, and its size; shape (limbs + 1, C)."""
    # The bound covers every product that _mark_lower compares.
    limbs = split_limbs(clusters.sums, sum(map(abs, clusters.sums)) * clusters.rows)
    return np.vstack([limbs, np.array([clusters.sizes], dtype=np.int64)])


def _choose_kept(table: NDArray[np.int64], plan: FlipPlan, method: Method) -> NDArray[np.int64]:
    """For each choice of signs, the total of the columns that keep theirs, shape (limbs + 1, choices)."""
    return _enumerate(table) if method == "exact" else _draw(table, plan)


def _enumerate(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """All 2^(C-1) choices that keep the first cluster's sign."""
    kept = table[:, :1]
    for cluster in range(1, table.shape[1]):
        kept = np.hstack([kept + table[:, cluster : cluster + 1], kept])
    return kept


def _draw(table: NDArray[np.int64], plan: FlipPlan) -> NDArray[np.int64]:
    """The drawn choices, in order."""
    count = table.shape[1]
    draws = Draws(Stream(plan.seed, plan.name).key)
    kept = np.empty((len(table), plan.replicates), dtype=np.int64)
    step = max(1, _CHUNK // count)
    for start in range(0, plan.replicates, step):
        stop = min(start + step, plan.replicates)
        flips = draws.below(2, (stop - start) * count).reshape(-1, count)
        kept[:, start:stop] = table @ (1 - flips).T
    return kept


def _count_hits(kept: NDArray[np.int64], total: int, method: Method, alternative: Alternative) -> int:
    """How many assignments give a total at least as extreme as the observed one."""
    hits = 0
    for _, sums in join_chunks(kept[:-1]):
        flipped = 2 * sums - total
        hits += _count_extreme(flipped, total, alternative)
        if method == "exact":
            # The choices gone through all keep the first sign; each stands for its mirror image too.
            hits += _count_extreme(-flipped, total, alternative)
    return hits


def _count_extreme(flipped: IntegerArray, total: int, alternative: Alternative) -> int:
    match alternative:
        case "two-sided":
            return int(np.count_nonzero(abs(flipped) >= abs(total)))
        case "greater":
            return int(np.count_nonzero(flipped >= total))
        case "less":
            return int(np.count_nonzero(flipped <= total))


def _rank_ends(
    kept: NDArray[np.int64], whole: NDArray[np.int64], clusters: ClusterSums, rank: int
) -> tuple[Fraction, Fraction]:
    """The rank-th smallest lower end and the rank-th largest upper end of the intervals of the splits."""
    low = _mark_lower(kept, clusters)
    ends = whole - kept
    np.copyto(ends, kept, where=low)
    lower = Ratios(ends[:-1], ends[-1], scale=clusters.scale).smallest(rank)
    np.subtract(whole, ends, out=ends)
    upper = Ratios(ends[:-1], ends[-1], scale=clusters.scale).largest(rank)
    return lower, upper


def _mark_lower(kept: NDArray[np.int64], clusters: ClusterSums) -> NDArray[np.bool_]:
    """Where the mean of the clusters kept is the lower end: where it is at most the pooled mean."""
    total = sum(clusters.sums)
    low = np.empty(kept.shape[1], dtype=np.bool_)
    for part, sums in join_chunks(kept[:-1]):
        sizes: IntegerArray = kept[-1, part] if sums.dtype == np.int64 else kept[-1, part].astype(object)
        low[part] = sums * clusters.rows <= sizes * total
    return low
