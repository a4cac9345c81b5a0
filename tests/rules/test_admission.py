"""Admission stages: what leaves is counted where it leaves, and no outcome can be asked."""

import pytest

from assay.kernel.errors import BadInput
from assay.rules.admission import Partition, Stage, admit, read_stages
from assay.rules.funnel import reconcile
from assay.rules.predicates import Forbidden, parse

FIELDS = {"turns": "number", "resolved": Forbidden(because="facts no outcome can influence decide")}
STARTED = {"field": "turns", "op": "gt", "value": 0}
GOOD = {"id": "started", "keep": STARTED, "reason": "the run never started"}


def stage(name, keep=None):
    return Stage(id=name, keep=parse(keep or STARTED, FIELDS), reason="r")


def test_rows_leave_at_the_first_stage_that_does_not_keep_them():
    short = {"field": "turns", "op": "lt", "value": 10}
    admitted = admit([{"turns": n} for n in (0, 5, 50, None, 7)], [stage("a"), stage("b", short)], lambda row: row)
    assert [row["turns"] for row in admitted.survivors] == [5, 7]
    assert [(count.id, count.excluded, count.reason) for count in admitted.counts] == [("a", 2, "r"), ("b", 1, "r")]
    funnel = admitted.funnel("rows")
    reconcile(funnel)
    assert (funnel.input, funnel.surviving) == (5, 2)


def test_no_stages_keep_everything():
    admitted = admit([{"turns": None}], [], lambda row: row)
    assert admitted.survivors == ({"turns": None},)


def test_names_must_be_their_own():
    with pytest.raises(BadInput, match="names of their own"):
        admit([], [stage("a"), stage("a")], lambda row: row)
    part = Partition(id="p", source="started", keep=parse(STARTED, FIELDS))
    with pytest.raises(BadInput, match="unknown stage 'started'; did you mean 'start'"):
        admit([], [stage("start")], lambda row: row, [part])
    with pytest.raises(BadInput, match="names of their own"):
        admit([], [stage("started")], lambda row: row, [part, part])


def test_two_partitions_that_claim_one_row_do_not_reconcile():
    everything = parse({"all": []}, FIELDS)
    parts = [Partition(id=name, source="a", keep=everything) for name in ("p", "q")]
    admitted = admit([{"turns": 0}], [stage("a")], lambda row: row, parts)
    with pytest.raises(BadInput) as caught:
        admitted.funnel("rows")
    assert caught.value.details["reason"] == "partition-overdraws"


def test_good_stages_are_read():
    stages, problems = read_stages([GOOD], FIELDS, "admission")
    assert not problems
    assert (stages[0].id, stages[0].reason) == ("started", "the run never started")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, "admission: expected a list of stages"),
        (["turns"], "admission[0]: expected a stage {id, keep, reason}, got the text 'turns'"),
        ([{**GOOD, "because": "x"}], "admission[0].because: unknown member; known: 'id', 'keep', 'reason'"),
        ([{"id": "a", "keep": STARTED}], "admission[0]: reason is missing"),
        ([{"id": "a", "reason": "x"}], "admission[0]: keep is missing"),
        ([{"keep": STARTED, "reason": "x"}], "admission[0]: id is missing"),
        ([{**GOOD, "id": "Has Space"}], "admission[0].id: expected a name of small letters"),
        ([{**GOOD, "id": 7}], "admission[0].id: expected a name of small letters"),
        ([{**GOOD, "reason": " "}], "admission[0].reason: expected the reason"),
        ([GOOD, GOOD], "admission[1].id: 'started' is taken"),
        ([{**GOOD, "id": "another-arm"}], "admission[0].id: 'another-arm' is taken"),
        ([{**GOOD, "keep": {"field": "resolved", "op": "eq", "value": True}}], "facts no outcome can influence"),
        ([{**GOOD, "keep": {"not": {"field": "resolved", "op": "ne", "value": None}}}], "no outcome can influence"),
        (
            [{**GOOD, "keep": {"field": "turns", "op": "gt", "value": "0"}}],
            "admission[0].keep.value: expected a finite",
        ),
    ],
)
def test_bad_stages_are_refused_in_plain_words(document, problem):
    _, problems = read_stages(document, FIELDS, "admission", reserved=("another-arm",))
    assert any(problem in found for found in problems), problems


def test_a_bad_stage_still_takes_its_name():
    _, problems = read_stages([{**GOOD, "keep": 3}, GOOD], FIELDS, "admission")
    assert any("taken" in found for found in problems)
    assert len(problems) == 2
