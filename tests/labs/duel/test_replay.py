"""Replaying published duels, and asking what another contract would have decided."""

import gzip
import json
import math
from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.artefact_rows import row_document
from assay.labs.duel.artefacts import read_artefact
from assay.labs.duel.crown import judge
from assay.labs.duel.eras import Era
from assay.labs.duel.replay import replay
from assay.labs.duel.rescore import Stored, report_rescored, rescore

RECORDS = ("chal-00203", "chal-00229", "chal-00262", "chal-00284", "chal-00325", "chal-00337")


@pytest.fixture
def stored_verdicts(shared):
    cases = json.loads(shared("vectors/duel/real/verdicts.json").read_text(encoding="utf-8"))["cases"]
    return {case["id"]: case["expected"]["stored_verdict"] for case in cases}


@pytest.mark.parametrize("name", RECORDS)
def test_a_public_record_replays_by_the_rule_it_was_judged_by(name, shared, stored_verdicts):
    found = replay(read_artefact(shared(f"vectors/duel/real/{name}.json.gz"), stored_verdicts[name]))
    assert found.rule == "v2"
    assert found.agrees, found.comparisons
    compared = {item.name: item.agreement for item in found.comparisons}
    assert compared["slice.seed"] == compared["slice.digest"] == "identical"


def test_a_record_with_one_number_changed_does_not_replay(shared, stored_verdicts):
    path = shared("vectors/duel/real/chal-00284.json.gz")
    lied = {**stored_verdicts["chal-00284"], "margin": stored_verdicts["chal-00284"]["margin"] + 1e-6}
    found = replay(read_artefact(path, lied))
    assert not found.agrees
    assert [item.name for item in found.comparisons if item.agreement == "differs"] == ["margin"]


def write_artefact(path, challenger, king, verdict, **more):
    record = {"challenger_rows": [*map(row_document, challenger)], "king_rows": [*map(row_document, king)]}
    path.write_bytes(gzip.compress(json.dumps({**record, "verdict": verdict, **more}).encode()))
    return path


def params(knobs, **changes):
    stamped = {
        "tau": knobs.tau,
        "score_mode": knobs.score_mode,
        "band_c": knobs.band_c,
        "band_floor": knobs.band_floor,
        "k_sigma": knobs.k_sigma,
        "min_margin": knobs.min_margin,
        "min_thought_chars": knobs.min_thought_chars,
        "causality_gate": True,
        "causality_gamma": knobs.causality_gamma,
        "forfeit_turn_score": knobs.forfeit_turn_score,
    }
    return {**stamped, **changes}


@pytest.mark.parametrize("mode", ["reason", "min_rg", "min_rga"])
def test_a_verdict_of_every_mode_replays(mode, tmp_path, make_knobs, make_side):
    knobs = make_knobs(era=Era.NETWORK, score_mode=mode)
    challenger = make_side([[0.05, 0.0, 0.0], [0.04, 0.01, 0.0], None, [0.03, 0.0, 0.01]], "challenger")
    king = make_side([[0.01, 0.0, 0.0], None, [0.0, 0.0, 0.0], [0.0, 0.01, 0.0]], "king")
    duel = judge(challenger, king, knobs)
    verdict = {
        "margin": duel.margin,
        "se": duel.se,
        "z": duel.z,
        "challenger_wins": duel.challenger_wins,
        "n_paired_turns": duel.paired,
        "n_forfeit_turns": duel.forfeit_turns,
        "duel_params": params(knobs),
    }
    found = replay(read_artefact(write_artefact(tmp_path / "duel.json.gz", challenger, king, verdict)))
    assert (found.rule, found.agrees) == (mode, True)
    verdict["challenger_wins"] = not duel.challenger_wins
    assert not replay(read_artefact(write_artefact(tmp_path / "lie.json.gz", challenger, king, verdict))).agrees


