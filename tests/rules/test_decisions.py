"""Decision tables: total, reachable, first match wins; all of it known when the table is read."""

import json

import pytest

from assay.kernel.errors import BadInput, InvariantBroken
from assay.rules.decisions import decide, list_states, parse_table, read_table

SIGNALS = {"free": (True, False), "interval": ("above", "includes", "below"), "control": (True, False)}
OUT_OF_SCOPE = {
    "cond-q-gte-equal": "signals take values of a closed set; thresholds on quantities are a rule family of their own",
    "cond-q-lt": "as cond-q-gte-equal",
    "cond-ob-absent-is-unmet": "every signal must be given; there is no obligation that may be left out",
    "cond-not-ob": "as cond-ob-absent-is-unmet",
    "dec-report-only": "a registered absence of a verdict is a rule family of its own",
    "cond-missing-quantity": "as cond-q-gte-equal",
}
SIDES = {"positive": "above", "negative": "below"}


def translate(node):
    """The vectors' writing of a guard as a condition on our signals."""
    match node["kind"]:
        case "interval-excludes-zero":
            return {"field": "interval", "op": "eq", "value": SIDES[node["sign"]]}
        case "interval-includes-zero":
            return {"field": "interval", "op": "eq", "value": "includes"}
        case "quantity-threshold":
            return {"field": "free", "op": "eq", "value": True}
        case "obligation-met":
            return {"field": "control", "op": "eq", "value": True}
        case "not":
            return {"not": translate(node["of"])}
        case kind:
            return {kind: [translate(part) for part in node["of"]]}


def read_state(evidence):
    bounds = evidence["intervals"]["i"]
    side = "above" if bounds["lower"] > 0 else "below" if bounds["upper"] < 0 else "includes"
    met = evidence["obligationsMet"].get("ctl", False)
    return {"free": evidence["quantities"].get("free", 0) >= 0.7, "interval": side, "control": met}


def branch(verdict, when, says="it is so"):
    return {"verdict": verdict, "when": when, "says": says}


def interval(value):
    return {"field": "interval", "op": "eq", "value": value}


REST = {"all": []}


def test_every_vector_in_scope_gives_the_recorded_verdict(vectors):
    cases = json.loads((vectors / "experiment/conditions_decisions.json").read_text())["cases"]
    assert set(OUT_OF_SCOPE) < {case["id"] for case in cases}
    tried = 0
    for case in cases:
        if case["id"] in OUT_OF_SCOPE or "refused" in case["expected"]:
            continue
        tried += 1
        state = read_state(case["input"]["evidence"])
        if "condition" in case["input"]:
            table = parse_table([branch("yes", translate(case["input"]["condition"])), branch("no", REST)], SIGNALS)
            assert (decide(table, state).verdict == "yes") is case["expected"]["value"], case["id"]
        else:
            branches = case["input"]["rule"]["branches"]
            table = parse_table([branch(item["verdict"], translate(item["when"])) for item in branches], SIGNALS)
            assert decide(table, state).verdict == case["expected"]["value"]["verdict"], case["id"]
    assert tried == 14


def test_what_the_vectors_refuse_when_deciding_is_refused_when_reading(vectors):
    cases = json.loads((vectors / "experiment/conditions_decisions.json").read_text())["cases"]
    refused = {case["id"]: case["input"] for case in cases if "refused" in case["expected"]}
    assert set(refused) - set(OUT_OF_SCOPE) == {"dec-not-total", "cond-missing-interval"}
    only = refused["dec-not-total"]["rule"]["branches"][0]
    with pytest.raises(BadInput, match="8 of 12 states have no branch"):
        parse_table([branch(only["verdict"], translate(only["when"]))], SIGNALS)
    unknown = {"field": refused["cond-missing-interval"]["condition"]["interval"], "op": "eq", "value": "includes"}
    with pytest.raises(BadInput, match="unknown field 'zz'"):
        parse_table([branch("yes", unknown), branch("no", REST)], SIGNALS)


def test_the_first_match_wins_and_names_its_branch():
    table = parse_table(
        [branch("a", interval("above")), branch("b", {"not": interval("below")}), branch("c", REST)], SIGNALS
    )
    state = {"free": False, "interval": "above", "control": False}
    assert (decide(table, state).verdict, decide(table, state).branch) == ("a", 0)
    assert decide(table, {**state, "interval": "includes"}).branch == 1
    assert decide(table, {**state, "interval": "below"}).says == "it is so"
    assert [taken.verdict for _, taken in table.reaches()].count("a") == 4


def test_uncovered_states_are_listed():
    _, problems = read_table([branch("a", interval("above")), branch("b", interval("below"))], SIGNALS, "decision")
    (problem,) = problems
    assert "4 of 12 states have no branch" in problem
    assert "free true, interval includes, control true" in problem


def test_a_long_list_of_uncovered_states_is_cut():
    _, problems = read_table([branch("a", interval("above"))], SIGNALS, "decision")
    assert problems[0].endswith("and 2 more")


def test_unreachable_branches_are_named():
    table = [branch("a", interval("above")), branch("b", interval("above")), branch("c", REST), branch("d", REST)]
    _, problems = read_table(table, SIGNALS, "decision")
    assert [problem.partition(":")[0] for problem in problems] == ["decision[1]", "decision[3]"]
    _, problems = read_table([branch("a", {"any": []}), branch("b", REST)], SIGNALS, "decision")
    assert "decision[0]: no state reaches 'a'" in problems[0]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "decision: expected a list of branches"),
        (None, "decision: expected a list of branches"),
        ({"a": 1}, "decision: expected a list of branches"),
        (["a"], "decision[0]: expected a branch {verdict, when, says}, got the text 'a'"),
        ([{"verdict": "a", "when": REST}], "decision[0]: says is missing"),
        ([{"when": REST, "says": "x"}], "decision[0]: verdict is missing"),
        ([{"verdict": "a", "says": "x"}], "decision[0]: when is missing"),
        ([{**branch("a", REST), "then": 1}], "decision[0].then: unknown member; did you mean 'when'?"),
        ([branch("Better!", REST)], "decision[0].verdict: expected a name of small letters"),
        ([branch(3, REST)], "decision[0].verdict: expected a name of small letters"),
        ([branch("a", REST, " ")], "decision[0].says: expected a sentence"),
        ([branch("a", REST, 5)], "decision[0].says: expected a sentence"),
        ([branch("a", interval("abov"))], "decision[0].when.value: expected one of above, includes, below"),
        ([branch("a", {"field": "free", "op": "eq", "value": "true"})], "expected one of true, false, got the text"),
        ([branch("a", {"field": "free", "op": "gt", "value": True})], "only numbers have an order"),
    ],
)
def test_bad_tables_are_refused_in_plain_words(document, problem):
    table, problems = read_table(document, SIGNALS, "decision")
    assert table is None
    assert any(problem in found for found in problems), problems
    with pytest.raises(BadInput):
        parse_table(document, SIGNALS)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"free": True, "interval": "above"},
        {"free": True, "interval": "sideways", "control": True},
        {"free": 1, "interval": "above", "control": True},
        {"free": True, "interval": "above", "control": True, "more": True},
    ],
)
def test_a_state_outside_the_signals_is_a_defect(state):
    table = parse_table([branch("a", REST)], SIGNALS)
    with pytest.raises(InvariantBroken):
        decide(table, state)


def test_states_are_listed_in_the_order_of_the_signals():
    states = list(list_states(SIGNALS))
    assert len(states) == 12
    assert states[0] == {"free": True, "interval": "above", "control": True}
