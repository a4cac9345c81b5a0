"""Running duels on scripted models: the built-in order comes out, faults are told apart, no turn is played twice."""

import asyncio
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput, EvidenceInvalid, MissingMaterial, Refused
from assay.labs.duel.artefacts import read_artefact
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.crown import decide
from assay.labs.duel.exports import export_artefact
from assay.labs.duel.lab import LAB
from assay.labs.duel.playing import Models, play_turn
from assay.labs.duel.registration import load
from assay.labs.duel.replay import replay
from assay.labs.duel.report import report
from assay.labs.duel.side_rows import rows_of
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion, Message
from assay.models.scripted import PROFILES, ScriptedModel


def turns_of(finished):
    return [entry for entry in finished.evidence.logs["turns"] if entry["kind"] == "turn.played"]


def test_the_strong_model_beats_the_weak_one_and_not_the_other_way_round(make_document, run_duel):
    won = run_duel(make_document())
    assert won.verdict["decision"]["verdict"] == "challenger-crowned"
    lost = run_duel(
        make_document(king={"model": "scripted:strong"}, challenger={"model": "scripted:weak"}), folder="other"
    )
    assert lost.verdict["decision"]["crowned"] is False
    assert [entry["index"] for entry in turns_of(won)] == [*range(15)]
    assert set(won.verdict["slice"]["dialects"]) == {"bash", "boxed", "terminus_json", "text", "tool_call"}


def test_a_silent_challenger_is_stopped_at_the_floor(make_document, run_duel):
    found = run_duel(make_document(challenger_model="silent"))
    assert found.verdict["decision"]["verdict"] == "thought-too-short"


@pytest.mark.parametrize("mode", ["reason", "min_rga"])
def test_every_score_mode_runs(make_document, run_duel, mode):
    found = run_duel(make_document(turns=5, duel={"scoreMode": mode}))
    assert found.verdict["decision"]["crowned"] in (True, False)
    assert (found.verdict["scores"]["king"]["meanA"] is None) == (mode == "reason")


def test_a_challenger_that_fails_an_enforced_probe_is_not_scored(make_document, run_duel):
    probes = {"protocol": {"mode": "enforce", "samples": 1, "maxTokens": 64}}
    found = run_duel(make_document(challenger_model="rambling", probes=probes, duel={"requireThinkClose": False}))
    assert found.verdict["decision"]["verdict"] == "rejected"
    assert found.verdict["decision"]["reason"].startswith("protocol:pass_rate=0.00<0.9;no_think_close=")
    assert found.verdict["margin"] is None
    assert turns_of(found) == []
    assert report(found.verdict).tone == "refused"


def test_a_sequential_rule_ends_the_duel_early_and_is_held_to(make_document, run_duel):
    found = run_duel(make_document(turns=40, sequential={"alpha": 0.05, "clip": 0.2}))
    decided = found.verdict["stopping"]["decidedAfter"]
    assert found.verdict["decision"]["crowned"]
    assert len(turns_of(found)) == decided < 40
    assert f"after turn {decided} of 40" in str(report(found.verdict))
    longer = run_duel(make_document(turns=40), folder="whole")
    entries = [entry for entry in longer.evidence.logs["turns"] if entry["kind"] == "turn.played"]
    logs = list(found.evidence.logs["turns"])
    padded = found.evidence.with_log("turns", [*logs[:-1], entries[decided], logs[-1]])
    with pytest.raises(EvidenceInvalid, match=f"expected {decided} turns"):
        LAB.derive(found.contract, padded)


def test_the_artefact_of_a_duel_replays_to_its_verdict(make_document, run_duel, tmp_path):
    for folder, changes in (("a", {}), ("b", {"turns": 40, "sequential": {"alpha": 0.05, "clip": 0.2}})):
        found = run_duel(make_document(**changes), folder=folder)
        path = tmp_path / f"{folder}.json.gz"
        path.write_bytes(export_artefact(found.contract, found.evidence, found.verdict))
        again = replay(read_artefact(path))
        assert again.agrees, again.comparisons
        assert {item.agreement for item in again.comparisons} == {"identical"}


