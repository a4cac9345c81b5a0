"""A model in this process: full precision on one thread, so that what is scored twice scores the same.

Every call runs on the model's own thread, one after another. Prompts that begin alike share what was computed for their
beginning, and samples of one prompt that are asked for together are drawn as one batch.
"""

import asyncio
import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import torch
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.utils.logging import disable_progress_bar

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.drawing import Batch, Started
from assay.models.errors import ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion, Echo, Identity, Message, Sampling
from assay.models.spans import count_prompt, sum_exactly
from assay.models.token_model import Drawn, TokenScores
from assay.models.tokens import Tokenizer
from assay.models.weights import weights_digest

__all__ = ["LocalModel"]

_PREFIXES_HELD: Final = 4
_WINDOWS_HELD: Final = 2  # in tokens: what is computed for one can take 50 kB, more in larger models
_SAMPLES: Final = 8  # of one prompt at a time, each of which takes the prompt's memory once more
_ROWS: Final = 256  # positions whose logits are held at a time: a vocabulary is wide
_Prompt: TypeAlias = str | tuple[int, ...]
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Prefix:
    """Token ids, and what the model computed for them."""

    ids: list[int] = field(default_factory=list[int])
    cache: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A completion that somebody waits for."""

    prompt: _Prompt
    sampling: Sampling
    future: "asyncio.Future[Drawn]"


class LocalModel:
    """A model that transformers loads from a folder; see :class:`assay.models.token_model.TokenModel`."""

    def __init__(self, name: str, folder: Path) -> None:
        """Loads it.

        Raises:
            MissingMaterial: The folder holds no model that can be loaded.
        """
        torch.set_num_threads(1)  # two threads collapse when a core is busy, and the order of sums would vary
        disable_progress_bar()  # progress is the application's to show
        self._tokenizer = Tokenizer(name, folder)
        try:
            model = cast(Any, AutoModelForCausalLM).from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
        except Exception as error:
            msg = f"{name}: {folder} holds no model that can be loaded: {error}"
            raise MissingMaterial(msg, path=str(folder)) from error
        self._model = model.eval()
        if not _has_plain_head(model):
            msg = f"{name}: {folder} holds a model whose logits are not simply its lm_head's; such are not run here"
            raise MissingMaterial(msg, path=str(folder))
        self._window = int(model.config.max_position_embeddings)
        self._ends = _find_ends(self._tokenizer.end, model.generation_config)
        self._prefixes: list[_Prefix] = []
        self._waiting: list[_Asked] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-model")
        self.identity = Identity(name=name, weights=weights_digest(model.named_parameters()), checked=True)

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation in the model's chat template; see the protocol."""
        return self._tokenizer.render(messages)

    async def complete(self, prompt: str, sampling: Sampling) -> Completion:
        """A continuation of the prompt; see the protocol."""
        return (await self._ask(prompt, sampling)).completion

    async def complete_tokens(self, ids: Sequence[int], sampling: Sampling) -> Drawn:
        """A continuation of the tokens; see the protocol."""
        return await self._ask(tuple(ids), sampling)

    async def echo(self, text: str, start: int) -> Echo:
        """The log-probabilities of ``text[start:]``; see the protocol."""
        if not 0 <= start <= len(text):
            msg = f"the span begins at {start}, and the text has {len(text)} characters"
            raise BadInput(msg)
        return await self._call(partial(self._echo, text, start))

    async def score_tokens(self, ids: Sequence[int], first: int) -> TokenScores:
        """The log-probabilities of ``ids[first:]``; see the protocol."""
        return await self._call(partial(self._score_tokens, list(ids), max(first, 1)))

    async def tokenise(self, text: str) -> list[int]:
        """The text as token ids; see the protocol."""
        return (await self._call(partial(self._tokenizer.encode, text))).ids

    async def spell(self, ids: Sequence[int]) -> list[str]:
        """Each token's own text; see the protocol."""
        return await self._call(partial(self._tokenizer.spell, list(ids)))

    async def close(self) -> None:
        """Lets go of the thread and of what was computed."""
        await asyncio.to_thread(self._thread.shutdown)
        self._prefixes.clear()

    async def _call(self, work: "partial[T]") -> T:
        try:
            running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        except RuntimeError as error:  # its thread takes nothing more
            msg = f"{self.identity.name}: the model is closed"
            raise ModelUnavailable(msg) from error
        return await running

    async def _ask(self, prompt: _Prompt, sampling: Sampling) -> Drawn:
        loop = asyncio.get_running_loop()
        asked = _Asked(prompt=prompt, sampling=sampling, future=loop.create_future())
        self._waiting.append(asked)
        if len(self._waiting) == 1:
            # After everybody who asks in the same turn of the loop, so that samples of one prompt meet.
            loop.call_soon(self._start)
        return await asked.future

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        groups: dict[tuple[_Prompt, int], list[_Asked]] = {}
        for asked in waiting:
            groups.setdefault((asked.prompt, asked.sampling.max_tokens), []).append(asked)
        for (prompt, _), group in (
            (key, asked[at : at + _SAMPLES]) for key, asked in groups.items() for at in range(0, len(asked), _SAMPLES)
        ):
            work = partial(self._complete, prompt, [asked.sampling for asked in group])
            asyncio.ensure_future(self._call(work)).add_done_callback(partial(_deliver, group))

    def _check(self, ids: Sequence[int], more: int) -> None:
        """Refuses tokens that the model does not have, and more of them than it takes."""
        count = len(ids) + more
        if count > self._window:
            msg = (
                f"{self.identity.name}: {count} tokens are asked for, and the model's maximum context length is "
                f"{self._window}"
            )
            raise ContextTooLong(msg, tokens=count, window=self._window)
        vocabulary = int(self._model.config.vocab_size)
        if not all(0 <= token < vocabulary for token in ids):
            msg = f"{self.identity.name}: expected token ids from 0 up to {vocabulary - 1}, got another"
            raise BadInput(msg)

    def _echo(self, text: str, start: int) -> Echo:
        encoded = self._tokenizer.encode(text)
        self._check(encoded.ids, 0)
        size = len(text[start:].encode("utf-8", "surrogatepass"))
        # A first token has nothing before it that would give it a probability.
        first = max(count_prompt(encoded.offsets, start), 1)
        values, evaluated = self._score(encoded.ids, first)
        return Echo(total=sum_exactly(values), tokens=len(values), size=size, evaluated=evaluated)

    def _score_tokens(self, ids: list[int], first: int) -> TokenScores:
        self._check(ids, 0)
        values, evaluated = self._score(ids, first)
        return TokenScores(logprobs=[*[None] * (len(ids) - len(values)), *values], evaluated=evaluated)

    def _score(self, ids: list[int], first: int) -> tuple[list[float], int]:
        """The log-probabilities of the tokens from ``first`` on, and how many tokens were computed for them."""
        if first >= len(ids):
            return [], 0
        with torch.inference_mode():
            hidden, evaluated = self._advance(ids[:-1], first - 1)
            wanted = torch.tensor(ids[first:]).unsqueeze(1)
            values: list[float] = []
            for at in range(0, len(wanted), _ROWS):
                logits = self._model.lm_head(hidden[0, at : at + _ROWS]).to(torch.float32)
                chosen = torch.log_softmax(logits, dim=-1).gather(1, wanted[at : at + _ROWS])
                values += cast("list[float]", cast(Any, chosen[:, 0]).tolist())
        return values, evaluated

    def _advance(self, ids: list[int], wanted: int) -> tuple[Any, int]:
        """The hidden states from position ``wanted`` on, and how many positions were computed for them."""
        prefix = self._take_prefix(ids)
        shared = min(_count_shared(prefix.ids, ids), wanted)
        _crop(prefix, shared)
        output = self._model.model(input_ids=torch.tensor([ids[shared:]]), cache=prefix.cache, use_cache=True)
        prefix.ids = list(ids)
        # Held again only now: a computation that failed half-way leaves nothing behind.
        self._prefixes = _bound([prefix, *self._prefixes], _WINDOWS_HELD * self._window)
        return output.last_hidden_state[:, wanted - shared :], len(ids) - shared

    def _take_prefix(self, ids: list[int]) -> _Prefix:
        """The held prefix that shares most with these ids, no longer held; a new one where sharing pays little."""
        best = max(self._prefixes, key=lambda held: _count_shared(held.ids, ids), default=None)
        if best is None or 2 * _count_shared(best.ids, ids) < min(len(best.ids), len(ids)):
            return _Prefix(cache=DynamicCache())
        self._prefixes.remove(best)
        return best

    def _complete(self, prompt: _Prompt, samplings: Sequence[Sampling]) -> list[Drawn]:
        ids = self._tokenizer.encode(prompt).ids if isinstance(prompt, str) else list(prompt)
        limit = samplings[0].max_tokens
        self._check(ids, limit)
        if not ids:
            msg = f"{self.identity.name}: expected a text of at least one token to go on from"
            raise BadInput(msg)
        with torch.inference_mode():
            hidden, _ = self._advance(ids, len(ids) - 1)
            started = Started(hidden=hidden, cache=copy.deepcopy(self._prefixes[0].cache), ends=self._ends)
            return Batch(self._model, self._tokenizer, samplings).draw(started, limit)


