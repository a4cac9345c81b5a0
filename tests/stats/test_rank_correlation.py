"""The rank correlation counts what it says, and agrees with numbers computed by another library."""

import math
from decimal import localcontext
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.rank_correlation import (
    PermutationPlan,
    RankInterval,
    approximate_p,
    rank_correlation,
    rank_interval,
)

PLAN = PermutationPlan(seed=7)
TIED = ([3.1, 2.0, 2.0, 5.5, -1.0, 4.2, 0.3, 2.9], [1, 0, 0, 2, 0, 3, 1, 1])


def average_ranks(numbers: list[float]) -> list[Fraction]:
    below = [sum(other < number for other in numbers) for number in numbers]
    return [count + Fraction(numbers.count(number) + 1, 2) for count, number in zip(below, numbers, strict=True)]


def covariance(left: list[Fraction], right: list[Fraction]) -> Fraction:
    mean = Fraction(len(left) + 1, 2)
    return sum(((a - mean) * (b - mean) for a, b in zip(left, right, strict=True)), Fraction(0))


def is_extreme(value: Fraction, observed: Fraction, direction: str) -> bool:
    if direction == "greater":
        return value >= observed
    return value <= observed if direction == "less" else abs(value) >= abs(observed)


@settings(max_examples=30)
@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
    ),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_the_exact_p_goes_through_all_pairings(pair, direction):
    first, second = pair
    left, right = average_ranks(first), average_ranks(second)
    result = rank_correlation(first, second, PLAN, direction=direction)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert result is None
        return
    assert result is not None
    observed = covariance(left, right)
    values = [covariance(left, list(order)) for order in permutations(right)]
    hits = sum(is_extreme(value, observed, direction) for value in values)
    assert (result.method, result.p) == ("exact", Fraction(hits, len(values)))
    spread = math.sqrt(covariance(left, left) * covariance(right, right))
    assert result.rho == pytest.approx(float(observed) / spread, abs=1e-12)


def test_ties_agree_with_another_library():
    """SciPy 1.17.1: spearmanr, and permutation_test over all pairings."""
    two = rank_correlation(*TIED, PLAN)
    assert two is not None
    assert two.rho == pytest.approx(0.7806310960071124, abs=1e-15)
    assert approximate_p(two.rho, 8) == pytest.approx(0.02223995665839637, abs=1e-10)
    for direction, expected in (("greater", 0.014285714285714285), ("less", 0.9875)):
        one = rank_correlation(*TIED, PLAN, direction=direction)
        assert one is not None
        assert float(one.p) == expected


def test_ten_pairs_are_still_exact():
    result = rank_correlation(range(10), range(10), PLAN)
    assert result is not None
    assert (result.rho, result.p, result.permutations) == (1.0, Fraction(2, math.factorial(10)), math.factorial(10))


@pytest.mark.parametrize("direction", ["two-sided", "greater", "less"])
def test_drawn_pairings_are_those_of_the_stream(direction):
    plan = PermutationPlan(seed=11, name="panel", exact_up_to=0, permutations=500)
    stream = Stream(11, "panel")
    left, right = average_ranks(TIED[0]), average_ranks(TIED[1])
    observed, hits = covariance(left, right), 0
    for _ in range(500):
        words = [stream.next64() for _ in left]
        places = sorted(range(len(words)), key=words.__getitem__)
        hits += is_extreme(covariance(left, [right[place] for place in places]), observed, direction)
    result = rank_correlation(*TIED, plan, direction=direction)
    assert result is not None
    assert (result.method, result.at_least_as_extreme) == ("monte-carlo", hits)
    assert result.p == Fraction(hits + 1, 501)


def test_drawn_and_exact_p_agree():
    exact, drawn = (rank_correlation(*TIED, plan) for plan in (PLAN, PermutationPlan(seed=7, exact_up_to=0)))
    assert exact is not None
    assert drawn is not None
    error = math.sqrt(float(exact.p) / drawn.permutations)
    assert abs(float(exact.p - drawn.p)) < 4 * error


def test_thirty_pairs_are_drawn():
    result = rank_correlation(range(30), [(7 * place) % 30 for place in range(30)], PLAN)
    assert result is not None
    assert result.method == "monte-carlo"
    assert result.p > Fraction(1, 20)


@pytest.mark.parametrize(
    ("rho", "pairs", "expected"),
    [
        (-0.421, 29, 0.022947962275812778),
        (-0.371, 29, 0.04754980920662249),
        (0.758, 30, 1.2255477716254355e-06),
        (0.5, 3, 0.6666666666666666),
        (0.5, 4, 0.5),
        (0.0, 9, 1.0),
        (1.0, 9, 0.0),
        (-1.0, 8, 0.0),
        (0.3, 1000, 3.0374833803511012e-22),
    ],
)
def test_the_approximate_p_is_that_of_the_t_distribution(rho, pairs, expected):
    """SciPy 1.17.1, t.sf; the first three are published coefficients, whose p were given as 0.024, 0.049 and none."""
    assert approximate_p(rho, pairs) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("rho", "pairs", "level"), [(-0.421, 29, 0.95), (0.9, 12, 0.9), (0.0, 50, 0.99)])
def test_the_interval_is_that_of_the_formula(rho, pairs, level):
    quantile = {0.9: 1.6448536269514722, 0.95: 1.959963984540054, 0.99: 2.5758293035489004}[level]
    reach = quantile * math.sqrt((1 + rho * rho / 2) / (pairs - 3))
    interval = rank_interval(rho, pairs, level=level)
    assert interval is not None
    assert interval.lower == pytest.approx(math.tanh(math.atanh(rho) - reach), abs=1e-9)
    assert interval.upper == pytest.approx(math.tanh(math.atanh(rho) + reach), abs=1e-9)


def test_the_program_s_own_decimal_settings_change_nothing():
    with localcontext() as context:
        context.prec = 3
        interval = rank_interval(-0.421, 29)
    assert interval == RankInterval(lower=-0.6910474688, upper=-0.0478192636, level=0.95)


@pytest.mark.parametrize(("rho", "pairs"), [(0.5, 3), (1.0, 20), (-1.0, 20)])
def test_there_is_not_always_an_interval(rho, pairs):
    assert rank_interval(rho, pairs) is None


def test_fractions_are_compared_exactly():
    third, near = Fraction(1, 3), Fraction(10**18 + 1, 3 * 10**18)
    result = rank_correlation([third, near, Fraction(1, 2)], [1, 2, 3], PLAN)
    assert result is not None
    assert result.rho == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: rank_correlation([1], [1], PLAN),
        lambda: rank_correlation([1, 2], [1, 2, 3], PLAN),
        lambda: rank_correlation([1, math.nan], [1, 2], PLAN),
        lambda: rank_correlation([0] * 10_001, [0] * 10_001, PLAN),
        lambda: PermutationPlan(seed=7, exact_up_to=11),
        lambda: PermutationPlan(seed=7, permutations=0),
        lambda: rank_correlation(range(11), range(11), PermutationPlan(seed=-1)),
        lambda: rank_interval(1.1, 10),
        lambda: rank_interval(math.nan, 10),
        lambda: rank_interval(0.1, 10, level=1.0),
        lambda: approximate_p(0.1, 2),
        lambda: approximate_p(-2.0, 9),
    ],
)
def test_what_cannot_be_correlated_is_refused(call):
    with pytest.raises(BadInput):
        call()
