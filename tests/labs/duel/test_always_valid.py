"""A duel may end at any turn without being decided wrongly more often than the contract says."""

import gzip
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.labs.duel.always_valid import DuelWatch, decide
from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.crown import judge
from assay.labs.duel.eras import Era
from assay.labs.duel.sections import Sequential
from assay.stats.draws import Draws

TURNS = 120
DUELS = 200
ALPHA = 0.05
MIN_MARGIN = 0.002


def rule(**changes):
    return Sequential.model_validate({"alpha": ALPHA, "clip": 0.1, "minTurns": 2} | changes)


def play(number, margin):
    """The differences of one duel: mostly within 0.01 of the margin, and now and then a forfeit of either side."""
    draws = Draws(Stream(number, "duel").key)
    steps = draws.below(21, TURNS) - 10
    forfeits = draws.below(40, TURNS)
    kinds = {0: 80, 1: -80}
    return [(margin + kinds.get(int(kind), int(step))) / 1000 for step, kind in zip(steps, forfeits, strict=True)]


def decide_by_repeated_z(differences):
    """The rule that a confidence sequence replaces: two standard errors, looked at after every turn."""
    for turns in range(10, len(differences) + 1):
        seen = [difference - MIN_MARGIN for difference in differences[:turns]]
        mean = math.fsum(seen) / turns
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in seen) / (turns - 1))
        if abs(mean) > 2 * deviation / math.sqrt(turns):
            return True
    return False


def test_a_challenger_at_the_bar_is_decided_on_no_more_often_than_alpha():
    most = DUELS * ALPHA + 3 * math.sqrt(DUELS * ALPHA * (1 - ALPHA))
    duels = [play(number, margin=2) for number in range(DUELS)]
    decided = [decide(duel, rule(), MIN_MARGIN, planned=TURNS).outcome != "undecided" for duel in duels]
    assert sum(decided) <= most
    assert sum(map(decide_by_repeated_z, duels)) > 2 * most  # the negative control: the same check fails the old rule


def test_a_better_challenger_is_crowned_and_a_worse_one_is_sent_home_early():
    for number in range(5):
        crown = decide(play(number, margin=22), rule(), MIN_MARGIN, planned=TURNS)
        stay = decide(play(number, margin=-18), rule(), MIN_MARGIN, planned=TURNS)
        assert (crown.outcome, stay.outcome) == ("crown", "king-stays")
        for found in (crown, stay):
            assert found.stopped_at is not None
            assert found.stopped_at == found.turns < TURNS
        assert crown.crowned
        assert crown.lower >= MIN_MARGIN
        assert not stay.crowned
        assert stay.upper <= MIN_MARGIN


def test_undecided_at_the_end_the_king_stays():
    found = decide([0.002, 0.001, 0.003] * 5, rule(), MIN_MARGIN, planned=15)
    assert (found.outcome, found.stopped_at, found.turns, found.crowned) == ("undecided", None, 15, False)
    assert found.lower < MIN_MARGIN < found.upper


def test_without_a_difference_nothing_is_decided():
    found = decide([], rule(), MIN_MARGIN, planned=15)
    assert (found.outcome, found.turns, found.lower, found.upper) == ("undecided", 0, -0.1, 0.1)


@settings(max_examples=25)
@given(st.lists(st.integers(-100, 150), max_size=60), st.integers(2, 30))
def test_the_running_form_decides_what_the_whole_decides(thousandths, least):
    differences = [value / 1000 for value in thousandths]
    whole = decide(differences, rule(minTurns=least), MIN_MARGIN, planned=60)
    watch = DuelWatch(rule(minTurns=least), MIN_MARGIN, planned=60)
    for at, difference in enumerate(differences, 1):
        if watch.add(difference) != "undecided":
            assert at >= least
            assert at == whole.stopped_at
            break
    assert watch.decision() == whole


