"""The bootstrap is the one that a plain reading of its rule gives."""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.bootstrap import MOST_RESAMPLES, bootstrap_mean, percentile_indexes
from assay.stats.clusters import ClusterSums, TooFewClusters
from assay.stats.draws import Draws

LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@st.composite
def cluster_sums(draw: st.DrawFn, largest: int = 12) -> ClusterSums:
    count = draw(st.integers(2, 6))
    sums = st.lists(st.integers(-largest, largest), min_size=count, max_size=count)
    sizes = st.lists(st.integers(1, 9), min_size=count, max_size=count)
    return ClusterSums(ids=tuple("abcdef"[:count]), sums=tuple(draw(sums)), sizes=tuple(draw(sizes)), scale=10)


def resample_plainly(clusters: ClusterSums, picks: list[int]) -> list[Fraction]:
    means: list[Fraction] = []
    for start in range(0, len(picks), len(clusters)):
        drawn = picks[start : start + len(clusters)]
        size = sum(clusters.sizes[pick] for pick in drawn)
        means.append(Fraction(sum(clusters.sums[pick] for pick in drawn), clusters.scale * size))
    return sorted(means)


@settings(max_examples=25)
@given(
    st.one_of(cluster_sums(), cluster_sums(largest=10**40)),
    st.sampled_from(LEVELS),
    st.integers(1, 60),
    st.integers(0, 2**53 - 1),
)
def test_ends_are_those_of_a_plain_reading(clusters: ClusterSums, level: float, resamples: int, seed: int) -> None:
    interval = bootstrap_mean(clusters, level=level, resamples=resamples, seed=seed, name="n")
    stream = Stream(seed, "n")
    means = resample_plainly(clusters, [stream.below(len(clusters)) for _ in range(resamples * len(clusters))])
    lower, upper = percentile_indexes(level, resamples)
    assert (interval.lower_exact, interval.upper_exact) == (means[lower], means[upper])
    assert (interval.lower, interval.upper) == (float(means[lower]), float(means[upper]))
    assert (interval.level, interval.resamples, interval.clusters) == (level, resamples, len(clusters))


def test_the_pieces_that_draws_are_taken_in_do_not_show() -> None:
    clusters = ClusterSums(ids=tuple("abcdefg"), sums=(5, -3, 2, 8, 0, 1, -1), sizes=(3, 2, 5, 4, 1, 1, 2))
    resamples = 2**18 // 7 + 5
    interval = bootstrap_mean(clusters, level=0.9, resamples=resamples, seed=7)
    picks = Draws(Stream(7, "bootstrap").key).below(7, resamples * 7)
    means = resample_plainly(clusters, picks.tolist())
    lower, upper = percentile_indexes(0.9, resamples)
    assert (interval.lower_exact, interval.upper_exact) == (means[lower], means[upper])


@given(cluster_sums())
def test_large_numbers_take_another_way_to_the_same_ends(clusters: ClusterSums) -> None:
    wide = ClusterSums(
        ids=clusters.ids,
        sums=tuple(total * 10**25 for total in clusters.sums),
        sizes=clusters.sizes,
        scale=clusters.scale * 10**25,
    )
    assert bootstrap_mean(wide, level=0.8, resamples=40, seed=7) == bootstrap_mean(
        clusters, level=0.8, resamples=40, seed=7
    )


def test_seed_and_name_matter_and_nothing_else_does() -> None:
    clusters = ClusterSums(ids=tuple("abcde"), sums=(5, -3, 2, 8, 0), sizes=(3, 2, 5, 4, 1))
    first = bootstrap_mean(clusters, level=0.8, resamples=30, seed=7, name="n")
    assert first == bootstrap_mean(clusters, level=0.8, resamples=30, seed=7, name="n")
    assert first != bootstrap_mean(clusters, level=0.8, resamples=30, seed=8, name="n")
    assert first != bootstrap_mean(clusters, level=0.8, resamples=30, seed=7, name="m")


def test_known_answer() -> None:
    clusters = ClusterSums(ids=tuple("abcde"), sums=(5, -3, 2, 8, 0), sizes=(3, 2, 5, 4, 1))
    interval = bootstrap_mean(clusters, level=0.95, resamples=2000, seed=20260810)
    assert (interval.lower_exact, interval.upper_exact) == (Fraction(-4, 11), Fraction(26, 15))


@given(st.sampled_from(LEVELS), st.integers(1, 20_000))
def test_indexes_follow_the_rule_exactly(level: float, resamples: int) -> None:
    tail = (1 - Fraction(repr(level))) / 2
    lower, upper = percentile_indexes(level, resamples)
    assert lower == floor(tail * resamples)
    assert upper == max(lower, min(ceil((1 - tail) * resamples) - 1, resamples - 1))
    assert 0 <= lower <= upper < resamples


def test_a_level_is_its_decimal_where_doubles_would_slip() -> None:
    # In doubles 1 - 0.8 is a little less than a fifth, and the floor would fall to 0.
    assert floor((1 - 0.8) / 2 * 10) == 0
    assert percentile_indexes(0.8, 10) == (1, 8)


def test_one_cluster_is_refused() -> None:
    with pytest.raises(TooFewClusters, match="at least 2"):
        bootstrap_mean(ClusterSums(ids=("a",), sums=(1,), sizes=(3,)), level=0.95, resamples=10, seed=7)


@pytest.mark.parametrize(
    "changes",
    [
        {"level": 1.0},
        {"level": 0},
        {"resamples": 0},
        {"resamples": MOST_RESAMPLES + 1},
        {"resamples": 2.0},
        {"seed": -1},
    ],
)
def test_refuses_rules_that_cannot_be_run(changes: dict[str, Any]) -> None:
    good: dict[str, Any] = {"level": 0.95, "resamples": 10, "seed": 7}
    clusters = ClusterSums(ids=("a", "b"), sums=(1, 0), sizes=(3, 1))
    bootstrap_mean(clusters, **good)
    with pytest.raises(BadInput):
        bootstrap_mean(clusters, **good | changes)
