"""Conditions: read strictly, never coerced, and a missing value answers only whether it is missing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.rules.predicates import Forbidden, evaluate, parse, read_predicate

FIELDS = {
    "turns": "number",
    "model": "text",
    "clean": "boolean",
    "side": ("left", "right"),
    "flag": (True, False),
    "resolved": Forbidden(because="what may enter is decided by facts no outcome can influence"),
}
VECTOR_FIELDS = {
    "n": "number",
    "neg": "number",
    "s": "text",
    "t": "boolean",
    "nul": "text",
    "num_str": "text",
    "big": "number",
    "float": "number",
}
OUT_OF_SCOPE = {
    "string-lt": "texts have no order here: which comes first depends on who sorts them; refused on reading",
    "bool-not-one": "a literal of another type than its field's is refused on reading instead of never matching",
    "in-number-not-string": "as bool-not-one",
    "nested-path": "records of this lab are flat rows of declared columns; there are no paths into them",
    "missing-ne-null": "a column that is absent reads as null, so that a missing value never satisfies a condition",
    "missing-eq-null": "as missing-ne-null",
}
REFUSED_ON_READING = {"string-lt", "bool-not-one", "in-number-not-string", "nested-path"}


def translate(node):
    """The vectors' writing of a condition in ours."""
    match node["kind"]:
        case "compare":
            return {"field": node["field"], "op": node["op"], "value": node["value"]}
        case "in":
            return {"field": node["field"], "in": node["values"]}
        case "not":
            return {"not": translate(node["of"])}
        case kind:
            return {kind: [translate(part) for part in node["of"]]}


def load_cases(vectors):
    return json.loads((vectors / "experiment/predicates.json").read_text())["cases"]


def test_every_vector_in_scope_gives_the_recorded_truth(vectors):
    cases = load_cases(vectors)
    assert set(OUT_OF_SCOPE) < {case["id"] for case in cases}
    tried = [case for case in cases if case["id"] not in OUT_OF_SCOPE]
    for case in tried:
        predicate = parse(translate(case["input"]["predicate"]), VECTOR_FIELDS)
        assert evaluate(predicate, case["input"]["record"]) is case["expected"]["value"], case["id"]
    assert len(tried) == len(cases) - len(OUT_OF_SCOPE) == 18


def test_vectors_out_of_scope_are_refused_or_read_safely(vectors):
    for case in load_cases(vectors):
        document = translate(case["input"]["predicate"])
        if case["id"] in REFUSED_ON_READING:
            with pytest.raises(BadInput):
                parse(document, VECTOR_FIELDS)
        elif case["id"] in OUT_OF_SCOPE:
            holds = evaluate(parse(document, {"absent": "text"}), case["input"]["record"])
            assert holds is (case["id"] == "missing-eq-null"), case["id"]


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "lte", "gt", "gte"])
@pytest.mark.parametrize("negated", [False, True])
def test_a_missing_value_satisfies_no_comparison_and_no_negation_of_one(op, negated):
    document = {"field": "turns", "op": op, "value": 0}
    predicate = parse({"not": document} if negated else document, FIELDS)
    assert not evaluate(predicate, {"turns": None})
    assert not evaluate(predicate, {})


def test_a_missing_value_is_not_among_values_and_not_outside_them():
    inside = {"field": "model", "in": ["a", "b"]}
    assert not evaluate(parse(inside, FIELDS), {"model": None})
    assert not evaluate(parse({"not": inside}, FIELDS), {"model": None})
    assert evaluate(parse({"not": inside}, FIELDS), {"model": "c"})


def test_missing_is_asked_for_by_eq_and_ne_null():
    missing = parse({"field": "turns", "op": "eq", "value": None}, FIELDS)
    present = parse({"field": "turns", "op": "ne", "value": None}, FIELDS)
    assert evaluate(missing, {"turns": None})
    assert evaluate(missing, {})
    assert not evaluate(missing, {"turns": 0})
    assert not evaluate(present, {"turns": None})
    assert evaluate(present, {"turns": 0})
    assert evaluate(parse({"not": {"field": "turns", "op": "eq", "value": None}}, FIELDS), {"turns": 0})


def test_a_known_part_decides_beside_an_unknown_one():
    unknown = {"field": "turns", "op": "gt", "value": 0}
    known = {"field": "clean", "op": "eq", "value": True}
    record = {"turns": None, "clean": True}
    assert evaluate(parse({"any": [unknown, known]}, FIELDS), record)
    assert not evaluate(parse({"all": [unknown, known]}, FIELDS), record)
    assert not evaluate(parse({"not": {"all": [unknown, known]}}, FIELDS), record)
    assert evaluate(parse({"not": {"all": [unknown, known]}}, FIELDS), {"turns": None, "clean": False})
    assert not evaluate(parse({"not": {"any": [unknown, known]}}, FIELDS), record)


def test_nothing_is_coerced_even_where_a_record_lies_about_its_types():
    true = parse({"field": "clean", "op": "eq", "value": True}, FIELDS)
    one = parse({"field": "turns", "in": [1]}, FIELDS)
    more = parse({"field": "turns", "op": "lt", "value": 10}, FIELDS)
    assert not evaluate(true, {"clean": 1})
    assert not evaluate(one, {"turns": True})
    assert not evaluate(one, {"turns": "1"})
    assert not evaluate(more, {"turns": "9"})
    assert not evaluate(more, {"turns": True})


