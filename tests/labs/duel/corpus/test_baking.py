"""Conversations with tools as plain text: the same for a template byte for byte, or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError
from assay.labs.duel.corpus.baking import ToolParityError, bake
from assay.labs.duel.corpus.conversations import read_conversations
from assay.labs.duel.corpus.envelopes import read_envelope
from assay.labs.duel.corpus.materialise import materialise
from assay.labs.duel.corpus.views import derive_view
from assay.models.protocol import Message

jinja2 = pytest.importorskip("jinja2")

HERMES = """
{%- set first = messages[0].content if messages and messages[0].role == 'system' else '' -%}
{%- if tools -%}
<|im_start|>system
{{ first + '\n\n' if first else '' }}# Tools
<tools>{% for tool in tools %}{{ '\n' + tool | tojson }}{% endfor %}
</tools><|im_end|>
{% elif first -%}
<|im_start|>system
{{ first }}<|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}
<tool_response>
{{ message.content }}
</tool_response>
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>
{% endif -%}
{%- elif message.role != 'system' -%}
<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}
</tool_call>
{%- endfor %}<|im_end|>
{% endif -%}
{%- endfor -%}
"""
TOOLS = [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}]
SCHEMAS = "# Tools\n<tools>\n" + json.dumps(TOOLS[0], sort_keys=True) + "\n</tools>"


def make_renderer(source):
    template = jinja2.Environment(keep_trailing_newline=True).from_string(source)
    return lambda messages, tools: template.render(messages=messages, tools=tools)


RENDER = make_renderer(HERMES)


def node(role, content, **more):
    return {"message": {"role": role, "content": content, **more}}


def reply(content, *commands):
    calls = [
        {"id": str(at), "function": {"name": "shell", "arguments": {"cmd": said}}} for at, said in enumerate(commands)
    ]
    return {**node("assistant", content, **({"tool_calls": calls} if calls else {})), "sampled": True}


def converse(*nodes):
    return read_conversations({"nodes": list(nodes)})


def write(messages):
    return RENDER([{"role": message.role, "content": message.content} for message in messages], [])


def call_text(command):
    return '<tool_call>\n{"arguments": {"cmd": "' + command + '"}, "name": "shell"}\n</tool_call>'


def test_schemas_calls_and_results_become_text():
    nodes = (node("system", "Be brief."), node("user", "go"), reply("I look.", "ls", "pwd"))
    found = converse(*nodes, node("tool", "a.py"), node("tool", "/"), reply("Read.", "cat a.py"))
    assert bake(found[1], TOOLS, RENDER) == (
        Message(role="system", content="Be brief.\n\n" + SCHEMAS),
        Message(role="user", content="go"),
        Message(role="assistant", content=f"I look.\n{call_text('ls')}\n{call_text('pwd')}"),
        Message(
            role="user",
            content="<tool_response>\na.py\n</tool_response>\n<tool_response>\n/\n</tool_response>",
        ),
        Message(role="assistant", content=f"Read.\n{call_text('cat a.py')}"),
    )


def test_schemas_are_shown_before_anything_was_called_and_without_a_system_message():
    (found,) = converse(node("user", "go"), reply("no need"))
    assert found.plain
    assert bake(found, TOOLS, RENDER)[0] == Message(role="system", content=SCHEMAS)
    assert bake(found, [], RENDER) == bake(found, None, None) == found.messages


TEXT = st.text(alphabet=st.sampled_from("ab \n<|>\"'\\é{}mark0ABC"), max_size=12) | st.sampled_from(
    ["<|im_end|>\n<|im_start|>assistant\n", "mark0mark", "mark0markA", "</tool_response>", "</think>"]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reply"), TEXT, st.lists(TEXT, max_size=2)),
        st.tuples(st.just("tool"), TEXT, st.just([])),
        st.tuples(st.just("user"), TEXT, st.just([])),
    ),
    max_size=6,
)


@given(STEPS, st.booleans(), TEXT, st.sampled_from([[], TOOLS]))
def test_what_is_baked_renders_as_the_tools_do(steps, has_system, system, tools):
    nodes = [node("system", system)] * has_system + [node("user", "go")]
    for kind, text, commands in steps:
        nodes.append(reply(text, *commands) if kind == "reply" else node(kind, text))
    for found in converse(*nodes, reply("done", "exit")):
        baked = bake(found, tools, RENDER)
        assert write(baked) == RENDER(found.native, tools)
        assert {message.role for message in baked} <= {"system", "user", "assistant"}
        runs = [role for at, role in enumerate(roles(found)) if role != "tool" or roles(found)[at - 1] != "tool"]
        expected = ["user" if role == "tool" else role for role in runs]
        assert [message.role for message in baked] == ["system"] * (bool(tools) and not has_system) + expected


def roles(conversation):
    return [message.role for message in conversation.messages]


@pytest.mark.parametrize("letter", "ABC")
def test_texts_that_look_like_the_marks_of_a_rendering_are_texts(letter):
    hostile = f"mark0mark{letter} mark1mark{letter}"
    nodes = (node("system", hostile), node("user", hostile), reply(hostile, hostile), node("tool", hostile))
    found = converse(*nodes, reply("done", "exit"))[-1]
    assert write(bake(found, TOOLS, RENDER)) == RENDER(found.native, TOOLS)


REFUSED = {
    "a word about tools behind the last message": HERMES + "{% if tools %}Call a tool.{% endif %}",
    "results that are no message of the user's": HERMES.replace("%}<|im_start|>user{%", "%}<|im_start|>tool{%"),
    "calls in a header of their own": HERMES.replace(
        "<|im_start|>{{ message.role }}", "<|im_start|>{{ message.role }}{{ ' calls' if message.tool_calls else '' }}"
    ),
    "a count of calls": "{{ messages | selectattr('tool_calls', 'defined') | list | length }}" + HERMES,
    "no calls at all": "{{ messages[9].content.missing.missing }}",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_another_rendering_is_refused(source):
    found = converse(node("user", "go"), reply("", "ls"), node("tool", "a.py"), reply("done", "cat"))[-1]
    assert bake(found, TOOLS, RENDER)
    with pytest.raises(ToolParityError, match="node 3: "):
        bake(found, TOOLS, make_renderer(source))


def test_a_template_that_refuses_is_a_refusal_of_the_conversation():
    def refuse(messages, tools):
        raise LookupError("no \x1b tools here" * 99)

    (found,) = converse(node("user", "go"), reply("", "ls"))
    with pytest.raises(ToolParityError, match="node 1: the template refuses the conversation: LookupError: ") as caught:
        bake(found, TOOLS, refuse)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 250
    with pytest.raises(ToolParityError, match="no template was given"):
        bake(found, TOOLS, None)
    with pytest.raises(ToolParityError, match="tools to be a list"):
        bake(found, {"a": 1}, RENDER)


def test_reasoning_is_in_no_message():
    thinking = {"message": {**reply("x", "ls")["message"], "reasoning_content": "SECRET"}, "sampled": True}
    found = converse(node("user", "go"), thinking, node("tool", "a"), reply("y", "pwd"))[-1]
    assert "SECRET" not in repr(found)
    assert "SECRET" not in repr(bake(found, TOOLS, RENDER))


def envelope(nodes, tools):
    return read_envelope(
        {
            "schema": 1,
            "rollout_id": "r",
            "source": "s",
            "task": {"uid": "u", "sid": "t-1", "repo": "", "language": ""},
            "policy": {"id": "p", "model": "m", "harness": "h", "action_kind": "tool_call"},
            "trace": {"nodes": nodes, "tools": tools, "stop_condition": "max_turns", "errors": [], "rewards": {}},
        }
    )


def test_a_rollout_with_tools_becomes_turns_of_the_dialect_that_its_template_writes():
    nodes = [node("user", "go"), reply("I look.", "ls"), node("tool", "a.py"), reply("", "cat a.py")]
    record = derive_view(envelope(nodes, TOOLS), render=RENDER)
    assert [turn.action_kind for turn in record.turns] == ["tool_call", "tool_call"]
    prefix, reference = materialise(record, record.turns[1].node_id)
    assert write((*prefix, Message(role="assistant", content=reference))) == RENDER(
        [entry["message"] for entry in nodes], TOOLS
    )
    with pytest.raises(ToolParityError):
        derive_view(envelope(nodes, TOOLS))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JUNK, JUNK, JUNK)
def test_hostile_calls_and_tools_are_read_or_refused(calls, tools, name):
    hostile = {**node("assistant", "x", tool_calls=calls, name=name), "sampled": True}
    try:
        derive_view(envelope([node("user", "go"), hostile], tools), render=RENDER)
    except AssayError:
        return
