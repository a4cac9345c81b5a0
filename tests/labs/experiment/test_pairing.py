"""Pairing: every row is in a pair or counted where it left, and no unit is joined in silence."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.errors import EvidenceInvalid
from assay.labs.experiment.pairing import pair_rows
from assay.rules.funnel import reconcile

STARTED = {"id": "started", "keep": {"field": "turns", "op": "gt", "value": 0}, "reason": "the run never started"}


def left(pairing):
    return {stage.id: stage.excluded for stage in pairing.funnel.stages}


def test_pairs_come_in_the_order_of_their_units(make_experiment, make_rows):
    rows = make_rows(
        [
            ("old", "é", "a", True),
            ("new", "b", "a", True),
            ("new", "é", "a", False),
            ("new", "B", "b", None),
            ("old", "b", "a", False),
            ("old", "B", "b", True),
        ]
    )
    pairing = pair_rows(rows, make_experiment())
    assert [(pair.unit, pair.cluster, pair.treatment, pair.control) for pair in pairing.pairs] == [
        ("B", "b", None, True),
        ("b", "a", True, False),
        ("é", "a", False, True),
    ]


def test_every_row_that_leaves_is_counted_where_it_left(make_experiment, make_rows):
    rows = make_rows(
        [
            ("new", "u1", "a", True),
            ("old", "u1", "a", True),
            ("other", "u1", "z", None, 0),
            ("new", "u2", "a", True),
            ("old", "u3", "a", True),
            ("old", "u4", "a", True),
            ("new", "u5", "a", True, 0),
            ("old", "u5", "a", True),
            ("new", "u6", "a", True, None),
        ]
    )
    pairing = pair_rows(rows, make_experiment(admission=[STARTED]))
    assert left(pairing) == {
        "another-arm": 1,
        "started": 2,
        "unit-missing-in-treatment": 3,
        "unit-missing-in-control": 1,
    }
    reconcile(pairing.funnel)
    assert (pairing.funnel.input, pairing.funnel.surviving) == (9, 2)
    reasons = [stage.reason for stage in pairing.funnel.stages]
    assert reasons[1] == "the run never started"
    assert all(reasons)


def test_admission_may_read_unit_and_cluster_by_their_columns(make_experiment, make_pairs):
    stage = {"id": "not-b", "keep": {"not": {"field": "cluster", "in": ["b"]}}, "reason": "b is another benchmark"}
    rows = make_pairs([("u1", "a", True, False), ("u2", "b", True, False)])
    assert [pair.unit for pair in pair_rows(rows, make_experiment(admission=[stage])).pairs] == ["u1"]


def test_a_unit_twice_in_one_arm_is_refused(make_experiment, make_rows):
    rows = make_rows([("new", "u", "a", True), ("old", "u", "a", True), ("new", "u", "a", True)])
    with pytest.raises(EvidenceInvalid, match="unit 'u' has two rows in the arm 'new'") as caught:
        pair_rows(rows, make_experiment())
    assert caught.value.details == {"unit": "u", "rows": [0, 2]}


def test_a_unit_in_two_clusters_is_refused(make_experiment, make_rows):
    rows = make_rows([("old", "u", "a", True), ("new", "u", "b", True)])
    with pytest.raises(EvidenceInvalid, match="lies in the cluster 'b' in one arm and in 'a' in the other") as caught:
        pair_rows(rows, make_experiment())
    assert caught.value.details == {"unit": "u", "rows": [0, 1]}


def test_rows_of_other_arms_are_not_looked_at(make_experiment, make_rows):
    rows = make_rows([("other", "u", "a", None), ("other", "u", "b", None)])
    pairing = pair_rows(rows, make_experiment())
    assert pairing.pairs == ()
    assert left(pairing)["another-arm"] == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    items=st.lists(
        st.tuples(st.sampled_from(["new", "old", "other"]), st.sampled_from("uvwxyz"), st.integers(0, 1)),
        unique_by=lambda item: item[:2],
    )
)
def test_every_row_is_accounted_for(make_experiment, make_rows, items):
    rows = make_rows([(arm, unit, "c" + unit, True, turns) for arm, unit, turns in items])
    pairing = pair_rows(rows, make_experiment(admission=[STARTED]))
    reconcile(pairing.funnel)
    assert pairing.funnel.input == len(rows)
    assert pairing.funnel.surviving == 2 * len(pairing.pairs)
    admitted = {(arm, unit) for arm, unit, turns in items if turns}
    assert {pair.unit for pair in pairing.pairs} == {u for _, u in admitted if {("new", u), ("old", u)} <= admitted}