def test_integers_and_decimals_compare_exactly():
    assert evaluate(parse({"field": "turns", "op": "eq", "value": 1}, FIELDS), {"turns": 1.0})
    assert evaluate(parse({"field": "turns", "op": "lt", "value": 2**53 - 1}, FIELDS), {"turns": 2**53 - 2})


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("turns > 0", "x: expected a condition such as"),
        (None, "nothing (null)"),
        ([], "an empty list"),
        ({}, "no members"),
        ({"all": [], "any": []}, "all, any and not by itself"),
        ({"every": []}, "got 'every'"),
        ({"all": {}}, "x.all: expected a list of conditions, got an empty object"),
        ({"any": "turns"}, "x.any: expected a list"),
        ({"not": [1]}, "x.not: expected a condition"),
        ({"field": "turns", "op": "gt"}, "x: value is missing"),
        ({"field": "turns"}, "x: op is missing"),
        ({"field": "turns", "op": ">", "value": 0}, "x.op: expected one of eq, ne, lt, lte, gt, gte, got the text '>'"),
        ({"field": "turns", "op": ["gt"], "value": 0}, "x.op: expected one of"),
        ({"field": "turns", "op": "gt", "value": 0, "vaule": 1}, "x.vaule: unknown member; did you mean 'value'?"),
        ({"field": "turn", "op": "gt", "value": 0}, "unknown field 'turn'; did you mean 'turns'?"),
        ({"field": 3, "op": "gt", "value": 0}, "x.field: expected the name of a field, got 3"),
        ({"field": "resolved", "op": "eq", "value": True}, "facts no outcome can influence"),
        ({"field": "turns", "op": "gt", "value": "0"}, "x.value: expected a finite number, got the text '0'"),
        ({"field": "turns", "op": "eq", "value": True}, "x.value: expected a finite number, got true"),
        ({"field": "turns", "op": "gt", "value": None}, "use {op: eq, value: null}"),
        ({"field": "turns", "op": "gt", "value": float("nan")}, "expected a finite number, got nan"),
        ({"field": "turns", "op": "gt", "value": float("inf")}, "expected a finite number, got inf"),
        ({"field": "turns", "op": "gt", "value": 2**53}, "expected a finite number"),
        ({"field": "turns", "op": "eq", "value": [1]}, "expected a finite number, got a list"),
        ({"field": "model", "op": "eq", "value": 1}, "x.value: expected text, got 1"),
        ({"field": "model", "op": "lt", "value": "m"}, "only numbers have an order"),
        ({"field": "clean", "op": "gte", "value": True}, "only numbers have an order"),
        ({"field": "side", "op": "gt", "value": "left"}, "only numbers have an order"),
        ({"field": "clean", "op": "eq", "value": "true"}, "expected true or false, got the text 'true'"),
        ({"field": "side", "op": "eq", "value": "lefty"}, "expected one of left, right, got the text 'lefty'; did you"),
        ({"field": "flag", "op": "eq", "value": 1}, "expected one of true, false, got 1"),
        ({"field": "turns", "in": 3}, "x.in: expected a list of values, got 3"),
        ({"field": "turns", "in": [1, "2"]}, "x.in[1]: expected a finite number, got the text '2'"),
        ({"field": "turns", "in": [None]}, "x.in[0]: expected a finite number, got nothing (null)"),
        ({"field": "turns", "in": [1], "op": "eq"}, "x.op: unknown member"),
    ],
)
def test_what_cannot_be_read_is_refused_in_plain_words(document, problem):
    predicate, problems = read_predicate(document, FIELDS, "x")
    assert predicate is None
    assert any(problem in found for found in problems), problems
    assert all(found.startswith("x") for found in problems)
    with pytest.raises(BadInput):
        parse(document, FIELDS)


def test_every_problem_is_found_at_once():
    document = {
        "all": [
            {"field": "turn", "op": "gt", "value": 0},
            {"not": {"field": "model", "op": "lt", "value": "m"}},
            {"any": [{"field": "turns", "in": ["1", 2, None]}]},
        ]
    }
    with pytest.raises(BadInput) as caught:
        parse(document, FIELDS)
    assert len(caught.value.details["problems"]) == 4
    assert "condition.all[2].any[0].in[2]" in caught.value.message


def test_conditions_do_not_nest_without_end():
    document = {"field": "turns", "op": "gt", "value": 0}
    for _ in range(2000):
        document = {"not": document}
    with pytest.raises(BadInput, match="at most 16 deep"):
        parse(document, FIELDS)


def test_hostile_text_in_messages_is_quoted_and_short():
    with pytest.raises(BadInput) as caught:
        parse({"field": "\x1b[31m" + "x" * 5000, "op": "eq", "value": 1}, FIELDS)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*FIELDS, "eq", "gt", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["field", "op", "value", "in", "all", "any", "not", "y"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(document=JSON)
def test_any_document_is_either_read_or_refused(document):
    predicate, problems = read_predicate(document, FIELDS, "x")
    assert (predicate is None) == bool(problems)
    if predicate is not None:
        assert evaluate(predicate, {}) in (True, False)
