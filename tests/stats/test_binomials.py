"""The binomial tests are exact, and agree with numbers computed by another library."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.stats.binomials import MOST_TRIALS, binomial_test

SCIPY_1_17 = [
    (0, 75, 0.1, "less", 0.00036998848503512683),
    (0, 75, 0.1, "two-sided", 0.0007183940968588427),
    (7, 25, 0.24, "greater", 0.39268762563531084),
    (7, 25, 0.24, "two-sided", 0.641095522694273),
    (3, 40, 0.2, "two-sided", 0.04786946338839313),
    (15, 40, 0.2, "two-sided", 0.009378004668882878),
    (300, 731, 0.37, "two-sided", 0.026234264144103372),
    (300, 731, 0.37, "greater", 0.013482012418470975),
]


@pytest.mark.parametrize(("successes", "trials", "null", "alternative", "expected"), SCIPY_1_17)
def test_p_agrees_with_another_library(successes, trials, null, alternative, expected):
    result = binomial_test(successes, trials, null, alternative=alternative)
    assert float(result.p) == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(1, 19))
def test_p_is_the_sum_of_the_probabilities_of_what_is_as_extreme(counts, twentieths):
    successes, trials = counts
    chance = Fraction(twentieths, 20)
    chances = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    null = twentieths / 20
    assert binomial_test(successes, trials, null, alternative="less").p == sum(chances[: successes + 1])
    assert binomial_test(successes, trials, null, alternative="greater").p == sum(chances[successes:])
    likely = chances[successes]
    assert binomial_test(successes, trials, null).p == sum(chance for chance in chances if chance <= likely)


def test_three_kings_that_solve_nothing_are_below_a_tenth():
    """The published case: three crowned models, 25 tasks each, p = 3.7e-4."""
    assert f"{float(binomial_test(0, 75, 0.1, alternative='less').p):.1e}" == "3.7e-04"


@pytest.mark.parametrize(
    ("successes", "trials", "null"),
    [
        (0, 0, 0.5),
        (-1, 3, 0.5),
        (4, 3, 0.5),
        (1, 3, 0.0),
        (1, 3, 1.0),
        (1, 3, math.nan),
        (True, 3, 0.5),
        (1.0, 3, 0.5),
        (1, MOST_TRIALS + 1, 0.5),
    ],
)
def test_what_cannot_be_tested_is_refused(successes, trials, null):
    with pytest.raises(BadInput):
        binomial_test(successes, trials, null)
