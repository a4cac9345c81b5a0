"""Conversations that call tools, as plain text: admitted only where the teacher's template makes the same of both.

A duel shows a conversation to models of any family as plain messages. What a harness sent as tool schemas, calls and
results has to come out of the teacher's own template byte for byte the same when it is written as text (facts 5.2).
"""

from collections.abc import Sequence
from typing import Protocol

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.corpus.conversations import Conversation
from assay.models.protocol import Message

__all__ = ["Renderer", "ToolParityError", "bake"]


class ToolParityError(EvidenceInvalid):
    """A conversation with tools that is not the same as plain text."""

    code = "tool-parity"


class Renderer(Protocol):
    """The teacher's chat template."""

    def render(self, messages: Sequence[Message]) -> str:
        """A conversation of plain messages, as the template writes it."""
        ...

    def render_tools(self, conversation: Conversation, tools: Json) -> tuple[str, tuple[Message, ...]]:
        """The same conversation with its tools as the template writes it, and as plain messages.

        Raises:
            Exception: The template refuses it.
        """
        ...


def bake(conversation: Conversation, tools: Json, renderer: Renderer | None) -> tuple[Message, ...]:
    """The conversation as plain messages.

    Raises:
        ToolParityError: It holds calls or results of tools, and there is no template, the template refuses it, or what
            it makes of the plain messages is not what it makes of the tools.
    """
    if conversation.plain:
        return conversation.messages
    if renderer is None:
        msg = f"node {conversation.node}: the conversation calls tools, and no template was given to write it with"
        raise ToolParityError(msg)
    try:
        native, messages = renderer.render_tools(conversation, tools)
        plain = renderer.render(messages)
    except Exception as error:
        msg = f"node {conversation.node}: the template refuses the conversation: {error}"
        raise ToolParityError(msg) from error
    if native != plain:
        msg = f"node {conversation.node}: as plain text the template writes another conversation than with tools"
        raise ToolParityError(msg)
    return messages
