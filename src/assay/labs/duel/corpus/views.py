"""View records: one rollout as a tree of plain messages, and which of its nodes are turns (facts 5.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.shape import read_list, read_object
from assay.labs.duel.corpus.baking import Renderer, bake
from assay.labs.duel.corpus.conversations import read_conversations
from assay.labs.duel.corpus.envelopes import Envelope
from assay.labs.duel.corpus.outcomes import Outcome, rollout_outcome
from assay.labs.duel.corpus.slicer import Sliced, ended_on_purpose, phase_of, slice_reply
from assay.labs.duel.dialects import NO_KIND
from assay.labs.duel.eras import Era

__all__ = ["VIEW", "Node", "TurnMeta", "ViewRecord", "derive_view", "read_view_record"]

VIEW: Final = "duel_turns@v4"
_MAYBE_TEXT: Final = (str, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One message of a tree; the root has no parent, and every other one's parent comes earlier."""

    parent: int | None
    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMeta:
    """One turn of a rollout.

    Args:
        turn_idx: Which reply of the rollout it is, from 0.
        node_id: Its node.
        phase: ``early``, ``mid`` or ``late``.
        suffix_len: Characters of the reply.
        n_prefix_chars: Characters before it.
        action_kind: The dialect of its action.
    """

    turn_idx: int
    node_id: int
    phase: str
    suffix_len: int
    n_prefix_chars: int
    action_kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRecord:
    """One rollout as the corpus holds it.

    Args:
        rollout_id: The rollout.
        traj_id: Its trajectory, which names its turns.
        instance_id: Its task.
        repo: The task's repository, or nothing.
        model: Who played.
        policy: Its id, harness and dialect.
        source: Where the task comes from.
        language: The task's programming language, or nothing.
        action_kind: The dialect of the policy.
        generated_at: When it was played, as text; None where that is not known.
        outcome: How it ended.
        nodes: The messages.
        turns: The turns.
        stratum: The task's own stratum, or None.
        fold_group: Where the fold counts it, or None.
    """

    rollout_id: str
    traj_id: str
    instance_id: str
    repo: str
    model: str
    policy: Mapping[str, Json]
    source: str
    language: str
    action_kind: str
    generated_at: str | None
    outcome: str
    nodes: tuple[Node, ...]
    turns: tuple[TurnMeta, ...]
    stratum: str | None = None
    fold_group: str | None = None

    def to_document(self) -> dict[str, Json]:
        """The record as a chunk holds it."""
        document: dict[str, Json] = {
            "view": VIEW,
            "rollout_id": self.rollout_id,
            "traj_id": self.traj_id,
            "instance_id": self.instance_id,
            "repo": self.repo,
            "model": self.model,
            "policy": dict(self.policy),
            "source": self.source,
            "language": self.language,
            "action_kind": self.action_kind,
            "generated_at": self.generated_at,
            "outcome": self.outcome,
            "nodes": [{"parent": node.parent, "role": node.role, "content": node.content} for node in self.nodes],
            "turns": [
                {
                    "turn_idx": turn.turn_idx,
                    "node_id": turn.node_id,
                    "phase": turn.phase,
                    "suffix_len": turn.suffix_len,
                    "n_prefix_chars": turn.n_prefix_chars,
                    "action_kind": turn.action_kind,
                }
                for turn in self.turns
            ],
        }
        own = {"stratum": self.stratum, "fold_group": self.fold_group}
        return document | {name: value for name, value in own.items() if value is not None}


@dataclass(slots=True)
class _Tree:
    """Nodes that are shared where parent, role and content agree."""

    nodes: list[Node] = field(default_factory=list[Node])
    places: dict[tuple[int | None, str, str], int] = field(default_factory=dict[tuple[int | None, str, str], int])

    def add(self, sliced: Sliced) -> int:
        """The node of the reply, after its whole conversation was put in."""
        parent: int | None = None
        for message in (*sliced.prefix, sliced.reference):
            key = (parent, message.role, message.content)
            place = self.places.setdefault(key, len(self.nodes))
            if place == len(self.nodes):
                self.nodes.append(Node(parent=parent, role=message.role, content=message.content))
            parent = place
        return cast(int, parent)


