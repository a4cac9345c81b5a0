"""Turns out of view records: the conversation that the model saw, or a refusal that says why there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError, EvidenceInvalid
from assay.labs.duel.corpus.conversations import read_conversations
from assay.labs.duel.corpus.envelopes import read_envelope
from assay.labs.duel.corpus.materialise import BadTurn, import_legacy, materialise
from assay.labs.duel.corpus.views import derive_view, read_view_record
from assay.models.protocol import Message


def read_nodes(view_record, *nodes):
    """A record with these nodes, each a parent, a role and a text."""
    listed = [{"parent": parent, "role": role, "content": content} for parent, role, content in nodes]
    return read_view_record(view_record(1, nodes=listed))


def test_a_turn_is_the_path_to_its_node(view_record):
    record = read_nodes(
        view_record,
        (None, "system", "s"),
        (0, "user", "u"),
        (1, "assistant", "a"),
        (1, "assistant", "b"),
        (2, "user", "v"),
        (4, "assistant", "c"),
    )
    before = (Message(role="system", content="s"), Message(role="user", content="u"))
    assert materialise(record, 2) == (before, "a")
    assert materialise(record, 3) == (before, "b")
    more = (*before, Message(role="assistant", content="a"), Message(role="user", content="v"))
    assert materialise(record, 5) == (more, "c")


@pytest.mark.parametrize("place", [-1, 2, 10**9])
def test_a_node_that_is_not_there(view_record, place):
    record = read_nodes(view_record, (None, "user", "u"), (0, "assistant", "a"))
    with pytest.raises(BadTurn, match=f"node {place}: the record has the nodes 0 to 1"):
        materialise(record, place)


@pytest.mark.parametrize("role", ["user", "system", "tool", "", "Assistant"])
def test_a_node_that_is_not_the_assistants(view_record, role):
    record = read_nodes(view_record, (None, "user", "u"), (0, role, "a"))
    with pytest.raises(BadTurn, match=f"node 1: expected a reply of the assistant's, got the role '{role}'"):
        materialise(record, 1)


@pytest.mark.parametrize("before", [[], ["system"], ["user", "assistant"], ["user", "tool"]])
def test_a_prefix_that_does_not_end_on_the_user(view_record, before):
    nodes = [(at - 1 if at else None, role, "x") for at, role in enumerate([*before, "assistant"])]
    with pytest.raises(BadTurn, match="what comes before it does not end on the user"):
        materialise(read_nodes(view_record, *nodes), len(before))


@pytest.mark.parametrize("parents", [[1, 1], [1, 0], [0, 0], [2, 0], [-1, 0], [9, 0], [None, 9], [None, -1]])
def test_parents_that_lead_in_a_circle_or_out(view_record, parents):
    record = read_nodes(view_record, (parents[0], "user", "u"), (parents[1], "assistant", "a"))
    with pytest.raises(BadTurn, match="in a circle, or out of the record"):
        materialise(record, 1)


ROLES = st.sampled_from(["system", "user", "assistant"])


@given(st.lists(st.tuples(st.none() | st.integers(-2, 7), ROLES), max_size=7), st.integers(-2, 8))
def test_any_record_gives_a_turn_or_a_refusal(view_record, nodes, place):
    record = read_nodes(view_record, *((parent, role, str(at)) for at, (parent, role) in enumerate(nodes)))
    try:
        prefix, reference = materialise(record, place)
    except BadTurn:
        return
    path = [int(message.content) for message in prefix] + [int(reference)]
    assert path[-1] == place
    assert [nodes[at][0] for at in path] == [None, *path[:-1]]
    assert prefix[-1].role == "user"


def grow(steps):
    """A trace: of each step a parent that comes earlier, and whether a reply or a message of the user's follows it."""
    nodes = [{"message": {"role": "user", "content": "use bash"}, "parent": None}]
    for number, (back, replies) in enumerate(steps):
        text = f"THOUGHT: go\n\n```bash\ncmd {number}\n```" if replies else f"out {number}"
        message = {"role": "assistant" if replies else "user", "content": text}
        nodes.append({"message": message, "parent": max(0, number - back), "sampled": replies})
    return nodes


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=10))
def test_a_turn_shows_exactly_what_the_model_saw(make_envelope, steps):
    nodes = grow(steps)
    record = derive_view(read_envelope(make_envelope(nodes)))
    saw = {found.index: found.messages for found in read_conversations({"nodes": nodes})}
    expected = {index for index, messages in saw.items() if messages[-2].role == "user"}
    assert {turn.turn_idx for turn in (record.turns if record else ())} == expected
    for turn in record.turns if record else ():
        prefix, reference = materialise(record, turn.node_id)
        assert (*prefix, Message(role="assistant", content=reference)) == saw[turn.turn_idx]
        assert turn.n_prefix_chars == sum(len(message.content) for message in prefix)
        assert turn.suffix_len == len(reference)


LEGACY = {
    "traj_id": "org__repo.0000.pr_1__run",
    "repo": "org/repo",
    "messages": [
        {"role": "system", "content": "bash"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "out"},
        {"role": "assistant", "content": "```bash\npwd\n```"},
    ],
    "turns": [{"turn_idx": 0, "msg_pos": 2, "phase": "early"}, {"turn_idx": 1, "msg_pos": 4, "phase": "late"}],
}


def test_a_record_of_schema_two_is_a_chain():
    record = import_legacy({**LEGACY, "n_tokens": 5})
    assert [node.parent for node in record.nodes] == [None, 0, 1, 2, 3]
    assert (record.rollout_id, record.outcome, record.action_kind) == (LEGACY["traj_id"], "unscored", "bash")
    assert [(turn.turn_idx, turn.node_id, turn.n_prefix_chars) for turn in record.turns] == [(0, 2, 6), (1, 4, 23)]
    prefix, reference = materialise(record, 4)
    assert [{"role": message.role, "content": message.content} for message in prefix] == LEGACY["messages"][:4]
    assert reference == "```bash\npwd\n```"
    assert read_view_record(record.to_document()) == record


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"traj_id": 5}, "traj_id: expected text"),
        ({"messages": {}}, "messages: expected a list"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]: members do not fit \(missing content"),
        ({"messages": ["x"]}, r"messages\[0\]: expected an object"),
        ({"turns": [{"turn_idx": 0, "msg_pos": 5, "phase": "x"}]}, r"turns\[0\]\.msg_pos: .* among 5 messages, got 5"),
        ({"turns": [{"turn_idx": 0, "msg_pos": -1, "phase": "x"}]}, "got -1"),
        ({"turns": [{"turn_idx": 0, "msg_pos": True, "phase": "x"}]}, "msg_pos: expected an integer"),
        ({"repo": 5}, "repo: expected text, got 5"),
    ],
)
def test_a_broken_record_of_schema_two_is_refused_by_name(change, said):
    with pytest.raises(EvidenceInvalid, match=said):
        import_legacy({**LEGACY, **change})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JUNK, st.sampled_from([*LEGACY, "instance_id", "stratum", "generated_at"]))
def test_a_hostile_record_of_schema_two_is_read_or_refused(junk, member):
    try:
        import_legacy({**LEGACY, member: junk})
        import_legacy(junk)
    except AssayError:
        return
