"""A finished rollout as the envelope that a corpus takes: schema 1, nodes in a chain, the policy's replies marked."""

import hashlib
from dataclasses import dataclass
from typing import Any

from conversations import Rollout

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a rollout comes from.

    Args:
        key: What tells it from every other rollout of the recording.
        source: The source in the corpus.
        environment: The environment's id.
        task: The task's name, which ends in a hyphen and a number.
        language: The language of the task.
        policy: The policy's id: model, decoding and prompt form.
        model: The model's name.
        harness: The harness's name.
        dialect: The dialect of its actions.
        recorded: When the recording was made, UTC.
    """

    key: str
    source: str
    environment: str
    task: str
    language: str
    policy: str
    model: str
    harness: str
    dialect: str
    recorded: str


def build_envelope(origin: Origin, rollout: Rollout) -> Json:
    """The envelope of one rollout."""
    rollout_id = _digest(f"rollout|{origin.key}")[:32]
    return {
        "schema": 1,
        "rollout_id": rollout_id,
        "source": origin.source,
        "env_id": origin.environment,
        "task": {
            "uid": _digest(f"task|{origin.source}|{origin.task}")[:32],
            "sid": origin.task,
            "repo": f"assay/{origin.environment}",
            "language": origin.language,
        },
        "policy": {
            "id": origin.policy,
            "model": f"local/{origin.model}",
            "harness": origin.harness,
            "endpoint": "local",
            "action_kind": origin.dialect,
        },
        "stored_at": origin.recorded,
        "trace": _build_trace(origin, rollout, rollout_id),
    }


def _build_trace(origin: Origin, rollout: Rollout, rollout_id: str) -> Json:
    return {
        "version": 1,
        "id": rollout_id,
        "task": {"name": origin.task},
        "agent": {"harness": origin.harness, "policy": origin.policy},
        "tools": [],
        "nodes": [
            {
                "message": {"role": message.role, "content": message.content},
                "parent": place - 1 if place else None,
                "sampled": message.call is not None,
            }
            for place, message in enumerate(rollout.messages)
        ],
        "calls": [
            {
                "node": place,
                "finish_reason": rollout.replies[message.call].finish,
                "usage": {
                    "prompt_tokens": rollout.replies[message.call].prompt_tokens,
                    "completion_tokens": rollout.replies[message.call].completion_tokens,
                },
                "draws": rollout.replies[message.call].draws,
            }
            for place, message in enumerate(rollout.messages)
            if message.call is not None
        ],
        "rewards": {"solved": {"score": rollout.score}},
        "metrics": {"draws": sum(reply.draws for reply in rollout.replies)},
        "info": {"run_tag": _digest(f"run|{origin.key}")[:8], "generated_at": origin.recorded},
        "errors": [],
        "stop_condition": rollout.stop,
        "is_completed": rollout.stop == "agent_completed",
        "timing": {},
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