def test_the_same_models_and_beacon_give_the_same_evidence(make_document, run_duel):
    first, second = (
        turns_of(run_duel(make_document(run={"concurrency": count}), folder=str(count))) for count in (1, 7)
    )
    members = ("turn", "references", "king", "challenger")
    assert [[entry[name] for name in members] for entry in first] == [
        [entry[name] for name in members] for entry in second
    ]


def test_a_corpus_that_is_missing_small_or_holds_another_dialect_is_refused_before_anything_is_sealed(
    make_document, tmp_path
):
    for change, error in (
        ({"corpus": {"store": "elsewhere"}}, MissingMaterial),
        ({"turns": 1000}, BadInput),
        ({"dialects": ["bash"]}, BadInput),
    ):
        with pytest.raises(error):
            LAB.prepare(load(make_document(**change)), tmp_path)
    chunk = next((tmp_path / "corpus").rglob("*.jsonl.gz"))
    chunk.write_bytes(chunk.read_bytes()[:-9] + b"tampered!")
    contract = load(make_document())
    with pytest.raises(EvidenceInvalid):
        LAB.prepare(contract, tmp_path)


def test_a_model_with_other_weights_than_registered_is_refused(make_document, run_duel):
    with pytest.raises(Refused, match="the contract registers sha256:bbb"):
        run_duel(make_document(king={"weights": "sha256:" + "b" * 64}))
    with pytest.raises(Refused, match="a copy is no challenger"):
        run_duel(make_document(challenger={"model": "scripted:weak"}), folder="copy")
    with pytest.raises(Refused, match="may not play"):
        run_duel(make_document(challenger={"model": "scripted:teacher"}), folder="upload")


CHILD = """
import sys
from pathlib import Path
from assay.app.runner import Request, run_file
from assay.verifier.lab import Unwatched
from contextlib import contextmanager

@contextmanager
def progress(label, total):
    yield Unwatched()

run_file(Request(file=Path(sys.argv[1]), out=Path(sys.argv[2])), progress)
"""


def count_turns(database):
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute("select count(*) from log_turns").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_killed_three_times_a_duel_ends_with_the_same_slice_and_no_turn_scored_twice(make_document, run_duel, tmp_path):
    document = make_document(turns=40)
    file, out = tmp_path / "duel.json", tmp_path / "killed"
    file.write_text(json.dumps(document), encoding="utf-8")
    command = [sys.executable, "-c", CHILD, str(file), str(out)]
    reached = []
    for kill_at in (6, 16, 28):
        child = subprocess.Popen(command, env=os.environ)
        deadline = time.monotonic() + 60
        while count_turns(out / "evidence.db") < kill_at and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
        reached.append(count_turns(out / "evidence.db"))
    assert reached == sorted(reached)
    subprocess.run(command, check=True, env=os.environ)
    with closing(sqlite3.connect(out / "evidence.db")) as connection:
        lines = [json.loads(row[0]) for row in connection.execute("select line from log_turns order by sequence")]
    indices = [line["index"] for line in lines if line["kind"] == "turn.played"]
    assert indices == [*range(40)]
    whole = run_duel(document, folder="whole")
    strip = ("references", "king", "challenger", "turn")
    assert [[line[name] for name in strip] for line in lines if line["kind"] == "turn.played"] == [
        [entry[name] for name in strip] for entry in turns_of(whole)
    ]


class Faulty:
    """A scripted model with one thing that goes wrong."""

    def __init__(self, profile, *, complete=None, echo=None):
        self._model = ScriptedModel(f"scripted:{profile}", PROFILES[profile])
        self.identity = self._model.identity
        self._complete, self._echo = complete, echo

    def render(self, messages):
        return self._model.render(messages)

    async def complete(self, prompt, sampling):
        found = await self._model.complete(prompt, sampling)
        return self._complete(found) if self._complete else found

    async def echo(self, text, start):
        found = await self._model.echo(text, start)
        return self._echo(text, start, found) if self._echo else found

    async def close(self):
        return None


TURN = Turn(
    turn_id="t:0",
    prefix=(
        Message(role="system", content="Use bash."),
        Message(role="user", content="look after parser logger network"),
    ),
    reference="",
    kind="bash",
    stratum="s",
    source="",
    language="",
)


