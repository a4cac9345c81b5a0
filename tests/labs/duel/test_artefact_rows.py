import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.canonical import dumps_evidence, loads
from assay.kernel.errors import AssayError, BadInput
from assay.labs.duel.artefact_rows import read_rows, row_document
from assay.labs.duel.rows import Pair, Row

PAIR = {"z_a": "z", "y_a": "y", "lpC_yc_za": -0.1, "lpC_yc_e": -0.2}
ROW = {"turn_id": "t", "miner": "m", "valid": True, "n_pairs": 1, "pairs": [PAIR]}
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
PAIRS = st.builds(
    Pair,
    z_a=TEXTS,
    y_a=TEXTS,
    c_yc_za=NUMBERS,
    c_yc_e=NUMBERS,
    c_za_x=st.none() | NUMBERS,
    c_ya_zc=st.none() | NUMBERS,
    a=st.none() | st.dictionaries(st.sampled_from(["lpA_yc_za", "lpA_ya_e"]), st.none() | NUMBERS, min_size=1),
    bank=st.none() | NUMBERS,
)
ROWS = st.builds(
    Row,
    turn=TEXTS,
    miner=TEXTS,
    pairs=st.none() | st.lists(PAIRS, max_size=3).map(tuple),
    bank_frac=st.none() | NUMBERS,
)


def change(**changes):
    return [{**ROW, "pairs": [{**PAIR, **changes}]}]


def test_a_row_is_read():
    own = {"lpA_yc_za": -1, "lpA_yc_e": None}
    rows = read_rows([{**ROW, "bank_frac": 0.5, "L2_bank": 1.0, "pairs": [{**PAIR, **own, "L2_bank": 0.1, "new": []}]}])
    pair = Pair(z_a="z", y_a="y", c_yc_za=-0.1, c_yc_e=-0.2, a={"lpA_yc_za": -1.0, "lpA_yc_e": None}, bank=0.1)
    assert rows == (Row(turn="t", miner="m", pairs=(pair,), bank_frac=0.5),)


def test_forfeits_are_rows_that_are_not_valid_or_have_no_pairs():
    without = {name: value for name, value in ROW.items() if name != "pairs"}
    unsaid = {name: value for name, value in ROW.items() if name != "valid"}
    rows = read_rows([without, unsaid, {**ROW, "valid": False}, {**ROW, "valid": None}, {**ROW, "pairs": []}])
    assert [row.forfeit for row in rows] == [True, True, True, True, False]


def test_null_texts_are_empty():
    pair = read_rows(change(z_a=None, y_a=None))[0].pairs[0]
    assert (pair.z_a, pair.y_a) == ("", "")


def test_numbers_that_are_none_are_read_from_other_peoples_json_and_from_ours():
    theirs = json.loads(json.dumps(change(lpC_za_x=math.inf, lpC_yc_e=-math.inf)))
    assert read_rows(theirs) == read_rows(change(lpC_za_x="inf", lpC_yc_e="-inf"))
    assert math.isnan(read_rows(change(lpC_zc_x="nan"))[0].pairs[0].c_zc_x)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, "rows of a side: expected a list"),
        ([7], "row 0: expected an object, got 7"),
        ([ROW, {**ROW, "turn_id": 7}], r"row 1.turn_id: expected a text, got 7"),
        ([{**ROW, "miner": None}], r"row 0 \(turn 't'\).miner: expected a text, got nothing"),
        ([{**ROW, "valid": "yes"}], r"valid: expected true or false, got 'yes'"),
        ([{**ROW, "pairs": None}], r"pairs: expected a list, got nothing"),
        ([{**ROW, "pairs": [[]]}], r"pairs\[0\]: expected an object"),
        ([{**ROW, "bank_frac": []}], r"bank_frac: expected a number"),
        (change(z_a=7), r"pairs\[0\].z_a: expected a text"),
        (change(lpC_yc_za=None), r"pairs\[0\].lpC_yc_za: expected a number, got nothing"),
        (change(lpC_yc_e="0.1"), r"lpC_yc_e: expected a number, got '0.1'"),
        (change(lpC_zc_x=True), r"lpC_zc_x: expected a number, got True"),
        (change(lpA_yc_e={}), r"lpA_yc_e: expected a number"),
        (change(lpC_ya_e=10**400), r"lpC_ya_e: expected a number that a double holds"),
    ],
)
def test_what_is_no_row_is_named(rows, message):
    with pytest.raises(BadInput, match=message):
        read_rows(rows)


def test_a_missing_lift_is_named():
    for name in ("lpC_yc_za", "lpC_yc_e"):
        pair = {key: value for key, value in PAIR.items() if key != name}
        with pytest.raises(BadInput, match=name):
            read_rows([{**ROW, "pairs": [pair]}])


@given(ROWS)
def test_rows_come_back_through_our_own_json(row):
    [again] = read_rows([loads(dumps_evidence(row_document(row)))])
    assert row_document(again) == row_document(row)
    assert again == row or "nan" in repr(row)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["turn_id", "miner", "valid", "pairs", "z_a", "lpC_yc_za", "lpA_x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_nothing_but_our_own_errors_comes_of_reading(value):
    with contextlib.suppress(AssayError):
        read_rows(value)
