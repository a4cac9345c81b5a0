"""A local model behind an OpenAI-compatible HTTP API, whose echoes have log-probabilities in vLLM's shape.

What a request leaves out is as repeatable as what it says: without a seed, 0 is taken. Numbers in an answer may be NaN,
which JSON proper does not have, where the model gave such.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.kernel.canonical import loads
from assay.kernel.errors import AssayError, EvidenceInvalid, Unavailable, UsageInvalid
from assay.models.errors import ContextTooLong
from assay.models.protocol import Completion, Model, Sampling
from assay.models.server_requests import ChatRequest, CompletionRequest, read_chat, read_completion
from assay.models.token_model import TokenModel

__all__ = ["Capacity", "build_app"]

_KINDS: Final = {400: "BadRequestError", 404: "NotFoundError", 413: "RequestTooLarge", 503: "ServiceUnavailableError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a server takes on.

    Args:
        body: Bytes of a request at most.
        waiting: Requests under way at most; more are answered 503.
    """

    body: int = 4 << 20
    waiting: int = 512


class _Fault(Exception):
    """A request that is answered with an error: its status and what is wrong."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def build_app(model: Model, name: str, capacity: Capacity | None = None) -> Starlette:
    """The API of one model as an ASGI application, which closes the model when it ends.

    A model that is no :class:`assay.models.token_model.TokenModel` takes prompts as texts and echoes nothing.

    Args:
        model: Which one.
        name: What requests call it.
        capacity: What it takes on; the defaults where None.
    """
    desk = _Desk(model, name, capacity or Capacity())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        yield
        await model.close()

    return Starlette(
        routes=[
            Route("/health", desk.answer_health),
            Route("/v1/models", desk.answer_models),
            Route("/v1/completions", desk.answer_with(desk.complete), methods=["POST"]),
            Route("/v1/chat/completions", desk.answer_with(desk.chat), methods=["POST"]),
        ],
        exception_handlers={HTTPException: _answer_unknown},
        lifespan=lifespan,
    )


class _Desk:
    """Reads requests, asks the model and words its answers."""

    def __init__(self, model: Model, name: str, capacity: Capacity) -> None:
        self._model = model
        self._name = name
        self._capacity = capacity
        self._waiting = 0

    async def answer_health(self, _: Request) -> Response:
        return _respond({"status": "ok"})

    async def answer_models(self, _: Request) -> Response:
        identity = self._model.identity
        own = {"id": self._name, "object": "model", "owned_by": "assay", "root": identity.name}
        return _respond({"object": "list", "data": [{**own, "weights": identity.weights}]})

    def answer_with(
        self, work: Callable[[object], Awaitable[Mapping[str, object]]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """The road from a request to a response, whatever goes wrong on it."""

        async def answer(request: Request) -> Response:
            if self._waiting >= self._capacity.waiting:
                return _refuse(503, f"{self._waiting} requests are under way already; ask again later")
            self._waiting += 1
            try:
                return _respond(await work(loads(await self._read_body(request))))
            except _Fault as fault:
                return _refuse(fault.status, str(fault))
            except (ContextTooLong, UsageInvalid, EvidenceInvalid) as error:
                return _refuse(400, error.message)
            except Unavailable as error:
                return _refuse(503, error.message)
            except AssayError as error:
                return _refuse(500, error.message)
            finally:
                self._waiting -= 1

        return answer

    async def complete(self, body: object) -> Mapping[str, object]:
        """The answer to /v1/completions."""
        asked = read_completion(body)
        self._check_name(asked.model)
        if not isinstance(self._model, TokenModel):
            return await self._complete_text(asked)
        ids = await self._model.tokenise(asked.prompt) if isinstance(asked.prompt, str) else asked.prompt
        choices = await asyncio.gather(
            *(self._choose(self._model, asked, ids, index, own) for index, own in enumerate(asked.samplings()))
        )
        generated, cached = sum(choice.generated for choice in choices), min(choice.cached for choice in choices)
        return self._frame(
            "text_completion", [choice.members for choice in choices], _count(len(ids), generated, cached)
        )

    async def chat(self, body: object) -> Mapping[str, object]:
        """The answer to /v1/chat/completions."""
        asked = read_chat(body)
        self._check_name(asked.model)
        prompt = self._model.render(asked.said())
        completions = await self._complete_all(prompt, asked)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": completion.text},
                "finish_reason": completion.finish,
            }
            for index, completion in enumerate(completions)
        ]
        count = len(await self._model.tokenise(prompt)) if isinstance(self._model, TokenModel) else 0
        return self._frame("chat.completion", choices, _count(count, sum(own.tokens for own in completions), 0))

    async def _complete_text(self, asked: CompletionRequest) -> Mapping[str, object]:
        if not isinstance(asked.prompt, str) or asked.echo or asked.logprobs is not None or not asked.max_tokens:
            raise _Fault(400, "this model takes its prompt as a text, and has no echo and no log-probabilities")
        completions = await self._complete_all(asked.prompt, asked)
        choices = [_word(index, own.text, own.finish) for index, own in enumerate(completions)]
        return self._frame("text_completion", choices, _count(0, sum(own.tokens for own in completions), 0))

    async def _complete_all(self, prompt: str, asked: CompletionRequest | ChatRequest) -> Sequence[Completion]:
        return await asyncio.gather(*(self._model.complete(prompt, sampling) for sampling in asked.samplings()))

    async def _choose(
        self, model: TokenModel, asked: CompletionRequest, ids: Sequence[int], index: int, sampling: Sampling
    ) -> "_Choice":
        """One choice: what was drawn, behind the prompt where it is echoed, and their log-probabilities."""
        completion, drawn = Completion(text="", finish="length", tokens=0), list[int]()
        if asked.max_tokens:
            made = await model.complete_tokens(ids, sampling)
            completion, drawn = made.completion, made.ids
        before = "".join(await model.spell(ids)) if asked.echo else ""
        shown = asked.prompt if asked.echo and isinstance(asked.prompt, str) else before
        members = _word(index, shown + completion.text, completion.finish)
        if asked.logprobs is None:
            return _Choice(members=members, generated=completion.tokens, cached=0)
        first = max(len(ids) - asked.tail, 0) if asked.echo else len(ids)
        scores = await model.score_tokens([*ids, *drawn], first)
        skipped = 0 if asked.echo else len(ids)
        pieces = (await model.spell([*ids, *drawn]))[skipped:]
        members["logprobs"] = {
            "tokens": pieces,
            "token_logprobs": scores.logprobs[skipped:],
            "text_offset": _place(pieces),
        }
        return _Choice(
            members=members, generated=completion.tokens, cached=max(len(ids) + len(drawn) - scores.evaluated, 0)
        )

    def _check_name(self, name: str) -> None:
        if name != self._name:
            raise _Fault(404, f"no model is called {name!a:.100}; there is {self._name}")

    async def _read_body(self, request: Request) -> bytes:
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > self._capacity.body:
                raise _Fault(413, f"a request may have {self._capacity.body} bytes")
        return bytes(raw)

    def _frame(self, kind: str, choices: Sequence[object], usage: Mapping[str, object]) -> Mapping[str, object]:
        # No clock is read: nothing that is the same twice should look different.
        frame = {"id": "assay", "object": kind, "created": 0, "model": self._name}
        return {**frame, "choices": choices, "usage": usage}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A choice as it is worded, how many tokens were generated for it, and how many were not computed anew."""

    members: dict[str, object]
    generated: int
    cached: int


def _word(index: int, text: str, finish: str) -> dict[str, object]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish}


def _place(pieces: Sequence[str]) -> list[int]:
    """Where each piece begins, were they one text."""
    places, at = list[int](), 0
    for piece in pieces:
        places.append(at)
        at += len(piece)
    return places


def _count(prompt: int, generated: int, cached: int) -> dict[str, object]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": min(cached, prompt)},
    }


async def _answer_unknown(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _refuse(status, "expected GET /health, GET /v1/models, POST /v1/completions or POST /v1/chat/completions")


def _refuse(status: int, words: str) -> Response:
    error = {"message": words, "type": _KINDS.get(status, "InternalServerError"), "param": None, "code": status}
    return _respond({"error": error}, status)


def _respond(body: Mapping[str, object], status: int = 200) -> Response:
    return Response(json.dumps(body), status_code=status, media_type="application/json")
