"""Fold admission: what the public network's fold admits, and every reason for which it turns a turn away."""

from dataclasses import replace

import pytest

from assay.labs.duel.corpus.validate import MOST_PREFIX_CHARS, Candidate, Panel, validate_turns
from assay.models.protocol import Message


def candidate_of(record):
    return Candidate(
        traj_id=record["traj_id"],
        turn_idx=record["turn_idx"],
        repo=record["repo"],
        instance_id=record["instance_id"],
        action_kind=record["action_kind"],
        prefix=tuple(Message(role=item["role"], content=item["content"]) for item in record["prefix"]),
        reference=record["reference_turn"],
    )


def test_turns_are_admitted_as_the_vectors_say(read_cases):
    for case in read_cases("validate_turns"):
        asked = case["input"]
        panel = Panel.of(*asked["panel"]) if asked["panel"] else None
        turns = [candidate_of(record) for record in asked["records"]]
        found = validate_turns(turns, allowed_kinds=asked["allowed_kinds"], panel=panel)
        assert [turn.turn_id for turn in found.kept] == case["expected"]["kept"], case["id"]
        assert found.drops == case["expected"]["drops"], case["id"]


SYSTEM = Message(role="system", content="Reply with one bash block.")
ACTION = "cat src/package/module.py | head -n 200 | tail -n 20"
GOOD = Candidate(
    traj_id="t",
    turn_idx=0,
    repo="owner/name",
    instance_id="owner__name-1",
    action_kind="bash",
    prefix=(SYSTEM, Message(role="user", content="go")),
    reference=f"look\n```bash\n{ACTION}\n```",
)


def with_user(text):
    return (SYSTEM, Message(role="user", content=text))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"turn_idx": True}, "bad_ids"),
        ({"turn_idx": 0.0}, "bad_ids"),
        ({"traj_id": None}, "bad_ids"),
        ({"traj_id": 7}, "bad_ids"),
        ({"instance_id": "BENCH-1"}, "bench_panel_overlap"),
        ({"repo": "someone/Taken"}, "bench_panel_overlap"),
        ({"repo": "taken"}, "bench_panel_overlap"),
        ({"repo": "Whole/Repo"}, "bench_panel_overlap"),
        ({"repo": "other/repo"}, None),
        ({"action_kind": None}, None),
        ({"action_kind": "python"}, "action_kind_unregistered:python"),
        ({"action_kind": "boxed"}, "action_kind_not_admitted:boxed"),
        ({"prefix": ()}, "prefix_shape"),
        ({"prefix": (SYSTEM,)}, "prefix_shape"),
        ({"prefix": (*with_user("go"), Message(role="assistant", content="x"))}, "prefix_shape"),
        ({"prefix": with_user("x" * (MOST_PREFIX_CHARS - len(SYSTEM.content)))}, None),
        ({"prefix": with_user("x" * (MOST_PREFIX_CHARS - len(SYSTEM.content) + 1))}, "prefix_too_long"),
        ({"prefix": (Message(role="user", content="bash"),)}, "system_msg_no_bash_mandate"),
        ({"reference": "nothing"}, "ref_bash_actions=0"),
        ({"reference": GOOD.reference + "\n```bash\nls\n```"}, "ref_bash_actions=2"),
        ({"prefix": with_user(f"I would {GOOD.reference.upper()}")}, "reference_leaked_into_prefix"),
        ({"prefix": with_user(GOOD.reference.replace(" ", "\n\t "))}, "reference_leaked_into_prefix"),
        ({"prefix": with_user(ACTION[:40])}, None),
    ],
)
def test_each_reason_turns_away_what_it_names(changes, reason):
    panel = Panel.of(["bench-1"], ["whole/repo"], ["taken"])
    found = validate_turns([replace(GOOD, **changes)], allowed_kinds=["bash"], panel=panel)
    assert found.drops == ({} if reason is None else {reason: 1})
    assert len(found.kept) == (reason is None)


def test_a_short_action_may_have_been_said_before():
    turn = replace(GOOD, reference="```bash\nls\n```", prefix=with_user("try ```bash\nls\n```"))
    assert validate_turns([turn]).drops == {}


def test_the_first_reason_counts():
    turn = replace(GOOD, action_kind="boxed", prefix=(), instance_id="bench-1")
    panel = Panel.of(["bench-1"], [], [])
    assert validate_turns([turn], allowed_kinds=["bash"], panel=panel).drops == {"bench_panel_overlap": 1}
    assert validate_turns([turn], allowed_kinds=["bash"]).drops == {"action_kind_not_admitted:boxed": 1}
    assert validate_turns([turn], allowed_kinds=None).drops == {"prefix_shape": 1}


def test_of_two_turns_with_one_id_the_first_is_looked_at():
    found = validate_turns([replace(GOOD, reference="nothing"), GOOD])
    assert found.drops == {"ref_bash_actions=0": 1, "dup_turn_id": 1}
