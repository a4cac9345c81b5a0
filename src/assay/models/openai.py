"""A model behind an OpenAI-compatible server that echoes prompts with log-probabilities, as vLLM does.

Prompts are sent as token ids, so that nothing is added to them and the place of every log-probability is known. What
the server's weights are is only declared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final, NoReturn, cast

from assay.kernel.errors import BadInput
from assay.models.catalog import ModelSpec
from assay.models.errors import BadAnswer
from assay.models.protocol import Completion, Echo, Identity, Message, Sampling
from assay.models.spans import SpanScore, count_prompt, measure_span
from assay.models.tokens import Encoded, Tokenizer
from assay.models.transport import ApiKey, Limits, Transport, find_member

__all__ = ["ServerModel", "open_server"]

_PATH: Final = "/completions"
# What an answer may have: something for its frame, and for each token its text, its numbers and their names.
_FRAME: Final = 1 << 20
_TOKEN: Final = 512
# How many tokens more than the span a server that echoes only the end of a text is asked for.
_TAIL_MARGIN: Final = 8


def open_server(spec: ModelSpec, folder: Path) -> "ServerModel":
    """The model of a server; nothing is asked of it yet.

    Args:
        spec: Where it is, which tokenizer it has and which weights it declares.
        folder: Where relative paths are looked for.

    Raises:
        MissingMaterial: The tokenizer's folder holds none.
        BadInput: The key in the environment cannot be one.
    """
    options = spec.options or {}
    tokenizer = Tokenizer(spec.text, folder / options["tokenizer"])
    identity = Identity(name=spec.text, weights=options["weights"], checked=False)
    return ServerModel(identity, tokenizer, spec, key=ApiKey.from_environment())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a server answered: its one choice, and what it says of its tokens."""

    choice: object
    usage: object