@pytest.fixture
def play(make_document):
    """Plays one turn and returns its record, its rows and what they decide."""
    contract = load(make_document())

    def run(**faulty):
        models = {"teacher": Faulty("teacher"), "king": Faulty("strong"), "challenger": Faulty("strong"), **faulty}
        record = asyncio.run(play_turn(contract, Models(**models), TURN, index=0, slice_seed=7))
        rows = rows_of(record, contract)
        return record, rows, (decide([rows.challenger], [rows.king], contract.knobs) if rows else None)

    return run


def raising(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("error", [ContextTooLong("too long"), BadAnswer("wrong count of tokens")])
@pytest.mark.parametrize("role", ["teacher", "king", "challenger"])
def test_a_fault_of_a_model_leaves_the_turn_out_for_both(play, role, error):
    record, rows, _ = play(**{role: Faulty("teacher", complete=raising(error))})
    assert (record.left_out, record.played, rows) == (error.code, None, None)


def test_a_teacher_that_answers_an_echo_wrongly_leaves_the_turn_out(play):
    record, _, _ = play(teacher=Faulty("teacher", echo=raising(BadAnswer("half a body"))))
    assert record.left_out == "bad-answer"


@pytest.mark.parametrize("role", ["teacher", "king", "challenger"])
def test_a_model_that_cannot_be_reached_stops_the_duel_so_that_the_turn_is_played_again(play, role):
    with pytest.raises(ModelUnavailable):
        play(**{role: Faulty("teacher", complete=raising(ModelUnavailable("gone")))})


def test_a_teacher_without_a_readable_action_ends_the_turn_for_both(play):
    mute = Faulty("teacher", complete=lambda found: replace(found, text="no action"))
    record, rows, _ = play(teacher=mute)
    assert (record.left_out, record.played, rows) == (None, None, None)
    assert len(record.references) == 3


@pytest.mark.parametrize("side", ["king", "challenger"])
@pytest.mark.parametrize(
    "text",
    [
        "I think and think and never close it\n```bash\nls\n```",
        "x\n</think>\nno action here",
        "x\ud800\n</think>\n```bash\nls\n```",
        "",
    ],
    ids=["never-closed", "no-action", "no-unicode", "nothing"],
)
def test_a_text_without_an_action_is_its_own_sides_forfeit(play, side, text):
    faulty = Faulty("strong", complete=lambda _: Completion(text=text, finish="length", tokens=5))
    _, rows, decision = play(**{side: faulty})
    assert [rows.king.forfeit, rows.challenger.forfeit] == [side == "king", side == "challenger"]
    assert (decision.duel.differences[0][1] > 0) == (side == "king")


def poison(part):
    """An echo that is not a number wherever a part of a text comes before or in its span."""

    def answer(text, start, found):
        return replace(found, total=math.nan) if part in text else found

    return answer


@pytest.mark.parametrize("side", ["king", "challenger"])
def test_a_text_that_breaks_the_teachers_numbers_is_its_own_sides_forfeit(play, side):
    reply = Completion(text="zebra stripes confuse it\n</think>\n```bash\nls\n```", finish="stop", tokens=9)
    breaking = Faulty("strong", complete=lambda _: reply)
    _, _, decision = play(**{side: breaking, "teacher": Faulty("teacher", echo=poison("zebra"))})
    (fault,) = decision.duel.faults
    assert fault.owner == side
    assert decision.duel.forfeit_turns == 1
    assert not decision.duel.challenger_wins


def test_a_number_of_the_teachers_own_that_is_broken_leaves_the_turn_out(play):
    nothing = Faulty("teacher", echo=lambda text, start, found: replace(found, total=math.inf))
    _, _, decision = play(teacher=nothing)
    assert decision.duel.paired == 0
    assert {fault.owner for fault in decision.duel.faults} == {"teacher"}


def test_too_many_turns_left_out_decide_nothing(make_document, run_duel):
    found = run_duel(make_document(turns=5, duel={"maxThoughtTokens": 40_000}))
    assert found.verdict["decision"]["verdict"] == "too-many-left-out"
    assert found.verdict["funnel"]["leftOut"] == {"context-too-long": 5}
