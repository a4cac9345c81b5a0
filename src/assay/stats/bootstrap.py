"""The whole-cluster percentile bootstrap of a pooled mean.

Clusters, not rows, are drawn with replacement, because rows of one cluster are not independent of one another. With few
clusters the interval is too short (a simulation of the design says by how much); the interval that inverts the
sign-flip test in :mod:`assay.stats.sign_flip` is exact there.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3; Field and Welsh, "Bootstrapping
clustered data", J. R. Statist. Soc. B 69 (2007).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.clusters import ClusterSums, TooFewClusters
from assay.stats.draws import Draws
from assay.stats.exact import read_share
from assay.stats.limbs import split_limbs
from assay.stats.ratios import Ratios

__all__ = ["MOST_RESAMPLES", "BootstrapInterval", "PercentileIndexes", "bootstrap_mean", "percentile_indexes"]

MOST_RESAMPLES: Final = 1_000_000

_CHUNK: Final = 2**18
"""Picks held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapInterval:
    """A percentile interval of the pooled mean; both ends belong to it."""

    lower_exact: Fraction
    upper_exact: Fraction
    level: float
    resamples: int
    clusters: int

    @property
    def lower(self) -> float:
        """The lower end, rounded once, in the unit of the outcomes."""
        return float(self.lower_exact)

    @property
    def upper(self) -> float:
        """The upper end, rounded once, in the unit of the outcomes."""
        return float(self.upper_exact)


class PercentileIndexes(NamedTuple):
    """Which of the sorted statistics, counted from 0, are the ends of a percentile interval."""

    lower: int
    upper: int


def percentile_indexes(level: float, resamples: int) -> PercentileIndexes:
    """``floor(a/2 * B)`` and ``ceil((1 - a/2) * B) - 1`` for ``a = 1 - level``, computed exactly.

    The upper index is kept between the lower one and ``B - 1``.

    Args:
        level: The interval's level, strictly between 0 and 1, read as the decimal it shows.
        resamples: B, from 1 to 1,000,000.

    Raises:
        BadInput: One of them is out of range.

    >>> percentile_indexes(0.95, 10_000)
    PercentileIndexes(lower=250, upper=9749)
    """
    if type(resamples) is not int or not 1 <= resamples <= MOST_RESAMPLES:
        msg = f"a number of resamples is a whole number from 1 to {MOST_RESAMPLES:,}, not {resamples!r}"
        raise BadInput(msg)
    tail = (1 - read_share(level, "the level of an interval")) / 2
    lower = floor(tail * resamples)
    return PercentileIndexes(lower, min(max(ceil((1 - tail) * resamples) - 1, lower), resamples - 1))


def bootstrap_mean(
    clusters: ClusterSums, *, level: float, resamples: int, seed: int, name: str = "bootstrap"
) -> BootstrapInterval:
    """The percentile interval of the pooled mean under whole-cluster resampling.

    Resample r takes the clusters at picks ``r*C`` to ``r*C + C - 1`` of ``Stream(seed, name).below(C)`` (C clusters, in
    the order of their names); its statistic is the sum of their sums over the sum of their sizes.

    Args:
        clusters: Exact sums, at least two clusters.
        level: The interval's level, strictly between 0 and 1, read as the decimal it shows.
        resamples: Number of draws of C clusters, from 1 to 1,000,000.
        seed: The registered seed.
        name: The registered name of the random stream.

    Raises:
        TooFewClusters: There is only one.
        BadInput: The level, the number of resamples, the seed or the name cannot be used.

    Complexity: resamples times clusters draws; memory for the statistics and little more.

    >>> two = ClusterSums(ids=("a", "b"), sums=(3, 0), sizes=(3, 1))
    >>> interval = bootstrap_mean(two, level=0.9, resamples=1000, seed=7)
    >>> interval.lower, interval.upper
    (0.0, 1.0)
    """
    indexes = percentile_indexes(level, resamples)
    if len(clusters) < 2:
        msg = "the bootstrap resamples whole clusters and there is only one; it needs at least 2"
        raise TooFewClusters(msg, clusters=len(clusters))
    sums, sizes = _resample(clusters, Draws(Stream(seed, name).key), resamples)
    means = Ratios(sums, sizes, scale=clusters.scale)
    return BootstrapInterval(
        lower_exact=means.smallest(indexes.lower + 1),
        upper_exact=means.smallest(indexes.upper + 1),
        level=level,
        resamples=resamples,
        clusters=len(clusters),
    )


def _resample(clusters: ClusterSums, draws: Draws, resamples: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum (as limbs) and the size of every resample, in order."""
    count = len(clusters)
    limbs = split_limbs(clusters.sums, max(map(abs, clusters.sums)) * count)
    columns = np.vstack([limbs, np.array([clusters.sizes], dtype=np.int64)])
    totals = np.empty((len(columns), resamples), dtype=np.int64)
    step = max(1, _CHUNK // count)
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        picks = draws.below(count, (stop - start) * count).reshape(-1, count)
        for column, total in zip(columns, totals, strict=True):
            total[start:stop] = column[picks].sum(axis=1)
    return totals[:-1], totals[-1]
