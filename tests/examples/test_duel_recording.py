"""The recorded rollouts of examples/duel: tasks, plan, traces, counts and digests agree. Needs no model."""

import gzip
import hashlib
import importlib
import json
import shutil
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay.labs.duel.corpus.envelopes import read_envelope
from assay.labs.duel.corpus.views import derive_view
from assay.labs.duel.dialects import find_dialect
from assay.labs.duel.eras import Era

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "duel"
KINDS = ("bash", "tool_call", "terminus_json", "boxed")
LONGEST_PREFIX = 2500  # tokens; a turn must be quick to score on one core


def load(name: str) -> ModuleType:
    """The module of that name in the folder, whose modules import one another by their bare names."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


cell = load("cell")
checks = load("checks")
conversations = load("conversations")
dialects = load("dialects")
envelopes = load("envelopes")
math_sheets = load("math_sheets")
plan = load("plan")
sheet_loop = load("sheet_loop")
shell_tasks = load("shell_tasks")

FAMILIES = shell_tasks.build_families()
TASKS = [task for family in FAMILIES for task in (family.worked.task, *family.tasks)]
SHEETS = math_sheets.build_sheets()
LOCAL = {item.name: item for item in (dialects.BASH, dialects.TOOL_CALL, dialects.TERMINUS, dialects.BOXED)}

CORPUS = FOLDER / "corpus"

each_family = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
each_task = pytest.mark.parametrize("task", TASKS, ids=[task.name for task in TASKS])


@cache
def read_lines() -> tuple[dict[str, Any], ...]:
    text = gzip.decompress((FOLDER / "traces.jsonl.gz").read_bytes()).decode()
    return tuple(json.loads(line) for line in text.splitlines())


@cache
def read_recording() -> dict[str, Any]:
    return json.loads((FOLDER / "recording.json").read_text(encoding="utf-8"))


def kind_of(envelope: dict[str, Any]) -> str:
    return envelope["policy"]["action_kind"]


def lay_out(task: Any, root: Path) -> None:
    for name, text in task.files.items():
        (root / name).write_text(text, encoding="utf-8")


def meet(check: Any, root: Path) -> None:
    """Makes one check true by hand."""
    place = root / check.path
    if check.gone:
        place.unlink()
    elif check.folder:
        place.mkdir()
    else:
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{check.part or check.text}\n", encoding="utf-8")


def break_check(check: Any, root: Path) -> None:
    """Makes one check false that was true."""
    place = root / check.path
    if check.gone:
        place.write_text("back again\n", encoding="utf-8")
    elif check.folder:
        place.rmdir()
    else:
        place.write_text("something else\n", encoding="utf-8")


def run_confined(task: Any, *commands: str) -> tuple[list[Any], str | None]:
    """What the commands did in a cell of the task, and the fault that is left."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is absent: bwrap")
    room = cell.Cell(task.files)
    try:
        outcomes = [room.run(command) for command in commands]
        if "bwrap:" in outcomes[0].text:
            pytest.skip(f"bubblewrap can't work here: {outcomes[0].text}")
        return outcomes, checks.find_fault(task.checks, room.root)
    finally:
        room.close()


# The recording


def test_digests_are_those_of_the_traces():
    packed = (FOLDER / "traces.jsonl.gz").read_bytes()
    assert read_recording()["tracesSha256"] == hashlib.sha256(packed).hexdigest()
    assert read_recording()["linesSha256"] == hashlib.sha256(gzip.decompress(packed)).hexdigest()


def test_packing_names_neither_time_nor_file():
    packed = (FOLDER / "traces.jsonl.gz").read_bytes()
    assert packed[3:8] == bytes(5)


def test_counts_are_those_of_the_traces():
    recording = read_recording()
    assert recording["rollouts"] == len(read_lines())
    assert recording["replies"] == sum(len(envelope["trace"]["calls"]) for envelope in read_lines())
    for kind in KINDS:
        traces = [envelope["trace"] for envelope in read_lines() if kind_of(envelope) == kind]
        told = recording["dialects"][kind]
        assert told["rollouts"] == len(traces)
        assert told["replies"] == sum(len(trace["calls"]) for trace in traces)
        assert told["draws"] == sum(call["draws"] for trace in traces for call in trace["calls"])
        assert told["solved"] == sum(trace["rewards"]["solved"]["score"] for trace in traces)


