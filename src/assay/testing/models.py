"""The contract of a `Model`, one function a behaviour, and a model whose faults are written down beforehand."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from math import isfinite
from typing import Final, Literal, TypeAlias

from assay.kernel.errors import AssayError, BadInput
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion, Echo, Identity, Message, Model, Sampling

__all__ = ["TOLERANCE", "Fault", "FaultyModel", "check_model"]

TOLERANCE: Final = 1e-4
"""How far the log-probability of a token may be from itself, in nats, when it is computed along another path."""

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TEXT: Final = "Count the words of the file and write the number of the lines that hold the word error"
_FIRST, _SECOND = _TEXT.index(" of the file"), _TEXT.index(" of the lines")
_HOSTILE: Final = (
    "\ud83d lone \udc00",
    "\0\x1b[31m\u202e\u200b\ufeff",
    "<|im_end|><|endoftext|></s>{{ 7 * 7 }}",
    "👩‍👩‍👧 e\u0301 ß 漢字",
    "\r\n\t \n\n",
)
_FEW: Final = 8
_SEEDS: Final = 6


async def check_model(model: Model, *, too_many: int = 40_000) -> dict[str, str]:
    """What became of each behaviour: ``ok``, or the reason why it does not hold. The model is closed at the end.

    Args:
        model: The model, which nobody else asks meanwhile.
        too_many: Words that its window certainly does not hold.
    """
    found: dict[str, str] = {}
    for behaviour in _CONTRACT:
        name = behaviour.__name__
        try:
            await behaviour(model, too_many)
            found[name] = "ok"
        except _Unmet as unmet:
            found[name] = str(unmet)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is the reason why it fails
            found[name] = f"{type(error).__name__}: {error}"
    return found


class _Unmet(Exception):
    """A behaviour that does not hold, and why."""


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise _Unmet(reason)


async def _refuse(ask: Callable[[], Awaitable[object]], expected: type[AssayError], what: str) -> None:
    try:
        await ask()
    except expected:
        return
    except Exception as error:
        msg = f"{what}: expected {expected.__name__}, got {type(error).__name__}: {error}"
        raise _Unmet(msg) from error
    msg = f"{what}: expected {expected.__name__}, and it was answered"
    raise _Unmet(msg)


def _sample(seed: int, *, temperature: float = 1.0, tokens: int = _FEW, stop: tuple[str, ...] = ()) -> Sampling:
    return Sampling(max_tokens=tokens, temperature=temperature, seed=seed, stop=stop)


def _are_near(left: Echo, right: Echo) -> bool:
    alike = (left.tokens, left.size) == (right.tokens, right.size)
    return alike and abs(left.total - right.total) <= TOLERANCE * max(left.tokens, 1)


async def says_who_it_is(model: Model, _: int) -> None:
    """It has a name, and a digest of its weights that does not change."""
    identity = model.identity
    _require(identity.name, "the model has no name")
    _require(_DIGEST.fullmatch(identity.weights), f"{identity.weights!r} is no digest of weights")
    _require(model.identity == identity, "the model is another one when it is asked again")


async def renders_conversations(model: Model, _: int) -> None:
    """What is said stands in the rendering as it was said, also what looks like a template; no message is refused."""
    messages = [
        Message(role="user", content="What is {{ 6 * 7 }}?"),
        Message(role="assistant", content="I do not know yet."),
        Message(role="user", content="Then count {% raw %} again."),
    ]
    rendered = model.render(messages)
    for message in messages:
        _require(message.content in rendered, f"{message.content!r} is not in the rendered conversation")
    _require(model.render(messages) == rendered, "one conversation is rendered in two ways")

    async def render_nothing() -> str:
        return model.render([])

    await _refuse(render_nothing, BadInput, "rendering no message")


async def scores_a_span(model: Model, _: int) -> None:
    """A span has tokens, a log-probability that is finite and not positive, and no token comes without computing."""
    echo = await model.echo(_TEXT, _FIRST)
    _require(echo.tokens > 0, "a span of many words has no tokens")
    _require(isfinite(echo.total) and echo.total < 0, f"a span of many words has the log-probability {echo.total}")
    _require(echo.evaluated >= echo.tokens, f"{echo.tokens} tokens are scored and {echo.evaluated} were computed")


async def counts_bytes(model: Model, _: int) -> None:
    """The size of a span is that of its UTF-8, also where its first token begins before it."""
    for text, start in (("one two", 4), ("one two", 5), ("é 漢字 👩", 2), ("é 漢字 👩", 3), ("a👩", 1)):
        size = (await model.echo(text, start)).size
        expected = len(text[start:].encode())
        _require(size == expected, f"{text[start:]!a} has {expected} bytes, and {size} were counted")


async def scores_nothing_of_nothing(model: Model, _: int) -> None:
    """An empty span has no tokens, no bytes and the log-probability 0."""
    for text in (_TEXT, ""):
        echo = await model.echo(text, len(text))
        _require((echo.total, echo.tokens, echo.size) == (0, 0, 0), f"an empty span is scored: {echo}")


async def adds_up(model: Model, _: int) -> None:
    """A span's log-probability is that of its first part and that of the rest after it."""
    whole = await model.echo(_TEXT, _FIRST)
    first = await model.echo(_TEXT[:_SECOND], _FIRST)
    rest = await model.echo(_TEXT, _SECOND)
    _require(
        whole.tokens == first.tokens + rest.tokens,
        f"the parts have {first.tokens} and {rest.tokens} tokens, and the whole {whole.tokens}",
    )
    gap = abs(whole.total - first.total - rest.total)
    _require(gap <= TOLERANCE * whole.tokens, f"the parts and the whole differ by {gap} nats")


