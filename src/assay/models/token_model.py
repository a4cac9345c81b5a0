"""What a model in this process can do beyond the port that labs see: everything in tokens, as a server needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from assay.models.protocol import Completion, Model, Sampling

__all__ = ["Drawn", "TokenModel", "TokenScores"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScores:
    """Log-probabilities, one for each token that was given.

    Args:
        logprobs: In nats; None for the first token, and for those that were not asked for.
        evaluated: Tokens that were computed for it.
    """

    logprobs: list[float | None]
    evaluated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A completion, and the tokens drawn for it: those of a stop text too, but not one that ends a text."""

    completion: Completion
    ids: list[int]


@runtime_checkable
class TokenModel(Model, Protocol):
    """A model that also takes and gives tokens."""

    async def tokenise(self, text: str) -> list[int]:
        """The text as token ids, without any that are not in it."""
        ...

    async def spell(self, ids: Sequence[int]) -> list[str]:
        """Each token's own text."""
        ...

    async def score_tokens(self, ids: Sequence[int], first: int) -> TokenScores:
        """The log-probabilities of ``ids[first:]``, each after all tokens before it.

        Raises:
            BadInput: A token is none of the model's.
            ContextTooLong: As :class:`assay.models.protocol.TeacherForcing`.
        """
        ...

    async def complete_tokens(self, ids: Sequence[int], sampling: Sampling) -> Drawn:
        """A continuation of the tokens.

        Raises:
            BadInput: There is no token, or one is none of the model's.
            ContextTooLong: As :class:`assay.models.protocol.Completions`.
        """
        ...
