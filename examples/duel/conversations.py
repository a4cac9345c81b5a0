"""What passes between a policy and a harness, and what is left of it when a rollout has ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]
Stop = Literal["agent_completed", "max_turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as the model saw it; `call` is the number of the policy's reply, none for everything else."""

    role: Role
    content: str
    call: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the policy answered.

    Args:
        text: The whole reply as harness and history hold it, with the think block opened.
        finish: Why it ended: `stop` or `length`.
        prompt_tokens: Tokens before it.
        completion_tokens: Tokens of it.
        draws: How many replies were drawn, this one being the last.
    """

    text: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One finished rollout; `score` is 1 when its check passed, else 0."""

    messages: tuple[Message, ...]
    replies: tuple[Reply, ...]
    stop: Stop
    score: int


class Policy(Protocol):
    """Whatever answers a conversation."""

    def answer(self, messages: Sequence[Message]) -> Reply:
        """The reply to `messages`, the last of which is the user's."""
        ...


def read_answer(reply: str) -> str:
    """What comes after the think block of a reply; the whole of it where none was closed."""
    return reply.partition("</think>")[2] or reply
