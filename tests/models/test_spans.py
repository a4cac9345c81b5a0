"""Spans of tokens: the network's vectors, and what no answer may do to a sum."""

import json
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.protocol import Echo
from assay.models.spans import count_prompt, measure_span

FINITE = st.floats(min_value=-50, max_value=0)


def test_the_network_s_spans(vectors):
    cases = json.loads((vectors / "duel" / "echo_span.json").read_text())["cases"]
    assert len(cases) == 6
    for case in cases:
        given_, expected = case["input"], case["expected"]
        offsets = [tuple(offset) for offset in given_["offsets"]]
        score = measure_span(offsets, given_["token_logprobs"], given_["span_start"])
        echo = Echo(total=score.total, tokens=score.tokens, size=given_["span_bytes"], evaluated=0)
        assert score.prompt == expected["n_prompt"], case["id"]
        assert score.unusable is expected["needs_uncached_retry"], case["id"]
        assert score.total == pytest.approx(expected["sum_lp"], abs=1e-9), case["id"]
        assert score.tokens == expected["n_tokens"], case["id"]
        assert max(echo.size, 1) == expected["n_bytes"], case["id"]
        assert echo.per_byte == pytest.approx(expected["lp_per_byte"], abs=1e-9), case["id"]


def test_a_wrong_boundary_is_seen(vectors):
    case = json.loads((vectors / "duel" / "echo_span.json").read_text())["cases"][1]
    offsets = [tuple(offset) for offset in case["input"]["offsets"]]
    inside = measure_span(offsets, case["input"]["token_logprobs"], 2)
    assert inside.total != pytest.approx(case["expected"]["sum_lp"])


@pytest.mark.parametrize(("start", "prompt"), [(0, 0), (1, 1), (3, 1), (4, 2), (5, 2), (9, 3)])
def test_a_token_that_straddles_the_start_is_of_the_prompt(start, prompt):
    assert count_prompt([(0, 3), (3, 5), (5, 9)], start) == prompt


def test_tokens_of_one_character_all_begin_where_it_does():
    """A character of four tokens, asked for from behind it and from its place."""
    offsets = [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2), (2, 3)]
    assert count_prompt(offsets, 1) == 1
    assert count_prompt(offsets, 2) == 5


def test_a_number_that_is_none_stays_none():
    score = measure_span([(0, 1), (1, 2)], [None, float("nan")], 1, generated=0)
    assert isnan(score.total)
    assert not score.unusable


@pytest.mark.parametrize("value", [None, 1.0, 1e-9])
def test_a_position_without_a_log_probability_is_told(value):
    assert measure_span([(0, 1), (1, 2)], [None, value], 1, generated=0).unusable
    assert not measure_span([(0, 1), (1, 2), (2, 3)], [None, value, -1.0], 2, generated=0).unusable


@given(st.lists(FINITE, min_size=1, max_size=20), st.data())
def test_parts_of_a_span_add_up(values, data):
    offsets = [(at, at + 1) for at in range(len(values) + 1)]
    cut = data.draw(st.integers(min_value=1, max_value=len(values)))
    whole = measure_span(offsets, [None, *values], 1, generated=0)
    rest = measure_span(offsets, [None, *values], cut, generated=0)
    first = measure_span(offsets[:cut], [None, *values][:cut], 1, generated=0)
    assert whole.tokens == first.tokens + rest.tokens == len(values)
    assert whole.total == pytest.approx(first.total + rest.total, abs=1e-9)
