import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.crown import decide, judge
from assay.labs.duel.eras import Era
from assay.labs.duel.faults import Fault, keep_last, mend
from assay.labs.duel.legs import NonFinite, TurnScores, score_turn

OWN = ("c_yc_za", "c_za_x", "c_ya_za", "c_ya_e", "c_ya_zc")
TEACHERS = ("c_yc_e", "c_zc_x", "c_yc_zc")
BROKEN = (math.nan, math.inf, -math.inf)
FLOATS = st.floats(-0.5, 0.5) | st.sampled_from([math.nan, math.inf, -math.inf])
NUMBERS = st.fixed_dictionaries(
    {"c_yc_za": FLOATS, "c_yc_e": FLOATS},
    optional={name: FLOATS | st.none() for name in ("c_yc_zc", *OWN[1:], "c_zc_x")},
)
SIDES = st.lists(st.none() | st.lists(NUMBERS, max_size=3), min_size=2, max_size=5)


@pytest.fixture(scope="session")
def make_numbered(make_pair, make_side):
    """A side whose pairs have the given numbers."""

    def make(turns):
        rows = make_side([None] * len(turns))
        return tuple(
            replace(row, pairs=None if pairs is None else tuple(make_pair(**numbers) for numbers in pairs))
            for row, pairs in zip(rows, turns, strict=True)
        )

    return make


@pytest.fixture
def sides(make_side):
    return make_side([[0.1, 0.0, 0.0]] * 4), make_side([[0.0, 0.0, 0.0]] * 4)


def break_number(rows, at, pair, name, number):
    row = rows[at]
    pairs = (*row.pairs[:pair], replace(row.pairs[pair], **{name: number}), *row.pairs[pair + 1 :])
    return (*rows[:at], replace(row, pairs=pairs), *rows[at + 1 :])


@pytest.mark.parametrize("number", BROKEN)
@pytest.mark.parametrize("name", OWN)
def test_a_number_of_a_sides_own_text_forfeits_its_turn(name, number, sides, make_knobs):
    challenger, king = sides
    knobs = make_knobs(forfeit_turn_score=-0.1)
    found = Fault(turn="t01", owner="challenger", member=f"lpC{name[1:]}", found="not-finite")
    duel = judge(break_number(challenger, 1, 2, name, number), king, knobs)
    assert duel.faults == (found,)
    assert dict(duel.differences)["t01"] == pytest.approx(-0.1)
    assert (duel.paired, duel.forfeit_turns) == (4, 1)
    other = judge(challenger, break_number(king, 1, 2, name, number), knobs)
    assert other.faults == (replace(found, owner="king"),)
    assert dict(other.differences)["t01"] > 0.1


@pytest.mark.parametrize("number", BROKEN)
@pytest.mark.parametrize("name", TEACHERS)
@pytest.mark.parametrize("side", [0, 1])
def test_a_number_of_the_teachers_leaves_the_turn_out_for_both(name, number, side, sides, make_knobs):
    broken = list(sides)
    broken[side] = break_number(broken[side], 1, 2, name, number)
    decision = decide(*broken, make_knobs())
    assert decision.duel.faults == (Fault(turn="t01", owner="teacher", member=f"lpC{name[1:]}", found="not-finite"),)
    assert decision.duel.paired == decision.challenger.n_turns == decision.king.n_turns == 3
    assert decision.duel.forfeit_turns == 0


def test_both_sides_can_break_one_turn(sides, make_knobs):
    broken = [break_number(rows, 1, 0, "c_za_x", math.nan) for rows in sides]
    duel = judge(*broken, make_knobs())
    assert [fault.owner for fault in duel.faults] == ["challenger", "king"]
    assert dict(duel.differences)["t01"] == 0.0
    assert duel.forfeit_turns == 1


def test_the_teachers_fault_comes_before_a_sides(sides, make_knobs):
    challenger = break_number(break_number(sides[0], 1, 0, "c_za_x", math.nan), 1, 0, "c_yc_e", math.nan)
    assert [fault.owner for fault in judge(challenger, sides[1], make_knobs()).faults] == ["teacher"]


@pytest.mark.parametrize(
    ("name", "mode", "gamma", "faulty"),
    [
        ("c_za_x", "min_rg", 0.0, True),
        ("c_za_x", "reason", 0.0, False),
        ("c_ya_za", "min_rg", 0.3, True),
        ("c_ya_za", "min_rg", 0.0, False),
        ("c_ya_e", "min_rg", 0.3, True),
        ("c_ya_e", "min_rga", 0.0, True),
        ("c_ya_zc", "min_rga", 0.3, True),
        ("c_ya_zc", "min_rg", 0.3, False),
    ],
)
def test_a_missing_number_is_a_fault_where_the_rule_reads_it(name, mode, gamma, faulty, sides, make_knobs):
    knobs = make_knobs(score_mode=mode, causality_gamma=gamma)
    duel = judge(break_number(sides[0], 2, 1, name, None), sides[1], knobs)
    expected = (Fault(turn="t02", owner="challenger", member=f"lpC{name[1:]}", found="missing"),)
    assert duel.faults == (expected if faulty else ())


