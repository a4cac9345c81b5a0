"""Rows in evidence: read strictly, in their order, and all of them."""

import pytest

from assay.kernel.errors import EvidenceInvalid
from assay.labs.experiment.registration import load
from assay.labs.experiment.rows import Row, RowShape, list_rows


@pytest.fixture
def experiment(make_experiment):
    return make_experiment()


@pytest.fixture
def rows(make_rows):
    return make_rows([("new", "u", "a", True), ("old", "u", "a", False), ("other", "u", "b", None, None)])


def test_a_row_is_read_as_it_was_written(experiment, rows, make_evidence):
    shape = RowShape.of(experiment)
    assert [Row.from_body(row.to_body(), shape) for row in rows] == rows
    assert list(list_rows(experiment, make_evidence(experiment, rows))) == rows


def test_a_log_may_be_read_before_it_is_closed_and_after_a_recovery(experiment, rows, make_evidence):
    evidence = make_evidence(experiment, rows)
    evidence.rows.pop()
    evidence.rows.insert(3, {"kind": "run.recovered", "sizes": {}})
    assert list(list_rows(experiment, evidence)) == rows


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "row.reed"},
        {"kind": ["row.read"]},
        {"index": 1},
        {"index": -1},
        {"index": "0"},
        {"index": True},
        {"arm": ""},
        {"arm": None},
        {"arm": ["new"]},
        {"arm": "other"},
        {"unit": ""},
        {"unit": 7},
        {"cluster": ""},
        {"cluster": None},
        {"outcome": 1},
        {"outcome": "true"},
        {"outcome": []},
        {"more": {}},
        {"more": None},
        {"more": []},
        {"more": {"turns": 1, "cost": 1}},
        {"more": {"turns": "1"}},
        {"more": {"turns": True}},
        {"more": {"turns": [1]}},
        {"extra": 1},
    ],
)
def test_an_entry_that_no_run_writes_is_refused(experiment, rows, make_evidence, change):
    evidence = make_evidence(experiment, rows)
    assert list(list_rows(experiment, evidence)) == rows
    evidence.rows[2] |= change
    with pytest.raises(EvidenceInvalid, match="log rows"):
        list(list_rows(experiment, evidence))


@pytest.mark.parametrize("name", ["kind", "index", "arm", "unit", "cluster", "outcome", "more"])
def test_a_member_that_is_missing_is_refused(experiment, rows, make_evidence, name):
    evidence = make_evidence(experiment, rows)
    del evidence.rows[2][name]
    with pytest.raises(EvidenceInvalid):
        list(list_rows(experiment, evidence))


def test_the_outcome_of_another_arm_must_not_have_been_read(experiment, rows, make_evidence):
    evidence = make_evidence(experiment, rows)
    evidence.rows[4]["outcome"] = False
    with pytest.raises(EvidenceInvalid, match="is not compared"):
        list(list_rows(experiment, evidence))


@pytest.mark.parametrize("outcome", [True, "1", -0.1, 1.5, float("nan"), float("inf")])
def test_real_outcomes_keep_their_type_and_bounds(make_document, make_rows, make_evidence, outcome):
    document = make_document()
    document["outcome"] = {"kind": "real", "min": 0, "max": 1}
    shape = RowShape.of(load(document))
    body = make_rows([("new", "u", "a", 0.5)])[0].to_body()
    assert Row.from_body(body, shape).outcome == 0.5
    with pytest.raises(EvidenceInvalid, match="is no outcome"):
        Row.from_body({**body, "outcome": outcome}, shape)


def cut(entries, place):
    return [*entries[:place], *entries[place + 1 :]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: [], "no entry names the source"),
        (lambda e: cut(e, 0), "expected run.opened as the first entry"),
        (lambda e: [e[0], *e], "'run.opened' do not belong here"),
        (lambda e: cut(e, 1), "expected row 0, after the entry that names the source"),
        (lambda e: [*e[:2], *e[1:]], "named a second time"),
        (lambda e: [e[0], e[2], e[1], *e[3:]], "after the entry that names the source"),
        (lambda e: cut(e, 2), "expected row 0"),
        (lambda e: cut(e, 3), "expected row 1"),
        (lambda e: cut(e, 4), "the source has 3 rows, the log holds 2"),
        (lambda e: [*e[:3], e[2], *e[3:]], "expected row 1"),
        (lambda e: [e[0], e[1], e[3], e[2], *e[4:]], "expected row 0"),
        (lambda e: [*e, e[4]], "behind the one that closes"),
        (lambda e: [*e, e[5]], "behind the one that closes"),
        (lambda e: [*e[:5], {"kind": "note"}], "'note' do not belong here"),
        (lambda e: [*e[:5], {}], "None do not belong here"),
        (lambda e: [e[0], {**e[1], "sha256": "f" * 64}, *e[2:]], "registered was 000"),
        (lambda e: [e[0], {**e[1], "sha256": None}, *e[2:]], "registered was"),
        (lambda e: [e[0], {**e[1], "rows": 4}, *e[2:]], "the source has 4 rows, the log holds 3"),
        (lambda e: [e[0], {**e[1], "rows": 3.0}, *e[2:]], "expected a number of rows"),
        (lambda e: [e[0], {**e[1], "rows": True}, *e[2:]], "expected a number of rows"),
        (lambda e: [e[0], {**e[1], "more": 1}, *e[2:]], "expected the members kind, rows, sha256"),
    ],
)
def test_a_log_that_no_run_leaves_is_refused(experiment, rows, make_evidence, change, words):
    evidence = make_evidence(experiment, rows)
    evidence.rows = change(evidence.rows)
    with pytest.raises(EvidenceInvalid, match=words):
        list(list_rows(experiment, evidence))
