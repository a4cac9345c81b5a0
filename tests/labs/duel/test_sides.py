import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.eras import Era
from assay.labs.duel.leakage import NameNotText
from assay.labs.duel.legs import NonFinite, TurnScores
from assay.labs.duel.rows import Row
from assay.labs.duel.sides import figure_pairs, share_of_bank, summarise


def look_up(side, name):
    return getattr(side, name) if hasattr(side, name) else getattr(side.figures, name)


def test_summaries_of_the_vectors(read_cases, make_knobs):
    cases = read_cases("miner_score")
    assert len(cases) == 27
    for case in cases:
        given_, expected = case["input"], case["expected"]
        bank = {} if given_.get("bank_frac") is None else {"bank_frac": given_["bank_frac"]}
        rows = read_rows([row | bank for row in given_["rows"]])
        side = summarise(rows, make_knobs(era=Era.NETWORK, **given_))
        assert side.miner == expected.pop("miner"), case["id"]
        for name, number in expected.items():
            close = None if number is None else pytest.approx(number, rel=0, abs=1e-9)
            assert look_up(side, name) == close, (case["id"], name)


def test_a_forfeit_costs_its_score_and_none_where_there_is_none(make_knobs, make_side):
    rows = make_side([[0.3], None, [0.1]])
    plain = make_knobs(score_mode="reason")
    assert summarise(rows, plain).reason == pytest.approx((0.3 - 0.1 + 0.1) / 3)
    assert summarise(rows, replace(plain, forfeit_turn_score=None)).reason == pytest.approx(0.2)
    assert summarise(rows, replace(plain, forfeit_turn_score=0.0)).reason == pytest.approx(0.4 / 3)
    assert summarise(rows, plain).forfeit_rate == pytest.approx(1 / 3)


def test_a_side_of_forfeits_alone_scores_minus_infinity(make_knobs, make_side):
    side = summarise(make_side([None, None]), make_knobs())
    assert (side.reason, side.n_turns, side.n_forfeits) == (-math.inf, 0, 2)
    assert summarise((), make_knobs()).miner == "?"


def test_lengths_are_of_stripped_code_points_over_pairs(make_knobs, make_side):
    long, short = make_side([[0.0] * 3], z_a="  ä𝛼\n", y_a=" x ")[0], make_side([[0.0]], z_a="z" * 10)[0]
    figures = figure_pairs([long, replace(short, turn="t9")], make_knobs())
    assert (figures.median_len_z, figures.mean_len_z) == (2.0, 4.0)
    assert figures.mean_len_y == pytest.approx((3 * 3 + len(short.pairs[0].y_a)) / 4)


def test_licence_is_a_share_of_measured_pairs_and_a_leak_has_none(make_knobs, make_side):
    measured = make_side([[0.0]])[0]
    unmeasured = make_side([[0.0]], c_ya_za=None)[0]
    leaked = make_side([[0.0]], z_a="now pytest -x tests/test_core.py")[0]
    rows = [replace(row, turn=f"t{at}") for at, row in enumerate((measured, unmeasured, leaked))]
    assert figure_pairs(rows, make_knobs()).b_gate_pass_rate == 0.5


def test_an_action_whose_name_is_no_text_ends_the_network_and_not_ours(make_knobs, make_side):
    rows = make_side([[0.0]], y_a='{"name": 5}')
    with pytest.raises(NameNotText):
        summarise(rows, make_knobs(era=Era.NETWORK))
    assert summarise(rows, make_knobs()).figures.b_gate_pass_rate == 1.0


def test_network_ignores_the_contracts_licence_threshold_and_ours_reads_it(make_knobs, make_side):
    rows = make_side([[0.0]])
    strict = make_knobs(causality_tau=0.06)
    assert figure_pairs(rows, strict).b_gate_pass_rate == 0.0
    assert figure_pairs(rows, replace(strict, era=Era.NETWORK)).b_gate_pass_rate == 1.0


def test_eta_needs_a_lift_of_the_teachers(make_knobs, make_side):
    for teachers, eta in ((0.4, 0.25), (0.0, None), (math.inf, None), (None, None)):
        assert figure_pairs(make_side([[0.1]], c_yc_zc=teachers), make_knobs()).mean_eta == eta


def test_own_numbers_are_told(make_knobs, make_side):
    own = {"lpA_yc_za": -0.1, "lpA_yc_e": -0.2, "lpA_ya_za": -0.1, "lpA_ya_e": -0.2}
    figures = figure_pairs(make_side([[0.0]], a=own), make_knobs())
    assert (figures.gate_pass_rate, figures.calib_ratio, figures.baseline_abs) == (1.0, 0.5, 0.2)
    assert figures.mean_l1lift == pytest.approx(0.1)
    partial = figure_pairs(make_side([[0.0]], a={"lpA_yc_za": -0.1}), make_knobs())
    assert (partial.gate_pass_rate, partial.calib_ratio, partial.mean_l1lift) == (0.0, None, None)


def test_flat_prose_in_band_shows_by_a_low_share_of_g_and_an_r_of_nothing(make_knobs, make_side):
    side = summarise(make_side([[0.02] * 3] * 5), make_knobs())
    assert side.g_bind_frac == 0.0
    assert side.mean_r_leg == pytest.approx(0.0, abs=1e-15)
    assert side.reason <= 1e-15


def test_parroting_is_bound_by_g(make_knobs, make_side):
    side = summarise(make_side([[0.3, 0.0, 0.0]] * 5, c_za_x=-0.05), make_knobs())
    assert side.g_bind_frac == 1.0
    assert side.mean_g_leg < 0
    assert side.reason == side.mean_g_leg


def test_share_of_bank_is_of_rows_with_an_action():
    rows = [Row(turn="a", miner="m", pairs=(), bank_frac=0.5), Row(turn="b", miner="m", pairs=(), bank_frac=None)]
    assert share_of_bank(rows) == 0.5
    assert share_of_bank([Row(turn="a", miner="m", pairs=None, bank_frac=0.5)]) is None


def test_duplicates_count_once_in_ours_and_each_time_on_the_network(make_knobs, make_side):
    bad, good = make_side([[-0.5]])[0], make_side([[0.3]])[0]
    other = replace(make_side([[0.1]])[0], turn="t9")
    plain = make_knobs(score_mode="reason")
    assert summarise([bad, good, other], plain).reason == pytest.approx(0.2)
    assert summarise([bad, good, other], replace(plain, era=Era.NETWORK)).reason == pytest.approx(-0.1 / 3)


def test_ours_never_averages_a_number_that_is_none(make_knobs, make_side):
    rows = make_side([[0.1, 0.0], [0.2, 0.0]])
    broken = (rows[0], *make_side([None, [0.2, 0.0]], c_za_x=math.nan)[1:])
    side = summarise(broken, make_knobs())
    assert side.n_forfeits == 1
    assert math.isfinite(side.reason)
    with pytest.raises(NonFinite):
        TurnScores(make_knobs()).score(broken[1])


@given(
    turns=st.lists(st.none() | st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=3), max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_never_matters(turns, order, make_knobs, make_side):
    rows = make_side(turns, c_yc_zc=0.7)
    for era in Era:
        knobs = make_knobs(era=era, score_mode="min_rga")
        assert summarise(order.sample(rows, len(rows)), knobs) == summarise(rows, knobs)
