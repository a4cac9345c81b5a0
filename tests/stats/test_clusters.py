"""Sums by cluster are exact and forget the order of rows."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput, Refused
from assay.stats.clusters import ClusterSums, TooFewClusters, sum_clusters, sum_paired_clusters
from assay.stats.exact import read_fraction

outcomes = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(-1e6, 1e6))
rows = st.lists(st.tuples(st.sampled_from("abcd"), outcomes), min_size=1, max_size=12)
pairs = st.lists(st.tuples(st.sampled_from("abcd"), outcomes, outcomes), min_size=1, max_size=12)


@given(rows, st.randoms(use_true_random=False))
def test_sums_are_exact_in_any_order_of_rows(rows: list[tuple[str, float]], shuffler: Any) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    clusters = sum_clusters(*zip(*rows, strict=True))
    assert clusters == sum_clusters(*zip(*shuffled, strict=True))
    assert clusters.estimate == sum(read_fraction(value) for _, value in rows) / len(rows)
    for name, total, size in zip(clusters.ids, clusters.sums, clusters.sizes, strict=True):
        members = [read_fraction(value) for cluster, value in rows if cluster == name]
        assert (Fraction(total, clusters.scale), size) == (sum(members), len(members))


@given(pairs)
def test_paired_sums_are_of_exact_differences(pairs: list[tuple[str, float, float]]) -> None:
    clusters = sum_paired_clusters(*zip(*pairs, strict=True))
    differences = [read_fraction(treated) - read_fraction(control) for _, treated, control in pairs]
    assert clusters.estimate == sum(differences) / len(pairs)
    assert clusters.rows == len(pairs)


def test_a_difference_of_decimals_is_no_difference_of_doubles() -> None:
    assert sum_paired_clusters(["a"], [0.3], [0.1]).estimate == Fraction(1, 5)
    assert 0.3 - 0.1 != 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": (), "sums": (), "sizes": ()}, "no cluster"),
        ({"sizes": (1,)}, "1 sizes"),
        ({"sums": (1, 2, 3)}, "3 sums"),
        ({"ids": ("b", "a")}, "rise"),
        ({"ids": ("a", "a")}, "rise"),
        ({"sizes": (1, 0)}, "at least 1"),
        ({"sizes": (1, 2**27)}, "at least 1"),
        ({"scale": 0}, "at least 1"),
        ({"sums": (1, 2 * 10**308)}, "rescale"),
    ],
)
def test_refuses_sums_that_mean_nothing(changes: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"ids": ("a", "b"), "sums": (1, 2), "sizes": (1, 1), "scale": 1}
    ClusterSums(**good)
    with pytest.raises(BadInput, match=message):
        ClusterSums(**good | changes)


def test_refuses_rows_of_unequal_number() -> None:
    with pytest.raises(BadInput, match="every row"):
        sum_clusters(["a"], [1, 2])
    with pytest.raises(BadInput, match="in pairs"):
        sum_paired_clusters(["a"], [1], [1, 2])
    with pytest.raises(BadInput, match="no cluster"):
        sum_clusters([], [])


def test_too_few_clusters_is_a_refusal_with_a_code() -> None:
    assert issubclass(TooFewClusters, Refused)
    assert TooFewClusters.code == "too-few-clusters"
