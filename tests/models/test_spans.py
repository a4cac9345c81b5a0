"""Which tokens lie in a span: the vectors, and what holds for any offsets."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.protocol import Echo
from assay.models.spans import count_prompt, measure_span


def test_the_vectors(vectors):
    cases = json.loads((vectors / "duel" / "echo_span.json").read_text())["cases"]
    assert len(cases) == 6
    for case in cases:
        given_, expected = case["input"], case["expected"]
        score = measure_span(given_["offsets"], given_["token_logprobs"], given_["span_start"])
        echo = Echo(total=score.total, tokens=score.tokens, size=given_["span_bytes"], evaluated=0)
        assert score.prompt == expected["n_prompt"], case["id"]
        assert score.unusable == expected["needs_uncached_retry"], case["id"]
        assert score.total == pytest.approx(expected["sum_lp"], abs=1e-9), case["id"]
        assert score.tokens == expected["n_tokens"], case["id"]
        assert max(echo.size, 1) == expected["n_bytes"], case["id"]
        assert echo.per_byte == pytest.approx(expected["lp_per_byte"], abs=1e-9), case["id"]


texts = st.lists(st.integers(1, 4), min_size=1, max_size=30)


@given(texts, st.data())
def test_every_token_is_prompt_or_span(lengths, data):
    ends = [sum(lengths[: at + 1]) for at in range(len(lengths))]
    offsets = [(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    start = data.draw(st.integers(0, ends[-1]))
    values = data.draw(st.lists(st.floats(-9, 0), min_size=len(offsets), max_size=len(offsets)))
    score = measure_span(offsets, [*values, -7.0], start)
    assert score.prompt == count_prompt(offsets, start) == sum(first < start for first, _ in offsets)
    assert score.prompt + score.tokens == len(offsets)
    assert score.total == pytest.approx(math.fsum(values[score.prompt :]))
    assert not score.unusable


def test_a_server_that_generates_nothing_loses_no_token():
    score = measure_span([(0, 1), (1, 2)], [None, -1.5], 1, generated=0)
    assert (score.total, score.tokens) == (-1.5, 1)


def test_what_is_no_number_stays_so():
    assert math.isnan(measure_span([(0, 1), (1, 2)], [None, math.nan, -1.0], 1).total)
    assert measure_span([(0, 1), (1, 2)], [None, -math.inf, -1.0], 1).total == -math.inf


def test_a_sum_beyond_every_float_is_infinite_and_no_error():
    offsets = [(at, at + 1) for at in range(4)]
    assert measure_span(offsets, [None, *[-1.7e308] * 3], 1, generated=0).total == -math.inf


def test_a_sum_is_rounded_once():
    offsets = [(at, at + 1) for at in range(11)]
    assert measure_span(offsets, [None, *[-0.1] * 10], 1, generated=0).total == -1.0
