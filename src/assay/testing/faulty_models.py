"""A model whose faults are written down beforehand, for tests of whoever asks models."""

import asyncio
from collections.abc import Sequence
from typing import Literal, TypeAlias

from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion, Echo, Identity, Message, Model, Sampling

__all__ = ["Fault", "FaultyModel"]

Fault: TypeAlias = Literal["none", "nan", "miscounted", "too-long", "unavailable", "bad-answer", "hang"]


class FaultyModel:
    """Another model, with faults that are known beforehand.

    A fault is one of: ``nan``, an echo whose total is not a number; ``miscounted``, an echo or a completion without its
    last token; ``too-long``, ``unavailable`` and ``bad-answer``, the errors of those names; ``hang``, no answer until
    the asker gives up. ``asked`` counts the calls of each kind.
    """

    def __init__(self, inner: Model, *, echoes: Sequence[Fault] = (), completions: Sequence[Fault] = ()) -> None:
        """Takes the faults of the first echoes and of the first completions; later ones are the model's own."""
        self._inner = inner
        self._faults = {"echo": tuple(echoes), "complete": tuple(completions)}
        self.asked = {"echo": 0, "complete": 0}

    @property
    def identity(self) -> Identity:
        """The other model's."""
        return self._inner.identity

    def render(self, messages: Sequence[Message]) -> str:
        """What the other model renders."""
        return self._inner.render(messages)

    async def complete(self, prompt: str, sampling: Sampling) -> Completion:
        """The other model's completion, or the fault whose turn it is."""
        fault = await self._fail("complete")
        done = await self._inner.complete(prompt, sampling)
        tokens = max(done.tokens - 1, 0) if fault == "miscounted" else done.tokens
        return Completion(text=done.text, finish=done.finish, tokens=tokens)

    async def echo(self, text: str, start: int) -> Echo:
        """The other model's echo, or the fault whose turn it is."""
        fault = await self._fail("echo")
        done = await self._inner.echo(text, start)
        total = float("nan") if fault == "nan" else done.total
        tokens = max(done.tokens - 1, 0) if fault == "miscounted" else done.tokens
        return Echo(total=total, tokens=tokens, size=done.size, evaluated=done.evaluated)

    async def close(self) -> None:
        """Closes the other model."""
        await self._inner.close()

    async def _fail(self, kind: Literal["echo", "complete"]) -> Fault:
        number = self.asked[kind]
        self.asked[kind] += 1
        faults = self._faults[kind]
        fault: Fault = faults[number] if number < len(faults) else "none"
        msg = f"{self.identity.name}: call {number} of {kind} was told to fail"
        if fault == "too-long":
            raise ContextTooLong(msg)
        if fault == "unavailable":
            raise ModelUnavailable(msg)
        if fault == "bad-answer":
            raise BadAnswer(msg)
        if fault == "hang":
            await asyncio.Event().wait()
        return fault
