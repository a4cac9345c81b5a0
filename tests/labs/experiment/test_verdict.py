"""Verdicts: the same bytes whatever the order of rows, exact where they decide, and refused where they must be."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.canonical import dumps, dumps_evidence, loads
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.seal import registration_digest
from assay.labs.experiment.registration import load
from assay.labs.experiment.verdict import derive

NOTHING_COMPUTED = ("counts", "estimate", "interval", "signFlipInterval", "test", "clusters", "contrast")


@pytest.fixture
def judge(make_experiment, make_evidence):
    """The verdict of rows under the registration, changed as asked, after a look at its bytes."""

    def derive_twice(rows, /, experiment=None, **changes):
        experiment = experiment or make_experiment(**changes)
        verdict = derive(experiment, make_evidence(experiment, rows))
        assert dumps_evidence(derive(experiment, make_evidence(experiment, rows))) == dumps_evidence(verdict)
        assert loads(dumps_evidence(verdict)) == verdict
        return verdict

    return derive_twice


@pytest.fixture
def real(make_document):
    document = make_document()
    document["outcome"] = {"kind": "real"}
    return load(document)


def flip_every_sign(totals):
    """The exact p-value, by going through every choice of signs."""
    observed = abs(sum(totals))
    signs = list(product((1, -1), repeat=len(totals)))
    return sum(abs(sum(s * t for s, t in zip(row, totals, strict=True))) >= observed for row in signs), len(signs)


def codes(items):
    return [item["code"] for item in items]


def test_a_clear_difference_is_decided_with_all_its_numbers(judge, won_everywhere, make_experiment):
    verdict = judge(won_everywhere(7))
    assert verdict["kind"] == "assay.experiment.verdict"
    assert verdict["registration"] == registration_digest(make_experiment().to_document())
    assert verdict["label"] == "retrospective"
    assert verdict["seenBefore"] == [{"who": "the registrant", "what": "everything"}]
    assert verdict["decision"]["verdict"] == "treatment-better"
    assert verdict["decision"]["branch"] == 0
    assert verdict["decision"]["signals"] == {"significant": True, "direction": "positive", "interval": "above-zero"}
    assert verdict["refusals"] == []
    assert verdict["counts"] == {"pairs": 29, "treatmentOnly": 21, "controlOnly": 1, "both": 7, "neither": 0}
    assert verdict["estimate"]["value"] == 20 / 29
    assert verdict["estimate"]["treatmentMean"] == 28 / 29
    assert verdict["estimate"]["controlMean"] == 8 / 29
    assert (verdict["estimate"]["pairs"], verdict["estimate"]["clusters"]) == (29, 7)
    assert verdict["test"]["p"] == {"numerator": 2, "denominator": 128, "value": 2 / 128}
    assert verdict["test"]["floor"] == 2 / 128
    assert "seed" not in verdict["test"]
    assert verdict["clusters"][0] == {
        "cluster": "c000",
        "pairs": 5,
        "missing": 0,
        "treatmentMean": 4 / 5,
        "controlMean": 2 / 5,
        "difference": 2 / 5,
        "treatmentOnly": 3,
        "controlOnly": 1,
    }
    assert [row["cluster"] for row in verdict["clusters"]] == [f"c00{n}" for n in range(7)]
    assert verdict["contrast"]["label"] == "not registered: for contrast only"
    assert (verdict["contrast"]["kind"], verdict["contrast"]["discordant"]) == ("mcnemar-exact", 22)
    assert verdict["contrast"]["p"] == 2 * 23 / 2**22
    assert codes(verdict["notes"]) == ["retrospective", "few-clusters"]


def test_the_arms_swapped_swap_the_verdict(judge, won_everywhere):
    verdict = judge(won_everywhere(7), arms={"treatment": "old", "control": "new"})
    assert verdict["decision"]["verdict"] == "control-better"
    assert verdict["estimate"]["value"] == -20 / 29
    assert verdict["counts"]["controlOnly"] == 21


def test_no_difference_is_no_difference_shown(judge, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", n == c % 2, n != c % 2) for c in range(8) for n in range(2)]
    verdict = judge(make_pairs(pairs))
    assert verdict["decision"]["verdict"] == "no-difference-shown"
    assert verdict["test"]["p"] == {"numerator": 256, "denominator": 256, "value": 1.0}
    assert (verdict["interval"]["lower"], verdict["interval"]["upper"]) == (0.0, 0.0)
    assert verdict["contrast"]["p"] == 1.0


def test_disagreement_has_its_branch(judge, make_pairs):
    wins = [3, 2, 2, 1, 1, -1]
    pairs = [
        (f"u{c}{n}", f"c{c}", win > 0 and n < win, win < 0 and n < -win) for c, win in enumerate(wins) for n in range(4)
    ]
    verdict = judge(make_pairs(pairs), interval={"level": 0.9}, test={"alpha": 0.04})
    assert Fraction(*flip_every_sign(wins)) > Fraction("0.04")
    assert verdict["interval"]["lower"] > 0
    assert verdict["decision"]["verdict"] == "no-difference-shown-interval-disagrees"


@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_a_design_below_the_power_floor_is_refused_before_outcomes_are_looked_at(judge, won_everywhere, clusters):
    verdict = judge(won_everywhere(clusters))
    assert codes(verdict["refusals"]) == ["power-floor"]
    assert verdict["refusals"][0]["details"] == {
        "clusters": clusters,
        "floor": 2.0 ** (1 - clusters),
        "alpha": 0.05,
        "clustersNeeded": 6,
    }
    assert verdict["decision"]["verdict"] == "refused"
    assert verdict["decision"]["branch"] is None
    assert all(verdict[name] is None for name in NOTHING_COMPUTED)
    assert verdict["funnel"]["pairs"] == 4 * clusters + 1
    assert codes(verdict["notes"]) == ["retrospective"]


def test_no_outcome_shows_in_a_verdict_below_the_floor(judge, make_pairs):
    first = judge(make_pairs([("u", "a", True, False), ("v", "b", None, True)]))
    second = judge(make_pairs([("u", "a", False, True), ("v", "b", True, None)]))
    assert dumps(first) == dumps(second)


def test_the_floor_is_met_at_exactly_alpha(judge, won_everywhere):
    assert judge(won_everywhere(6), test={"alpha": 0.03125})["refusals"] == []
    assert codes(judge(won_everywhere(6), test={"alpha": 0.03})["refusals"]) == ["power-floor"]


def test_admission_counts_before_the_floor_does(judge, won_everywhere):
    stage = {"id": "not-c000", "keep": {"not": {"field": "cluster", "in": ["c000"]}}, "reason": "another benchmark"}
    verdict = judge(won_everywhere(6), admission=[stage])
    assert codes(verdict["refusals"]) == ["power-floor"]
    assert verdict["funnel"]["stages"][1] == {
        "id": "not-c000",
        "reason": "another benchmark",
        "entering": 50,
        "excluded": 10,
        "remaining": 40,
    }


def test_no_pairs_is_a_refusal(judge, make_rows):
    verdict = judge(make_rows([("new", "u", "a", True), ("old", "v", "a", True)]))
    assert codes(verdict["refusals"]) == ["no-pairs"]
    assert [stage["excluded"] for stage in verdict["funnel"]["stages"]] == [0, 1, 1]
    assert judge([])["refusals"][0]["details"] == {"rows": 0}


def test_a_missing_outcome_is_a_refusal_or_a_failure_as_registered(judge, won_everywhere, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", None if n == c == 0 else True, False) for c in range(6) for n in range(3)]
    rows = make_pairs(pairs)
    verdict = judge(rows)
    assert codes(verdict["refusals"]) == ["missing-outcome"]
    assert verdict["refusals"][0]["details"] == {"treatment": 1, "control": 0, "units": ["u00"]}
    assert verdict["test"] is None
    verdict = judge(rows, outcome={"missing": "failure"})
    assert verdict["refusals"] == []
    assert verdict["counts"]["neither"] == 1
    assert verdict["notes"][-1] == {
        "code": "missing-as-failure",
        "message": "1 missing outcomes count as failures, as registered",
    }


def test_a_missing_outcome_that_admission_removes_does_not_matter(judge, won_everywhere, make_rows):
    rows = won_everywhere(7)
    late = make_rows([("new", "late", "c000", None, 0), ("old", "late", "c000", None, 0)])
    stage = {"id": "started", "keep": {"field": "turns", "op": "gt", "value": 0}, "reason": "never started"}
    changed = [*rows, *late]
    renumbered = [type(row)(**{**fields(row), "index": index}) for index, row in enumerate(changed)]
    assert judge(renumbered, admission=[stage])["refusals"] == []
    assert codes(judge(renumbered)["refusals"]) == ["missing-outcome"]


def fields(row):
    return {name: getattr(row, name) for name in ("arm", "unit", "cluster", "outcome", "more")}


def test_many_clusters_are_tested_by_drawn_signs(judge, won_everywhere):
    verdict = judge(won_everywhere(31))
    test = verdict["test"]
    assert (test["method"], test["assignments"], test["seed"]) == ("monte-carlo", 1000, 1)
    assert test["p"] == {
        "numerator": test["atLeastAsExtreme"] + 1,
        "denominator": 1001,
        "value": (test["atLeastAsExtreme"] + 1) / 1001,
    }
    assert test["floor"] == 1 / 1001
    assert codes(verdict["notes"]) == ["retrospective", "monte-carlo"]
    other = judge(won_everywhere(31), test={"seed": 2})
    assert other["test"]["assignments"] == 1000
    assert judge(won_everywhere(21))["test"]["method"] == "monte-carlo"
    assert judge(won_everywhere(20))["test"]["method"] == "exact"


def test_the_note_on_drawn_assignments_says_how_far_a_seed_can_be_off(judge, won_everywhere):
    note = judge(won_everywhere(31))["notes"][-1]["message"]
    assert "31 clusters have too many sign assignments" in note
    assert "the standard error of this p is 0.00100" in note
    assert "another seed could decide otherwise" not in note


def test_an_interval_of_another_level_than_the_test_is_named(judge, won_everywhere):
    assert "another-level" not in codes(judge(won_everywhere(7))["notes"])
    assert "another-level" in codes(judge(won_everywhere(7), interval={"level": 0.9})["notes"])


def test_the_seed_of_the_interval_is_used(judge, won_everywhere, make_pairs):
    pairs = [(f"u{c}-{n}", f"c{c:02}", n < c, n == 0) for c in range(12) for n in range(12)]
    one, two = (judge(make_pairs(pairs), interval={"seed": seed})["interval"] for seed in (1, 2))
    assert (one["seed"], two["seed"]) == (1, 2)
    assert (one["lower"], one["upper"]) != (two["lower"], two["upper"])


def test_an_interval_that_rejects_nothing_is_open(judge, won_everywhere):
    verdict = judge(won_everywhere(6), interval={"level": 0.98})
    assert (verdict["signFlipInterval"]["lower"], verdict["signFlipInterval"]["upper"]) == (None, None)
    assert "open" in verdict["signFlipInterval"]["note"]


def test_real_outcomes_are_summed_as_the_decimals_they_show(judge, real, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", value, 0.1 * 1) for c in range(7) for n, value in enumerate((0.1, 0.2, 0.3))]
    verdict = judge(make_pairs(pairs), real)
    assert verdict["estimate"]["value"] == 0.1
    assert verdict["clusters"][0]["treatmentMean"] == 0.2
    assert verdict["clusters"][0]["treatmentOnly"] is None
    assert verdict["counts"] is None
    assert verdict["contrast"]["kind"] == "sign-test-exact"
    assert verdict["contrast"]["discordant"] == 14
    assert verdict["test"]["p"]["numerator"] == 2


def test_totals_that_cancel_in_decimals_are_exactly_zero(judge, real, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", value, 0) for c in range(6) for n, value in enumerate((0.1, 0.2, -0.3))]
    verdict = judge(make_pairs(pairs), real)
    assert verdict["decision"]["signals"]["direction"] == "zero"
    assert verdict["test"]["p"]["value"] == 1.0


@pytest.mark.parametrize(
    "rows",
    [
        [("new", "u", "a", True), ("old", "u", "a", True), ("new", "u", "a", True)],
        [("new", "u", "a", True), ("old", "u", "b", True)],
    ],
)
def test_rows_that_cannot_be_paired_are_refused_as_evidence(make_experiment, make_evidence, make_rows, rows):
    experiment = make_experiment()
    with pytest.raises(EvidenceInvalid):
        derive(experiment, make_evidence(experiment, make_rows(rows)))


PAIRS = st.lists(st.tuples(st.integers(0, 7), st.booleans(), st.booleans()), min_size=16, max_size=60).filter(
    lambda pairs: len({cluster for cluster, _, _ in pairs}) >= 6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(pairs=PAIRS, data=st.data())
def test_the_p_value_is_that_of_going_through_every_sign_and_no_order_shows(judge, make_pairs, make_rows, pairs, data):
    rows = make_pairs([(f"u{n}", f"c{c}", ours, theirs) for n, (c, ours, theirs) in enumerate(pairs)])
    verdict = judge(rows)
    totals = [sum(ours - theirs for c, ours, theirs in pairs if c == cluster) for cluster in range(8)]
    totals = [total for cluster, total in enumerate(totals) if any(c == cluster for c, _, _ in pairs)]
    numerator, denominator = flip_every_sign(totals)
    assert (verdict["test"]["p"]["numerator"], verdict["test"]["p"]["denominator"]) == (numerator, denominator)
    assert verdict["estimate"]["value"] == float(Fraction(sum(totals), len(pairs)))
    others = [("other", f"u{n}", "z", None) for n in range(data.draw(st.integers(0, 2)))]
    mixed = data.draw(st.permutations([(row.arm, row.unit, row.cluster, row.outcome) for row in rows] + others))
    again = judge(make_rows(mixed))
    assert [stage["excluded"] for stage in again["funnel"]["stages"]] == [len(others), 0, 0]
    verdict.pop("funnel")
    again.pop("funnel")
    assert dumps(again) == dumps(verdict)