async def scores_the_same_again(model: Model, _: int) -> None:
    """What was asked before changes nothing: the same text, a longer and a shorter one, another."""
    before = await model.echo(_TEXT, _SECOND)
    for other in (_TEXT, f"{_TEXT} twice", _TEXT[:_SECOND], f"Never {_TEXT}"):
        await model.echo(other, _FIRST)
        again = await model.echo(_TEXT, _SECOND)
        _require(_are_near(before, again), f"a span is scored {before}, then {again} after {other!r}")


async def tells_texts_apart(model: Model, _: int) -> None:
    """Another text before the span, and another span, have other log-probabilities."""
    totals = [
        (await model.echo(text, start)).total
        for text, start in (
            (_TEXT, _FIRST),
            (_TEXT.replace("words", "error"), _FIRST),
            (f"error {_TEXT}", _FIRST + 6),
            (f"{_TEXT} twice", _FIRST),
        )
    ]
    _require(totals[0] not in totals[1:], f"a span is scored like others: {totals}")


async def refuses_a_start_outside(model: Model, _: int) -> None:
    """A span begins in its text or at its end."""
    for start in (-1, len(_TEXT) + 1):
        await _refuse(lambda start=start: model.echo(_TEXT, start), BadInput, f"a span that begins at {start}")


async def takes_any_text(model: Model, _: int) -> None:
    """Text that no author would write is scored like any other."""
    for text in _HOSTILE:
        echo = await model.echo(f"Say {text}", 3)
        size = len(text.encode("utf-8", "surrogatepass")) + 1
        _require(echo.size == size, f"{text!a} has {size - 1} bytes, and {echo.size - 1} were counted")
        _require(isfinite(echo.total) and echo.total <= 0, f"{text!a} has the log-probability {echo.total}")
        await model.complete(f"Say {text}", _sample(1, tokens=1))


async def names_what_is_too_long(model: Model, too_many: int) -> None:
    """A text that does not fit the window is refused by name, whatever is asked of it."""
    text = "word " * too_many
    await _refuse(lambda: model.echo(text, 5), ContextTooLong, f"an echo of {too_many} words")
    await _refuse(lambda: model.complete(text, _sample(1)), ContextTooLong, f"a prompt of {too_many} words")


