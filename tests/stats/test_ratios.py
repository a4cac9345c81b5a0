"""Order statistics of ratios are exact, also where doubles cannot tell two ratios apart."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.limbs import split_limbs
from assay.stats.ratios import Ratios

denominators = st.integers(1, 1000)
pairs = st.one_of(
    st.tuples(st.integers(-20, 20), denominators),
    st.tuples(st.integers(-(2**80), 2**80), denominators),
    # Neighbours of 10^25, whose quotients by one denominator are all the same double.
    st.tuples(st.integers(-3, 3).map(lambda more: 10**25 + more), st.just(7)),
)


@given(st.lists(pairs, min_size=1, max_size=12), st.integers(1, 10**30), st.data())
def test_the_kth_smallest_and_largest_are_exact(pairs: list[tuple[int, int]], scale: int, data: st.DataObject) -> None:
    tops, bottoms = [top for top, _ in pairs], np.array([bottom for _, bottom in pairs])
    rank = data.draw(st.integers(1, len(pairs)))
    ratios = Ratios(split_limbs(tops, max(map(abs, tops))), bottoms, scale=scale)
    exact = sorted(Fraction(top, bottom * scale) for top, bottom in pairs)
    assert ratios.smallest(rank) == exact[rank - 1]
    assert ratios.largest(rank) == exact[-rank]


def test_ratios_that_round_to_one_double_are_told_apart() -> None:
    tops = [10**25 + 2, 10**25, 10**25 + 1, 10**25 + 1]
    ratios = Ratios(split_limbs(tops, 10**26), np.array([1, 1, 1, 1]), scale=1)
    assert [ratios.smallest(rank) - 10**25 for rank in (1, 2, 3, 4)] == [0, 1, 1, 2]
    assert float(10**25) == float(10**25 + 2)
