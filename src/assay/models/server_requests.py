"""What requests to a model server may say; members that are not known are let be, as other servers do."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.kernel.errors import BadInput
from assay.models.protocol import Message, Sampling

__all__ = ["ChatRequest", "CompletionRequest", "read_chat", "read_completion"]

_LARGEST_SEED: Final = (1 << 63) - 1
_ALL: Final = 1 << 30  # more tokens than any text has
T = TypeVar("T", bound=BaseModel)

_Stop = Annotated[str, Field(min_length=1)]
_Stops = _Stop | Annotated[list[_Stop], Field(max_length=16)] | None


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Extra(_Strict):
    """What vLLM hands on to its plugins: here, how many tokens at the end of an echo are wanted."""

    affine_echo_tail: Annotated[int, Field(ge=1)] = _ALL


class _Drawing(_Strict):
    """What both kinds of request say of how completions are drawn."""

    model: str
    n: Annotated[int, Field(ge=1, le=64)] = 1
    seed: Annotated[int, Field(ge=0, le=_LARGEST_SEED)] | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    stop: _Stops = None
    stream: bool = False

    def draw(self, max_tokens: int) -> Iterator[Sampling]:
        """How each choice is drawn; each has the seed after that of the one before."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        for index in range(self.n):
            yield Sampling(
                max_tokens=max_tokens,
                temperature=self.temperature,
                seed=((self.seed or 0) + index) % (_LARGEST_SEED + 1),
                stop=tuple(stops),
            )


class CompletionRequest(_Drawing):
    """A request to /v1/completions."""

    prompt: str | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=0)] = 16
    echo: bool = False
    logprobs: Annotated[int, Field(ge=0, le=0)] | None = None
    vllm_xargs: _Extra | None = None

    @property
    def tail(self) -> int:
        """How many tokens at the end of the prompt are scored; there is no log-probability for those before."""
        return self.vllm_xargs.affine_echo_tail if self.vllm_xargs else _ALL

    def samplings(self) -> Sequence[Sampling]:
        """How each choice is drawn."""
        return list(self.draw(self.max_tokens))


class _Said(_Strict):
    role: str
    content: str


class ChatRequest(_Drawing):
    """A request to /v1/chat/completions."""

    messages: Annotated[list[_Said], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None

    def said(self) -> Sequence[Message]:
        """The conversation."""
        return [Message(role=own.role, content=own.content) for own in self.messages]

    def samplings(self) -> Sequence[Sampling]:
        """How each choice is drawn."""
        return list(self.draw(self.max_completion_tokens or self.max_tokens or 256))


def read_completion(body: object) -> CompletionRequest:
    """The request to /v1/completions that a body is.

    Raises:
        BadInput: It is none.
    """
    return _read(CompletionRequest, body)


def read_chat(body: object) -> ChatRequest:
    """The request to /v1/chat/completions that a body is.

    Raises:
        BadInput: It is none.
    """
    return _read(ChatRequest, body)


def _read(kind: type[T], body: object) -> T:
    try:
        asked = kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        msg = f"{place or 'the request'}: {first['msg']}"
        raise BadInput(msg) from error
    if isinstance(asked, _Drawing) and asked.stream:
        msg = "stream: answers are given whole here; leave it out"
        raise BadInput(msg)
    return asked