def test_traces_are_the_planned_rollouts_in_order():
    recorded = [(kind_of(envelope), envelope["task"]["sid"]) for envelope in read_lines()]
    assert recorded == [(planned.dialect.name, planned.name) for planned in plan.build_plan()]


def test_every_rollout_has_an_id_and_a_trajectory_of_its_own():
    read = [read_envelope(envelope) for envelope in read_lines()]
    assert len({envelope["rollout_id"] for envelope in read_lines()}) == len(read)
    assert len({envelope.trajectory_id for envelope in read}) == len(read)


def test_first_message_is_the_planned_one_and_names_its_dialect():
    for envelope, planned in zip(read_lines(), plan.build_plan(), strict=True):
        first = envelope["trace"]["nodes"][0]["message"]
        assert first == {"role": "system", "content": planned.system}
        assert find_dialect(kind_of(envelope)).marker in planned.system.lower()
        assert planned.system in read_recording()["systems"][kind_of(envelope)]


@pytest.mark.parametrize("era", Era)
def test_every_rollout_gives_turns_and_all_of_them_enough(era):
    turns: Counter[str] = Counter()
    for envelope in read_lines():
        view = derive_view(read_envelope(envelope), era)
        assert view is not None, envelope["task"]["sid"]
        assert {turn.action_kind for turn in view.turns} == {kind_of(envelope)}
        turns[kind_of(envelope)] += len(view.turns)
    assert set(turns) == set(KINDS)
    assert sum(turns.values()) >= 400


def test_corpus_beside_it_holds_the_views_of_these_traces():
    manifest = json.loads((CORPUS / "corpus" / "manifest.json").read_text(encoding="utf-8"))
    folded = [
        json.loads(line)
        for shard in manifest["shards"]
        for line in gzip.decompress((CORPUS / shard["key"]).read_bytes()).decode().splitlines()
    ]
    views = {view.rollout_id: view for view in (derive_view(read_envelope(each)) for each in read_lines()) if view}
    assert {record["rollout_id"] for record in folded} == set(views)
    for record in folded:
        derived = views[record["rollout_id"]].to_document()
        assert record["nodes"] == derived["nodes"]
        assert record["turns"] == derived["turns"]


def test_no_prefix_is_long():
    assert all(
        call["usage"]["prompt_tokens"] < LONGEST_PREFIX
        for envelope in read_lines()
        for call in envelope["trace"]["calls"]
    )


def test_some_rollouts_are_solved_and_some_are_not():
    scores = {envelope["trace"]["rewards"]["solved"]["score"] for envelope in read_lines()}
    assert scores == {0, 1}


def test_recorded_scores_of_sheets_follow_from_the_boxed_answers():
    sheets = {sheet.name: sheet for sheet in SHEETS}
    for envelope in read_lines():
        if kind_of(envelope) == "boxed":
            right = sum(
                node["sampled"] and follower["message"]["content"].startswith("Right.")
                for node, follower in zip(envelope["trace"]["nodes"], envelope["trace"]["nodes"][1:], strict=False)
            )
            last = envelope["trace"]["nodes"][-1]["message"]["content"]
            right += sheet_loop.is_right(last, sheets[envelope["task"]["sid"]].problems[-1].answer)
            assert envelope["trace"]["rewards"]["solved"]["score"] == int(right >= math_sheets.PASS_MARK)


# The tasks


def test_tasks_are_many_and_all_different():
    assert len(TASKS) - len(FAMILIES) >= 40
    assert len({task.name for task in TASKS}) == len({task.text for task in TASKS}) == len(TASKS)


@each_task
def test_check_accepts_what_the_task_asks_for(task, tmp_path):
    lay_out(task, tmp_path)
    for check in task.checks:
        if check.find_fault(tmp_path) is not None:
            meet(check, tmp_path)
    assert checks.find_fault(task.checks, tmp_path) is None


@each_task
def test_check_refuses_an_untouched_folder(task, tmp_path):
    lay_out(task, tmp_path)
    assert checks.find_fault(task.checks, tmp_path) is not None


@each_task
def test_check_refuses_a_wrong_answer(task, tmp_path):
    for number, check in enumerate(task.checks):
        root = tmp_path / str(number)
        root.mkdir()
        lay_out(task, root)
        for other in task.checks:
            if other.find_fault(root) is not None:
                meet(other, root)
        break_check(check, root)
        assert checks.find_fault(task.checks, root) is not None


