"""What the model saw: one conversation for every reply it was asked for, and no graph but a tree."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.corpus.conversations import BadGraph, read_conversations
from assay.labs.duel.corpus.envelopes import read_envelope


def node(role, content, **more):
    return {"message": {"role": role, "content": content}, **more}


def show(nodes):
    return [
        (found.index, found.node, [message.content for message in found.messages])
        for found in read_conversations({"nodes": nodes})
    ]


def test_real_rollouts(shared):
    with gzip.open(shared("vectors/duel/real/trace_envelopes.json.gz"), "rt", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    assert cases
    for case in cases:
        found = read_conversations(read_envelope(case["input"]["envelope"]).trace)
        assert len(found) == case["expected"]["n_sampled_paths"], case["id"]


def test_without_parents_each_message_follows_the_one_before():
    nodes = [node("user", "a"), node("assistant", "b", sampled=True), node("assistant", "c"), node("user", "d")]
    nodes.append(node("assistant", "e", sampled=True))
    assert show(nodes) == [(0, 1, ["a", "b"]), (1, 4, ["a", "b", "c", "d", "e"])]


def test_with_parents_a_reply_saw_the_path_to_it():
    nodes = [
        node("user", "a", parent=None),
        node("assistant", "b", parent=0, sampled=True),
        node("user", "c", parent=0),
        node("assistant", "d", parent=2, sampled=True),
        node("assistant", "e", parent=2, sampled=True),
    ]
    assert show(nodes) == [(0, 1, ["a", "b"]), (1, 3, ["a", "c", "d"]), (2, 4, ["a", "c", "e"])]


def test_the_last_node_says_whether_there_are_parents():
    nodes = [node("user", "a", parent=7), node("assistant", "b", sampled=True)]
    assert show(nodes) == [(0, 1, ["a", "b"])]
    nodes[-1]["parent"] = None
    with pytest.raises(BadGraph, match="node 0: its parent has to come earlier, got 7"):
        show(nodes)


def test_only_replies_that_were_sampled_count():
    for sampled in (False, None, 1, "yes"):
        assert show([node("user", "a"), node("assistant", "b", sampled=sampled)]) == []
    assert show([node("user", "a", sampled=True)]) == []
    assert show([]) == []


def test_roles_that_no_model_is_shown_are_dropped():
    nodes = [node("developer", "x"), node("user", "a"), node("", "y"), node("assistant", "b", sampled=True)]
    assert show(nodes) == [(0, 3, ["a", "b"])]


def test_content_is_text_or_the_texts_of_its_parts():
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, "two", {"text": 5}, None]
    (found,) = read_conversations({"nodes": [node("user", parts), node("assistant", None, sampled=True)]})
    assert [message.content for message in found.messages] == ["one\ntwo", ""]
    with pytest.raises(BadGraph, match="node 0: expected text, or a list of parts"):
        read_conversations({"nodes": [node("user", {"text": "x"})]})


@pytest.mark.parametrize("more", [{"tool_calls": [{"id": "1"}]}, {"role": "tool"}])
def test_a_conversation_with_calls_or_results_is_not_plain(more):
    nodes = [node("user", "a"), node("assistant", "b", sampled=True), node("assistant", "c")]
    nodes[2]["message"] |= more
    nodes += [node("user", "d"), node("assistant", "e", sampled=True)]
    assert [found.plain for found in read_conversations({"nodes": nodes})] == [True, False]


def test_native_messages_keep_what_a_template_reads_and_no_reasoning():
    call = {"id": "1", "function": {"name": "ls", "arguments": {}}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "SECRET", "name": ""}
    answer = {"role": "tool", "content": "out", "tool_call_id": "1", "name": "ls"}
    nodes = [node("user", "a"), {"message": asked}, {"message": answer}, node("assistant", "b", sampled=True)]
    (found,) = read_conversations({"nodes": nodes})
    assert found.native[1] == {"role": "assistant", "content": "", "tool_calls": [call]}
    assert found.native[2] == answer
    assert "SECRET" not in repr(found)


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        ([None, 1], "node 1: its parent has to come earlier, got 1"),
        ([None, 2, 1], "node 1: its parent has to come earlier, got 2"),
        ([1, 0], "node 0: its parent has to come earlier, got 1"),
        ([None, -1], "node 1: its parent has to come earlier, got -1"),
        ([None, True], "node 1: its parent has to come earlier, got True"),
        ([None, "0"], "node 1: its parent has to come earlier, got '0'"),
        ([None, 0.0], "node 1: its parent has to come earlier, got 0.0"),
        ([None, None], "expected exactly one root, got 2"),
        ([None, 0, None], "expected exactly one root, got 2"),
    ],
)
def test_what_is_no_tree_is_refused_by_name(parents, said):
    with pytest.raises(BadGraph, match=f"the trace's messages: {said}"):
        read_conversations({"nodes": [node("user", "x", parent=parent) for parent in parents]})


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (None, "expected a list of nodes"),
        ({"0": {}}, "expected a list of nodes"),
        ([node("user", "x"), 5], "node 1: expected an object with a message that has a role"),
        ([{"message": []}], "node 0: expected an object"),
        ([{"message": {"content": "x"}}], "node 0: expected an object"),
        ([{"message": {"role": 5}}], "node 0: expected an object"),
    ],
)
def test_nodes_of_another_shape_are_refused_by_name(nodes, said):
    with pytest.raises(BadGraph, match=said):
        read_conversations({"nodes": nodes})


def test_more_than_can_be_shown_is_refused_before_it_is_laid_out():
    shared = node("assistant", "x", sampled=True)
    with pytest.raises(BadGraph, match=r"would hold 5,003,865 messages, and at most 5,000,000 are read"):
        read_conversations({"nodes": [node("user", "a")] + [shared] * 3162})


@given(st.lists(st.integers(-3, 9) | st.none(), min_size=1, max_size=8))
def test_any_graph_is_a_tree_or_refused(parents):
    nodes = [node("assistant", str(at), parent=parent, sampled=True) for at, parent in enumerate(parents)]
    if all(parent is None or 0 <= parent < at for at, parent in enumerate(parents)) and parents.count(None) == 1:
        found = read_conversations({"nodes": nodes})
        assert [conversation.node for conversation in found] == list(range(len(nodes)))
        for conversation in found:
            path = [int(message.content) for message in conversation.messages]
            assert path[-1] == conversation.node
            assert [parents[at] for at in path] == [None, *path[:-1]]
    else:
        with pytest.raises(BadGraph, match=r"has to come earlier|exactly one root"):
            read_conversations({"nodes": nodes})
