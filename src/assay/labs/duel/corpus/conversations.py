"""What a model saw before each of its replies, out of a rollout's graph of messages (facts 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.models.protocol import Message

__all__ = ["BadGraph", "Conversation", "read_conversations"]

_ROLES: Final = ("system", "user", "assistant", "tool")
_NATIVE: Final = ("tool_calls", "tool_call_id", "name")
_MOST_SHOWN: Final = 5_000_000  # messages over all conversations, which grow with the square of the replies


class BadGraph(EvidenceInvalid):
    """Messages that do not hang together as one tree."""

    code = "bad-graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One reply and what came before it.

    Args:
        index: Which sampled reply of the rollout it is, from 0.
        node: The reply's place among the trace's nodes.
        messages: The messages before the reply, then the reply, each as its text alone.
        native: The same messages with their tool calls and what a result answers to, as a chat template takes them;
            earlier reasoning is not part of them.
        plain: Whether all of them are text alone: no tool calls, no results of tools.
    """

    index: int
    node: int
    messages: tuple[Message, ...]
    native: tuple[Mapping[str, Json], ...]
    plain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    message: Message
    native: Mapping[str, Json]
    sampled: bool

    @property
    def plain(self) -> bool:
        return self.message.role != "tool" and "tool_calls" not in self.native


def read_conversations(trace: Mapping[str, Json]) -> tuple[Conversation, ...]:
    """One conversation for every sampled reply, in the order of the nodes.

    Raises:
        BadGraph: The nodes are no tree: a parent that does not come earlier, or not exactly one root. Or they are so
            many that the conversations would hold more than 5,000,000 messages together.
    """
    nodes = trace.get("nodes")
    if not isinstance(nodes, list):
        _refuse("expected a list of nodes")
    if not nodes:
        return ()
    read = [_read_node(node, at) for at, node in enumerate(nodes)]
    parents = _read_parents(nodes)
    sampled = [at for at, node in enumerate(read) if node.sampled and node.message.role == "assistant"]
    _check_size(sampled, parents)
    return tuple(_converse(number, at, read, parents) for number, at in enumerate(sampled))


def _refuse(msg: str) -> NoReturn:
    whole = f"the trace's messages: {msg}"
    raise BadGraph(whole)


def _read_node(node: Json, at: int) -> _Node:
    message = node.get("message") if isinstance(node, dict) else None
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(node, dict) or not isinstance(message, dict) or not isinstance(role, str):
        _refuse(f"node {at}: expected an object with a message that has a role")
    content = _read_content(message.get("content"), at)
    native = {"role": role, "content": content} | {name: message[name] for name in _NATIVE if message.get(name)}
    return _Node(message=Message(role=role, content=content), native=native, sampled=node.get("sampled") is True)


def _read_content(content: Json, at: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        _refuse(f"node {at}: expected text, or a list of parts")
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def _read_parents(nodes: Sequence[Json]) -> list[int | None]:
    last = cast("dict[str, Json]", nodes[-1])
    if "parent" not in last:
        return [at - 1 if at else None for at in range(len(nodes))]
    parents: list[int | None] = []
    for at, node in enumerate(nodes):
        parent = cast("dict[str, Json]", node).get("parent")
        if parent is not None and (isinstance(parent, bool) or not isinstance(parent, int) or not 0 <= parent < at):
            _refuse(f"node {at}: its parent has to come earlier, got {parent!a:.60}")
        parents.append(parent)
    if parents.count(None) != 1:
        _refuse(f"expected exactly one root, got {parents.count(None)}")
    return parents


def _check_size(sampled: Sequence[int], parents: Sequence[int | None]) -> None:
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent is None else depths[parent] + 1)
    shown = sum(depths[at] for at in sampled)
    if shown > _MOST_SHOWN:
        _refuse(f"the conversations would hold {shown:,} messages, and at most {_MOST_SHOWN:,} are read")


def _converse(number: int, at: int, read: Sequence[_Node], parents: Sequence[int | None]) -> Conversation:
    path: list[int] = []
    step: int | None = at
    while step is not None:
        path.append(step)
        step = parents[step]
    kept = [read[place] for place in reversed(path) if read[place].message.role in _ROLES]
    return Conversation(
        index=number,
        node=at,
        messages=tuple(node.message for node in kept),
        native=tuple(node.native for node in kept),
        plain=all(node.plain for node in kept),
    )
