import math
import statistics
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.eras import Era
from assay.labs.duel.legs import (
    EchoMissing,
    GroundingMissing,
    NonFinite,
    TurnScores,
    action_leg,
    grounding_leg,
    score_turn,
)
from assay.labs.duel.means import deviation, mean, mean_known, median, tempered_mean

CLOSE = {"rel": 0.0, "abs": 1e-9}
LIFTS = st.lists(st.floats(-1, 1), min_size=1, max_size=6)
ANY = st.floats(allow_nan=True, allow_infinity=True)


def read_pairs(pairs):
    return read_rows([{"turn_id": "t", "miner": "m", "valid": True, "pairs": pairs}])[0].pairs


def naive_tempered(values, tau):
    top = max(values)
    return top + tau * math.log(sum(math.exp((value - top) / tau) for value in values) / len(values))


def test_turn_scores_of_the_vectors(read_cases, make_knobs):
    cases = read_cases("turn_score")
    assert len(cases) == 150
    for case in cases:
        given_, expected = case["input"], case["expected"]
        pairs, knobs = read_pairs(given_["pairs"]), make_knobs(era=Era.NETWORK, **given_)
        if isinstance(expected["turn"], dict):
            with pytest.raises(EchoMissing):
                score_turn(pairs, knobs)
        else:
            assert score_turn(pairs, knobs).turn == pytest.approx(expected["turn"], **CLOSE), case["id"]
        lifts = [pair.c_yc_za - pair.c_yc_e for pair in pairs]
        reason = tempered_mean(lifts, knobs.tau) if lifts else -math.inf
        assert reason == pytest.approx(expected["reason_lme"], **CLOSE), case["id"]
        r = reason - mean(lifts) if lifts else -math.inf
        assert r == pytest.approx(expected["r_leg"], **CLOSE), case["id"]
        assert grounding_leg(pairs, knobs.band_c, knobs.band_floor) == approx_or_none(expected["g_leg"]), case["id"]
        assert action_leg(pairs, knobs.tau) == approx_or_none(expected["a_leg"]), case["id"]


def approx_or_none(number):
    return None if number is None else pytest.approx(number, **CLOSE)


def test_legs_are_those_the_mode_asks_for(make_knobs, make_pair):
    pairs = [make_pair(0.1, c_ya_zc=-0.02), make_pair(0.0, c_ya_zc=-0.02), make_pair(0.0, c_ya_zc=-0.02)]
    plain, grounded, acting = (score_turn(pairs, make_knobs(score_mode=m)) for m in ("reason", "min_rg", "min_rga"))
    assert (plain.r, plain.g, plain.a, plain.turn) == (None, None, None, plain.reason)
    assert grounded.turn == min(grounded.r, grounded.g)
    assert grounded.a is None
    assert acting.a == pytest.approx(0.08)
    assert plain.spread == 0.1


@pytest.mark.parametrize(
    ("r", "g", "a", "binding"),
    [
        (1.0, 2.0, None, "r"),
        (1.0, 1.0, None, "r"),
        (2.0, 1.0, None, "g"),
        (1.0, 1.0, 1.0, "r"),
        (2.0, 1.0, 1.0, "g"),
        (2.0, 2.0, 1.0, "a"),
        (1.0, 2.0, 1.0, "r"),
        (3.0, 2.0, 1.0, "a"),
    ],
)
def test_binding_leg_is_the_least_and_ties_go_in_order(make_knobs, make_pair, r, g, a, binding):
    legs = score_turn([make_pair()], make_knobs())
    assert replace(legs, r=r, g=g, a=a).binding == binding


def test_one_reference_gives_no_r(make_knobs, make_pair):
    legs = score_turn([make_pair(0.31)], make_knobs())
    assert (legs.r, legs.reason, legs.turn) == (0.0, 0.31, 0.0)


