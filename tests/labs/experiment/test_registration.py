"""Registrations: every problem at once, in plain words, with its place; and every default written out."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.canonical import dumps, loads
from assay.kernel.errors import BadInput
from assay.labs.experiment.registration import load

STAGE = {"id": "started", "keep": {"field": "turns", "op": "gt", "value": 0}, "reason": "the run never started"}


def problems_of(document):
    with pytest.raises(BadInput) as caught:
        load(document)
    assert all(problem in caught.value.message for problem in caught.value.details["problems"])
    return caught.value.details["problems"]


def test_every_default_is_written_out(make_document):
    document = load(make_document(estimand=None)).to_document()
    assert document["estimand"] == {"kind": "paired-difference-of-means"}
    assert document["admission"] == []
    assert document["outcome"] == {"kind": "binary", "true": ["true"], "false": ["false"], "missing": "refuse"}
    assert document["interval"] == {
        "kind": "cluster-bootstrap",
        "method": "percentile",
        "level": 0.95,
        "draws": 1000,
        "seed": 1,
    }
    assert document["test"] == {
        "kind": "cluster-sign-flip",
        "alternative": "two-sided",
        "alpha": 0.05,
        "exactUpTo": 20,
        "draws": 1000,
        "seed": 1,
    }
    bare = make_document(interval={"draws": 20_000}, test={"draws": 100_000})
    del bare["interval"]["draws"], bare["test"]["draws"], bare["data"]["more"]
    full = load(bare).to_document()
    assert (full["interval"]["draws"], full["test"]["draws"], full["data"]["more"]) == (20_000, 100_000, {})


def test_what_is_sealed_reads_as_itself(make_document):
    outcome = {"kind": "real", "true": None, "false": None, "min": 0, "max": 1.5}
    real = make_document(admission=[STAGE])
    real["outcome"] = {name: value for name, value in outcome.items() if value is not None}
    for document in (make_document(admission=[STAGE]), real):
        experiment = load(document)
        sealed = dumps(experiment.to_document())
        again = load(loads(sealed))
        assert again == experiment
        assert dumps(again.to_document()) == sealed


def test_the_rules_are_readable_from_the_registration(make_experiment):
    experiment = make_experiment(admission=[STAGE])
    assert [stage.id for stage in experiment.stages()] == ["started"]
    assert len(experiment.table().branches) == 7


def test_the_document_is_not_touched(make_document):
    document = make_document()
    before = copy.deepcopy(document)
    load(document)
    assert document == before


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"lab": "duel"}, "lab: expected experiment, got the text 'duel'"),
        ({"version": 2}, "version: expected 1, the version that this release reads, got 2"),
        ({"version": True}, "version: expected 1, the version that this release reads, got true"),
        ({"id": "Has Space"}, "id: expected a name of small letters"),
        ({"id": "x\n"}, "id: expected a name of small letters"),
        ({"question": " "}, "question: expected the question in a sentence, got the text ' '"),
        ({"question": 3}, "question: expected the question in a sentence, got 3"),
        ({"extra": 1}, "extra: unknown member; known: "),
        ({"seenbefore": []}, "seenbefore: unknown member; did you mean 'seenBefore'?"),
        ({"seen_before": []}, "seen_before: unknown member; did you mean 'seenBefore'?"),
        ({"seenBefore": []}, "seenBefore: expected a list of {who, what}, at least one"),
        ({"seenBefore": None}, "seenBefore: is missing; expected a list of {who, what}"),
        ({"seenBefore": [{"who": "me"}]}, "seenBefore[0].what: is missing; expected what they had seen"),
        ({"seenBefore": [{"who": "", "what": "x"}]}, "seenBefore[0].who: expected who had seen the data"),
        ({"seenBefore": ["me"]}, "seenBefore[0]: expected an object {who, what}, got the text 'me'"),
        ({"data": {"sha256": "ab"}}, "data.sha256: expected the SHA-256 of the file in 64 small hex digits"),
        ({"data": {"sha256": "A" * 64}}, "data.sha256: expected"),
        ({"data": {"sha256": "a" * 64 + "\n"}}, "data.sha256: expected"),
        ({"data": {"file": "rows.xlsx"}}, "data.file: expected the name of a .csv or .jsonl file, got 'rows.xlsx'"),
        ({"data": {"file": "/etc/rows.csv"}}, "data.file: expected a path relative to the registration's folder"),
        ({"data": {"file": "C:\\rows.csv"}}, "data.file: expected a path relative"),
        ({"data": {"file": "a\0.csv"}}, "data.file: expected a path relative"),
        ({"data": {"source": ""}}, "data.source: expected a sentence"),
        ({"data": {"columns": {"unti": "x"}}}, "data.columns.unti: unknown member; did you mean 'unit'?"),
        ({"data": {"columns": {"unit": 3}}}, "data.columns.unit: expected the name of a column, got 3"),
        ({"data": {"columns": {"unit": "arm"}}}, "data: column 'arm' has one use, not 2 (columns.arm, columns.unit)"),
        ({"data": {"more": {"ok": "number"}}}, "data: column 'ok' has one use, not 2 (columns.outcome, more)"),
        ({"data": {"more": {"turns": "int"}}}, "data.more.turns: expected number, text or boolean, got the text 'int'"),
        ({"data": {"more": {"": "text"}}}, "data.more.: expected a name that is not blank"),
        ({"data": {"more": []}}, "data.more: expected an object that gives further columns their type"),
        ({"data": 3}, "data: expected an object {file, sha256, source, columns, more}, got 3"),
        ({"arms": {"control": "new"}}, "arms: treatment and control are both 'new'; two arms are compared"),
        ({"arms": {"contrl": "x"}}, "arms.contrl: unknown member; did you mean 'control'?"),
        ({"outcome": 3}, "outcome: expected an object whose kind is binary or real, got 3"),
        ({"outcome": {"kind": "count"}}, "outcome.kind: expected binary or real, got the text 'count'"),
        (
            {"outcome": {"true": []}},
            "outcome.true: expected a list of the cells that mean so, at least one, got an empty",
        ),
        ({"outcome": {"true": "true"}}, "outcome.true: expected a list of the cells"),
        ({"outcome": {"true": [1.5]}}, "outcome.true[0]: expected text, a whole number, or true or false, got 1.5"),
        ({"outcome": {"true": [True]}}, "outcome.true[0]: cells of a .csv file are text; put true in quotes"),
        ({"outcome": {"true": ["false"]}}, "the text 'false' stands 2 times among the cells of true and false"),
        (
            {"outcome": {"missing": "drop"}},
            "outcome.missing: expected refuse, exclude or, of a binary outcome, failure",
        ),
        ({"outcome": {"min": 0}}, "outcome.min: unknown member; known: 'kind', 'true', 'false', 'missing'"),
        ({"admission": {}}, "admission: expected a list of stages {id, keep, reason}, got an empty object"),
        ({"admission": [{**STAGE, "id": "another-arm"}]}, "admission[0].id: 'another-arm' is taken"),
        ({"admission": [STAGE, STAGE]}, "admission[1].id: 'started' is taken"),
        ({"estimand": {"kind": "ratio"}}, "estimand.kind: expected paired-difference-of-means"),
        ({"interval": {"level": 95}}, "interval.level: expected a number between 0 and 1, both excluded, got 95"),
        ({"interval": {"level": 1}}, "interval.level: expected a number between 0 and 1"),
        ({"interval": {"level": "0.95"}}, "interval.level: expected a number between 0 and 1"),
        ({"interval": {"level": True}}, "interval.level: expected a number between 0 and 1, both excluded, got true"),
        ({"interval": {"level": 0.9999}}, "interval.draws: a level of 0.9999 needs at least 20,000 draws, got 1,000"),
        ({"interval": {"draws": 999}}, "interval.draws: expected a whole number from 1,000 to 1,000,000, got 999"),
        ({"interval": {"draws": 1_000_001}}, "interval.draws: expected a whole number from 1,000 to 1,000,000"),
        ({"interval": {"draws": 1000.5}}, "interval.draws: expected a whole number from 1,000 to 1,000,000"),
        ({"interval": {"seed": -1}}, "interval.seed: expected a seed: a whole number from 0 to 2^53−1, got -1"),
        ({"interval": {"sed": 3}}, "interval.sed: unknown member; did you mean 'seed'?"),
        ({"interval": {"method": "bca"}}, "interval.method: expected percentile, got the text 'bca'"),
        ({"test": {"alpha": 0}}, "test.alpha: expected a number between 0 and 1"),
        ({"test": {"alpha": 5}}, "test.alpha: expected a number between 0 and 1"),
        ({"test": {"alpha": 0.0001}}, "test.draws: an alpha of 0.0001 needs at least 9,999 draws, got 1,000"),
        ({"test": {"exactUpTo": 1}}, "test.exactUpTo: expected 20, got 1"),
        ({"test": {"exactUpTo": 21}}, "test.exactUpTo: expected 20, got 21"),
        ({"test": {"exact_up_to": 20}}, "test.exact_up_to: unknown member; did you mean 'exactUpTo'?"),
        ({"test": {"alternative": "greater"}}, "test.alternative: expected two-sided"),
        ({"test": {"seed": None}}, "test.seed: expected a seed"),
        ({"decision": []}, "decision: expected a list of branches {verdict, when, says}, got an empty list"),
        ({"decision": None}, "decision: is missing; expected a list of branches"),
        ({"decision": "best"}, "decision: expected a list of branches"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(make_document, changes, problem):
    found = problems_of(make_document(**changes))
    assert [text for text in found if problem in text], found
    assert len(found) == 1, found


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("ok", "decided by facts no outcome can influence"),
        ("arm", "one admission holds for both arms"),
        ("turn", "unknown field 'turn'; did you mean 'turns'?"),
    ],
)
def test_admission_reads_only_what_it_may(make_document, field, words):
    stage = {**STAGE, "keep": {"not": {"field": field, "op": "eq", "value": None}}}
    (problem,) = problems_of(make_document(admission=[stage]))
    assert words in problem


def test_admission_may_read_unit_and_cluster(make_experiment):
    stage = {**STAGE, "keep": {"field": "cluster", "in": ["a"]}}
    assert len(make_experiment(admission=[stage]).stages()) == 1


def test_bounds_must_leave_room(make_document):
    document = make_document()
    document["outcome"] = {"kind": "real", "min": 1, "max": 1}
    assert problems_of(document) == ["outcome: min must be below max, got 1.0 and 1.0"]
    document["outcome"] = {"kind": "real", "missing": "failure"}
    assert problems_of(document)[0].startswith("outcome.missing: the outcome is real")


def test_marks_of_json_lines_keep_their_type(make_experiment):
    outcome = {"true": [True, 1, "1"], "false": [False, 0]}
    experiment = make_experiment(data={"file": "rows.jsonl"}, outcome=outcome)
    assert [type(mark) for mark in experiment.outcome.true] == [bool, int, str]


def test_all_problems_come_at_once(make_document):
    changes = {
        "lab": "duel",
        "data": {"sha256": "x", "more": {"turns": "number"}},
        "arms": {"control": "new"},
        "admission": [{**STAGE, "keep": {"field": "ok", "op": "eq", "value": True}}],
        "interval": {"level": 95, "sed": 1},
        "test": {"alpha": 0.0001},
        "decision": make_document()["decision"][:-1],
        "extra": 1,
    }
    found = problems_of(make_document(**changes))
    places = [problem.partition(":")[0] for problem in found]
    assert places == [
        "lab",
        "data.sha256",
        "interval.level",
        "interval.sed",
        "extra",
        "admission[0].keep.field",
        "arms",
        "test.draws",
        "decision",
    ]


def test_nothing_at_all_lists_what_is_needed():
    found = problems_of({})
    assert len(found) == 11
    assert all("is missing" in problem for problem in found)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {1: 2}, b"x", object()])
def test_values_that_cannot_be_sealed_are_refused(make_document, value):
    document = make_document()
    document["question"] = value
    with pytest.raises(BadInput, match="cannot be sealed"):
        load(document)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**53) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_document_is_read_or_refused(make_document, data):
    document = make_document(admission=[STAGE])
    target = document
    for _ in range(data.draw(st.integers(1, 4))):
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(target[key], dict | list) or data.draw(st.booleans()):
            target[key] = data.draw(JUNK)
            break
        target = target[key]
    try:
        experiment = load(document)
    except BadInput as problem:
        json.dumps(problem.details)
    else:
        assert load(experiment.to_document()) == experiment