def derive_view(envelope: Envelope, era: Era = Era.NETWORK, *, render: Renderer | None = None) -> ViewRecord | None:
    """The view record of a rollout; None where it broke, or holds no turn.

    Args:
        envelope: The rollout.
        era: Whose reading of the rules applies; a corpus is built with the network's.
        render: The teacher's chat template, for rollouts that call tools.

    Raises:
        BadGraph: Its messages are no tree.
        ToolParityError: It calls tools, and its conversation as plain text is not what the template makes of it.
        UnknownName: Its policy's dialect is unknown.
    """
    outcome: Outcome = rollout_outcome(envelope.trace)
    if outcome == "errored":
        return None
    conversations = read_conversations(envelope.trace)
    kind, tools = envelope.action_kind or NO_KIND, envelope.trace.get("tools")
    tree, turns = _Tree(), list[TurnMeta]()
    for conversation in conversations:
        final = conversation is conversations[-1]
        deliberate = final and ended_on_purpose(envelope.trace, conversation.node)
        messages = bake(conversation, tools, render)
        sliced = slice_reply(messages, kind, era, deliberate=deliberate)
        if sliced is not None:
            turns.append(
                TurnMeta(
                    turn_idx=conversation.index,
                    node_id=tree.add(sliced),
                    phase=phase_of(conversation.index, len(conversations)),
                    suffix_len=len(sliced.reference.content),
                    n_prefix_chars=sum(len(message.content) for message in sliced.prefix),
                    action_kind=sliced.kind,
                )
            )
    return _record(envelope, kind, outcome, tree, turns) if turns else None


def _record(envelope: Envelope, kind: str, outcome: Outcome, tree: _Tree, turns: Sequence[TurnMeta]) -> ViewRecord:
    return ViewRecord(
        rollout_id=envelope.rollout_id,
        traj_id=envelope.trajectory_id,
        instance_id=envelope.instance_id,
        repo=envelope.repo,
        model=envelope.model,
        policy={"id": envelope.policy_id, "harness": envelope.harness, "action_kind": kind},
        source=envelope.source,
        language=envelope.language,
        action_kind=kind,
        generated_at=envelope.generated_at,
        outcome=outcome,
        nodes=tuple(tree.nodes),
        turns=tuple(turns),
        stratum=envelope.stratum,
    )


_RECORD: Final = {
    "view": str,
    "rollout_id": str,
    "traj_id": str,
    "instance_id": str,
    "repo": str,
    "model": str,
    "policy": dict,
    "source": str,
    "language": str,
    "action_kind": str,
    "generated_at": _MAYBE_TEXT,
    "outcome": str,
    "nodes": list,
    "turns": list,
}
_TURN: Final = {
    "turn_idx": int,
    "node_id": int,
    "phase": str,
    "suffix_len": int,
    "n_prefix_chars": int,
    "action_kind": str,
}


def read_view_record(value: Json) -> ViewRecord:
    """The record that a line of a chunk holds.

    Raises:
        EvidenceInvalid: It holds none; the message names the member that is wrong.
    """
    optional = {"stratum": _MAYBE_TEXT, "fold_group": _MAYBE_TEXT}
    record = read_object(value, "view record", _RECORD, optional)
    if record["view"] != VIEW:
        msg = f"view record: expected the view {VIEW}, got {record['view']!a:.60}"
        raise EvidenceInvalid(msg)
    texts = {name: cast(str, record[name]) for name, kind in _RECORD.items() if kind is str and name != "view"}
    return ViewRecord(
        **texts,
        policy=cast("dict[str, Json]", record["policy"]),
        generated_at=cast("str | None", record["generated_at"]),
        nodes=tuple(_read_node(node, at) for at, node in enumerate(read_list(record["nodes"], "nodes"))),
        turns=tuple(_read_turn(turn, at) for at, turn in enumerate(read_list(record["turns"], "turns"))),
        stratum=cast("str | None", record.get("stratum")),
        fold_group=cast("str | None", record.get("fold_group")),
    )


def _read_node(value: Json, at: int) -> Node:
    node = read_object(value, f"nodes[{at}]", {"parent": (int, type(None)), "role": str, "content": str})
    return Node(
        parent=cast("int | None", node["parent"]), role=cast(str, node["role"]), content=cast(str, node["content"])
    )


def _read_turn(value: Json, at: int) -> TurnMeta:
    turn = read_object(value, f"turns[{at}]", _TURN)
    return TurnMeta(
        turn_idx=cast(int, turn["turn_idx"]),
        node_id=cast(int, turn["node_id"]),
        phase=cast(str, turn["phase"]),
        suffix_len=cast(int, turn["suffix_len"]),
        n_prefix_chars=cast(int, turn["n_prefix_chars"]),
        action_kind=cast(str, turn["action_kind"]),
    )