def test_each_distinct_thought_counts_once_with_its_last_number(make_pair):
    pairs = [make_pair(z_a="a", c_za_x=-9.0), make_pair(z_a="b", c_za_x=-0.15), make_pair(z_a="a", c_za_x=-0.19)]
    assert grounding_leg(pairs, 2.0, 0.002) == pytest.approx(0.002)


def test_a_missing_thought_is_named(make_knobs, make_pair):
    for name in ("c_za_x", "c_zc_x"):
        with pytest.raises(GroundingMissing, match="lpC_za_x and lpC_zc_x"):
            score_turn([make_pair(**{name: None})], make_knobs())
    with pytest.raises(EchoMissing, match="min_rga"):
        score_turn([make_pair(c_ya_zc=None)], make_knobs(score_mode="min_rga"))


def test_scores_name_the_turn_of_an_error(make_knobs, make_side):
    rows = make_side([[0.1]], c_zc_x=None)
    with pytest.raises(GroundingMissing, match="turn 't00'"):
        TurnScores(make_knobs()).score(rows[0])


def test_scores_compute_a_row_once(make_knobs, make_side):
    scores, rows = TurnScores(make_knobs()), make_side([[0.1, 0.0], None])
    assert scores.score(rows[0]) is scores.score(rows[0])
    assert scores.score(rows[1]) is None


def test_network_drops_a_leg_that_is_no_number_and_ours_refuses_it(make_knobs, make_pair):
    pairs = [make_pair(0.1, c_za_x=math.nan), make_pair(0.0, c_za_x=math.nan)]
    network = score_turn(pairs, make_knobs(era=Era.NETWORK))
    assert network.turn == network.r > 0
    assert not network.finite
    with pytest.raises(NonFinite):
        score_turn(pairs, make_knobs())


def test_network_lets_grounding_decide_after_an_infinite_lift(make_knobs, make_pair):
    pairs = [make_pair(0.1), make_pair(c_yc_za=-math.inf)]
    legs = score_turn(pairs, make_knobs(era=Era.NETWORK))
    assert (legs.r, legs.turn) == (math.inf, legs.g)


def test_a_band_of_numbers_that_are_none_is_refused_in_either_era(make_knobs, make_pair):
    for era in Era:
        with pytest.raises(NonFinite, match="lpC_zc_x"):
            score_turn([make_pair(c_zc_x=math.inf), make_pair()], make_knobs(era=era))


def test_hedging_pays_in_v3_and_committing_in_v4_and_v5(make_knobs, make_pair):
    hedge, commit = [make_pair(0.03)] * 3, [make_pair(lift) for lift in (0.2, -0.06, -0.06)]
    v3, v4, v5 = make_knobs(score_mode="reason", tau=None), make_knobs(score_mode="reason"), make_knobs(band_floor=1.0)
    assert score_turn(hedge, v3).turn > score_turn(commit, v3).turn
    assert score_turn(hedge, v4).turn < score_turn(commit, v4).turn
    assert score_turn(hedge, v5).turn < score_turn(commit, v5).turn


def test_guessing_the_mode_pays_less_as_tau_goes_up_and_shows_in_the_spread(make_knobs, make_pair):
    pairs = [make_pair(lift, c_zc_x=t) for lift, t in ((0.4, -0.9), (0.0, 0.1), (0.0, 0.2))]
    legs = [score_turn(pairs, make_knobs(tau=tau)) for tau in (0.01, 0.03, 0.1, 1.0)]
    gains = [each.r for each in legs]
    assert gains == sorted(gains, reverse=True)
    assert all(each.turn <= each.reason - mean([0.4, 0.0, 0.0]) for each in legs)
    assert legs[0].spread == 0.4