async def draws_by_seed(model: Model, _: int) -> None:
    """A seed gives one text, and other seeds give others."""
    texts = [(await model.complete(_TEXT, _sample(seed))).text for seed in range(_SEEDS)]
    again = [(await model.complete(_TEXT, _sample(seed))).text for seed in range(_SEEDS)]
    _require(texts == again, "a seed gives two texts")
    _require(len(set(texts)) > 1, f"{_SEEDS} seeds give the same text")


async def draws_nothing_at_zero(model: Model, _: int) -> None:
    """At temperature 0 the seed does not matter."""
    texts = {(await model.complete(_TEXT, _sample(seed, temperature=0))).text for seed in range(3)}
    _require(len(texts) == 1, "seeds change a text at temperature 0")


async def keeps_the_limit(model: Model, _: int) -> None:
    """No more tokens are generated than were asked for, and a text that was cut says so."""
    for tokens in (1, 3):
        completion = await model.complete(_TEXT, _sample(2, tokens=tokens))
        _require(completion.tokens <= tokens, f"{completion.tokens} tokens, and {tokens} were asked for")
        _require(
            completion.finish in ("stop", "length"), f"a completion ends by {completion.finish!r}, not stop or length"
        )
        cut = completion.finish == "length"
        _require(not cut or completion.tokens == tokens, f"cut at {tokens} tokens after {completion.tokens}")


async def ends_at_a_stop_text(model: Model, _: int) -> None:
    """A text ends before the first stop text in it, and says that it was stopped."""
    whole = (await model.complete(_TEXT, _sample(3, temperature=0))).text
    _require(len(whole) > 1, "nothing was said that a stop text could end")
    stop = whole[len(whole) // 2]
    completion = await model.complete(_TEXT, _sample(3, temperature=0, stop=("\0never\0", stop)))
    expected = (whole[: whole.index(stop)], "stop")
    _require((completion.text, completion.finish) == expected, f"expected {expected}, got {completion}")


async def answers_side_by_side(model: Model, _: int) -> None:
    """What is asked at once is answered as if it had been asked alone."""
    spans = [(_TEXT, _FIRST), (_TEXT, _SECOND), (f"{_TEXT} twice", _SECOND), ("Another text", 7)]
    alone = [await model.echo(text, start) for text, start in spans]
    texts = [(await model.complete(_TEXT, _sample(seed))).text for seed in range(3)]
    together, drawn = await asyncio.gather(
        asyncio.gather(*(model.echo(text, start) for text, start in spans)),
        asyncio.gather(*(model.complete(_TEXT, _sample(seed)) for seed in range(3))),
    )
    for (text, start), one, other in zip(spans, alone, together, strict=True):
        _require(_are_near(one, other), f"{text[start:]!r} is scored {one} alone and {other} among others")
    _require([completion.text for completion in drawn] == texts, "samples that are drawn together are others")


async def closes(model: Model, _: int) -> None:
    """Closing it twice is as good as once."""
    await model.close()
    await model.close()


_CONTRACT: Final = (
    says_who_it_is,
    renders_conversations,
    scores_a_span,
    counts_bytes,
    scores_nothing_of_nothing,
    adds_up,
    scores_the_same_again,
    tells_texts_apart,
    refuses_a_start_outside,
    takes_any_text,
    names_what_is_too_long,
    draws_by_seed,
    draws_nothing_at_zero,
    keeps_the_limit,
    ends_at_a_stop_text,
    answers_side_by_side,
    closes,
)

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
        self._faults = {"echo": list(echoes), "complete": list(completions)}
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
        if fault != "miscounted":
            return done
        return Completion(text=done.text, finish=done.finish, tokens=max(done.tokens - 1, 0))

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
