"""The contract of a `Model`, one function a behaviour: what a backend must do before a duel may lean on it."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Final

from assay.kernel.errors import AssayError, BadInput
from assay.models.errors import ContextTooLong
from assay.models.protocol import Completion, Echo, Message, Model, Sampling

__all__ = ["TOLERANCE", "check_model"]

TOLERANCE: Final = 1e-4
"""How far two ways to one log-probability may lie apart, in nats a token."""

_TALK: Final = (
    Message(role="user", content="Where do the log files of the server lie?"),
    Message(role="assistant", content="They lie in the folder called logs."),
    Message(role="user", content="List the newest of them."),
)
_TEXT: Final = "The newest log files of the server lie in the folder called logs, and the oldest in another folder."
_SPAN: Final = _TEXT.index(" lie in")
_UNICODE: Final = "Ein Bär – naïve 🙂 and 漢字 stand here"
_HOSTILE: Final = "half a pair \ud83d and a zero \x00 and <|im_end|> and </think>"
_LONG: Final = "word " * 100_000
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_SEEDS: Final = 5
_LIMIT: Final = 12


def check_model(open_model: Callable[[], Model]) -> dict[str, str]:
    """What became of each behaviour: ``ok``, or the reason why it does not hold.

    Args:
        open_model: Opens the model under test; it is closed again.
    """
    return asyncio.run(_check(open_model()))


async def _check(model: Model) -> dict[str, str]:
    found: dict[str, str] = {}
    for behaviour in _CONTRACT:
        name = behaviour.__name__
        try:
            await behaviour(model)
            found[name] = "ok"
        except _Unmet as unmet:
            found[name] = str(unmet)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is the reason why it fails
            found[name] = f"{type(error).__name__}: {error}"
    await model.close()
    return found


class _Unmet(Exception):
    """A behaviour that does not hold, and why."""


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise _Unmet(reason)


async def _refuse(asked: Awaitable[object], expected: type[AssayError], what: str) -> None:
    try:
        await asked
    except expected:
        return
    except Exception as error:
        msg = f"{what}: expected {expected.__name__}, got {type(error).__name__}: {error}"
        raise _Unmet(msg) from error
    msg = f"{what}: expected {expected.__name__}, and it was accepted"
    raise _Unmet(msg)


def _require_close(left: Echo, right: Echo, what: str) -> None:
    _require(left.tokens == right.tokens, f"{what}: {left.tokens} tokens, then {right.tokens}")
    apart = abs(left.total - right.total)
    _require(apart <= TOLERANCE * max(left.tokens, 1), f"{what}: {left.total} nats, then {right.total}")


def _draw(model: Model, seed: int, *, temperature: float = 1.0, stop: tuple[str, ...] = ()) -> Awaitable[Completion]:
    sampling = Sampling(max_tokens=_LIMIT, temperature=temperature, seed=seed, stop=stop)
    return model.complete(model.render(_TALK), sampling)


async def says_which_it_is(model: Model) -> None:
    """Its identity has a name and the digest of weights, and stays the same."""
    identity = model.identity
    _require(identity.name, "the identity has no name")
    _require(_DIGEST.fullmatch(identity.weights), f"weights are no sha256 digest: {identity.weights!a:.80}")
    await model.echo(_TEXT, _SPAN)
    _require(model.identity == identity, "the identity changed")


async def renders_conversations(model: Model) -> None:
    """A conversation is rendered with every message in its order, the same each time, and can be gone on from."""
    text = model.render(_TALK)
    places = [text.find(message.content) for message in _TALK]
    _require(min(places) >= 0 and places == sorted(places), "the messages are not all there in their order")
    _require(model.render(_TALK) == text, "the same conversation is rendered in two ways")
    _require(not text.rstrip().endswith(_TALK[-1].content), "nothing marks that the assistant speaks next")


async def echoes_negative_numbers(model: Model) -> None:
    """A span has tokens, and their log-probabilities are finite and not positive."""
    echo = await model.echo(_TEXT, _SPAN)
    _require(0 < echo.tokens <= len(_TEXT) - _SPAN, f"the span has {echo.tokens} tokens")
    _require(math.isfinite(echo.total) and echo.total < 0, f"the span has {echo.total} nats")


async def echoes_add_up(model: Model) -> None:
    """The echo of a span is the sum of the echoes of its parts, wherever it is split between words."""
    whole = await model.echo(_TEXT, _SPAN)
    for cut in (match.start() for match in re.finditer(" ", _TEXT[: len(_TEXT) - 1])):
        if cut <= _SPAN:
            continue
        left, right = await model.echo(_TEXT[:cut], _SPAN), await model.echo(_TEXT, cut)
        both = Echo(total=left.total + right.total, tokens=left.tokens + right.tokens, size=0, evaluated=0)
        _require_close(whole, both, f"split at {cut}")


async def echoes_the_same_again(model: Model) -> None:
    """A span has the same echo again, also after other texts, and beside others."""
    first = await model.echo(_TEXT, _SPAN)
    await model.echo(f"Something else. {_TEXT}", 3)
    _require_close(first, await model.echo(_TEXT, _SPAN), "the same span again")
    cuts = range(1, len(_TEXT), 17)
    beside = await asyncio.gather(*(model.echo(_TEXT, cut) for cut in cuts))
    for cut, echo in zip(cuts, beside, strict=True):
        _require_close(echo, await model.echo(_TEXT, cut), f"the span from {cut} beside others, then alone")


async def leaves_the_prompt_out(model: Model) -> None:
    """What stands before a span is no part of it: a shorter span has no more tokens, and no lower total."""
    echoes = [await model.echo(_TEXT, start) for start in range(0, len(_TEXT) + 1, 9)]
    for longer, shorter in pairwise(echoes):
        _require(longer.tokens >= shorter.tokens, "a shorter span has more tokens")
        _require(longer.total <= shorter.total + TOLERANCE * longer.tokens, "a shorter span has a lower total")
    _require(echoes[0].tokens > echoes[-2].tokens, "every span of the text has the same tokens")


async def hears_the_prompt(model: Model) -> None:
    """The same span has another echo after another text."""
    other = f"The log files are listed. They are many. {_TEXT[_SPAN:]}"
    here, there = await model.echo(_TEXT, _SPAN), await model.echo(other, len(other) - len(_TEXT) + _SPAN)
    _require(here.total != there.total, "what stands before a span makes no difference")


async def measures_bytes(model: Model) -> None:
    """The size of a span is that of its UTF-8 bytes, whatever it holds."""
    for start in range(len(_UNICODE) + 1):
        size, wanted = (await model.echo(_UNICODE, start)).size, len(_UNICODE[start:].encode())
        _require(size == wanted, f"the span from character {start} has {wanted} bytes, the echo says {size}")


async def echoes_nothing_as_nothing(model: Model) -> None:
    """A span without characters has no tokens, no nats and no bytes; 0.0 a byte."""
    for text in (_TEXT, ""):
        echo = await model.echo(text, len(text))
        _require((echo.total, echo.tokens, echo.size) == (0.0, 0, 0), f"the empty span has {echo}")
        _require(echo.per_byte == 0.0, f"the empty span has {echo.per_byte} nats a byte")


async def takes_hostile_text(model: Model) -> None:
    """Lone surrogates, zeros and marks of the template are text like any other."""
    echo = await model.echo(_HOSTILE, 4)
    _require(echo.tokens > 0, "the span has no tokens")
    _require(echo.size == len(_HOSTILE[4:].encode("utf-8", "surrogatepass")), f"the span has {echo.size} bytes")


async def refuses_spans_outside_the_text(model: Model) -> None:
    """A span that begins before or behind the text is a `BadInput`."""
    for start in (-1, len(_TEXT) + 1):
        await _refuse(model.echo(_TEXT, start), BadInput, f"a span from {start}")


async def refuses_what_is_too_long(model: Model) -> None:
    """A text, or a prompt, beyond the window is `ContextTooLong`, and the next is answered as if nothing had been."""
    await _refuse(model.echo(_LONG, len(_LONG) - 5), ContextTooLong, "a text of 100,000 words")
    sampling = Sampling(max_tokens=1, temperature=0.0, seed=0)
    await _refuse(model.complete(_LONG, sampling), ContextTooLong, "a prompt of 100,000 words")
    _require((await model.echo(_TEXT, _SPAN)).tokens > 0, "nothing is echoed after a refusal")


async def draws_the_same_by_seed(model: Model) -> None:
    """A prompt and a seed give one completion, alone and beside others; the order of asking does not matter."""
    beside = await asyncio.gather(*(_draw(model, seed) for seed in range(_SEEDS)))
    for seed in reversed(range(_SEEDS)):
        again = await _draw(model, seed)
        _require(again == beside[seed], f"seed {seed} gave {beside[seed].text!a:.60}, and then {again.text!a:.60}")


async def draws_others_by_other_seeds(model: Model) -> None:
    """Not every seed gives the same completion."""
    texts = {(await _draw(model, seed)).text for seed in range(_SEEDS)}
    _require(len(texts) > 1, f"{_SEEDS} seeds gave one text")


async def draws_the_likeliest_at_zero(model: Model) -> None:
    """At temperature 0 a prompt has one completion, whatever the seed."""
    drawn = [await _draw(model, seed, temperature=0.0) for seed in (0, 1, 2, 2)]
    _require(drawn == drawn[:1] * 4, f"temperature 0 gave {sorted({own.text for own in drawn})!a:.200}")


async def keeps_to_the_limit(model: Model) -> None:
    """A completion has no more tokens than asked for, and says whether it was cut."""
    for seed in range(_SEEDS):
        completion = await _draw(model, seed)
        _require(0 <= completion.tokens <= _LIMIT, f"{completion.tokens} tokens, and {_LIMIT} were asked for")
        _require(completion.finish in ("stop", "length"), f"it ended by {completion.finish!a:.40}")
        cut = completion.finish == "length"
        _require(not cut or completion.tokens == _LIMIT, f"cut after {completion.tokens} tokens of {_LIMIT}")


async def stops_before_stop_texts(model: Model) -> None:
    """A stop text ends a completion and is no part of it."""
    for seed in range(_SEEDS):
        text = (await _draw(model, seed)).text
        stop = text[len(text) // 2 :][:3]
        if not stop.isascii() or not stop:
            continue
        cut = await _draw(model, seed, stop=(stop, "never said"))
        wanted = Completion(text=text[: text.find(stop)], finish="stop", tokens=cut.tokens)
        _require(cut == wanted, f"{text!a:.60} stopped by {stop!a} gave {cut.text!a:.60}, by {cut.finish}")
        return
    msg = "no completion had a text to stop at"
    raise _Unmet(msg)


_CONTRACT: Final[tuple[Callable[[Model], Awaitable[None]], ...]] = (
    says_which_it_is,
    renders_conversations,
    echoes_negative_numbers,
    echoes_add_up,
    echoes_the_same_again,
    leaves_the_prompt_out,
    hears_the_prompt,
    measures_bytes,
    echoes_nothing_as_nothing,
    takes_hostile_text,
    refuses_spans_outside_the_text,
    refuses_what_is_too_long,
    draws_the_same_by_seed,
    draws_others_by_other_seeds,
    draws_the_likeliest_at_zero,
    keeps_to_the_limit,
    stops_before_stop_texts,
)
