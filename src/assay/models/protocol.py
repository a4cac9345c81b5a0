"""The ports through which a lab meets a model: completions, teacher-forced log-probabilities and the chat template.

All three are awaitable, since a server answers later; a local model answers from a thread of its own. Prompts are
texts: a lab renders them itself, and a backend adds no special tokens to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Completion", "Completions", "Echo", "Identity", "Message", "Model", "Sampling", "TeacherForcing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation; ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a completion is drawn.

    Args:
        max_tokens: Tokens generated at most, at least 1.
        temperature: 0 takes the likeliest token each time; else logits are divided by it.
        seed: What the draw depends on, from 0 to 2^63 - 1; one seed and prompt give one text on one backend.
        stop: Texts that end the completion; they are not part of it.
    """

    max_tokens: int
    temperature: float
    seed: int
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A text that a model went on with.

    Args:
        text: What was generated, without the stop text. It may be hostile, and may hold lone surrogates where a server
            sent some.
        finish: ``stop`` where the model or a stop text ended it, ``length`` where the token limit did.
        tokens: Tokens generated.
    """

    text: str
    finish: Literal["stop", "length"]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """What a model makes of a given span of text: the log-probabilities it would have generated it with.

    Args:
        total: Sum over the scored tokens, in nats; may be non-finite where a backend answered so.
        tokens: Tokens scored: those that begin at or after the start of the span.
        size: UTF-8 bytes of the span, also those of a token that straddles its start and is not scored.
        evaluated: Tokens that were computed for it; fewer than the text has where a prefix was cached.
    """

    total: float
    tokens: int
    size: int
    evaluated: int

    @property
    def per_byte(self) -> float:
        """Log-probability a byte, in nats: 0.0 for a span without tokens (facts: the sentinel of the original)."""
        return self.total / max(self.size, 1) if self.tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which model answers.

    Args:
        name: As the contract names it.
        weights: ``sha256:`` digest of its weights.
        checked: Whether the digest was computed from the weights that answer; a server's is only declared.
    """

    name: str
    weights: str
    checked: bool


class Completions(Protocol):
    """Continues prompts."""

    async def complete(self, prompt: str, sampling: Sampling) -> Completion:
        """A continuation of the prompt.

        Raises:
            ContextTooLong: Prompt and ``max_tokens`` do not fit the model's window.
            ModelUnavailable: The model cannot be reached or does not answer; trying again may help.
            BadAnswer: It answered what no model of this port may answer.
        """
        ...


class TeacherForcing(Protocol):
    """Scores given text."""

    async def echo(self, text: str, start: int) -> Echo:
        """The log-probabilities of ``text[start:]`` (code points) after ``text[:start]``, tokenised as one text.

        Raises:
            ContextTooLong: The text does not fit the model's window.
            ModelUnavailable: The model cannot be reached or does not answer; trying again may help.
            BadAnswer: It answered what no model of this port may answer, such as a wrong number of tokens.
        """
        ...


class Model(Completions, TeacherForcing, Protocol):
    """A model as a duel uses it."""

    @property
    def identity(self) -> Identity:
        """Which model this is."""
        ...

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation in the model's own chat template, not tokenised, ready for the assistant's next words.

        Raises:
            BadInput: The template refuses the conversation.
        """
        ...

    async def close(self) -> None:
        """Lets go of connections, threads and memory."""
        ...