def test_an_unknown_score_mode_is_not_taken_for_another(tmp_path, make_knobs, make_side):
    verdict = {"margin": 0.0, "duel_params": params(make_knobs(), score_mode="vibes")}
    path = write_artefact(tmp_path / "duel.json.gz", make_side([[0.1]]), make_side([[0.1]]), verdict)
    with pytest.raises(BadInput, match="score_mode: expected one of reason, min_rg, min_rga, got 'vibes'"):
        replay(read_artefact(path))


def test_a_record_that_names_no_rule_is_refused(tmp_path, make_side):
    path = write_artefact(tmp_path / "duel.json.gz", make_side([[0.1]]), make_side([[0.1]]), {"margin": 0.0})
    with pytest.raises(BadInput, match="names no rule"):
        replay(read_artefact(path))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "no JSON"),
        (b"[]", "expected an object"),
        (b'{"challenger_rows": 5}', "the rows of a side: expected a list"),
        (b'{"challenger_rows": [], "king_rows": [{"turn_id": "t", "valid": true, "pairs": [{}]}]}', "lpC_yc_za"),
        (b'{"challenger_rows": [], "king_rows": [], "turn_ids": [1]}', "turn_ids: expected a list of texts"),
        (gzip.compress(b"{}", mtime=0)[:-4], "is cut short"),
        (b'{"challenger_rows": [], "king_rows": [], "turn_ids": ["t", "t"]}', "turn_ids: expected each turn once"),
        (b'{"verdict": {"margin": 1' + b"0" * 400 + b"}}", "at most 300 digits"),
        (b'{"king_bank_frac": ' + b"9" * 5000 + b"}", "at most 300 digits"),
        (b"[" * 100_000, "no JSON"),
        (b"", "no JSON"),
    ],
    ids=["broken", "list", "rows", "pairs", "turns", "twice", "long", "longer", "cut", "deep", "empty"],
)
def test_a_file_that_is_no_artefact_is_said_to_be_none(data, said, tmp_path):
    path = tmp_path / "duel.json"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said) as refused:
        read_artefact(path)
    assert str(path) in refused.value.message


def test_not_a_number_is_read_as_what_it_is(tmp_path, make_knobs, make_side):
    (row,) = make_side([[0.1]], c_za_x=math.nan)
    record = json.dumps({"challenger_rows": [{**row_document(row)}], "king_rows": []}).replace('"nan"', "NaN")
    path = tmp_path / "duel.json"
    path.write_text(record, encoding="utf-8")
    (found,) = read_artefact(path).challenger
    assert math.isnan(found.pairs[0].c_za_x)


def test_other_contracts_shift_margins_and_flip_crowns(make_knobs, make_side):
    challenger = make_side([[0.02, 0.0, 0.0], [0.03, 0.0, 0.0], [0.02, 0.0, 0.0]], "challenger")
    king = make_side([[0.0, 0.0, 0.0]] * 3, "king")
    knobs = make_knobs(score_mode="reason")
    judged = judge(challenger, king, knobs)
    assert judged.challenger_wins
    stored = Stored(name="a", challenger=challenger, king=king, margin=judged.margin, crowned=True)
    same, *_ = rescore([stored], knobs)
    assert (same.shift, same.flipped) == (0.0, False)
    strict, *_ = rescore([stored], replace(knobs, min_margin=1.0))
    assert strict.flipped
    ungrounded = make_side([[0.02]] * 3, "challenger", c_za_x=None, c_zc_x=None)
    blind = replace(stored, challenger=ungrounded, name="b")
    refused, *_ = rescore([blind], make_knobs(era=Era.NETWORK))
    assert refused.duel is None
    assert "lpC_za_x" in refused.why
    report = report_rescored([same, strict, refused])
    assert report.headline == "1 of 3 duels would be decided the other way"


