import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.crown import NonFinite, compare_turns, decide, judge
from assay.labs.duel.eras import Era
from assay.labs.duel.legs import GroundingMissing
from assay.labs.duel.rows import Row
from assay.labs.duel.sides import summarise

TURNS = st.lists(st.none() | st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=3), max_size=6)
LOUD = {"lpA_ya_za": 0.0, "lpA_ya_e": -1.0}
PUBLIC = {
    "margin": "margin",
    "se": "se",
    "z": "z",
    "challenger_wins": "challenger_wins",
    "n_paired_turns": "paired",
    "n_forfeit_turns": "forfeit_turns",
    "thought_floor_blocked": "thought_floor_blocked",
    "causality_blocked": "causality_blocked",
}


@pytest.fixture
def plain(make_knobs):
    return make_knobs(score_mode="reason")


def test_duels_of_the_vectors(read_cases, make_knobs):
    cases = read_cases("duel_verdict")
    assert len(cases) == 50
    for case in cases:
        given_, expected = case["input"], case["expected"]
        knobs = make_knobs(era=Era.NETWORK, **given_["params"])
        challenger, king = read_rows(given_["challenger_rows"]), read_rows(given_["king_rows"])
        duel = judge(challenger, king, knobs)
        found = {name: getattr(duel, ours) for name, ours in PUBLIC.items()}
        assert found == pytest.approx({name: expected[name] for name in PUBLIC}, rel=0, abs=1e-9), case["id"]
        assert decide(challenger, king, knobs).duel == duel
        assert len(duel.differences) == duel.paired


def test_era_does_not_matter_where_every_number_is_there(read_cases, make_knobs):
    for case in read_cases("duel_verdict"):
        if case["input"]["params"]["causality_gamma"] > 0 and case["input"]["params"]["score_mode"] == "min_rg":
            sides = [read_rows(case["input"][f"{side}_rows"]) for side in ("challenger", "king")]
            duels = [judge(*sides, make_knobs(era=era, **case["input"]["params"])) for era in Era]
            assert duels[0] == duels[1], case["id"]


def test_a_constant_edge_crowns_only_above_the_least_margin(plain, make_side):
    for edge, crowned in ((0.0019, False), (0.002, False), (0.0021, True)):
        duel = judge(make_side([[edge]] * 10), make_side([[0.0]] * 10), plain)
        assert (duel.margin, duel.se, duel.z, duel.challenger_wins) == (edge, 0.0, math.inf, crowned)


def test_a_copy_within_noise_is_not_crowned_unless_nothing_is_asked(plain, make_side):
    edges = [[0.0006 + (0.001 if at % 2 else -0.001)] for at in range(12)]
    duel = judge(make_side(edges), make_side([[0.0]] * 12), plain)
    assert not duel.challenger_wins
    assert judge(make_side(edges), make_side([[0.0]] * 12), replace(plain, min_margin=0.0, k_sigma=1.0)).challenger_wins


def test_answering_easy_turns_alone_pays_only_where_forfeits_are_dropped(plain, make_side):
    chosen = make_side([[0.1]] * 3 + [None] * 9)
    king = make_side([[0.0]] * 12)
    dropped = judge(chosen, king, replace(plain, forfeit_turn_score=None))
    scored = judge(chosen, king, plain)
    assert (dropped.challenger_wins, dropped.paired, dropped.forfeit_turns) == (True, 3, 0)
    assert (scored.challenger_wins, scored.paired, scored.forfeit_turns) == (False, 12, 9)


def test_a_turn_that_both_forfeit_is_a_tie_that_counts(plain, make_side):
    duel = judge(make_side([None, [0.1]]), make_side([None, [0.1]]), plain)
    assert duel.differences == (("t00", 0.0), ("t01", 0.0))
    assert duel.forfeit_turns == 1


