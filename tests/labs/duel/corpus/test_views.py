"""View records: the reference's, those of real rollouts, and that nothing else is read as one."""

import gzip
import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError, EvidenceInvalid
from assay.labs.duel.corpus.conversations import BadGraph, read_conversations
from assay.labs.duel.corpus.envelopes import BadEnvelope, read_envelope
from assay.labs.duel.corpus.materialise import BadTurn, materialise
from assay.labs.duel.corpus.outcomes import rollout_outcome
from assay.labs.duel.corpus.views import derive_view, read_view_record
from assay.labs.duel.mandates import check_admission
from assay.models.protocol import Message


def test_vectors(read_cases):
    for case in read_cases("view_record"):
        record = derive_view(read_envelope(case["input"]["envelope"]))
        assert (record and record.to_document()) == case["expected"], case["id"]
        if record:
            assert read_view_record(record.to_document()) == record


def test_outcome_vectors(read_cases):
    for case in read_cases("rollout_outcome"):
        assert rollout_outcome(case["input"]["trace"]) == case["expected"]["outcome"], case["id"]


def test_real_rollouts(shared):
    with gzip.open(shared("vectors/duel/real/trace_envelopes.json.gz"), "rt", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        envelope, expected = read_envelope(case["input"]["envelope"]), case["expected"]
        assert rollout_outcome(envelope.trace) == expected["outcome_only"], case["id"]
        assert len(read_conversations(envelope.trace)) == expected["n_sampled_paths"], case["id"]
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


def test_real_turns_of_another_dialect_are_refused_by_name(shared):
    with gzip.open(shared("vectors/duel/real/turns_tau2_native_sample.jsonl.gz"), "rt", encoding="utf-8") as file:
        turns = [json.loads(line) for line in file]
    assert len(turns) == 30
    for turn in turns:
        assert check_admission(turn["action_kind"], ["bash", "tool_call"]) == "action_kind_unregistered:tool"


def envelope_of(nodes, **trace):
    return {
        "schema": 1,
        "rollout_id": "r",
        "source": "s",
        "task": {"uid": "u", "sid": "t-1", "repo": "", "language": ""},
        "policy": {"id": "p", "model": "m", "harness": "h", "action_kind": "bash"},
        "trace": {"nodes": nodes, "stop_condition": "agent_completed", "errors": [], "rewards": {}, **trace},
    }


def node(role, content, **more):
    return {"message": {"role": role, "content": content}, **more}


def reply(command, **more):
    return node("assistant", f"THOUGHT: go\n\n```bash\n{command}\n```", sampled=True, **more)


@given(st.lists(st.sampled_from(["user", "reply"]), min_size=1, max_size=8))
def test_a_turn_shows_exactly_what_the_model_saw(steps):
    nodes = [node("system", "use bash"), node("user", "task")]
    for number, step in enumerate(steps):
        nodes.append(reply(f"cmd{number}") if step == "reply" else node("user", f"out{number}"))
    record = derive_view(read_envelope(envelope_of(nodes)))
    saw = {found.messages for found in read_conversations({"nodes": nodes})}
    for turn in record.turns if record else ():
        prefix, reference = materialise(record, turn.node_id)
        assert (*prefix, Message(role="assistant", content=reference)) in saw
        assert sum(len(message.content) for message in prefix) == turn.n_prefix_chars


@given(st.lists(st.integers(-3, 9) | st.none(), min_size=1, max_size=8))
def test_any_graph_is_a_tree_or_refused(parents):
    nodes = [node("user", str(at), parent=parent) for at, parent in enumerate(parents)]
    good = all(parent is None or 0 <= parent < at for at, parent in enumerate(parents)) and parents.count(None) == 1
    if good:
        read_conversations({"nodes": nodes})
    else:
        with pytest.raises(BadGraph):
            read_conversations({"nodes": nodes})


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (
            [{"parent": None, "role": "user", "content": "x"}, {"parent": 0, "role": "user", "content": "y"}],
            "role 'user'",
        ),
        ([{"parent": 1, "role": "assistant", "content": "x"}, {"parent": 1, "role": "user", "content": "y"}], "circle"),
        ([{"parent": 9, "role": "user", "content": "x"}, {"parent": 0, "role": "assistant", "content": "y"}], "circle"),
        (
            [{"parent": None, "role": "system", "content": "x"}, {"parent": 0, "role": "assistant", "content": "y"}],
            "user",
        ),
    ],
)
def test_a_node_that_is_no_turn_is_refused(nodes, said):
    record = derive_view(read_envelope(envelope_of([node("system", "bash"), node("user", "t"), reply("ls")])))
    broken = read_view_record({**record.to_document(), "nodes": nodes})
    with pytest.raises(BadTurn, match=said):
        materialise(broken, 1 if len(nodes) > 1 and nodes[1]["role"] == "assistant" else 0 if "circle" in said else 1)
    with pytest.raises(BadTurn, match="the record has the nodes 0 to 1"):
        materialise(broken, 2)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JUNK, st.sampled_from(["schema", "rollout_id", "source", "task", "policy", "trace"]))
def test_a_hostile_envelope_is_read_or_refused(junk, member):
    envelope = {**envelope_of([node("user", "x"), reply("ls")]), member: junk}
    try:
        derive_view(read_envelope(envelope))
    except AssayError:
        return


@given(JUNK, st.sampled_from(["nodes", "stop_condition", "errors", "rewards", "calls", "info", "tools"]))
def test_a_hostile_trace_is_read_or_refused(junk, member):
    try:
        derive_view(
            read_envelope(envelope_of([node("user", "x"), reply("ls")], **{member: junk}))
            if member != "nodes"
            else read_envelope(envelope_of(junk))
        )
    except AssayError:
        return


def test_the_member_that_is_wrong_is_named():
    with pytest.raises(BadEnvelope, match=r"task\.sid: expected text, got 5"):
        read_envelope({**envelope_of([]), "task": {"uid": "u", "sid": 5, "repo": "", "language": ""}})
    with pytest.raises(EvidenceInvalid, match="view record"):
        read_view_record({"view": "duel_turns@v4"})


def test_a_conversation_with_tools_needs_a_template():
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
    nodes = [node("user", "x"), {"message": called, "sampled": True}, node("tool", "out"), reply("ls")]
    with pytest.raises(EvidenceInvalid, match="no template was given"):
        derive_view(read_envelope(envelope_of(nodes)))
