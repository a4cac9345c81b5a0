"""The fold: which rollouts enter a revision and with which turns, what waits, and why the rest is left out."""

from dataclasses import replace

import pytest

from assay.labs.duel.corpus.corpus import open_corpus
from assay.labs.duel.corpus.cycle import run_cycle
from assay.labs.duel.corpus.fold import FoldRules, fold
from assay.labs.duel.corpus.manifests import get_manifest, manifest_key
from assay.labs.duel.corpus.mix import Mix
from assay.labs.duel.corpus.routing import KingRule
from assay.labs.duel.corpus.state import FoldState, dump_state, read_state
from assay.labs.duel.corpus.validate import Panel
from assay.objects.errors import NoSuchObject

ONE_GROUP = Mix(groups={"coding": 1.0}, languages={})
RULES = FoldRules(allowed_kinds=("bash",), mix=ONE_GROUP)
EMPTY = FoldState()


def ids(records):
    return [record["rollout_id"] for record in records]


def test_good_rollouts_enter_with_all_their_turns(view_record):
    records = [view_record(0), view_record(1, turns=3)]
    folded = fold(records, EMPTY, (), RULES)
    assert list(folded.records) == records
    assert (folded.turns, folded.drops, folded.deferred) == (5, {}, ())
    assert folded.groups == {"coding": {"org__repo0|pr_0", "org__repo1|pr_1"}}


def test_a_turn_that_is_turned_away_leaves_the_others(view_record):
    record = view_record(0, turns=3)
    record["nodes"][4] = {**record["nodes"][4], "content": "no action"}
    folded = fold([record], EMPTY, (), RULES)
    assert [turn["turn_idx"] for turn in folded.records[0]["turns"]] == [0, 2]
    assert folded.records[0]["nodes"] == record["nodes"]
    assert folded.drops == {"ref_bash_actions=0": 1}


def test_a_rollout_without_turns_left_is_gone(view_record):
    folded = fold([view_record(0)], EMPTY, (), replace(RULES, panel=Panel.of(["org__repo0-0"], [], [])))
    assert (folded.records, folded.drops) == ((), {"bench_panel_overlap": 2})


def test_what_is_published_does_not_enter_again(view_record):
    first = "org__repo0.00000000.pr_0__run:0"
    folded = fold([view_record(0), view_record(0)], EMPTY, {first}, RULES)
    assert [turn["turn_idx"] for record in folded.records for turn in record["turns"]] == [1]
    assert folded.drops == {"already_published": 1, "dup_turn_id": 2}


def test_a_text_that_no_file_can_hold_drops_its_rollout_alone(view_record):
    bad = view_record(0)
    bad["nodes"][3] = {**bad["nodes"][3], "content": "\ud800"}
    folded = fold([bad, view_record(1)], EMPTY, (), RULES)
    assert (ids(folded.records), folded.drops) == (["r1"], {"record_unreadable": 1})


@pytest.mark.parametrize("parent", [2, 99, -1, 4])
def test_a_tree_that_is_none_drops_its_rollout_or_its_turns(view_record, parent):
    bad = view_record(0)
    bad["nodes"][2] = {**bad["nodes"][2], "parent": parent}
    folded = fold([bad, view_record(1)], EMPTY, (), RULES)
    assert ids(folded.records) == ["r1"]
    assert sum(folded.drops.values()) > 0


def long_record(view_record, size):
    record = view_record(0, turns=1)
    record["nodes"][1] = {**record["nodes"][1], "content": "x" * size}
    return record


