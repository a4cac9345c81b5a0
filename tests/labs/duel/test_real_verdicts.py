"""Public duel records of August 2026, replayed under the rule that judged them and under those that came later."""

import gzip
import json
import statistics

import pytest

from assay.labs.duel.artefact_rows import read_rows, row_document
from assay.labs.duel.crown import decide, judge
from assay.labs.duel.eras import Era
from assay.labs.duel.legacy import LegacyKnobs, judge_legacy
from assay.labs.duel.legs import GroundingMissing, action_leg

RECORDS = ("chal-00203", "chal-00229", "chal-00262", "chal-00284", "chal-00325", "chal-00337")
CLOSE = {"rel": 0.0, "abs": 1e-9}
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
MODES = {
    "v3": {"tau": None, "min_margin": 0.0, "min_thought_chars": 0, "causality_gamma": 0.0},
    "v3_delta_floor_b": {"tau": None},
    "v4": {},
}


@pytest.fixture(scope="module")
def cases(shared):
    verdicts = json.loads(shared("vectors/duel/real/verdicts.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in verdicts["cases"]}


@pytest.fixture(params=RECORDS)
def record(request, cases, shared):
    case = cases[request.param]
    with gzip.open(shared(f"vectors/duel/real/{case['rows_file']}")) as file:
        record = json.load(file)
    return case, read_rows(record["challenger_rows"]), read_rows(record["king_rows"]), record


def test_the_stored_verdict_is_reproduced(record):
    case, challenger, king, raw = record
    stored = case["expected"]["stored_verdict"]
    duel = judge_legacy(challenger, king, LegacyKnobs(**case["legacy_params"]))
    assert duel.margin == pytest.approx(stored["margin"], **CLOSE)
    assert duel.z == pytest.approx(stored["z"], **CLOSE)
    if stored["se"] is not None:
        assert duel.se == pytest.approx(stored["se"], **CLOSE)
    assert (duel.challenger_wins, duel.paired) == (stored["challenger_wins"], stored["n_paired_turns"])
    for side, told in ((duel.challenger, stored["challenger"]), (duel.king, stored["king"])):
        assert side.valid == told["valid"]
        assert side.score == pytest.approx(told["mean_mix"], **CLOSE)
        assert (side.gate_pass_rate, side.bank_frac) == pytest.approx(
            (told["gate_pass_rate"], told["bank_frac"]), **CLOSE
        )
        assert (side.n_turns, side.n_pairs) == (told["n_turns"], told["n_pairs"])
        if "calib_ratio" in told:
            assert side.calib_ratio == pytest.approx(told["calib_ratio"], **CLOSE)
            assert side.baseline_abs == pytest.approx(told["baseline_abs"], **CLOSE)
    assert duel.challenger.bank_frac == pytest.approx(raw["challenger_bank_frac"], **CLOSE)


@pytest.mark.parametrize("mode", MODES)
def test_later_rules_give_what_the_reference_gave(mode, record, make_knobs):
    case, challenger, king, _ = record
    expected = case["expected"][mode]
    knobs = {"era": Era.NETWORK, "score_mode": "reason", "forfeit_turn_score": None, **MODES[mode]}
    duel = judge(challenger, king, make_knobs(**knobs))
    found = {name: getattr(duel, ours) for name, ours in PUBLIC.items()}
    assert found == pytest.approx({name: expected[name] for name in PUBLIC}, **CLOSE)


def test_side_figures_are_the_references(record, make_knobs):
    case, challenger, king, _ = record
    expected = case["expected"]
    knobs = make_knobs(era=Era.NETWORK, score_mode="reason", forfeit_turn_score=None)
    decision = decide(challenger, king, knobs)
    assert decision.challenger.figures.b_gate_pass_rate == pytest.approx(expected["challenger_b_rate"], **CLOSE)
    assert decision.king.figures.b_gate_pass_rate == pytest.approx(expected["king_b_rate"], **CLOSE)
    assert decision.challenger.figures.median_len_z == expected["challenger_median_len_z"]
    assert decision.challenger.reason == pytest.approx(expected["challenger_reason_v4"], **CLOSE)
    assert decision.king.reason == pytest.approx(expected["king_reason_v4"], **CLOSE)
    acted = statistics.mean(action_leg(row.pairs, 0.03) for row in challenger if row.pairs)
    assert acted == pytest.approx(expected["challenger_action_leg_turn_mean"], **CLOSE)


def test_records_without_grounding_are_refused_by_name_and_left_out_in_ours(record, make_knobs):
    _, challenger, king, _ = record
    with pytest.raises(GroundingMissing, match="lpC_zc_x"):
        judge(challenger, king, make_knobs(era=Era.NETWORK))
    duel = judge(challenger, king, make_knobs())
    assert (duel.challenger_wins, duel.paired) == (False, 0)
    assert {fault.owner for fault in duel.faults} == {"teacher"}


def test_public_rows_come_back_as_they_were_read(record):
    _, challenger, king, _ = record
    for rows in (challenger, king):
        assert read_rows([row_document(row) for row in rows]) == rows
