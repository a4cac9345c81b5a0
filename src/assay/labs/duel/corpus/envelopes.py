"""Trace envelopes: one rollout as its harness left it, with the task and the policy that it is of (facts 5.1)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NoReturn

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid

__all__ = ["SCHEMA", "BadEnvelope", "Envelope", "read_envelope"]

SCHEMA: Final = 1
_NUMBER: Final = re.compile(r"-(\d+)\Z")


class BadEnvelope(EvidenceInvalid):
    """An envelope that holds no rollout."""

    code = "bad-envelope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One rollout.

    Args:
        rollout_id: Its id.
        source: Where its task comes from.
        instance_id: The task.
        repo: The task's repository, or nothing.
        language: The task's programming language, or nothing.
        stratum: The task's own stratum, or None.
        policy_id: The policy that played.
        harness: What it played through.
        model: Who answered.
        action_kind: The dialect of the policy; None where it states none.
        stored_at: When it was stored, as text, or None.
        trace: The trace itself.
    """

    rollout_id: str
    source: str
    instance_id: str
    repo: str
    language: str
    stratum: str | None
    policy_id: str
    harness: str
    model: str
    action_kind: str | None
    stored_at: str | None
    trace: Mapping[str, Json]

    @property
    def generated_at(self) -> str | None:
        """When it was played, as text; when it was stored where the trace does not say."""
        value = _info(self.trace).get("generated_at")
        return value if isinstance(value, str) and value else self.stored_at

    @property
    def run_tag(self) -> str:
        """What tells rollouts of one task apart: the stamped tag, or the beginning of the trace's digest."""
        value = _info(self.trace).get("run_tag")
        if isinstance(value, str) and value:
            return value
        return sha256(json.dumps(self.trace, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def trajectory_id(self) -> str:
        """The name under which its turns go.

        The task without its number, the beginning of its digest, its number and the run's tag.
        """
        number = _NUMBER.search(self.instance_id)
        name = self.instance_id[: number.start()] if number else self.instance_id
        digest = sha256(self.instance_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{name}.{digest}.pr_{number.group(1) if number else 0}__{self.run_tag}"


def read_envelope(value: Json) -> Envelope:
    """The rollout in an envelope; members that nothing here reads are passed over.

    Raises:
        BadEnvelope: It holds none; the message names the member that is wrong.
    """
    if not isinstance(value, dict):
        _refuse("the whole", "an object", value)
    schema = value.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        _refuse("schema", f"{SCHEMA}", schema)
    task, policy, trace = (_read_object(value, name) for name in ("task", "policy", "trace"))
    _read_id(task, "task.uid")
    return Envelope(
        rollout_id=_read_id(value, "rollout_id"),
        source=_read_text(value, "source"),
        instance_id=_read_id(task, "task.sid"),
        repo=_read_text(task, "task.repo"),
        language=_read_text(task, "task.language"),
        stratum=_read_maybe(task, "task.stratum") or None,
        policy_id=_read_text(policy, "policy.id"),
        harness=_read_text(policy, "policy.harness"),
        model=_read_text(policy, "policy.model"),
        action_kind=_read_maybe(policy, "policy.action_kind") or None,
        stored_at=_read_maybe(value, "stored_at"),
        trace=trace,
    )


def _info(trace: Mapping[str, Json]) -> Mapping[str, Json]:
    info = trace.get("info")
    return info if isinstance(info, dict) else {}


def _refuse(place: str, expected: str, found: object) -> NoReturn:
    shown = "nothing" if found is None else ascii(found)
    msg = f"envelope, {place}: expected {expected}, got {shown[:80]}"
    raise BadEnvelope(msg, place=place)


def _read_object(holder: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = holder.get(name)
    if not isinstance(value, dict):
        _refuse(name, "an object", value)
    return value


def _read_text(holder: Mapping[str, Json], place: str) -> str:
    value = _read_maybe(holder, place)
    if value is None:
        _refuse(place, "text", None)
    return value


def _read_id(holder: Mapping[str, Json], place: str) -> str:
    value = _read_text(holder, place)
    if not value:
        _refuse(place, "text that is not empty", value)
    return value


def _read_maybe(holder: Mapping[str, Json], place: str) -> str | None:
    value = holder.get(place.rpartition(".")[2])
    if value is not None and not isinstance(value, str):
        _refuse(place, "text", value)
    return value
