"""How a rollout ended: the reference's readings, and what a record that is no record of a clean end counts as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.corpus.outcomes import rollout_outcome

CAP = {"type": "Stop", "message": "rollout stopped: max_turns"}
OUTCOMES = {"solved", "failed", "unscored", "errored"}


def end(stop="agent_completed", errors=(), **rewards):
    return rollout_outcome({"stop_condition": stop, "errors": list(errors), "rewards": rewards})


def test_vectors(read_cases):
    cases = read_cases("rollout_outcome")
    assert len(cases) == 10
    for case in cases:
        assert rollout_outcome(case["input"]["trace"]) == case["expected"]["outcome"], case["id"]


@pytest.mark.parametrize(
    ("score", "outcome"),
    [
        (1, "solved"),
        (1.0, "solved"),
        ("1", "solved"),
        (10**400, "solved"),
        (float("inf"), "solved"),
        (0.999, "failed"),
        (-(10**400), "failed"),
        (float("nan"), "failed"),
        ("nan", "failed"),
        ("", "unscored"),
        ("yes", "unscored"),
        (True, "unscored"),
        (None, "unscored"),
        ([1], "unscored"),
    ],
)
def test_a_score_of_one_solves(score, outcome):
    assert end(solved={"score": score}) == outcome
    assert end(correct={"score": score}) == outcome
    assert end(passed_fraction={"score": score}) == outcome


def test_a_rollout_that_used_up_its_turns_failed_where_nothing_graded_it():
    assert end() == "unscored"
    assert end("max_turns") == "failed"
    assert end("max_turns", solved={"score": True}) == "failed"
    assert end("max_turns", solved={"score": 1}) == "solved"


def test_the_first_grade_that_is_there_counts():
    assert end(solved={"score": 0}, correct={"score": 1}) == "failed"
    assert end(solved={}, correct={"score": 1}) == "solved"
    assert end(solved={"weight": 1}, correct={"score": 1}) == "unscored"
    assert end(solved="1", correct={"score": 1}) == "unscored"
    assert end(other={"score": 1}) == "unscored"


def test_only_a_clean_end_is_graded():
    for stop in ("error", "loop_guard", "", None, 3, ["agent_completed"]):
        assert end(stop, solved={"score": 1}) == "errored"
    assert end(errors=[{"type": "X", "message": "boom"}], solved={"score": 1}) == "errored"


def test_that_the_turns_were_used_up_is_no_error_of_a_rollout_that_used_them_up():
    assert end("max_turns", [CAP, CAP], solved={"score": 1}) == "solved"
    assert end("agent_completed", [CAP], solved={"score": 1}) == "errored"
    assert end("max_turns", [CAP, {"message": "boom"}]) == "errored"


@pytest.mark.parametrize("errors", [{"type": "X"}, "boom", 3, True, [None], ["rollout stopped: max_turns"], [{}]])
def test_errors_that_are_no_list_of_errors_are_errors(errors):
    trace = {"stop_condition": "max_turns", "errors": errors, "rewards": {"solved": {"score": 1}}}
    assert rollout_outcome(trace) == "errored"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
GRADES = st.fixed_dictionaries({}, optional={"solved": JUNK, "correct": JUNK, "passed_fraction": JUNK})


@given(JUNK | st.sampled_from(["agent_completed", "max_turns"]), JUNK | st.just([CAP]), JUNK | GRADES)
def test_any_trace_has_an_outcome(stop, errors, rewards):
    assert rollout_outcome({"stop_condition": stop, "errors": errors, "rewards": rewards}) in OUTCOMES
