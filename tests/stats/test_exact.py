"""Numbers are the decimals that they show."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.stats.exact import read_fraction, read_share, scale_to_integers

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.one_of(finite, st.integers()))
def test_a_number_is_the_decimal_of_its_shortest_text(number: float) -> None:
    assert read_fraction(number) == Fraction(Decimal(repr(number)))


@given(st.lists(st.one_of(finite, st.integers(), st.booleans()), max_size=8))
def test_integers_over_the_least_power_of_ten(numbers: list[float]) -> None:
    scaled = scale_to_integers(numbers)
    assert [Fraction(value, scaled.scale) for value in scaled.values] == [read_fraction(number) for number in numbers]
    assert set(str(scaled.scale)) <= {"0", "1"}
    assert scaled.scale == 1 or any(value % 10 for value in scaled.values)


def test_a_tenth_is_a_tenth_and_not_its_double() -> None:
    assert read_fraction(0.1) == Fraction(1, 10) != Fraction(0.1)
    assert scale_to_integers([0.1, 0.2]).values == (1, 2)


def test_no_arithmetic_context_shows() -> None:
    with localcontext(Context(prec=3)):
        assert read_fraction(0.123456789) == Fraction(123456789, 10**9)


def test_numpy_scalars_are_read_as_the_doubles_they_are() -> None:
    assert read_fraction(np.float64(0.1)) == Fraction(1, 10)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, "1", None, Decimal(1), 1j])
def test_refuses_what_is_no_finite_number(number: Any) -> None:
    with pytest.raises(BadInput, match="finite number"):
        read_fraction(number)
    with pytest.raises(BadInput, match="finite number"):
        scale_to_integers([1, number])


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, 0.0, True, 2])
def test_refuses_shares_outside_the_unit_interval(share: float) -> None:
    with pytest.raises(BadInput, match="alpha lies strictly between 0 and 1"):
        read_share(share, "alpha")


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_reads_shares_inside_it(share: float) -> None:
    assert read_share(share, "alpha") == read_fraction(share)
