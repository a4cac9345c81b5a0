"""Funnels: the recorded chains, and every way in which counts can fail to add up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError, BadInput, EvidenceInvalid
from assay.rules.admission import Partition, Stage, admit
from assay.rules.funnel import (
    Funnel,
    FunnelStage,
    PartitionCount,
    StageCount,
    build_funnel,
    compose_funnels,
    reconcile,
    render_funnel,
)
from assay.rules.predicates import parse

RECORD_FIELDS = {"rowId": "text", "task": "text", "ratio": "number"}


def to_json(funnel):
    """A funnel in the vectors' writing."""
    stages = []
    for stage in funnel.stages:
        row = {"id": stage.id, "entering": stage.entering, "excluded": stage.excluded, "remaining": stage.remaining}
        row |= {"exclusions": dict(stage.exclusions)} if stage.exclusions else {}
        row |= {"waives": list(stage.waives)} if stage.waives else {}
        stages.append(row)
    partitions = [
        {"id": part.id, "from": part.source, "count": part.count, "pooling": "never"} for part in funnel.partitions
    ]
    return {
        "population": funnel.population,
        "input": funnel.input,
        "stages": stages,
        "surviving": funnel.surviving,
        "partitions": partitions,
    }


def read_partitions(document):
    return tuple(
        PartitionCount(id=part["id"], source=part["from"], count=part["count"])
        for part in document.get("partitions", [])
    )


def read_funnel(document):
    stages = tuple(
        FunnelStage(
            id=stage["id"],
            entering=stage["entering"],
            excluded=stage["excluded"],
            remaining=stage["remaining"],
            exclusions=stage.get("exclusions", {}),
            waives=tuple(stage.get("waives", ())),
        )
        for stage in document["stages"]
    )
    return Funnel(
        population=document["population"],
        input=document["input"],
        stages=stages,
        surviving=document["surviving"],
        partitions=read_partitions(document),
    )


def run_build(case):
    stages = [
        StageCount(
            id=stage["id"],
            excluded=stage["excluded"],
            exclusions=stage.get("exclusions", {}),
            waives=tuple(stage.get("waives", ())),
        )
        for stage in case["stages"]
    ]
    return to_json(build_funnel(case["population"], case["input"], stages, read_partitions(case)))


def run_reconcile(case):
    reconcile(read_funnel(case["funnel"]))
    return "ok"


def run_compose(case):
    return to_json(compose_funnels(read_funnel(case["first"]), read_funnel(case["second"])))


def translate(node):
    if node["kind"] == "in":
        return {"field": node["field"], "in": node["values"]}
    return {"field": node["field"], "op": node["op"], "value": node["value"]}


def run_execute(case):
    rule = case["rule"]
    stages = [
        Stage(id=s["id"], keep=parse(translate(s["keep"]), RECORD_FIELDS), waives=tuple(s.get("waives", ())))
        for s in rule["stages"]
    ]
    partitions = [
        Partition(id=p["id"], source=p["from"], keep=parse(translate(p["keep"]), RECORD_FIELDS))
        for p in rule["partitions"]
    ]
    admitted = admit(case["records"], stages, lambda row: row, partitions)
    return {
        "funnel": to_json(admitted.funnel(rule["population"])),
        "survivors": [row["rowId"] for row in admitted.survivors],
        "partitionRows": {name: [row["rowId"] for row in rows] for name, rows in admitted.partitions.items()},
    }


RUNNERS = {"build": run_build, "reconcile": run_reconcile, "compose": run_compose, "execute": run_execute}


def test_every_required_vector_holds(vectors):
    cases = json.loads((vectors / "experiment/funnel.json").read_text())["cases"]
    tried = 0
    for case in cases:
        runner = RUNNERS.get(case["id"].partition("-")[0])
        if runner is None:
            continue
        tried += 1
        if "value" in case["expected"]:
            assert runner(case["input"]) == case["expected"]["value"], case["id"]
        else:
            with pytest.raises(AssayError) as caught:
                runner(case["input"])
            assert caught.value.details["reason"] == case["expected"]["refused"], case["id"]
    assert tried == len(cases) - 1