def test_thoughts_of_the_teachers_may_be_missing_but_not_all_of_a_turn(sides, make_knobs, make_side):
    assert judge(break_number(sides[0], 2, 1, "c_zc_x", None), sides[1], make_knobs()).faults == ()
    unmeasured = (*sides[0][:3], make_side([[0.1]] * 4, c_zc_x=None)[3])
    duel = judge(unmeasured, sides[1], make_knobs())
    assert duel.faults == (Fault(turn="t03", owner="teacher", member="lpC_zc_x", found="missing"),)
    assert judge(unmeasured, sides[1], make_knobs(score_mode="reason")).faults == ()


def test_no_pairs_are_a_forfeit_in_ours(sides, make_knobs):
    challenger = (replace(sides[0][0], pairs=()), *sides[0][1:])
    duel = judge(challenger, sides[1], make_knobs())
    assert duel.faults == (Fault(turn="t00", owner="challenger", member="pairs", found="no-pairs"),)
    assert dict(duel.differences)["t00"] == pytest.approx(-0.1)
    with pytest.raises(NonFinite):
        judge(challenger, sides[1], make_knobs(era=Era.NETWORK))


def test_breaking_the_grounding_pays_on_the_network_and_costs_in_ours(make_knobs, make_side):
    filler = make_side([[0.5, 0.2, 0.2]] * 4, c_za_x=-0.9)
    muted = make_side([[0.5, 0.2, 0.2]] * 4, c_za_x=math.nan)
    king, network = make_side([[0.05, 0.0, 0.0]] * 4), make_knobs(era=Era.NETWORK)
    assert judge(filler, king, network).margin < -0.5
    assert score_turn(muted[0].pairs, network).turn > 0
    with pytest.raises(NonFinite):
        judge(muted, king, network)
    assert judge(muted, king, make_knobs()).margin < -0.09


def test_the_network_mends_nothing(sides, make_knobs):
    broken = break_number(sides[0], 1, 2, "c_za_x", math.nan)
    mended = mend(broken, sides[1], make_knobs(era=Era.NETWORK))
    assert (mended.challenger, mended.king, mended.faults) == (broken, sides[1], ())


def test_mending_twice_changes_nothing_more(sides, make_knobs):
    broken = break_number(break_number(sides[0], 1, 2, "c_za_x", math.nan), 2, 0, "c_yc_e", math.nan)
    once = mend((*broken, broken[3]), sides[1], make_knobs())
    twice = mend(once.challenger, once.king, make_knobs())
    assert (twice.challenger, twice.king, twice.faults) == (once.challenger, once.king, ())
    assert (once.challenger_duplicates, twice.challenger_duplicates) == (1, 0)


def test_the_last_row_of_a_turn_is_kept(sides):
    rows = sides[0]
    changed = replace(rows[1], pairs=None)
    assert keep_last([*reversed(rows), changed]) == (rows[0], changed, *rows[2:])


@given(
    challenger=SIDES, king=SIDES, mode=st.sampled_from(["reason", "min_rg", "min_rga"]), floor=st.just(-0.1) | st.none()
)
def test_whatever_is_broken_no_crown_stands_on_it(challenger, king, mode, floor, make_knobs, make_numbered):
    own, other = make_numbered(challenger), make_numbered(king)
    knobs = make_knobs(score_mode=mode, forfeit_turn_score=floor, min_margin=0.0, k_sigma=0.0, min_thought_chars=0)
    ours = decide(own, other, knobs)
    assert all(math.isfinite(difference) for _, difference in ours.duel.differences)
    assert math.isfinite(ours.duel.margin)
    scores = TurnScores(knobs)
    for rows in (ours.rows.challenger, ours.rows.king):
        for row in rows:
            legs = scores.score(row)
            assert legs is None or (legs.finite and (mode == "reason" or legs.turn <= legs.g))
    lost = {fault.turn for fault in ours.duel.faults if fault.owner == "teacher"}
    shared = {row.turn for row in own} & {row.turn for row in other}
    assert floor is None or ours.duel.paired == len(shared - lost)


@given(challenger=SIDES, king=SIDES, mode=st.sampled_from(["reason", "min_rg", "min_rga"]))
def test_the_network_crowns_only_on_numbers(challenger, king, mode, make_knobs, make_numbered):
    knobs = make_knobs(era=Era.NETWORK, score_mode=mode, min_margin=0.0, k_sigma=0.0, min_thought_chars=0)
    own, other = make_numbered(challenger), make_numbered(king)
    try:
        duel = judge(own, other, knobs)
    except EvidenceInvalid:
        return
    scores = TurnScores(knobs)
    read = {turn for turn, _ in duel.differences}
    legs = [scores.score(row) for row in (*own, *other) if row.turn in read] if duel.challenger_wins else []
    assert all(each is None or each.finite for each in legs)
