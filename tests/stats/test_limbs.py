"""Limbs stand for integers, and so do sums of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.limbs import join_chunks, join_limbs, split_limbs

integers = st.one_of(st.integers(-100, 100), st.integers(-(2**200), 2**200))


@given(st.lists(integers, min_size=1, max_size=8))
def test_integers_of_any_size_survive(values: list[int]) -> None:
    assert join_limbs(split_limbs(values, max(map(abs, values)))).tolist() == values


@given(st.lists(integers, min_size=1, max_size=8), st.data())
def test_so_do_their_sums_and_differences(values: list[int], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(values), max_size=len(values)))
    limbs = split_limbs(values, sum(map(abs, values)))
    joined = join_limbs(limbs @ np.array([signs]).T)
    assert joined.tolist() == [sum(sign * value for sign, value in zip(signs, values, strict=True))]


def test_one_limb_is_kept_where_every_result_is_a_double() -> None:
    assert len(split_limbs([1, -1], 2**53 - 1)) == 1
    assert len(split_limbs([2**31, -(2**31)], 2**53)) == 2


def test_many_terms_of_the_largest_limbs_do_not_overflow() -> None:
    largest = 2**64 - 1
    limbs = split_limbs([largest, -largest], 2**90)
    assert join_limbs(limbs * 2**20).tolist() == [largest * 2**20, -largest * 2**20]


def test_chunks_are_the_whole_in_order() -> None:
    values = [(-3) ** 50 * number for number in range(70_000)]
    limbs = split_limbs(values, 2**100)
    joined = np.empty(len(values), dtype=object)
    starts: list[int] = []
    for part, whole in join_chunks(limbs):
        starts.append(part.start)
        joined[part] = whole
    assert joined.tolist() == values
    assert len(starts) == 2


def test_no_columns_make_no_chunks() -> None:
    assert list(join_chunks(np.empty((1, 0), dtype=np.int64))) == []