def test_gates_are_the_challengers_alone(plain, make_side):
    good, short = make_side([[0.1]] * 4), make_side([[0.1]] * 4, z_a="x" * 79 + "   ")
    weak = make_side([[0.1]] * 4, c_ya_za=-0.09)
    king = make_side([[0.0]] * 4, z_a="", c_ya_za=-0.2)
    assert judge(good, king, plain).challenger_wins
    blocked = judge(short, king, plain)
    assert (blocked.thought_floor_blocked, blocked.challenger_wins) == (True, False)
    assert blocked.rejection_reason == "thought_too_short"
    assert judge(weak, king, plain).rejection_reason == "causality_fail"
    both = judge([replace(row, pairs=(replace(row.pairs[0], z_a="x"),)) for row in weak], king, plain)
    assert (both.causality_blocked, both.rejection_reason) == (True, "thought_too_short")
    assert judge(good, king, plain).rejection_reason is None


def test_forfeits_alone_are_stopped_by_both_gates(plain, make_side):
    duel = judge(make_side([None] * 4), make_side([[-1.0]] * 4), plain)
    assert duel.margin > 0
    assert (duel.thought_floor_blocked, duel.causality_blocked, duel.challenger_wins) == (True, True, False)


def test_fewer_than_two_turns_test_nothing(plain, make_side):
    duel = judge(make_side([[0.5]], z_a=""), make_side([[0.0]]), plain)
    assert (duel.margin, duel.se, duel.z, duel.challenger_wins) == (0.0, math.inf, 0.0, False)
    assert not duel.thought_floor_blocked


def test_the_last_of_several_rows_counts_and_they_are_told(make_knobs, make_side):
    king = make_side([[0.0]] * 3)
    bad, good = make_side([[-0.5]] * 3), make_side([[0.1]] * 3)
    for era in Era:
        duel = judge((*bad, *good, *good), (*king, king[0]), make_knobs(era=era, score_mode="reason"))
        assert duel.margin == 0.1
        assert (duel.paired, duel.challenger_duplicates, duel.king_duplicates) == (3, 6, 1)


def test_repeating_licensed_rows_moves_no_gate_in_ours(plain, make_side):
    weak, strong = make_side([[0.1]] * 4, c_ya_za=-0.1), make_side([[0.1]] * 4)
    repeated = (*strong, *strong, *weak)
    king = make_side([[0.0]] * 4)
    assert judge(repeated, king, replace(plain, era=Era.NETWORK)).challenger_wins
    assert judge(repeated, king, plain).rejection_reason == "causality_fail"


def test_filler_wins_under_v4_and_loses_under_v5(make_knobs, make_side):
    honest = make_side([[0.2, -0.05, -0.05]] * 6)
    filler = make_side([[0.5, 0.25, 0.25]] * 6, c_za_x=-0.45)
    assert judge(filler, honest, make_knobs(score_mode="reason")).challenger_wins
    assert judge(filler, honest, make_knobs()).margin < -0.2


def test_an_unmeasured_thought_cannot_be_judged_on_the_network(make_knobs, make_side):
    rows = make_side([[0.1]] * 2, c_zc_x=None)
    with pytest.raises(GroundingMissing):
        judge(rows, rows, make_knobs(era=Era.NETWORK))


def test_a_difference_that_is_not_finite_is_refused(make_knobs, make_side):
    network = make_knobs(era=Era.NETWORK, score_mode="reason")
    for number in (math.nan, math.inf, -math.inf):
        rows = make_side([[0.1], [number], [0.2]])
        with pytest.raises(NonFinite, match="t01"):
            judge(rows, make_side([[0.0]] * 3), network)
    empty = Row(turn="t00", miner="m", pairs=())
    with pytest.raises(NonFinite):
        judge([empty, *make_side([None, [0.1]])[1:]], make_side([[0.0]] * 2), network)
    with pytest.raises(NonFinite, match="t0, t1, t2 and 2 more"):
        compare_turns([(f"t{at}", math.nan) for at in range(5)])


