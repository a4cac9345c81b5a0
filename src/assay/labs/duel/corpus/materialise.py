"""A turn out of a view record: the conversation that leads to a node, and the node (facts 5.4).

Records of schema 2 hold a list of messages, and for each turn its place there; they are read as a chain of nodes.
"""

from collections.abc import Mapping
from typing import Final, NoReturn, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.shape import read_object
from assay.labs.duel.corpus.views import Node, TurnMeta, ViewRecord
from assay.labs.duel.dialects import NO_KIND
from assay.models.protocol import Message

__all__ = ["BadTurn", "import_legacy", "materialise"]

_LEGACY_RECORD: Final = {"traj_id": str, "messages": list, "turns": list}
_LEGACY_TEXTS: Final = ("instance_id", "repo", "model", "source", "language")
_LEGACY_TURN: Final = {"turn_idx": int, "msg_pos": int, "phase": str}


class BadTurn(EvidenceInvalid):
    """A node of a view record that is no turn."""

    code = "bad-turn"


def materialise(record: ViewRecord, node_id: int) -> tuple[tuple[Message, ...], str]:
    """The messages before a node, and what the node says.

    Raises:
        BadTurn: There is no such node, it is not the assistant's, the messages before it do not end on the user's, or
            the nodes' parents lead in a circle.
    """
    if not 0 <= node_id < len(record.nodes):
        _refuse(record, node_id, f"the record has the nodes 0 to {len(record.nodes) - 1}")
    reference = record.nodes[node_id]
    if reference.role != "assistant":
        _refuse(record, node_id, f"expected a reply of the assistant's, got the role {reference.role!a:.40}")
    prefix: list[Message] = []
    step = reference.parent
    while step is not None:
        if not 0 <= step < len(record.nodes) or len(prefix) >= len(record.nodes):
            _refuse(record, node_id, "its parents lead in a circle, or out of the record")
        node = record.nodes[step]
        prefix.append(Message(role=node.role, content=node.content))
        step = node.parent
    prefix.reverse()
    if not prefix or prefix[-1].role != "user":
        _refuse(record, node_id, "what comes before it does not end on the user")
    return tuple(prefix), reference.content


def import_legacy(value: Json) -> ViewRecord:
    """A record of schema 2 as one of today's: message after message a chain, and a turn's place its node.

    What schema 2 did not state is filled in: the dialect was bash, the rollout goes by its trajectory's name, and how
    it ended is unscored. Members that nothing here reads are passed over.

    Raises:
        EvidenceInvalid: It is none; the message names the member that is wrong.
    """
    record = _read_members(value, "legacy record", _LEGACY_RECORD)
    nodes = tuple(_read_message(message, at) for at, message in enumerate(cast("list[Json]", record["messages"])))
    turns = [_read_turn(turn, at, nodes) for at, turn in enumerate(cast("list[Json]", record["turns"]))]
    texts = {name: _read_maybe(record, name) or "" for name in _LEGACY_TEXTS}
    traj_id = cast(str, record["traj_id"])
    return ViewRecord(
        **texts,
        rollout_id=_read_maybe(record, "rollout_id") or traj_id,
        traj_id=traj_id,
        policy={"id": "", "harness": "", "action_kind": NO_KIND},
        action_kind=NO_KIND,
        generated_at=_read_maybe(record, "generated_at"),
        outcome=_read_maybe(record, "outcome") or "unscored",
        nodes=nodes,
        turns=tuple(turns),
        stratum=_read_maybe(record, "stratum"),
    )


def _read_message(value: Json, at: int) -> Node:
    message = _read_members(value, f"messages[{at}]", {"role": str, "content": str})
    return Node(parent=at - 1 if at else None, role=cast(str, message["role"]), content=cast(str, message["content"]))


def _read_turn(value: Json, at: int, nodes: tuple[Node, ...]) -> TurnMeta:
    turn = _read_members(value, f"turns[{at}]", _LEGACY_TURN)
    place = cast(int, turn["msg_pos"])
    if not 0 <= place < len(nodes):
        msg = f"legacy record, turns[{at}].msg_pos: expected a place among {len(nodes)} messages, got {place}"
        raise EvidenceInvalid(msg)
    return TurnMeta(
        turn_idx=cast(int, turn["turn_idx"]),
        node_id=place,
        phase=cast(str, turn["phase"]),
        suffix_len=len(nodes[place].content),
        n_prefix_chars=sum(len(node.content) for node in nodes[:place]),
        action_kind=NO_KIND,
    )


def _read_members(value: Json, where: str, members: Mapping[str, type]) -> Mapping[str, Json]:
    """The object, whose members of these names have these types; it may have others."""
    if not isinstance(value, dict):
        return read_object(value, where, members)
    read_object({name: value[name] for name in members if name in value}, where, members)
    return value


def _read_maybe(record: Mapping[str, Json], name: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        msg = f"legacy record, {name}: expected text, got {ascii(value)[:60]}"
        raise EvidenceInvalid(msg)
    return value


def _refuse(record: ViewRecord, node_id: int, why: str) -> NoReturn:
    msg = f"{record.traj_id!a:.100}, node {node_id}: {why}"
    raise BadTurn(msg)
