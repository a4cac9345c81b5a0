import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.characters import visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    "sign",
    [
        *"\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b",
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
        *"\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u2028\u2029\u180e",
        *"\u3164\u115f\u2800\ufe0f\U000e0041\U000e0100\ud800\udfff\ufff9\uffff",
    ],
    ids=lambda sign: f"U+{ord(sign):04X}",
)
def test_a_hidden_character_is_written_out(sign):
    assert visible(f"a{sign}b") == f"a⟨U+{ord(sign):04X}⟩b"


@pytest.mark.parametrize("text", ["", "plain", "Größe 6 × 7 − 1 ≤ 42", "日本語", "עברית", "<b>&\"'", "e\u0301", "🙂"])
def test_what_can_be_seen_is_left_alone(text):
    assert visible(text) == text


def test_line_feeds_stay_only_where_they_are_asked_for():
    assert visible("a\nb\r\n", newlines=True) == "a\nb⟨U+000D⟩\n"
    assert visible("a\nb") == "a⟨U+000A⟩b"


def test_a_pile_of_combining_marks_is_taken_apart():
    assert visible("o" + "\u0301" * 3) == "o" + "\u0301" * 3
    assert visible("o" + "\u0301" * 5) == "o" + "\u0301" * 3 + "⟨U+0301⟩⟨U+0301⟩"


@given(ANY_TEXT)
def test_nothing_hidden_is_left_and_a_second_pass_changes_nothing(text):
    shown = visible(text)
    assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not any(unicodedata.bidirectional(sign) in {"LRE", "RLE", "LRO", "RLO", "PDF"} for sign in shown)
    assert visible(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown
