"""Made-up rows: honest ones score above nothing, and given scores come out as they were given."""

import math

import pytest

from assay.labs.duel.crown import decide
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.eras import Era
from assay.labs.duel.legs import TurnScores
from assay.labs.duel.redteam.synthetic import (
    CHALLENGER,
    KING,
    change_pairs,
    honest_rows,
    level_rows,
    middle_of,
    plain_rows,
    write_action,
)
from assay.labs.duel.rows import Row


@pytest.mark.parametrize("variant", ["v5", "v4", "v6", "v5-network"])
def test_two_honest_sides_do_not_take_the_crown_from_each_other(make_ground, variant):
    ground = make_ground(variant)
    rows = {who: honest_rows(ground, who) for who in (CHALLENGER, KING)}
    for own, other in ((CHALLENGER, KING), (KING, CHALLENGER)):
        found = decide(rows[own], rows[other], ground.knobs)
        assert not found.duel.challenger_wins
        assert not found.duel.thought_floor_blocked
        assert not found.duel.causality_blocked
        assert found.challenger.reason > 0.005


def test_honest_rows_hang_on_the_seed_alone(make_ground):
    assert honest_rows(make_ground(), KING) == honest_rows(make_ground(), KING)
    assert honest_rows(make_ground(), KING) != honest_rows(make_ground(seed=1), KING)
    assert honest_rows(make_ground(), KING) != honest_rows(make_ground(), CHALLENGER)


def test_thoughts_are_as_long_as_the_contract_asks_for(make_ground, make_knobs):
    rows = honest_rows(make_ground(knobs=make_knobs(min_thought_chars=1000)), KING)
    assert min(len(row.pairs[0].z_a) for row in rows) >= 1000


@pytest.mark.parametrize("dialect", DIALECTS)
def test_actions_are_actions_of_their_dialect(dialect):
    action = write_action(dialect, "parser")
    spans = DIALECTS[dialect].find(action, Era.SAFE)
    assert [(span.start, span.end) for span in spans] == [(0, len(action))]


@pytest.mark.parametrize("variant", ["v5", "v4", "v3", "v6", "wide-band"])
def test_level_rows_score_what_they_are_given(make_ground, variant):
    ground = make_ground(variant)
    scores = TurnScores(ground.knobs)
    rows = level_rows(ground, [-0.03, -0.041, None, 0.0], KING)
    legs = [scores.score(row) for row in rows]
    assert legs[2] is None
    assert [leg.turn for leg in legs if leg] == pytest.approx([-0.03, -0.041, 0.0], abs=1e-12)


def test_equal_edges_have_no_spread_at_all(make_ground):
    ground = make_ground()
    own, king = (level_rows(ground, [score] * 20, who) for score, who in ((-0.0279, CHALLENGER), (-0.03, KING)))
    found = decide(own, king, ground.knobs).duel
    assert found.se == 0.0
    assert found.z == math.inf


def test_plain_rows_lift_every_reference_exactly_alike(make_ground):
    ground = make_ground()
    rows = plain_rows(honest_rows(ground, KING), lift=0.01, offset=0.0)
    scores = TurnScores(ground.knobs)
    for row in rows:
        assert len({pair.c_yc_za - pair.c_yc_e for pair in row.pairs}) == 1
        assert abs(scores.score(row).r) <= 1e-15


def test_rows_without_pairs_stay_forfeits():
    forfeit = Row(turn="t", miner=KING, pairs=None)
    assert change_pairs([forfeit], lambda *_: None) == (Row(turn="t", miner=CHALLENGER, pairs=None),)
    assert middle_of(forfeit) == 0.0
