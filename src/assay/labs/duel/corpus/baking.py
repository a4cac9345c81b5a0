"""Conversations that call tools, as plain text: admitted only where the teacher's template makes the same of both.

A duel shows a conversation to models of any family as plain messages. What a harness sent as tool schemas, calls and
results has to come out of the teacher's own template byte for byte the same when it is written as text (facts 5.2).
The text itself is the template's: each part that is not plain is rendered between two marks, and what stands between
them is what a plain message has to say there.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count, groupby
from typing import Final, NoReturn, TypeAlias

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.corpus.conversations import Conversation
from assay.models.protocol import Message

__all__ = ["Renderer", "ToolParityError", "bake"]

Native: TypeAlias = Mapping[str, Json]
Renderer: TypeAlias = Callable[[Sequence[Native], Sequence[Json]], str]
"""The teacher's chat template: messages as a harness sent them and the tools that could be called, as one text.

No reply is opened behind the last message. It may raise anything where it refuses a conversation.
"""

_LONGEST_REASON: Final = 120


class ToolParityError(EvidenceInvalid):
    """A conversation with tools that is not the same as plain text."""

    code = "tool-parity"


def bake(conversation: Conversation, tools: Json, render: Renderer | None) -> tuple[Message, ...]:
    """The conversation as plain messages.

    The tools' schemas become part of the first system message, a reply's calls part of the reply, and results in a row
    one message of the user's.

    Args:
        conversation: What the model saw, and its reply.
        tools: The tools of the trace: a list, or nothing.
        render: The teacher's chat template.

    Raises:
        ToolParityError: There are tools, calls or results, and there is no template, the template refuses the
            conversation, or what it makes of the plain messages is not what it makes of the tools.
    """
    listed = tools or []
    if conversation.plain and not listed:
        return conversation.messages
    if not isinstance(listed, list):
        _refuse(conversation, "expected the trace's tools to be a list")
    if render is None:
        _refuse(conversation, "the conversation has tools, and no template was given to write them with")
    try:
        native = render(conversation.native, listed)
        messages = _Baker(conversation, listed, render, native).bake()
        plain = render(tuple(_plain(message.role, message.content) for message in messages), ())
    except ToolParityError:
        raise
    except Exception as error:
        why = f"the template refuses the conversation: {type(error).__name__}: {ascii(str(error))[:_LONGEST_REASON]}"
        raise ToolParityError(_say(conversation.node, why)) from error
    if native != plain:
        _refuse(conversation, "as plain text the template writes another conversation than with tools")
    return messages


class _Baker:
    """One conversation and the template that writes it."""

    def __init__(self, conversation: Conversation, tools: Sequence[Json], render: Renderer, whole: str) -> None:
        self._conversation = conversation
        self._tools = tools
        self._render = render
        said = whole + repr(conversation.native)
        self._mark = next(mark for mark in (f"mark{number}mark" for number in count()) if mark not in said)

    def bake(self) -> tuple[Message, ...]:
        """The plain messages; whether they render the same is the caller's to check."""
        rest = self._conversation.native
        messages: list[Message] = []
        if self._tools:
            heads = 1 if rest and rest[0]["role"] == "system" else 0
            messages.append(self._write("system", rest[:heads], before="", after="user"))
            rest = rest[heads:]
        for role, group in groupby(rest, key=lambda message: str(message["role"])):
            if role == "tool":
                messages.append(self._write("user", tuple(group), before="assistant", after="assistant"))
            else:
                messages.extend(self._bake_one(role, message) for message in group)
        return tuple(messages)

    def _bake_one(self, role: str, message: Native) -> Message:
        if "tool_calls" in message:
            return self._write(role, (message,), before="user", after="user")
        return Message(role=role, content=str(message["content"]))

    def _write(self, role: str, parts: Sequence[Native], *, before: str, after: str) -> Message:
        """The plain message of the role that says what the template writes these parts as."""
        first, own, last = (f"{self._mark}{letter}" for letter in "ABC")
        opening = {
            "": (),
            "user": (_plain("user", first),),
            "assistant": (_plain("user", "go"), _plain("assistant", first)),
        }[before]
        closing = (_plain(after, last),)
        lead, _, tail = _between(self._render((*opening, _plain(role, own), *closing), ()), first, last).partition(own)
        text = _between(self._render((*opening, *parts, *closing), self._tools), first, last)
        if len(text) < len(lead) + len(tail) or not text.startswith(lead) or not text.endswith(tail):
            _refuse(self._conversation, f"with tools the template frames what the {role} says in another way")
        return Message(role=role, content=text[len(lead) : len(text) - len(tail)])


def _plain(role: str, content: str) -> Native:
    return {"role": role, "content": content}


def _between(text: str, first: str, last: str) -> str:
    """What stands between two marks; from the beginning where the first is not there."""
    lead, found, rest = text.partition(first)
    return (rest if found else lead).partition(last)[0]


def _say(node: int, why: str) -> str:
    return f"node {node}: {why}"


def _refuse(conversation: Conversation, why: str) -> NoReturn:
    raise ToolParityError(_say(conversation.node, why))
