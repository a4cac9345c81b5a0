"""Routing: strata of small tasks, and the covariate trap, by which the king's own successes would enter the corpus."""

import pytest

from assay.labs.duel.corpus.routing import KingRule, assign_buckets, group_of, route_king

SOURCES = {"swesmith": "coding", "affine_math": "math"}


def rule_of(block):
    return KingRule(**block) if block else None


def test_king_rollouts_go_where_the_vectors_say(read_cases):
    for case in read_cases("king_fail_route"):
        routed = route_king(case["input"]["records"], rule_of(case["input"]["king"]))
        names = ("traj_id", "stratum", "fold_group")
        kept = [{name: record.get(name) for name in names} for record in routed.kept]
        assert kept == case["expected"]["kept"], case["id"]
        assert routed.drops == case["expected"]["drops"], case["id"]


def test_bucket_strata_are_those_of_the_vectors(read_cases):
    for case in read_cases("bucket_strata"):
        given = case["input"]
        buckets = {source: tuple(numbers) for source, numbers in given["buckets"].items()}
        records = given["records"]
        found = assign_buckets(records, buckets, given["source_to_group"])
        assert [record.get("stratum") for record in found] == case["expected"]["strata"], case["id"]
        assert sum(new is not old for new, old in zip(found, records, strict=True)) == case["expected"]["touched"]


def rollout(policy, outcome, number=0):
    record = {"traj_id": f"a__b.{number:08x}.pr_{number}__1", "instance_id": f"a__b-{number}", "source": "swesmith"}
    return {**record, "policy": {"id": policy}, "outcome": outcome}


def test_only_failures_of_the_king_enter_and_each_other_is_counted():
    """The covariate trap: a fold of what the king solved would be easy for the king, and for no other."""
    outcomes = ["solved"] * 3 + ["failed"] * 2 + ["errored"] * 4 + ["unscored", None, "won"]
    records = [rollout("king_pi", outcome, number) for number, outcome in enumerate(outcomes)]
    routed = route_king(records, KingRule())
    assert [record["outcome"] for record in routed.kept] == ["failed", "failed"]
    assert all(str(record["stratum"]).startswith("king_fail:") for record in routed.kept)
    assert all(group_of(record, SOURCES, {"king_fail": 0.1}) == "king_fail" for record in routed.kept)
    assert routed.drops == {"king_not_failed": 3, "king_errored": 4, "king_unscored": 3}
    assert len(routed.kept) + sum(routed.drops.values()) == len(records)


@pytest.mark.parametrize("rule", [None, KingRule(strata_buckets=0), KingRule(strata_buckets=-1)])
def test_without_buckets_nothing_of_the_king_enters(rule):
    routed = route_king([rollout("king_pi", "failed"), rollout("teacher", "failed")], rule)
    assert [record["policy"] for record in routed.kept] == [{"id": "teacher"}]
    assert routed.drops == {"king_no_fold_group": 1}


def test_the_teachers_rollouts_are_taken_whatever_became_of_them():
    records = [rollout("teacher_pi", outcome) for outcome in ("solved", "failed", None)]
    assert list(route_king(records, KingRule()).kept) == records


def test_records_are_copied_not_changed():
    record = rollout("king_pi", "failed")
    before = dict(record)
    route_king([record], KingRule())
    assign_buckets([record], {"swesmith": (7, 0)}, SOURCES)
    assert record == before


def test_a_group_that_is_not_part_of_the_mix_counts_as_coding():
    mix = {"coding": 0.5, "math": 0.5}
    assert group_of({"source": "affine_math"}, SOURCES, mix) == "math"
    assert group_of({"source": "affine_math"}, SOURCES, {"coding": 1.0}) == "coding"
    assert group_of({"source": "nobody"}, SOURCES, mix) == "coding"
    assert group_of({"source": "swesmith", "fold_group": "math"}, SOURCES, mix) == "math"
    assert group_of({"source": "swesmith", "fold_group": "king_fail"}, SOURCES, mix) == "coding"