@pytest.mark.parametrize(
    ("size", "count", "reason"),
    [
        (110_000, None, None),
        (130_000, None, "prefix_tokens_not_counted"),
        (130_000, len, "prefix_too_many_tokens"),
        (130_000, lambda text: len(text) // 2, None),
        (110_000, lambda text: 10**9, None),
        (300_000, lambda text: 1, "prefix_too_long"),
    ],
)
def test_tokens_are_counted_where_a_prefix_is_long(view_record, size, count, reason):
    folded = fold([long_record(view_record, size)], EMPTY, (), replace(RULES, count_tokens=count))
    assert folded.drops == ({reason: 1} if reason else {})


@pytest.mark.parametrize(("extra", "turns"), [(0, 1), (1, 0)])
def test_each_message_counts_eight_tokens_more(view_record, extra, turns):
    def count(text):
        return 55_000 - 8 + (extra if len(text) > 100_000 else 0)

    folded = fold([long_record(view_record, 130_000)], EMPTY, (), replace(RULES, count_tokens=count))
    assert folded.turns == turns


def test_failures_of_the_king_go_into_a_group_of_their_own(view_record):
    """The covariate trap: what the king solved or broke off does not enter, and is counted by rollout."""
    outcomes = ["failed", "solved", "errored", "unscored", "failed"]
    king = [view_record(n, policy={"id": "king_pi"}, outcome=outcome) for n, outcome in enumerate(outcomes)]
    mix = Mix(groups={"coding": 0.5, "king_fail": 0.5}, languages={})
    folded = fold([*king, view_record(7), view_record(8)], EMPTY, (), replace(RULES, mix=mix, king=KingRule()))
    assert sorted(ids(folded.records)) == ["r0", "r4", "r7", "r8"]
    assert folded.drops == {"king_errored": 1, "king_not_failed": 1, "king_unscored": 1}
    assert all(stratum.startswith("king_fail:") for stratum in folded.groups["king_fail"])
    assert fold(king, EMPTY, (), RULES).drops == {"king_no_fold_group": 5}


def test_what_waits_comes_first_the_next_time(view_record):
    mix = Mix(groups={"coding": 0.5, "math": 0.5}, languages={})
    rules = replace(RULES, mix=mix, groups={"swesmith": "coding", "sums": "math"})
    sums = [view_record(50 + n, source="sums", stratum=f"math:{n:04}") for n in range(3)]
    first = fold([*sums[:1], *(view_record(n) for n in range(3))], EMPTY, (), rules)
    assert ids(first.records) == ["r50", "r0"]
    assert ids(first.deferred) == ["r1", "r2"]
    state = FoldState(groups=first.groups, languages=first.languages, deferred=first.deferred)
    second = fold([view_record(9), sums[1]], state, (), rules)
    assert ids(second.records) == ["r1", "r51"]
    assert ids(second.deferred) == ["r2", "r9"]
    assert {name: len(strata) for name, strata in second.groups.items()} == {"coding": 2, "math": 2}


def test_a_state_comes_back_as_it_was_written(store, view_record):
    state = FoldState(
        folded=frozenset({"a", "b"}),
        groups={"coding": frozenset({"x|pr_1", "y"})},
        languages={"python": frozenset()},
        deferred=(view_record(0), view_record(1)),
    )
    for name, data in dump_state(state).items():
        store.put(f"fold/{'a' * 64}/{name}", data)
    assert read_state(store, "a" * 64) == state
    assert read_state(store, None) == FoldState()
    with pytest.raises(NoSuchObject):
        read_state(store, "b" * 64)


class Traces:
    manifest_sha256 = "7" * 64

    def __init__(self):
        self.chunks = {}
        self.asked = []

    def chunk_ids(self):
        return list(self.chunks)

    def records(self, chunk_id):
        self.asked.append(chunk_id)
        return self.chunks[chunk_id]


@pytest.fixture
def clock():
    return Hours()


class Hours:
    """A clock that is set by hand."""

    def __init__(self):
        self.hour = 0

    def now(self):
        return f"2026-09-{1 + self.hour // 24:02}T{self.hour % 24:02}:00:00.000Z"

    def monotonic(self):
        return 3600.0 * self.hour


def test_a_cycle_publishes_what_is_new_and_asks_for_it_once(store, view_record, clock):
    traces = Traces()
    traces.chunks = {"t1": [view_record(0)], "t2": [view_record(1)]}
    cycle = run_cycle(store, traces, RULES, clock)
    assert (cycle.published, cycle.turns, cycle.resumed) == (True, 4, None)
    assert get_manifest(store, cycle.manifest)[0].traces_manifest_sha256 == "7" * 64
    traces.chunks["t3"] = [view_record(2)]
    again = run_cycle(store, traces, RULES, clock, force=True)
    assert traces.asked == ["t1", "t2", "t3"]
    assert (again.published, again.turns) == (True, 2)
    assert len(open_corpus(store).index) == 6


def test_too_little_waits_until_the_last_revision_is_old(store, view_record, clock):
    traces = Traces()
    traces.chunks = {"t1": [view_record(0)]}
    first = run_cycle(store, traces, RULES, clock).manifest
    traces.chunks["t2"] = [view_record(1)]
    clock.hour = 48
    waiting = run_cycle(store, traces, RULES, clock)
    assert (waiting.published, waiting.turns, waiting.manifest) == (False, 2, first)
    clock.hour = 49
    assert run_cycle(store, traces, RULES, clock).published


def test_enough_is_published_at_once(store, view_record, clock):
    rules = replace(RULES, least_turns=4)
    traces = Traces()
    traces.chunks = {"t1": [view_record(0)]}
    run_cycle(store, traces, rules, clock)
    traces.chunks["t2"] = [view_record(1)]
    assert not run_cycle(store, traces, rules, clock).published
    traces.chunks["t3"] = [view_record(2)]
    cycle = run_cycle(store, traces, rules, clock)
    assert (cycle.published, cycle.turns) == (True, 4)


def test_nothing_new_makes_no_revision_even_by_force(store, view_record, clock):
    traces = Traces()
    assert run_cycle(store, traces, RULES, clock, force=True).manifest is None
    traces.chunks = {"t1": [view_record(0)]}
    first = run_cycle(store, traces, RULES, clock).manifest
    traces.chunks["t2"] = [view_record(0)]
    cycle = run_cycle(store, traces, RULES, clock, force=True)
    assert (cycle.published, cycle.manifest, cycle.drops) == (False, first, {"already_published": 2})


@pytest.mark.parametrize("done", [False, True], ids=["before-the-write", "after-the-write"])
def test_a_cycle_that_was_stopped_anywhere_loses_and_doubles_nothing(store, view_record, clock, failing, stopped, done):
    traces = Traces()
    steps = 0
    while True:
        traces.chunks[f"t{steps}"] = [view_record(10 * steps), view_record(10 * steps + 1)]
        try:
            run_cycle(failing(store, steps, done=done), traces, RULES, clock, force=True)
            break
        except stopped:
            clock.hour += 1  # so that the next cycle's manifest is another one
            run_cycle(store, traces, RULES, clock, force=True)
        wanted = {f"{record['traj_id']}:{n}" for chunk in traces.chunks.values() for record in chunk for n in (0, 1)}
        assert set(open_corpus(store).index.turn_ids) == wanted
        steps += 1
    assert steps == 8


def test_a_cycle_says_what_it_completed(store, view_record, clock, failing, stopped):
    traces = Traces()
    traces.chunks = {"t1": [view_record(0)]}
    with pytest.raises(stopped):
        run_cycle(failing(store, 6), traces, RULES, clock)
    cycle = run_cycle(store, traces, RULES, clock)
    assert cycle.resumed == cycle.manifest
    assert store.exists(manifest_key(cycle.manifest))
    assert not cycle.published