def _has_plain_head(model: Any) -> bool:  # noqa: ANN401 - transformers' own
    """Whether the logits are ``lm_head`` of what ``model`` gives: nothing capped or scaled behind it."""
    if not hasattr(model, "model") or not hasattr(model, "lm_head"):
        return False
    ids = torch.zeros((1, 1), dtype=torch.long)
    with torch.inference_mode():
        hidden = model.model(input_ids=ids).last_hidden_state
        return bool(torch.equal(model(input_ids=ids).logits, model.lm_head(hidden)))


def _find_ends(end: int | None, generation: Any) -> frozenset[int]:  # noqa: ANN401 - transformers' own
    """The tokens that end a text: the tokenizer's, and those that the model's own generation stops at."""
    stated = getattr(generation, "eos_token_id", None)
    listed = cast("list[int]", stated) if isinstance(stated, list) else [stated]
    return frozenset(token for token in (end, *listed) if token is not None)


def _deliver(group: Sequence[_Asked], task: "asyncio.Task[list[Drawn]]") -> None:
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    for at, asked in enumerate(group):
        if asked.future.done():
            continue
        if error is not None:
            asked.future.set_exception(error)
        else:
            asked.future.set_result(task.result()[at])


def _bound(prefixes: list[_Prefix], most: int) -> list[_Prefix]:
    """The first of the prefixes, and of the others as many as may be held; so many tokens altogether at most."""
    held = prefixes[:1]
    for prefix in prefixes[1:_PREFIXES_HELD]:
        if sum(len(own.ids) for own in held) + len(prefix.ids) <= most:
            held.append(prefix)
    return held


def _count_shared(held: Sequence[int], ids: Sequence[int]) -> int:
    for at, (left, right) in enumerate(zip(held, ids, strict=False)):
        if left != right:
            return at
    return min(len(held), len(ids))


def _crop(prefix: _Prefix, length: int) -> None:
    surplus = len(prefix.ids) - length
    if surplus:
        prefix.cache.crop(-surplus)
    prefix.ids = prefix.ids[:length]
