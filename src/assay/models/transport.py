"""Asking a model server over HTTP: bounded bodies, failures tried again by kind, so many questions at once at most."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, cast

import httpx

from assay.kernel.errors import BadInput
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable

__all__ = ["KEY_VARIABLE", "ApiKey", "Limits", "Transport", "find_member", "parse_foreign"]

KEY_VARIABLE: Final = "ASSAY_MODEL_KEY"
_WORDS: Final = 200
_OK, _BAD_REQUEST, _TOO_MANY, _SERVER_FAILED = 200, 400, 429, 500
_CONTEXT: Final = ("max context length", "max_model_len", "input_tokens", "maximum context", "maximum model length")
# Refusals of this request alone; any other says something of the server, and would be said of every request.
_OF_THE_REQUEST: Final = (_BAD_REQUEST, 413, 422)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server is given.

    Args:
        in_flight: Requests under way at most; the others wait.
        timeout: Seconds for one attempt as a whole.
        connect: Seconds for its connection.
        waits: Seconds before each further attempt.
    """

    in_flight: int = 192
    timeout: float = 480.0
    connect: float = 10.0
    waits: tuple[float, ...] = (2.0, 4.0)


class ApiKey:
    """A server's key, which goes into the request's header and nowhere else."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        """Takes it; an empty one is none.

        Raises:
            BadInput: It cannot stand in a header.
        """
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            msg = f"the key in {KEY_VARIABLE} is not one word of printable ASCII (it is not shown here)"
            raise BadInput(msg)
        self._secret = secret

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ApiKey":
        """The key that the environment holds."""
        return cls(environment.get(KEY_VARIABLE, "").strip())

    def headers(self) -> dict[str, str]:
        """The header that carries it, for the request alone."""
        return {"authorization": f"Bearer {self._secret}"} if self._secret else {}

    def redact(self, text: str) -> str:
        """The text without the key, should a server have sent it back."""
        return text.replace(self._secret, "<secret>") if self._secret else text

    def __repr__(self) -> str:
        """Shows nothing of it."""
        return "ApiKey(<secret>)"

    def __reduce__(self) -> NoReturn:
        """A key leaves the process in its header only."""
        msg = "an API key is not pickled"
        raise TypeError(msg)


class _Passing(Exception):
    """A failure that another attempt may not have, and what it was."""


class Transport:
    """Posts JSON to one server.

    The environment's proxies and netrc are not consulted, redirects are not followed, and compressed answers are not
    asked for: a key goes where the contract says, and what is counted is what is held.
    """

    def __init__(
        self,
        address: str,
        *,
        limits: Limits,
        key: ApiKey,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Connects to nothing yet.

        Args:
            address: Where the server's paths begin, such as ``http://host:8000/v1``.
            limits: What it is given.
            key: What it wants to see, if anything.
            sleep: Waits before another attempt.
        """
        self._address = address
        self._limits = limits
        self._key = key
        self._sleep = sleep
        self.gate = asyncio.Semaphore(limits.in_flight)
        """Held by whoever asks, from before a question is worded until it is answered: what waits takes no memory."""
        self._client = httpx.AsyncClient(
            headers={"accept-encoding": "identity", "content-type": "application/json", **key.headers()},
            timeout=httpx.Timeout(limits.timeout, connect=limits.connect),
            limits=httpx.Limits(max_connections=limits.in_flight, max_keepalive_connections=limits.in_flight),
            trust_env=False,
        )

    async def post(self, path: str, body: Mapping[str, object], *, most: int) -> object:
        """What the server answers, as parsed JSON.

        Args:
            path: Behind the address.
            body: The question.
            most: Bytes that the answer may have.

        Raises:
            ContextTooLong: It says that the text does not fit the model's window.
            ModelUnavailable: No attempt came to an answer, or the server refuses whoever asks: its key, its path.
            BadAnswer: It refuses this request, or answers more than asked.
        """
        data = json.dumps(body).encode()
        reason = ""
        for wait in (*self._limits.waits, None):
            try:
                return await self._ask(path, data, most)
            except _Passing as failure:
                reason = str(failure)
            if wait is not None:
                await self._sleep(wait)
        msg = f"{self._address}: {len(self._limits.waits) + 1} attempts failed, at last because {reason}"
        raise ModelUnavailable(msg)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    def clean(self, words: str) -> str:
        """Somebody else's words, fit for a message: without the key, on one line, cut."""
        return ascii(" ".join(self._key.redact(words).split()))[1:-1][:_WORDS]

    async def _ask(self, path: str, data: bytes, most: int) -> object:
        try:
            async with (
                asyncio.timeout(self._limits.timeout),
                self._client.stream("POST", f"{self._address}{path}", content=data) as response,
            ):
                raw = await self._read(response, most)
        except TimeoutError as error:
            msg = f"it did not answer within {self._limits.timeout:g} s"
            raise _Passing(msg) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            words = self.clean(str(error))
            msg = f"the connection failed ({type(error).__name__}{f': {words}' if words else ''})"
            raise _Passing(msg) from error
        if response.status_code != _OK:
            self._refuse(response.status_code, raw)
        try:
            return parse_foreign(raw)
        except ValueError as error:
            msg = f"it answered {len(raw)} bytes that are no JSON, as if cut off"
            raise _Passing(msg) from error

    async def _read(self, response: httpx.Response, most: int) -> bytes:
        raw = bytearray()
        async for chunk in response.aiter_raw():
            raw += chunk
            if len(raw) > most:
                msg = f"{self._address}: expected an answer of {most} bytes at most, got more"
                raise BadAnswer(msg, limit=most)
        return bytes(raw)

    def _refuse(self, status: int, raw: bytes) -> NoReturn:
        words = self.clean(_find_words(raw))
        said = f"it answered {status}: {words}"
        if status == _TOO_MANY or status >= _SERVER_FAILED:
            raise _Passing(said)
        text = raw.decode("utf-8", "replace").lower()
        if status == _BAD_REQUEST and any(name in text for name in _CONTEXT):
            msg = f"{self._address}: the text does not fit the model's window; {said}"
            raise ContextTooLong(msg)
        msg = f"{self._address}: expected an answer of status 200; {said}"
        if status in _OF_THE_REQUEST:
            raise BadAnswer(msg, status=status)
        raise ModelUnavailable(msg, status=status)


def parse_foreign(raw: bytes) -> object:
    """The JSON that a server sent, which may hold NaN, infinities and lone surrogates.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    try:
        return cast(object, json.loads(raw.decode()))  # noqa: TID251 - a server's log-probability may be NaN
    except RecursionError as error:
        msg = "nested too deeply"
        raise ValueError(msg) from error


def find_member(value: object, name: str) -> object:
    """A member of somebody's JSON object; None where it is none or has no such member."""
    return cast(dict[str, object], value).get(name) if isinstance(value, dict) else None


def _find_words(raw: bytes) -> str:
    """What an error's body says, in the shapes of OpenAI and of others; else the body itself."""
    try:
        body = parse_foreign(raw)
    except ValueError:
        body = None
    for path in (("error", "message"), ("message",), ("detail",), ("error",)):
        found = body
        for name in path:
            found = find_member(found, name)
        if isinstance(found, str):
            return found
    return raw.decode("utf-8", "replace")