@given(lifts=LIFTS, constant=st.floats(-1, 1), tau=st.floats(0.005, 1))
def test_a_constant_lift_moves_v4_by_itself_and_r_not_at_all(lifts, constant, tau, make_knobs, make_pair):
    knobs = make_knobs(tau=tau, band_floor=10.0)
    before = score_turn([make_pair(lift) for lift in lifts], knobs)
    after = score_turn([make_pair(lift + constant) for lift in lifts], knobs)
    assert after.r == pytest.approx(before.r, abs=1e-12)
    assert after.reason - before.reason == pytest.approx(constant, abs=1e-12)


@given(lifts=LIFTS, order=st.randoms(use_true_random=False), tau=st.floats(0.001, 1))
def test_the_order_of_pairs_never_matters(lifts, order, tau, make_knobs, make_pair):
    pairs = [make_pair(lift, c_zc_x=-lift) for lift in lifts]
    shuffled = order.sample(pairs, len(pairs))
    assert score_turn(pairs, make_knobs(tau=tau)) == score_turn(shuffled, make_knobs(tau=tau))


@given(lifts=LIFTS, tau=st.floats(0.01, 1))
def test_tempered_mean_is_the_systems_to_within_its_rounding(lifts, tau):
    assert tempered_mean(lifts, tau) == pytest.approx(naive_tempered(lifts, tau), rel=1e-14, abs=1e-15)


@given(lifts=LIFTS, tau=st.floats(0.01, 1))
def test_tempered_mean_is_rounded_once(lifts, tau):
    top, heat = Decimal(max(lifts)), Decimal(tau)
    with localcontext(prec=60):
        total = sum((((Decimal(lift) - top) / heat).exp() for lift in lifts), Decimal(0))
        exact = top + heat * (total / len(lifts)).ln()
    assert tempered_mean(lifts, tau) == pytest.approx(float(exact), rel=2**-52, abs=1e-24)


@given(st.lists(st.floats(-0.3, 0.3), min_size=2, max_size=4))
def test_tempered_mean_of_usual_numbers_is_within_a_femto_nat(lifts):
    assert tempered_mean(lifts, 0.03) == pytest.approx(naive_tempered(lifts, 0.03), rel=0, abs=1e-15)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_means_are_exact(values):
    assert mean(values) == statistics.mean(values)


@given(st.lists(st.floats(-1e150, 1e150), min_size=2, max_size=9))
def test_deviations_are_correctly_rounded(values):
    assert deviation(values) == statistics.stdev(values)


@given(st.lists(ANY, min_size=2, max_size=4), st.floats(0.001, 1))
def test_non_finite_numbers_are_carried_on(values, tau):
    finite = all(map(math.isfinite, values))
    assert math.isfinite(mean(values)) == finite
    if not finite:
        assert not math.isfinite(tempered_mean(values, tau) - mean(values))


def test_means_at_their_edges():
    assert mean([0.002] * 10) == 0.002
    assert mean([math.inf, 1.0]) == math.inf
    assert math.isnan(mean([math.inf, -math.inf]))
    assert math.isnan(deviation([math.nan, 1.0]))
    assert deviation([1.5e308, -1.5e308]) == math.inf
    assert deviation([0.1, 0.1]) == 0.0
    assert mean_known([None, 1.0, None]) == 1.0
    assert mean_known([None]) is None
    assert (median([3, 1, 2]), median([4, 1, 2, 3])) == (2.0, 2.5)


def test_tempered_mean_at_its_edges():
    assert tempered_mean([0.3, 0.1], 0.0) == tempered_mean([0.3, 0.1], None) == 0.2
    assert tempered_mean([0.3], 0.03) == 0.3
    assert tempered_mean([0.1] * 3, 0.03) == 0.1
    assert tempered_mean([0.3, -math.inf], 0.03) == pytest.approx(0.3 - 0.03 * math.log(2))
    assert tempered_mean([1.0, 0.0], 1e-300) == 1.0
    assert math.isnan(tempered_mean([math.inf, 0.0], 0.03))
    assert math.isnan(tempered_mean([-math.inf, -math.inf], 0.03))
    assert math.isnan(tempered_mean([0.1, 0.2], math.inf))