def test_rows_of_a_turn_that_came_twice_are_counted_and_the_last_one_scored(tmp_path, make_knobs, make_side):
    knobs = make_knobs(era=Era.NETWORK, score_mode="reason")
    king = make_side([[0.0, 0.0, 0.0]] * 3, "king")
    challenger = make_side([[0.05, 0.0, 0.0]] * 3, "challenger")
    better = make_side([[0.9, 0.0, 0.0]], "challenger")
    duel = judge(challenger, king, knobs)
    verdict = {"margin": duel.margin, "challenger_wins": duel.challenger_wins, "n_paired_turns": 3}
    verdict |= {"duel_params": params(knobs)}
    found = replay(read_artefact(write_artefact(tmp_path / "a.json.gz", (*better, *challenger), king, verdict)))
    assert (found.agrees, found.outcome.duplicates) == (True, 1)
    found = replay(read_artefact(write_artefact(tmp_path / "b.json.gz", (*challenger, *better), king, verdict)))
    assert (found.agrees, found.outcome.duplicates) == (False, 1)


def test_a_duel_that_a_probe_turned_down_has_no_rows(tmp_path, make_side):
    verdict = {"challenger_wins": False, "rejection_reason": "protocol:no"}
    assert replay(read_artefact(write_artefact(tmp_path / "a.json.gz", (), (), verdict))).agrees
    found = replay(read_artefact(write_artefact(tmp_path / "b.json.gz", make_side([[0.1]]), (), verdict)))
    assert [item.name for item in found.comparisons if item.agreement == "differs"] == [
        "rows after a probe turned it down"
    ]


def write_sequential(path, make_knobs, make_side, turns, **changes):
    knobs = make_knobs(score_mode="reason")
    challenger = make_side([[0.05, 0.0, 0.0], [0.04, 0.0, 0.0], [0.05, 0.0, 0.0]], "challenger")
    king = make_side([[0.0, 0.0, 0.0]] * 3, "king")
    duel = judge(challenger, king, knobs)
    ids = [turn for turn, _ in duel.differences]
    stamped = params(knobs, n_turns=turns, sequential={"alpha": 0.05, "clip": 0.3, "minTurns": 2})
    verdict = {"margin": duel.margin, "challenger_wins": False, "n_paired_turns": 3, "contract_version": 5}
    more = {"n_played_turns": 3, "n_left_out_turns": 0, "duel_params": stamped, **changes}
    return write_artefact(path, challenger, king, {**verdict, **more}, turn_ids=ids)


def test_a_sequential_rule_needs_the_number_of_turns_it_was_registered_for(tmp_path, make_knobs, make_side):
    assert replay(read_artefact(write_sequential(tmp_path / "a.json.gz", make_knobs, make_side, 100))).agrees
    with pytest.raises(BadInput, match=r"expected turn_ids and duel_params\.n_turns"):
        replay(read_artefact(write_sequential(tmp_path / "b.json.gz", make_knobs, make_side, None)))


def test_no_more_turns_are_paired_and_left_out_than_were_played(tmp_path, make_knobs, make_side):
    path = write_sequential(tmp_path / "a.json.gz", make_knobs, make_side, 100, n_played_turns=4, n_left_out_turns=2)
    found = replay(read_artefact(path))
    assert [(item.name, item.derived) for item in found.comparisons if item.agreement == "differs"] == [
        ("turns beyond those played", 1)
    ]


@pytest.mark.parametrize("seed", ["7", "1" * 5000, None])
def test_a_slice_with_another_seed_differs(seed, tmp_path, make_knobs, make_side):
    knobs = make_knobs(score_mode="reason")
    side = make_side([[0.1]])
    told = {"request": {"block_hash": "0x1", "challenger_hotkey": "k"}, "slice": {"seed": seed}}
    path = write_artefact(tmp_path / "a.json.gz", side, side, {"duel_params": params(knobs)}, **told)
    (found,) = [item for item in replay(read_artefact(path)).comparisons if item.name == "slice.seed"]
    assert found.agreement == "differs"