def test_check_follows_no_link(tmp_path):
    (tmp_path / "real.txt").write_text("hello\n", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    assert checks.Check(path="real.txt", text="hello").find_fault(tmp_path) is None
    assert checks.Check(path="link.txt", text="hello").find_fault(tmp_path) == "there is no file link.txt"


@each_family
def test_reference_command_solves_a_task(family):
    task = family.tasks[-1]  # the commands of a family are of one form, and starting a cell takes its time
    _, fault = run_confined(task, task.solution)
    assert fault is None


def test_another_command_does_not_solve_a_task():
    _, fault = run_confined(TASKS[0], "echo nothing > other.txt")
    assert fault is not None


@each_family
def test_worked_task_is_solved_by_its_last_step(family):
    _, fault = run_confined(family.worked.task, *(step.command for step in family.worked.steps))
    assert fault is None


def test_first_step_of_a_worked_task_only_looks():
    assert {family.worked.steps[0].command.split()[0] for family in FAMILIES} == {"ls", "cat"}


def test_cell_has_no_network_and_writes_nowhere_else():
    outcomes, _ = run_confined(TASKS[0], "tail -n +3 /proc/net/dev", "echo x > /usr/x", "ls /root /home", "pwd")
    network, written, homes, place = outcomes
    assert [line.split(":")[0].strip() for line in network.text.splitlines()] == ["lo"]
    assert "Read-only file system" in written.text
    assert homes.status != 0
    assert place.text == "/box"


def test_cell_cuts_long_output():
    outcomes, _ = run_confined(TASKS[0], "seq 10000")
    assert outcomes[0].text.endswith("\n(cut)")
    assert len(outcomes[0].text) == cell.MOST_CHARS + len("\n(cut)")


# The sheets


def test_right_answers_pass_a_sheet_and_wrong_ones_do_not():
    class Scripted:
        def __init__(self, texts):
            self.texts = iter(texts)

        def answer(self, messages):
            return conversations.Reply(
                text=next(self.texts), finish="stop", prompt_tokens=1, completion_tokens=1, draws=1
            )

    planned = next(planned for planned in plan.build_plan() if isinstance(planned, plan.SheetPlan))
    answers = [f"<think>\n</think>\n\\boxed{{{problem.answer}}}" for problem in planned.sheet.problems]
    passed = sheet_loop.run_sheet(planned, Scripted(answers))
    failed = sheet_loop.run_sheet(planned, Scripted(["\\boxed{-1}"] * 12))
    assert (passed.score, len(passed.replies)) == (1, 6)
    assert (failed.score, len(failed.replies)) == (0, 12)


@pytest.mark.parametrize("sheet", SHEETS, ids=[sheet.name for sheet in SHEETS])
def test_sheet_accepts_its_answers_alone(sheet):
    for problem in sheet.problems:
        assert sheet_loop.is_right(f"\\boxed{{ {problem.answer} }}", problem.answer)
        assert not sheet_loop.is_right(f"\\boxed{{{problem.answer}0}}", problem.answer)
        assert not sheet_loop.is_right(problem.answer, problem.answer)


def test_worked_problems_are_in_no_sheet():
    worked = {problem.text for sheet in SHEETS for problem in sheet.worked}
    assert not worked & {problem.text for sheet in SHEETS for problem in sheet.problems}


# The dialects


@pytest.mark.parametrize("kind", KINDS)
def test_worked_replies_hold_one_action_for_the_harness_and_for_the_lab(kind):
    local = LOCAL[kind]
    text = local.write(shell_tasks.Step("The file is there.", "I read it.", "cat a.txt"))
    (action,) = local.find_actions(text)
    ((start, end),) = find_dialect(kind).find(text, Era.SAFE)
    assert text[start:end] == action
    assert local.read_command(action) == "cat a.txt"
    assert conversations.read_answer(text) in text


def test_object_scan_ends_at_a_broken_object():
    whole = '{"analysis": "a", "plan": "b", "commands": ["ls"]}'
    assert dialects.find_objects(f"so {whole} and {whole}") == [whole, whole]
    assert dialects.find_objects(f"{{ {whole}") == []
    assert dialects.find_objects('{"analysis": "a", "plan": "b", "commands": "ls"}') == []
