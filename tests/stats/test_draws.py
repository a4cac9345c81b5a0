"""Draws in bulk are the stream's draws, bit for bit, in pieces of any size."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import MAX_BOUND, MAX_SEED, WORDS, Stream
from assay.stats.draws import Draws

# The greatest share of refused words, a third, comes just above a third of all words.
bounds = st.one_of(
    st.integers(1, 100),
    st.integers(1, MAX_BOUND),
    st.integers(0, 1000).map(lambda more: WORDS // 3 + 1 + more),
    st.integers(0, 100).map(lambda less: MAX_BOUND - less),
)


@given(st.integers(0, MAX_SEED), st.text(st.characters(exclude_categories=["Cs"])), bounds, st.integers(0, 70))
def test_bounded_draws_equal_those_of_the_stream(seed: int, name: str, bound: int, count: int) -> None:
    stream = Stream(seed, name)
    draws = Draws(stream.key)
    drawn = draws.below(bound, count)
    assert drawn.dtype == np.int64
    assert drawn.tolist() == [stream.below(bound) for _ in range(count)]
    assert draws.position == stream.position


@given(st.integers(0, MAX_SEED), st.lists(st.tuples(bounds, st.integers(0, 20)), max_size=6))
def test_pieces_go_on_where_the_last_one_stopped(seed: int, pieces: list[tuple[int, int]]) -> None:
    stream = Stream(seed, "pieces")
    draws = Draws(stream.key)
    for bound, count in pieces:
        assert draws.below(bound, count).tolist() == [stream.below(bound) for _ in range(count)]
        assert draws.raw(count).tolist() == [stream.next64() for _ in range(count)]
        assert draws.position == stream.position


@given(st.integers(0, 50), st.integers(0, 50))
def test_words_start_at_any_position(position: int, count: int) -> None:
    stream = Stream(7, "x")
    words = [stream.next64() for _ in range(position + count)]
    assert Draws(stream.key, position).raw(count).tolist() == words[position:]


def test_a_third_of_the_words_is_refused_where_it_should_be() -> None:
    draws = Draws(Stream(7, "x").key)
    draws.below(WORDS // 3 + 1, 1000)
    assert 1400 < draws.position < 1600


# The bounds whose least refused word is the stream's first word, or the one after it (see the test of the stream).
@pytest.mark.parametrize(("seed", "more"), [(10, 0), (11, 0), (0, 1), (1, 1)])
def test_the_edge_of_refusal_is_that_of_the_stream(seed: int, more: int) -> None:
    stream = Stream(seed, "edge")
    bound = Stream(seed, "edge").next64() // 2 + more
    draws = Draws(stream.key)
    assert draws.below(bound, 3).tolist() == [stream.below(bound) for _ in range(3)]
    assert draws.position == stream.position


def test_another_stream_gives_other_draws() -> None:
    assert Draws(Stream(7, "x").key).raw(4).tolist() != Draws(Stream(7, "y").key).raw(4).tolist()


@pytest.mark.parametrize("bound", [0, -1, MAX_BOUND + 1, 2.0])
def test_refuses_bounds_out_of_range(bound: Any) -> None:
    with pytest.raises(BadInput, match="bound"):
        Draws((0, 0)).below(bound, 1)


def test_refuses_negative_numbers() -> None:
    with pytest.raises(BadInput, match="number of draws"):
        Draws((0, 0)).below(2, -1)
    with pytest.raises(BadInput, match="position"):
        Draws((0, 0), -1)