def test_no_crown_on_a_leg_that_the_network_reads_past(make_knobs, make_side):
    knobs = make_knobs(era=Era.NETWORK)
    hidden = make_side([[0.3, 0.0, 0.0]] * 4, c_za_x=math.nan)
    with pytest.raises(NonFinite, match="legs"):
        judge(hidden, make_side([[0.0] * 3] * 4), knobs)
    assert not judge(make_side([[0.0] * 3] * 4), hidden, knobs).challenger_wins
    infinite = make_side([[0.3]] * 4, c_ya_za=math.inf)
    with pytest.raises(NonFinite, match="actions"):
        judge(infinite, make_side([[0.0]] * 4), replace(knobs, score_mode="reason"))


def test_no_crown_by_numbers_that_are_none(plain, make_side):
    sides = make_side([[0.1]] * 4), make_side([[0.0]] * 4)
    assert judge(*sides, plain).challenger_wins
    for name in ("k_sigma", "min_margin"):
        assert not judge(*sides, replace(plain, **{name: math.nan})).challenger_wins


def test_a_least_standard_error_stands_in_for_a_smaller_one():
    compared = compare_turns([("a", 0.1), ("b", 0.1)], least_se=0.05)
    assert (compared.se, compared.z) == (0.05, 2.0)


def test_decision_holds_what_was_scored(make_knobs, make_side):
    challenger, king = make_side([[0.1, 0.0], None]), make_side([[0.0, 0.0], [0.1]])
    decision = decide(challenger, king, make_knobs())
    assert (decision.challenger, decision.king) == (
        summarise(challenger, make_knobs()),
        summarise(king, make_knobs()),
    )
    assert decision.rows.challenger == challenger
    assert decision.scores.score(decision.rows.king[0]).turn == -0.0


@given(challenger=TURNS, king=TURNS, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_never_matters(challenger, king, order, make_knobs, make_side):
    own, other = make_side(challenger), make_side(king)
    for era in Era:
        knobs = make_knobs(era=era)
        assert judge(order.sample(own, len(own)), order.sample(other, len(other)), knobs) == judge(own, other, knobs)


@given(challenger=TURNS, king=TURNS, again=st.lists(st.integers(0, 5), max_size=4))
def test_the_last_duplicate_wins(challenger, king, again, make_knobs, make_side):
    own, other = make_side(challenger), make_side(king)
    earlier = [replace(own[at], pairs=None) for at in again if at < len(own)]
    duel = judge((*earlier, *own), other, make_knobs())
    assert replace(duel, challenger_duplicates=0) == judge(own, other, make_knobs())
    assert duel.challenger_duplicates == len(earlier)


def test_own_numbers_end_no_duel(make_knobs, make_side):
    knobs = make_knobs(era=Era.NETWORK)
    sides = [make_side([[0.1]] * 3, y_a='{"name": 5}', c_ya_za=-0.1, a=own) for own in (None, LOUD)]
    assert judge(sides[0], sides[0], knobs) == judge(sides[1], sides[0], knobs)


@given(
    turns=TURNS, own=st.dictionaries(st.sampled_from(["lpA_yc_za", "lpA_yc_e", "lpA_ya_za", "lpA_ya_e"]), st.floats())
)
def test_own_numbers_never_move_a_score_or_a_crown(turns, own, make_knobs, make_side):
    king = make_side([[0.0, 0.1]] * 6)
    for era in Era:
        for mode in ("reason", "min_rg", "min_rga"):
            knobs = make_knobs(era=era, score_mode=mode)
            told, untold = (decide(make_side(turns, a=numbers), king, knobs) for numbers in (own, None))
            assert told.duel == untold.duel
            assert told.king == untold.king
            hidden = {"gate_pass_rate", "calib_ratio", "baseline_abs", "mean_l1lift"}
            kept = {field.name for field in fields(told.challenger.figures)} - hidden
            assert {getattr(told.challenger.figures, name) for name in kept} == {
                getattr(untold.challenger.figures, name) for name in kept
            }
            assert replace(told.challenger, figures=untold.challenger.figures) == untold.challenger
