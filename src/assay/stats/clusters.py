"""Outcomes summed within clusters: all that a whole-cluster test or interval needs to know."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from assay.kernel.errors import BadInput, Refused
from assay.stats.exact import scale_to_integers

__all__ = ["ClusterSums", "TooFewClusters", "sum_clusters", "sum_paired_clusters"]

_LARGEST: Final = int(sys.float_info.max)
_MOST_ROWS: Final = 2**27  # any resample of whole clusters then has fewer than 2^53 rows, which a double holds


class TooFewClusters(Refused):
    """Fewer clusters than the method needs: resampling them would only repeat what was seen."""

    code: ClassVar[str] = "too-few-clusters"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSums:
    """Exact sums of outcomes by cluster.

    Args:
        ids: Names of the clusters, rising by code point, so that no order of rows shows in a seeded result.
        sums: Sum of the outcomes of each cluster, times *scale*.
        sizes: Number of outcomes in each cluster, at least 1.
        scale: The power of ten that makes every outcome whole.

    Raises:
        BadInput: There is no cluster, the lengths differ, the names do not rise, or a number is out of range.

    >>> clusters = ClusterSums(ids=("a", "b"), sums=(15, -5), sizes=(3, 1), scale=10)
    >>> clusters.estimate, len(clusters)
    (Fraction(1, 4), 2)
    """

    ids: tuple[str, ...]
    sums: tuple[int, ...]
    sizes: tuple[int, ...]
    scale: int = 1

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.sums) == len(self.sizes):
            msg = f"{len(self.ids)} cluster names came with {len(self.sums)} sums and {len(self.sizes)} sizes"
            raise BadInput(msg)
        if not self.ids:
            msg = "there is no cluster to compute from; at least one row is needed"
            raise BadInput(msg)
        if any(left >= right for left, right in zip(self.ids, self.ids[1:], strict=False)):
            msg = "cluster names must rise by code point, each once"
            raise BadInput(msg)
        if self.scale < 1 or min(self.sizes) < 1 or self.rows >= _MOST_ROWS:
            msg = "a scale and every cluster's size are at least 1, and the sizes add up to less than 2^27"
            raise BadInput(msg)
        if any(abs(s) > _LARGEST * self.scale * n for s, n in zip(self.sums, self.sizes, strict=True)):
            msg = "a cluster's mean is beyond what a double can hold; rescale the outcomes"
            raise BadInput(msg)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> int:
        """The number of outcomes in all clusters."""
        return sum(self.sizes)

    @property
    def estimate(self) -> Fraction:
        """The pooled mean: the sum of all outcomes over their number, so that large clusters weigh more."""
        return Fraction(sum(self.sums), self.scale * self.rows)


def sum_clusters(ids: Sequence[str], outcomes: Sequence[float]) -> ClusterSums:
    """The outcomes of rows, summed by cluster.

    Args:
        ids: The cluster of each row.
        outcomes: The outcome of each row, read as the decimal it shows; true and false are 1 and 0.

    Raises:
        BadInput: There is no row, the lengths differ, or an outcome is not a finite number.

    >>> sum_clusters(["b", "a", "b"], [0.1, True, 0.2])
    ClusterSums(ids=('a', 'b'), sums=(10, 3), sizes=(1, 2), scale=10)
    """
    scaled = scale_to_integers(outcomes)
    return _group(ids, scaled.values, scaled.scale)


def sum_paired_clusters(ids: Sequence[str], treatment: Sequence[float], control: Sequence[float]) -> ClusterSums:
    """The differences, treatment less control, of pairs, summed by cluster.

    Args:
        ids: The cluster of each pair.
        treatment: The treatment arm's outcome of each pair.
        control: The control arm's outcome of each pair.

    Raises:
        BadInput: As :func:`sum_clusters`.

    >>> sum_paired_clusters(["a", "a"], [0.3, 1], [0.1, 1])
    ClusterSums(ids=('a',), sums=(2,), sizes=(2,), scale=10)
    """
    if len(treatment) != len(control):
        msg = f"{len(treatment)} outcomes of the treatment came with {len(control)} of the control; they go in pairs"
        raise BadInput(msg)
    scaled = scale_to_integers([*treatment, *control])
    pairs = zip(scaled.values[: len(treatment)], scaled.values[len(treatment) :], strict=True)
    return _group(ids, [treated - untreated for treated, untreated in pairs], scaled.scale)


def _group(ids: Sequence[str], values: Sequence[int], scale: int) -> ClusterSums:
    if len(ids) != len(values):
        msg = f"{len(ids)} cluster names came with {len(values)} outcomes; every row has one of each"
        raise BadInput(msg)
    members: defaultdict[str, list[int]] = defaultdict(list)
    for name, value in zip(ids, values, strict=True):
        members[name].append(value)
    names = tuple(sorted(members))
    return ClusterSums(
        ids=names,
        sums=tuple(sum(members[name]) for name in names),
        sizes=tuple(len(members[name]) for name in names),
        scale=scale,
    )