def test_the_text_table_states_every_fact_of_the_vector(vectors):
    cases = json.loads((vectors / "experiment/funnel.json").read_text())["cases"]
    (case,) = [case for case in cases if case["id"] == "render-facts"]
    text = render_funnel(read_funnel(case["input"]["funnel"]))
    lines = text.splitlines()
    assert lines[0] == "primary denominator: 48"
    for stage in case["input"]["funnel"]["stages"]:
        (line,) = [line for line in lines if line.startswith(stage["id"])]
        assert line.split()[-3:] == [str(stage[name]) for name in ("entering", "excluded", "remaining")]
    assert "48 entered = 32 surviving + 16 excluded" in lines
    assert any("prefix-fidelity" in line and "w1, w2" in line for line in lines)
    assert "sec: 3 of those that left at prefix-fidelity, never pooled" in lines


@pytest.mark.parametrize(
    ("entering", "stages", "partitions", "reason"),
    [
        (-1, [], [], "input"),
        (1.0, [], [], "input"),
        (True, [], [], "input"),
        (5, [("a", 1.0)], [], "stage-gains-rows"),
        (5, [("a", True)], [], "stage-gains-rows"),
        (5, [("a", 1), ("a", 1)], [], "duplicate-stage"),
        (5, [("a", 2)], [("p", "a", 1), ("p", "a", 1)], "duplicate-partition"),
        (5, [("a", 2)], [("p", "a", 1.5)], "partition-count"),
        (5, [("a", 2)], [("p", "a", -1)], "partition-count"),
        (5, [("a", 2)], [("p", "a", 1), ("q", "a", 2)], "partition-overdraws"),
    ],
)
def test_counts_that_cannot_be_are_refused(entering, stages, partitions, reason):
    counts = [StageCount(id=name, excluded=excluded) for name, excluded in stages]
    drawn = [PartitionCount(id=name, source=source, count=count) for name, source, count in partitions]
    with pytest.raises(BadInput) as caught:
        build_funnel("p", entering, counts, drawn)
    assert caught.value.details["reason"] == reason


def test_a_negative_reason_is_not_balanced_by_a_larger_one():
    count = StageCount(id="s", excluded=3, exclusions={"a": -1, "b": 4})
    with pytest.raises(BadInput) as caught:
        build_funnel("p", 10, [count])
    assert caught.value.details["reason"] == "negative-exclusion"


def test_surviving_is_not_taken_on_trust():
    funnel = Funnel(population="p", input=3, stages=(), surviving=2)
    with pytest.raises(EvidenceInvalid, match="3 rows remain"):
        reconcile(funnel)


def test_a_chain_that_adds_up_with_negative_counts_is_still_refused():
    stages = (
        FunnelStage(id="a", entering=5, excluded=-1, remaining=6),
        FunnelStage(id="b", entering=6, excluded=2, remaining=4),
    )
    with pytest.raises(EvidenceInvalid) as caught:
        reconcile(Funnel(population="p", input=5, stages=stages, surviving=4))
    assert caught.value.details["reason"] == "stage-gains-rows"


def test_composing_refuses_a_stage_of_the_same_name():
    first = build_funnel("p", 5, [StageCount(id="a", excluded=1)])
    second = build_funnel("q", 4, [StageCount(id="a", excluded=1)])
    with pytest.raises(BadInput) as caught:
        compose_funnels(first, second)
    assert caught.value.details["reason"] == "duplicate-stage"


@given(entering=st.integers(0, 50), shares=st.lists(st.integers(0, 50), max_size=6))
def test_every_built_funnel_reconciles(entering, shares):
    left = entering
    counts = []
    for place, share in enumerate(shares):
        counts.append(StageCount(id=f"s{place}", excluded=min(share, left)))
        left -= counts[-1].excluded
    funnel = build_funnel("p", entering, counts)
    reconcile(funnel)
    assert funnel.surviving + sum(stage.excluded for stage in funnel.stages) == funnel.input
