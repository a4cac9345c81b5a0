import math
from dataclasses import replace

import pytest

from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.crown import NonFinite
from assay.labs.duel.legacy import LegacyKnobs, judge_legacy, summarise_legacy
from assay.labs.duel.legs import EchoMissing

OWN = {"lpA_yc_za": -0.1, "lpA_yc_e": -0.12, "lpA_ya_za": -0.1, "lpA_ya_e": -0.2}
KNOBS = LegacyKnobs()


@pytest.fixture
def king(make_side):
    return make_side([[0.0]] * 4, a=OWN)


def test_duels_of_the_vectors(read_cases):
    cases = read_cases("legacy_v2_duel")
    assert len(cases) == 12
    for case in cases:
        given, expected = case["input"], case["expected"]
        params = dict(given["params"])
        banks = {name: params.pop(name) for name in ("challenger_bank_frac", "king_bank_frac")}
        rows = [read_rows(given[f"{side}_rows"]) for side in ("challenger", "king")]
        duel = judge_legacy(*rows, LegacyKnobs(**params), **banks)
        found = [duel.margin, duel.se, duel.z, duel.challenger_wins, duel.paired]
        names = ("margin", "se", "z", "challenger_wins", "n_paired_turns")
        assert found == pytest.approx([expected[name] for name in names], rel=0, abs=1e-9), case["id"]


def test_own_lift_is_weighed_and_clipped(make_side, king):
    loud = make_side([[0.1]] * 4, a={**OWN, "lpA_yc_e": -0.35})
    for knobs, own in ((KNOBS, 0.1), (replace(KNOBS, l1_clip=None), 0.25), (replace(KNOBS, l1_clip=0.0), 0.25)):
        duel = judge_legacy(loud, king, replace(knobs, baseline_band=None, r_lo=0.1))
        assert duel.margin == pytest.approx(0.1 + own - 0.02)
        assert duel.challenger_wins
    assert judge_legacy(loud, king, replace(KNOBS, l1_weight=0.0, r_lo=0.1, baseline_band=None)).margin == 0.1


@pytest.mark.parametrize(
    ("changes", "own"),
    [
        ({}, {"lpA_ya_za": -0.19}),
        ({"r_lo": 1.0}, {}),
        ({"r_hi": 0.5}, {}),
        ({"baseline_band": 0.9}, {}),
        ({"gamma_bank": 1.1}, {}),
    ],
)
def test_each_gate_stops_a_challenger(changes, own, make_side, king):
    challenger = make_side([[0.1]] * 4, a={**OWN, **own})
    assert judge_legacy(make_side([[0.1]] * 4, a=OWN), king, KNOBS).challenger_wins
    duel = judge_legacy(challenger, king, replace(KNOBS, **changes))
    assert not duel.challenger.valid
    assert (duel.margin, duel.se, duel.z, duel.challenger_wins, duel.paired) == (0.0, math.inf, 0.0, False, 4)


def test_the_king_is_gated_too(make_side, king):
    weak = make_side([[0.0]] * 4, a={**OWN, "lpA_ya_za": -0.2})
    assert not judge_legacy(king, weak, KNOBS).king.valid


def test_a_share_of_the_priors_comes_from_the_rows_unless_given(king):
    rows = [replace(row, bank_frac=0.05) for row in king]
    assert not summarise_legacy(rows, KNOBS).valid
    assert summarise_legacy(rows, KNOBS, 0.5).valid
    assert summarise_legacy(king, KNOBS).bank_frac is None


def test_calibration_can_be_left_unasked(make_side):
    rows = make_side([[0.0]], a={**OWN, "lpA_yc_e": 0.0})
    assert summarise_legacy(rows, KNOBS).calib_ratio is None
    assert not summarise_legacy(rows, KNOBS).valid
    assert summarise_legacy(rows, replace(KNOBS, check_calib=False)).valid


def test_a_side_without_pairs_has_no_score(make_side):
    side = summarise_legacy(make_side([None]), KNOBS)
    assert (side.score, side.valid, side.n_turns, side.n_pairs) == (None, False, 1, 0)


def test_a_missing_own_number_is_named(make_side, king):
    for own in (None, {"lpA_yc_za": -0.1}, {**OWN, "lpA_ya_e": None}):
        with pytest.raises(EchoMissing, match="lpA_"):
            judge_legacy(make_side([[0.1]] * 4, a=own), king, KNOBS)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["lpA_yc_za", "lpA_yc_e"])
def test_no_crown_on_an_own_number_that_is_none(name, number, make_side, king):
    rows = make_side([[0.1]] * 4, a={**OWN, name: number})
    knobs = replace(KNOBS, check_calib=False, baseline_band=None)
    with pytest.raises(NonFinite):
        judge_legacy(rows, king, knobs)


def test_no_crown_on_a_turn_without_pairs(make_side, king):
    rows = (replace(king[0], pairs=()), *make_side([[0.1]] * 4, a=OWN)[1:])
    with pytest.raises(NonFinite):
        judge_legacy(rows, king, KNOBS)
