"""A turn out of a view record: the conversation that leads to a node, and the node (facts 5.4)."""

from typing import NoReturn

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.corpus.views import ViewRecord
from assay.models.protocol import Message

__all__ = ["BadTurn", "materialise"]


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


def _refuse(record: ViewRecord, node_id: int, why: str) -> NoReturn:
    msg = f"{record.traj_id!a:.100}, node {node_id}: {why}"
    raise BadTurn(msg)
