"""Names in messages: short, quoted, and the one that was probably meant."""

import pytest

from assay.rules.names import describe, nearest, show, suggest


def test_a_long_or_hostile_value_is_shown_short_and_escaped():
    assert show("a\x1b[31m") == r"'a\x1b[31m'"
    assert len(show("x" * 10_000)) <= 61


@pytest.mark.parametrize(
    ("name", "hint"),
    [("unti", "did you mean 'unit'?"), ("Unit", "did you mean 'unit'?"), ("outcome", ""), ("min", "")],
)
def test_only_what_is_alike_is_suggested(name, hint):
    assert suggest(name, ["unit", "missing"]) == hint


def test_without_a_likeness_the_known_names_are_listed_up_to_twelve():
    assert nearest("x", ["a1", "b2"]) == "known: 'a1', 'b2'"
    assert nearest("x", []) == "there are none"
    assert nearest("?", [f"n{i}" for i in range(14)]).endswith("'n11' and 2 more")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing (null)"),
        (False, "false"),
        ("a", "the text 'a'"),
        ([], "an empty list"),
        ([1], "a list"),
        ({}, "an empty object"),
        ({"a": 1}, "an object"),
        (1.5, "1.5"),
    ],
)
def test_values_are_described_in_plain_words(value, words):
    assert describe(value) == words
