"""Signals of a result, and the two rules every table of this lab obeys."""

import copy
from fractions import Fraction

import pytest

from assay.labs.experiment.signals import SIGNALS, agrees, read_decision, read_signals
from assay.labs.experiment.template import DECISION
from assay.rules.decisions import list_states
from assay.rules.yaml_documents import read_yaml

DEFAULT = read_yaml(DECISION)["decision"]
SIGNIFICANT = {"field": "significant", "op": "eq", "value": True}
INCLUDES = {"field": "interval", "op": "eq", "value": "includes-zero"}
REST = {"all": []}


def branch(verdict, when):
    return {"verdict": verdict, "when": when, "says": "it is so"}


def test_the_default_table_is_accepted_and_uses_every_branch():
    table, problems = read_decision(copy.deepcopy(DEFAULT), "decision")
    assert problems == ()
    assert len({taken.verdict for _, taken in table.reaches()}) == len(DEFAULT) == 7


@pytest.mark.parametrize(
    ("p", "alpha", "significant"),
    [
        (Fraction(1, 20), Fraction(1, 20), True),
        (Fraction(3, 10), Fraction("0.3"), True),
        (Fraction(51, 1000), Fraction(1, 20), False),
        (Fraction(10**30 + 1, 20 * 10**30), Fraction(1, 20), False),
    ],
)
def test_significance_is_decided_exactly(p, alpha, significant):
    zero = Fraction(0)
    assert read_signals(p=p, alpha=alpha, estimate=zero, lower=zero, upper=zero)["significant"] is significant


@pytest.mark.parametrize(
    ("lower", "upper", "side"),
    [
        (1, 2, "above-zero"),
        (-2, -1, "below-zero"),
        (-1, 1, "includes-zero"),
        (0, 1, "includes-zero"),
        (-1, 0, "includes-zero"),
        (0, 0, "includes-zero"),
        (Fraction(1, 10**400), 1, "above-zero"),
    ],
)
def test_an_end_at_zero_includes_zero(lower, upper, side):
    state = read_signals(
        p=Fraction(1), alpha=Fraction(1, 2), estimate=Fraction(0), lower=Fraction(lower), upper=Fraction(upper)
    )
    assert state["interval"] == side


@pytest.mark.parametrize(("estimate", "direction"), [(1, "positive"), (-1, "negative"), (0, "zero")])
def test_direction_is_the_sign_of_the_estimate(estimate, direction):
    one = Fraction(1)
    state = read_signals(p=one, alpha=one / 2, estimate=Fraction(estimate), lower=one, upper=one)
    assert state["direction"] == direction


def test_five_states_agree_and_the_others_do_not():
    agreeing = [tuple(state.values()) for state in list_states(SIGNALS) if agrees(state)]
    assert agreeing == [
        (True, "positive", "above-zero"),
        (True, "negative", "below-zero"),
        (False, "positive", "includes-zero"),
        (False, "negative", "includes-zero"),
        (False, "zero", "includes-zero"),
    ]


def test_p_decides():
    _, problems = read_decision([branch("fine", INCLUDES), branch("odd", REST)], "decision")
    assert len(problems) == 2
    assert all("p decides" in problem for problem in problems)


def test_disagreement_needs_a_name_of_its_own():
    table = [branch("different", SIGNIFICANT), branch("same", INCLUDES), branch("odd", REST)]
    _, problems = read_decision(table, "decision")
    (problem,) = problems
    assert "'different'" in problem
    assert "give the disagreement a verdict of its own" in problem


def test_one_name_may_be_on_several_branches():
    table = copy.deepcopy(DEFAULT)
    table[3]["verdict"] = table[4]["verdict"] = table[2]["verdict"]
    assert read_decision(table, "decision")[1] == ()


def test_the_name_of_a_refusal_is_taken():
    table = copy.deepcopy(DEFAULT)
    table[5]["verdict"] = "refused"
    assert "turn down" in read_decision(table, "decision")[1][0]


def test_problems_of_any_table_come_first():
    _, problems = read_decision(DEFAULT[:-1], "decision")
    assert "6 of 18 states have no branch" in problems[0]