class ServerModel:
    """A model of a server; see :class:`assay.models.protocol.Model`."""

    def __init__(
        self,
        identity: Identity,
        tokenizer: Tokenizer,
        spec: ModelSpec,
        *,
        key: ApiKey,
        limits: Limits | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Connects to nothing yet.

        Args:
            identity: As its contract names it.
            tokenizer: Its own.
            spec: Its address, and its name there.
            key: What the server wants to see, if anything.
            limits: What the server is given; the defaults where None.
            sleep: Waits before another attempt.
        """
        self.identity = identity
        self._tokenizer = tokenizer
        self._model = spec.model
        self._transport = Transport(spec.name, limits=limits or Limits(), key=key, sleep=sleep)

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation in the model's chat template; see the protocol."""
        return self._tokenizer.render(messages)

    async def complete(self, prompt: str, sampling: Sampling) -> Completion:
        """A continuation of the prompt; see the protocol."""
        drawing: dict[str, object] = {"temperature": sampling.temperature, "seed": sampling.seed}
        if sampling.stop:
            drawing["stop"] = list(sampling.stop)
        async with self._transport.gate:
            answer = await self._post(self._tokenizer.encode(prompt).ids, sampling.max_tokens, drawing)
            return self._read_completion(answer, sampling)

    async def echo(self, text: str, start: int) -> Echo:
        """The log-probabilities of ``text[start:]``; see the protocol."""
        if not 0 <= start <= len(text):
            msg = f"the span begins at {start}, and the text has {len(text)} characters"
            raise BadInput(msg)
        async with self._transport.gate:
            return await self._echo(text, start)

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def _echo(self, text: str, start: int) -> Echo:
        encoded = self._tokenizer.encode(text)
        count = len(encoded.ids)
        size = len(text[start:].encode("utf-8", "surrogatepass"))
        first = max(count_prompt(encoded.offsets, start), 1)  # a first token has nothing that would give it one
        if first >= count:
            return Echo(total=0.0, tokens=0, size=size, evaluated=0)
        tail = {"vllm_xargs": {"affine_echo_tail": count - first + 1 + _TAIL_MARGIN}}
        score, evaluated = await self._force(encoded, start, tail)
        if score.unusable:
            score, more = await self._force(encoded, start, {})
            evaluated += more
        if score.unusable and isfinite(score.total):
            msg = f"{self.identity.name}: a token of the echo has no log-probability, or a positive one, asked twice"
            raise BadAnswer(msg)
        return Echo(total=score.total, tokens=score.tokens, size=size, evaluated=evaluated)

    async def _force(self, encoded: Encoded, start: int, extra: Mapping[str, object]) -> tuple[SpanScore, int]:
        """What the server makes of the span, and how many tokens it computed for it."""
        count = len(encoded.ids)
        answer = await self._post(encoded.ids, 1, {"temperature": 0, "echo": True, "logprobs": 0, **extra})
        logprobs = self._read_logprobs(answer)
        if len(logprobs) not in (count, count + 1):
            msg = f"{self.identity.name}: expected {count} log-probabilities, or one more, got {len(logprobs)}"
            raise BadAnswer(msg, expected=count, found=len(logprobs))
        score = measure_span(encoded.offsets[1:], logprobs[1:], start, generated=len(logprobs) - count)
        cached = find_member(find_member(answer.usage, "prompt_tokens_details"), "cached_tokens")
        held = cached if type(cached) is int and 0 <= cached <= count else 0
        return score, count - held

    async def _post(self, ids: Sequence[int], max_tokens: int, more: Mapping[str, object]) -> _Answer:
        if not ids:
            msg = f"{self.identity.name}: expected a text of at least one token to go on from"
            raise BadInput(msg)
        body = {"model": self._model, "prompt": ids, "max_tokens": max_tokens, "add_special_tokens": False, **more}
        answer = await self._transport.post(_PATH, body, most=_FRAME + _TOKEN * (len(ids) + max_tokens))
        choices = find_member(answer, "choices")
        if not isinstance(choices, list) or len(cast(list[object], choices)) != 1:
            self._fail("one choice", cast(object, choices))
        usage = find_member(answer, "usage")
        read = find_member(usage, "prompt_tokens")
        if read not in (None, len(ids)):  # one token put in front would shift every log-probability by one
            self._fail(f"{len(ids)} prompt tokens, as they were sent", read)
        return _Answer(choice=cast(object, choices[0]), usage=usage)

    def _read_completion(self, answer: _Answer, sampling: Sampling) -> Completion:
        text, finish = find_member(answer.choice, "text"), find_member(answer.choice, "finish_reason")
        if not isinstance(text, str):
            self._fail("a text", text)
        if finish not in ("stop", "length"):
            self._fail("a completion that ended by stop or length", finish)
        tokens: object = find_member(answer.usage, "completion_tokens")
        if tokens is None:
            tokens = min(len(self._tokenizer.encode(text).ids), sampling.max_tokens)
        if type(tokens) is not int or not 0 <= tokens <= sampling.max_tokens:
            self._fail(f"at most {sampling.max_tokens} completion tokens", tokens)
        return Completion(text=text, finish=finish, tokens=tokens)

    def _read_logprobs(self, answer: _Answer) -> list[float | None]:
        found = find_member(find_member(answer.choice, "logprobs"), "token_logprobs")
        if not isinstance(found, list):
            self._fail("token_logprobs beside the echo", found)
        values = cast(list[object], found)
        wrong = next((value for value in values if not _is_logprob(value)), None)
        if wrong is not None:
            self._fail("log-probabilities that are numbers", wrong)
        return [None if value is None else float(cast(float, value)) for value in values]

    def _fail(self, expected: str, found: object) -> NoReturn:
        msg = f"{self.identity.name}: expected {expected}, got {self._transport.clean(ascii(found))}"
        raise BadAnswer(msg)


def _is_logprob(value: object) -> bool:
    if value is None or type(value) is float:
        return True
    return type(value) is int and abs(value) < 1 << 53
