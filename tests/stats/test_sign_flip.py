"""The sign-flip test counts what it says, and its interval holds exactly the means that the test does not reject."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.clusters import ClusterSums
from assay.stats.sign_flip import Alternative, FlipPlan, sign_flip_interval, sign_flip_test

EXACT = FlipPlan(seed=7)
LEVELS = [0.5, 0.6, 0.75, 0.875, 0.9, 0.95, 0.99]

Signs = tuple[int, ...]


@st.composite
def cluster_sums(draw: st.DrawFn, most: int = 6, largest: int = 4) -> ClusterSums:
    count = draw(st.integers(1, most))
    sums = st.lists(st.integers(-largest, largest), min_size=count, max_size=count)
    sizes = st.lists(st.integers(1, 4), min_size=count, max_size=count)
    return ClusterSums(ids=tuple("abcdefgh"[:count]), sums=tuple(draw(sums)), sizes=tuple(draw(sizes)), scale=10)


def all_signs(clusters: ClusterSums) -> list[Signs]:
    return list(product([1, -1], repeat=len(clusters)))


def drawn_signs(clusters: ClusterSums, plan: FlipPlan) -> list[Signs]:
    stream = Stream(plan.seed, plan.name)
    return [tuple(1 - 2 * stream.below(2) for _ in clusters.ids) for _ in range(plan.replicates)]


def shift(clusters: ClusterSums, mean: Fraction) -> list[Fraction]:
    return [
        Fraction(total, clusters.scale) - mean * size for total, size in zip(clusters.sums, clusters.sizes, strict=True)
    ]


def count_extreme(clusters: ClusterSums, signs: list[Signs], mean: Fraction, alternative: Alternative) -> int:
    sums = shift(clusters, mean)
    observed = sum(sums)
    totals = [sum(sign * value for sign, value in zip(choice, sums, strict=True)) for choice in signs]
    if alternative == "greater":
        return sum(total >= observed for total in totals)
    if alternative == "less":
        return sum(total <= observed for total in totals)
    return sum(abs(total) >= abs(observed) for total in totals)


def p_of(clusters: ClusterSums, plan: FlipPlan, mean: Fraction, alternative: Alternative = "two-sided") -> Fraction:
    """The p-value of a mean, by going through the definition."""
    if len(clusters) <= plan.exact_up_to:
        signs = all_signs(clusters)
        return Fraction(count_extreme(clusters, signs, mean, alternative), len(signs))
    hits = count_extreme(clusters, drawn_signs(clusters, plan), mean, alternative)
    return Fraction(hits + 1, plan.replicates + 1)


def telling_means(clusters: ClusterSums) -> Iterator[Fraction]:
    """Every mean at which a p-value can change, one between each two of them, and one beyond either end."""
    turns = {clusters.estimate, Fraction(0)}
    for choice in all_signs(clusters):
        for side in (1, -1):
            part = [place for place, sign in enumerate(choice) if sign == side]
            size = sum(clusters.sizes[place] for place in part)
            if size:
                turns.add(Fraction(sum(clusters.sums[place] for place in part), clusters.scale * size))
    ordered = sorted(turns)
    yield from (ordered[0] - 1, *ordered, ordered[-1] + 1)
    yield from ((left + right) / 2 for left, right in pairwise(ordered))


def assert_inverts(clusters: ClusterSums, plan: FlipPlan, level: float) -> None:
    interval = sign_flip_interval(clusters, plan, level=level)
    alpha = 1 - Fraction(repr(level))
    for mean in telling_means(clusters):
        above = interval.lower_exact is None or mean >= interval.lower_exact
        below = interval.upper_exact is None or mean <= interval.upper_exact
        assert (above and below) == (p_of(clusters, plan, mean) > alpha), mean


@given(cluster_sums(), st.sampled_from(["two-sided", "greater", "less"]))
def test_exact_p_is_the_share_of_all_assignments(clusters: ClusterSums, alternative: Alternative) -> None:
    result = sign_flip_test(clusters, EXACT, alternative=alternative)
    signs = all_signs(clusters)
    assert result.method == "exact"
    assert result.assignments == len(signs)
    assert result.at_least_as_extreme == count_extreme(clusters, signs, Fraction(0), alternative)
    assert result.p == Fraction(result.at_least_as_extreme, result.assignments)


@given(cluster_sums(), st.sampled_from(["two-sided", "greater", "less"]), st.integers(0, 2**53 - 1), st.integers(1, 30))
def test_drawn_p_counts_the_observed_assignment_too(
    clusters: ClusterSums, alternative: Alternative, seed: int, replicates: int
) -> None:
    plan = FlipPlan(seed=seed, exact_up_to=0, replicates=replicates)
    result = sign_flip_test(clusters, plan, alternative=alternative)
    hits = count_extreme(clusters, drawn_signs(clusters, plan), Fraction(0), alternative)
    assert (result.method, result.assignments, result.at_least_as_extreme) == ("monte-carlo", replicates, hits)
    assert result.p == Fraction(hits + 1, replicates + 1)


@given(cluster_sums(most=5), st.sampled_from(LEVELS))
def test_exact_interval_holds_the_means_that_are_not_rejected(clusters: ClusterSums, level: float) -> None:
    assert_inverts(clusters, EXACT, level)


@settings(max_examples=25)
@given(cluster_sums(most=4), st.sampled_from(LEVELS), st.integers(0, 100), st.integers(1, 24))
def test_drawn_interval_holds_the_means_that_are_not_rejected(
    clusters: ClusterSums, level: float, seed: int, replicates: int
) -> None:
    assert_inverts(clusters, FlipPlan(seed=seed, exact_up_to=0, replicates=replicates), level)


@given(cluster_sums(), st.sampled_from(LEVELS), st.sampled_from([0, 20]))
def test_zero_is_outside_iff_the_test_rejects(clusters: ClusterSums, level: float, exact_up_to: int) -> None:
    plan = FlipPlan(seed=7, exact_up_to=exact_up_to, replicates=50)
    interval = sign_flip_interval(clusters, plan, level=level)
    outside = (interval.lower_exact is not None and interval.lower_exact > 0) or (
        interval.upper_exact is not None and interval.upper_exact < 0
    )
    assert outside == (sign_flip_test(clusters, plan).p <= 1 - Fraction(repr(level)))


@given(cluster_sums(), st.sampled_from([0, 20]), st.sampled_from(LEVELS))
def test_large_numbers_take_another_way_to_the_same_result(
    clusters: ClusterSums, exact_up_to: int, level: float
) -> None:
    plan = FlipPlan(seed=7, exact_up_to=exact_up_to, replicates=50)
    wide = ClusterSums(
        ids=clusters.ids,
        sums=tuple(total * 10**25 for total in clusters.sums),
        sizes=clusters.sizes,
        scale=clusters.scale * 10**25,
    )
    assert sign_flip_test(wide, plan) == sign_flip_test(clusters, plan)
    assert sign_flip_interval(wide, plan, level=level) == sign_flip_interval(clusters, plan, level=level)


@given(cluster_sums(most=4, largest=10**30), st.sampled_from(LEVELS))
def test_the_interval_is_exact_for_large_numbers(clusters: ClusterSums, level: float) -> None:
    assert_inverts(clusters, EXACT, level)


def test_sums_beyond_doubles_are_told_apart() -> None:
    # All but the last digit of the two clusters cancel; in doubles they would cancel altogether and p would be 1.
    apart = ClusterSums(ids=("a", "b"), sums=(10**30 + 1, -(10**30)), sizes=(1, 1))
    assert sign_flip_test(apart, EXACT, alternative="greater").p == Fraction(1, 2)


def test_clusters_of_zero_change_no_exact_p() -> None:
    clusters = ClusterSums(ids=tuple("abc"), sums=(3, 2, 4), sizes=(3, 3, 5))
    wider = ClusterSums(ids=tuple("abcde"), sums=(3, 2, 4, 0, 0), sizes=(3, 3, 5, 1, 2))
    narrow, wide = sign_flip_test(clusters, EXACT), sign_flip_test(wider, EXACT)
    assert narrow.p == wide.p == Fraction(1, 4)
    assert wide.assignments == 4 * narrow.assignments


def test_nothing_but_zeros_gives_a_p_of_one_and_a_point() -> None:
    zeros = ClusterSums(ids=tuple("abcdef"), sums=(0,) * 6, sizes=(1, 2, 3, 4, 5, 6))
    assert sign_flip_test(zeros, EXACT).p == 1
    interval = sign_flip_interval(zeros, EXACT, level=0.95)
    assert (interval.lower, interval.upper) == (0.0, 0.0)


def test_one_cluster_shows_nothing() -> None:
    one = ClusterSums(ids=("a",), sums=(5,), sizes=(5,))
    assert sign_flip_test(one, EXACT).p == 1
    for plan in (EXACT, FlipPlan(seed=7, exact_up_to=0, replicates=10)):
        interval = sign_flip_interval(one, plan, level=0.95)
        assert (interval.lower, interval.upper) == (None, None)


def test_five_clusters_have_no_bounds_at_95_and_six_have() -> None:
    five = ClusterSums(ids=tuple("abcde"), sums=(1, 2, 3, 4, 5), sizes=(5,) * 5)
    six = ClusterSums(ids=tuple("abcdef"), sums=(1, 2, 3, 4, 5, 6), sizes=(6,) * 6)
    assert sign_flip_interval(five, EXACT, level=0.95).lower is None
    # One of 32 splits may be rejected: the lower end is the least mean of a part, the smallest cluster's.
    interval = sign_flip_interval(six, EXACT, level=0.95)
    assert (interval.lower_exact, interval.upper_exact) == (Fraction(1, 6), Fraction(1))


def test_the_plan_decides_the_method() -> None:
    clusters = ClusterSums(ids=tuple("abc"), sums=(1, 2, 3), sizes=(1, 2, 3))
    assert sign_flip_test(clusters, FlipPlan(seed=7, exact_up_to=3)).method == "exact"
    result = sign_flip_test(clusters, FlipPlan(seed=7, exact_up_to=2, replicates=100))
    assert (result.method, result.assignments) == ("monte-carlo", 100)


def test_seed_and_name_matter_for_draws_only() -> None:
    clusters = ClusterSums(ids=tuple("abcdefgh"), sums=(1, 2, 3, 4, 5, 6, -7, 8), sizes=(9,) * 8)
    drawn = [
        sign_flip_test(clusters, FlipPlan(seed=seed, name=name, exact_up_to=0, replicates=1000)).at_least_as_extreme
        for seed, name in [(1, "x"), (1, "x"), (2, "x"), (1, "y")]
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
    assert sign_flip_test(clusters, FlipPlan(seed=1)) == sign_flip_test(clusters, FlipPlan(seed=2))


def test_drawn_p_is_near_the_exact_one() -> None:
    clusters = ClusterSums(ids=tuple("abcdefgh"), sums=(1, 2, 3, 4, 5, 6, -7, 8), sizes=(9,) * 8)
    exact = sign_flip_test(clusters, EXACT).p
    drawn = sign_flip_test(clusters, FlipPlan(seed=7, exact_up_to=0, replicates=100_000)).p
    # Four standard errors of a share at 100,000 draws are at most 0.0064.
    assert abs(exact - drawn) < Fraction(64, 10_000)


def test_twenty_clusters_are_gone_through_exactly() -> None:
    clusters = ClusterSums(ids=tuple("abcdefghijklmnopqrst"), sums=(1,) * 20, sizes=(2,) * 20)
    result = sign_flip_test(clusters, EXACT)
    assert (result.method, result.at_least_as_extreme, result.assignments) == ("exact", 2, 2**20)


@pytest.mark.parametrize(
    "changes",
    [{"exact_up_to": -1}, {"exact_up_to": 21}, {"replicates": 0}, {"replicates": 1_000_001}, {"replicates": 2.0}],
)
def test_refuses_plans_that_cannot_be_run(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        FlipPlan(seed=7, **changes)


def test_refuses_a_seed_or_a_level_out_of_range() -> None:
    clusters = ClusterSums(ids=("a", "b"), sums=(1, 2), sizes=(1, 2))
    with pytest.raises(BadInput, match="seed"):
        sign_flip_test(clusters, FlipPlan(seed=-1, exact_up_to=0))
    with pytest.raises(BadInput, match="level"):
        sign_flip_interval(clusters, EXACT, level=1.0)
