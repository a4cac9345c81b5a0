"""What few clusters cannot show."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.stats.clusters import ClusterSums
from assay.stats.power import least_clusters, sign_flip_floor
from assay.stats.sign_flip import FlipPlan, sign_flip_test


@pytest.mark.parametrize("count", range(1, 12))
def test_the_floor_is_reached_by_a_perfect_result(count: int) -> None:
    perfect = ClusterSums(ids=tuple("abcdefghijkl"[:count]), sums=(3,) * count, sizes=(3,) * count)
    assert sign_flip_test(perfect, FlipPlan(seed=7)).p == sign_flip_floor(count)
    one_sided = sign_flip_test(perfect, FlipPlan(seed=7), alternative="greater").p
    assert one_sided == sign_flip_floor(count) / 2


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_the_least_number_is_enough_and_one_less_is_not(alpha: float) -> None:
    least = least_clusters(alpha)
    assert sign_flip_floor(least) <= Fraction(repr(alpha))
    assert sign_flip_floor(least - 1) > Fraction(repr(alpha))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5])
def test_refuses_error_rates_out_of_range(alpha: float) -> None:
    with pytest.raises(BadInput, match="alpha"):
        least_clusters(alpha)


def test_refuses_a_design_without_clusters() -> None:
    with pytest.raises(BadInput, match="at least 1 cluster"):
        sign_flip_floor(0)
