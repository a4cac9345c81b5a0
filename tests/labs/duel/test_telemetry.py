import math

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.crown import judge
from assay.labs.duel.eras import Era
from assay.labs.duel.legs import TurnScores
from assay.labs.duel.sides import summarise
from assay.labs.duel.telemetry import by_dialect

KINDS = {"t00": "bash", "t01": "boxed", "t02": "bash", "t03": "boxed"}


def test_each_dialect_has_the_summary_of_its_turns(make_knobs, make_side):
    rows = make_side([[0.2, 0.0], None, [0.1, 0.0], [0.0, 0.0]])
    knobs = make_knobs()
    found = by_dialect(rows, KINDS, knobs, TurnScores(knobs))
    assert list(found) == ["bash", "boxed"]
    assert found["bash"].side == summarise([rows[0], rows[2]], knobs)
    assert (found["boxed"].n_turns, found["boxed"].n_valid, found["boxed"].parse_rate) == (2, 1, 0.5)
    assert found["boxed"].side.reason == pytest.approx(-0.05)


def test_a_format_without_a_thought_shows_as_parsed_and_ungrounded(make_knobs, make_side):
    rows = make_side([[0.0] * 3] * 4, z_a="", y_a="\\boxed{1}", c_za_x=0.0)
    side = by_dialect(rows, dict.fromkeys(KINDS, "boxed"), make_knobs())["boxed"]
    assert side.parse_rate == 1.0
    assert side.side.mean_r_leg == pytest.approx(0.0, abs=1e-15)
    assert side.side.mean_g_leg < 0
    assert side.side.g_bind_frac == 1.0


def test_what_was_mended_is_told_as_it_was_scored(make_knobs, make_side):
    rows = (make_side([[0.1]], c_za_x=math.nan)[0], *make_side([None, None, [0.1]])[2:])
    assert judge(rows, make_side([[0.0]] * 3), make_knobs()).forfeit_turns == 1
    assert by_dialect(rows, KINDS, make_knobs())["bash"].parse_rate == 0.5
    assert by_dialect(rows, KINDS, make_knobs(era=Era.NETWORK))["bash"].parse_rate == 1.0


def test_a_turn_without_a_dialect_is_named(make_knobs, make_side):
    with pytest.raises(BadInput, match="t04"):
        by_dialect(make_side([None] * 5), KINDS, make_knobs())
