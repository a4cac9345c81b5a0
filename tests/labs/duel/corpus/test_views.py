"""View records: the reference's, those of real rollouts, and that nothing else is read as one."""

import gzip
import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError, EvidenceInvalid, UnknownName
from assay.labs.duel.corpus.baking import ToolParityError
from assay.labs.duel.corpus.conversations import BadGraph
from assay.labs.duel.corpus.envelopes import read_envelope
from assay.labs.duel.corpus.materialise import materialise
from assay.labs.duel.corpus.outcomes import rollout_outcome
from assay.labs.duel.corpus.validate import Candidate, validate_turns
from assay.labs.duel.corpus.views import Node, derive_view, read_view_record
from assay.labs.duel.mandates import check_admission
from assay.models.protocol import Message


def test_vectors(read_cases):
    cases = read_cases("view_record")
    assert len(cases) == 10
    for case in cases:
        record = derive_view(read_envelope(case["input"]["envelope"]))
        assert (record and record.to_document()) == case["expected"], case["id"]
        if record:
            assert read_view_record(record.to_document()) == record


def test_real_rollouts(shared):
    with gzip.open(shared("vectors/duel/real/trace_envelopes.json.gz"), "rt", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    assert any(case["expected"]["view"] for case in cases)
    for case in cases:
        envelope, expected = read_envelope(case["input"]["envelope"]), case["expected"]
        assert rollout_outcome(envelope.trace) == expected["outcome_only"], case["id"]
        record = derive_view(envelope)
        if record is None:
            assert expected["view"] is None, case["id"]
            continue
        document = record.to_document()
        nodes = json.dumps(document["nodes"], sort_keys=True, ensure_ascii=False)
        found = {
            **document,
            "n_nodes": len(record.nodes),
            "nodes_sha256": sha256(nodes.encode("utf-8", "surrogatepass")).hexdigest(),
        }
        assert {name: found[name] for name in expected["view"]} == expected["view"], case["id"]
        for turn in record.turns:
            assert materialise(record, turn.node_id)[0][-1].role == "user", case["id"]


def test_real_turns_of_another_dialect_are_refused_by_name(shared):
    with gzip.open(shared("vectors/duel/real/turns_tau2_native_sample.jsonl.gz"), "rt", encoding="utf-8") as file:
        turns = [json.loads(line) for line in file]
    assert len(turns) == 30
    candidates = [
        Candidate(
            traj_id="t",
            turn_idx=at,
            repo="",
            instance_id="",
            action_kind=turn["action_kind"],
            prefix=(Message(role="user", content="x"),),
            reference="",
        )
        for at, turn in enumerate(turns)
    ]
    for allowed in (None, ["bash", "tool_call"], ["tool"]):
        assert validate_turns(candidates, allowed_kinds=allowed).drops == {"action_kind_unregistered:tool": 30}
        assert {check_admission(turn["action_kind"], allowed) for turn in turns} == {"action_kind_unregistered:tool"}


def node(role, content, **more):
    return {"message": {"role": role, "content": content}, **more}


def reply(command, **more):
    return node("assistant", f"THOUGHT: go\n\n```bash\n{command}\n```", sampled=True, **more)


def test_what_several_conversations_share_is_held_once(make_envelope):
    nodes = [
        node("system", "bash", parent=None),
        node("user", "go", parent=0),
        reply("one", parent=1),
        node("user", "go", parent=0),
        reply("two", parent=3),
        node("user", "out", parent=2),
        reply("three", parent=5),
    ]
    record = derive_view(read_envelope(make_envelope(nodes)))
    assert [found.parent for found in record.nodes] == [None, 0, 1, 1, 2, 4]
    assert [turn.node_id for turn in record.turns] == [2, 3, 5]
    assert record.nodes[1] == Node(parent=0, role="user", content="go")


def test_the_same_words_elsewhere_are_another_node(make_envelope):
    nodes = [node("user", "go"), reply("ls"), node("user", "go"), reply("ls")]
    record = derive_view(read_envelope(make_envelope(nodes)))
    assert [found.parent for found in record.nodes] == [None, 0, 1, 2]


def test_a_rollout_that_broke_or_holds_no_turn_has_no_record(make_envelope):
    nodes = [node("user", "go"), reply("ls")]
    assert derive_view(read_envelope(make_envelope(nodes))) is not None
    assert derive_view(read_envelope(make_envelope(nodes, stop_condition="error"))) is None
    assert derive_view(read_envelope(make_envelope(nodes, errors=[{"type": "X", "message": "boom"}]))) is None
    assert derive_view(read_envelope(make_envelope([node("user", "go")]))) is None
    assert derive_view(read_envelope(make_envelope([]))) is None


def test_only_the_last_reply_may_be_prose(make_envelope):
    prose = node("assistant", "All done.", sampled=True)
    nodes = [node("user", "go"), prose, node("user", "more"), reply("ls"), node("user", "out"), prose]
    for stop, kinds in (("agent_completed", ["bash", "text"]), ("max_turns", ["bash"])):
        record = derive_view(read_envelope(make_envelope(nodes, stop_condition=stop)))
        assert [turn.action_kind for turn in record.turns] == kinds
        assert record.action_kind == "bash"


def test_what_cannot_be_a_record_is_refused_by_name(make_envelope):
    nodes = [node("user", "x"), reply("ls")]
    with pytest.raises(BadGraph, match="exactly one root"):
        derive_view(read_envelope(make_envelope([node("user", "x", parent=None), reply("ls", parent=None)])))
    with pytest.raises(ToolParityError, match="no template was given"):
        derive_view(read_envelope(make_envelope([*nodes, node("tool", "out"), reply("pwd")])))
    envelope = make_envelope(nodes)
    with pytest.raises(UnknownName, match="'tool'"):
        derive_view(read_envelope({**envelope, "policy": {**envelope["policy"], "action_kind": "tool"}}))


MEMBERS = (
    "rollout_id", "traj_id", "instance_id", "repo", "model", "policy", "source", "language", "action_kind",
    "generated_at", "outcome", "nodes", "turns",
)  # fmt: skip


@pytest.mark.parametrize("member", MEMBERS)
def test_a_record_holds_every_member_in_its_type(view_record, member):
    document = view_record(1)
    with pytest.raises(EvidenceInvalid, match=f"view record: members do not fit .missing {member}"):
        read_view_record({name: value for name, value in document.items() if name != member})
    for value in (5, True):
        with pytest.raises(EvidenceInvalid, match=rf"view record\.{member}: expected "):
            read_view_record({**document, member: value})


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("nodes", 1, "parent"), r"nodes\[1\]\.parent: expected an integer or null"),
        (("nodes", 0, "role"), r"nodes\[0\]\.role: expected text"),
        (("nodes", 2, "content"), r"nodes\[2\]\.content: expected text"),
        (("turns", 0, "turn_idx"), r"turns\[0\]\.turn_idx: expected an integer"),
        (("turns", 1, "node_id"), r"turns\[1\]\.node_id: expected an integer"),
        (("turns", 1, "phase"), r"turns\[1\]\.phase: expected text"),
        (("turns", 1, "action_kind"), r"turns\[1\]\.action_kind: expected text"),
        (("turns", 1, "new"), r"turns\[1\]: members do not fit \(unknown new\)"),
    ],
)
def test_the_part_of_a_record_that_is_wrong_is_named(view_record, place, said):
    document = view_record(1)
    member, at, name = place
    document[member][at][name] = True
    with pytest.raises(EvidenceInvalid, match=said):
        read_view_record(document)


def test_only_this_view_is_read(view_record):
    for view in ("duel_turns@v3", "duel_turns@v40", ""):
        with pytest.raises(EvidenceInvalid, match="expected the view duel_turns@v4, got"):
            read_view_record(view_record(1, view=view))
    with pytest.raises(EvidenceInvalid, match="unknown extra"):
        read_view_record(view_record(1, extra=1))


@pytest.mark.parametrize(
    "own", [{}, {"stratum": "math:0001"}, {"fold_group": "king_fail", "stratum": "king_fail:0001"}]
)
def test_a_record_is_written_as_it_was_read(view_record, own):
    document = view_record(1, **own)
    assert read_view_record(document).to_document() == document


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JUNK, st.sampled_from([*MEMBERS, "view", "stratum", "fold_group", "new"]))
def test_a_hostile_record_is_read_or_refused(view_record, junk, member):
    try:
        record = read_view_record({**view_record(1), member: junk})
        for turn in record.turns:
            materialise(record, turn.node_id)
        read_view_record(junk)
    except AssayError:
        return
