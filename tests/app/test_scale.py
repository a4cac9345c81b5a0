from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.scale import Scale, forest_scale, share_text
from assay.verifier.figures import Forest, ForestRow

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def make_forest(*values, zero=0.0, lower=None, upper=None):
    rows = tuple(ForestRow(label="row", value=value, lower=lower, upper=upper) for value in values)
    return Forest(title="", unit="", rows=rows, pooled=(), zero=zero)


def leading(step):
    while step >= 10:
        step /= 10
    while step < 1:
        step *= 10
    return step


@given(st.lists(FINITE, max_size=6), st.one_of(st.none(), FINITE), st.one_of(st.none(), FINITE), FINITE)
def test_every_point_and_zero_is_on_the_axis_and_its_ticks_are_round(values, lower, upper, zero):
    scale = forest_scale(make_forest(*values, zero=zero, lower=lower, upper=upper))
    assert all(scale.lower <= Fraction(value) <= scale.upper for value in [*values, zero])
    assert 2 <= len(scale.ticks) <= 9
    assert scale.ticks[0] == scale.lower
    assert scale.ticks[-1] == scale.upper
    assert {after - before for before, after in pairwise(scale.ticks)} == {scale.step}
    assert leading(scale.step) in {1, 2, 5}
    assert [scale.place(tick) for tick in scale.ticks] == sorted(scale.place(tick) for tick in scale.ticks)


@given(st.floats(min_value=-0.999, max_value=0.999))
def test_fixed_decimals_are_those_of_the_exact_value(value):
    scale = Scale(lower=Fraction(-1), upper=Fraction(1), step=Fraction(1, 5))
    expected = f"{value:.3f}".replace("-", "−")
    assert scale.value_text(value) == ("0.000" if expected == "−0.000" else expected)


def test_one_wide_interval_does_not_press_the_others_together():
    rows = (
        ForestRow(label="wide", value=0.1, lower=-50.0, upper=50.0),
        ForestRow(label="narrow", value=-0.1, lower=-0.2, upper=0.0),
    )
    scale = forest_scale(Forest(title="", unit="", rows=rows, pooled=()))
    assert (scale.lower, scale.upper) == (Fraction(-2, 5), Fraction(2, 5))
    assert scale.place(-50.0) == 0.0
    assert scale.place(50.0) == 1.0


def test_pooled_intervals_are_never_cut():
    pooled = (ForestRow(label="pooled", value=0.1, lower=-50.0, upper=50.0),)
    scale = forest_scale(Forest(title="", unit="", rows=(), pooled=pooled))
    assert scale.lower <= -50
    assert scale.upper >= 50


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0741, "+0.074"),
        (-0.0741, "−0.074"),
        (0.0004, "0.000"),
        (None, "–"),
        (float("nan"), "not a number"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_values_are_written_with_the_decimals_of_the_axis(value, text):
    assert forest_scale(make_forest(0.2, -0.2)).value_text(value) == text


def test_a_plus_is_for_differences_only():
    assert forest_scale(make_forest(1.5, zero=1.0)).value_text(1.5) == "1.500"


@pytest.mark.parametrize(
    ("value", "text"),
    [(4e-12, "+4.00e-12"), (3e20, "+3.00e+20"), (9.9999e20, "+1.000e+21"), (12_000.0, "+12,000")],
)
def test_very_small_and_very_large_numbers_stay_short(value, text):
    assert forest_scale(make_forest(value)).value_text(value) == text


def test_an_interval_without_an_end_says_so():
    scale = forest_scale(make_forest(0.2, -0.2))
    assert scale.interval_text(ForestRow(label="", value=0.1)) == ""
    assert scale.interval_text(ForestRow(label="", value=0.1, lower=0.05)) == "[+0.050, –]"


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(1459, 7001, "20.8%"), (0, 5, "0.0%"), (5, 5, "100.0%"), (1, 0, "–"), (-1, 5, "–")]
)
def test_shares_have_one_decimal(part, whole, text):
    assert share_text(part, whole) == text