def test_what_comes_after_the_deciding_turn_is_not_looked_at():
    differences = play(1, margin=22)
    found = decide(differences, rule(), MIN_MARGIN, planned=TURNS)
    assert decide([*differences[: found.stopped_at], -9.0, math.nan], rule(), MIN_MARGIN, planned=TURNS) == found


def test_a_decided_duel_takes_no_further_turn():
    watch = DuelWatch(rule(), MIN_MARGIN, planned=60)
    while watch.add(0.05) == "undecided":
        pass
    with pytest.raises(BadInput, match=r"decided after turn .* \(crown\)"):
        watch.add(0.05)
    assert watch.outcome == "crown"


def test_the_registered_least_number_of_turns_is_played():
    assert decide([0.05] * 60, rule(), MIN_MARGIN, planned=60).turns < 40
    assert decide([0.05] * 60, rule(minTurns=40), MIN_MARGIN, planned=60).stopped_at == 40


def test_one_huge_difference_crowns_nobody():
    found = decide([50.0] + [0.0] * 59, rule(), MIN_MARGIN, planned=60)
    assert (found.outcome, found.clipped) == ("undecided", 1)


def test_the_same_rule_on_a_longer_slice_is_another_rule():
    """Stakes hang on the registered length: whoever verifies passes that, and not how many turns were played."""
    differences = play(3, margin=9)
    short, long = (decide(differences, rule(), MIN_MARGIN, planned=turns) for turns in (60, 1300))
    assert short != long


@pytest.mark.parametrize("bar", [0.1, 0.2])
def test_a_bar_that_no_clipped_mean_can_exceed_is_refused(bar):
    with pytest.raises(BadInput, match=r"sequential\.clip"):
        DuelWatch(rule(), bar, planned=60)


@pytest.mark.parametrize("difference", [math.nan, math.inf, -math.inf])
def test_a_difference_that_is_not_finite_is_refused(difference):
    with pytest.raises(BadInput, match="finite"):
        decide([difference], rule(), MIN_MARGIN, planned=60)


def real_differences(shared, make_knobs):
    """The differences of the public duel records under the fourth rule, in the order of their slices."""
    knobs = make_knobs(era=Era.NETWORK, score_mode="reason", forfeit_turn_score=None)
    folder = shared("vectors/duel/real/verdicts.json").parent
    for path in sorted(folder.glob("chal-*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        duel = judge(read_rows(record["challenger_rows"]), read_rows(record["king_rows"]), knobs)
        by_turn = dict(duel.differences)
        yield path.name, [by_turn[turn] for turn in record["turn_ids"] if turn in by_turn]


def test_eighty_turns_of_the_public_records_decide_nothing_at_all_looks(shared, make_knobs):
    """Three of these six were crowned by two standard errors (z 2.5, 2.5 and 2.8): too little for 80 looks."""
    found = [
        decide(differences, rule(minTurns=10), MIN_MARGIN, planned=80)
        for _, differences in real_differences(shared, make_knobs)
    ]
    assert [item.outcome for item in found] == ["undecided"] * 6
    assert sum(item.turns for item in found) == 479


def test_three_of_four_turns_are_saved_where_such_differences_fill_a_slice_of_today(shared, make_knobs):
    """The records' own differences, drawn again to 1300 turns each."""
    outcomes, played = {}, 0
    for name, differences in real_differences(shared, make_knobs):
        picks = Draws(Stream(120, name.removesuffix(".json.gz")).key).below(len(differences), 1300)
        found = decide([differences[pick] for pick in picks], rule(), MIN_MARGIN, planned=1300)
        outcomes[name[6:10]] = found.outcome
        played += found.turns
    stays = {"0229": "king-stays"}
    assert outcomes == {key: stays.get(key, "crown") for key in ("0203", "0229", "0262", "0284", "0325", "0337")}
    assert played / (6 * 1300) == pytest.approx(0.25, abs=0.01)
