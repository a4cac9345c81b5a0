"""The contract suite of models: a scripted model keeps it, and each broken twin fails where it is broken."""

import asyncio
from dataclasses import replace
from math import isnan

import pytest

from assay.kernel.errors import BadInput
from assay.models.errors import BadAnswer, ContextTooLong, ModelFault, ModelUnavailable
from assay.models.protocol import Model, Sampling
from assay.models.scripted import PROFILES, ScriptedModel
from assay.testing.models import FaultyModel, check_model


def check(twin):
    return asyncio.run(check_model(twin("teacher", PROFILES["teacher"])))


def failed(found):
    return {name for name, outcome in found.items() if outcome != "ok"}


def test_the_scripted_teacher_keeps_the_contract():
    found = check(ScriptedModel)
    assert len(found) == 17
    assert set(found.values()) == {"ok"}, found


def test_the_scripted_teacher_is_a_model():
    model: Model = ScriptedModel("teacher", PROFILES["teacher"])
    assert model.identity.checked


class Twin(ScriptedModel):
    """The scripted model, as somebody broke it."""


class Nameless(Twin):
    def __init__(self, name, profile):
        super().__init__(name, profile)
        self.identity = replace(self.identity, weights="sha256:none")


class Templating(Twin):
    """Reads what is said as a part of the template."""

    def render(self, messages):
        return super().render(messages).replace("{{ 6 * 7 }}", "42")


class Silent(Twin):
    """Renders a conversation that nobody had."""

    def render(self, messages):
        return super().render(messages) if messages else ""


class Positive(Twin):
    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, total=-echo.total)


class Free(Twin):
    """Says that it computed nothing."""

    async def echo(self, text, start):
        return replace(await super().echo(text, start), evaluated=0)


class Characters(Twin):
    """Counts characters for bytes."""

    async def echo(self, text, start):
        return replace(await super().echo(text, start), size=len(text) - start)


class Late(Twin):
    """Begins one character late, as an echo that reads the next token's number does."""

    async def echo(self, text, start):
        return await super().echo(text, min(start + 1, len(text)) if start >= 0 else start)


class Sentinel(Twin):
    """Scores an empty span as one token."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return echo if echo.tokens else replace(echo, total=-1.0, tokens=1)


class Averaging(Twin):
    """Gives the mean for the sum."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, total=echo.total / max(echo.tokens, 1))


class Stale(Twin):
    """Keeps the last prefix, and takes every text of the same length for it."""

    def __init__(self, name, profile):
        super().__init__(name, profile)
        self._held = {}

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return self._held.setdefault((len(text), start), echo)


class Drifting(Twin):
    """Scores a thousandth of a nat more each time, as a cache in low precision does."""

    def __init__(self, name, profile):
        super().__init__(name, profile)
        self._calls = 0

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        self._calls += 1
        return replace(echo, total=echo.total - self._calls * 0.001 * echo.tokens)


class Deaf(Twin):
    """Forgets what stands before the span."""

    async def echo(self, text, start):
        await super().echo(text, start)
        return await super().echo(text[start:].ljust(9), 0) if start < len(text) else await super().echo("", 0)


class Lenient(Twin):
    async def echo(self, text, start):
        return await super().echo(text, min(max(start, 0), len(text)))


class Strict(Twin):
    """Lets the codec's own error out."""

    async def echo(self, text, start):
        text.encode()
        return await super().echo(text, start)


class Cutting(Twin):
    """Cuts what is too long instead of saying so."""

    async def echo(self, text, start):
        return await super().echo(text[:9999], min(start, 9999))

    async def complete(self, prompt, sampling):
        return await super().complete(prompt[-9999:], sampling)


class Moody(Twin):
    """Draws anew each time."""

    def __init__(self, name, profile):
        super().__init__(name, profile)
        self._calls = 0

    async def complete(self, prompt, sampling):
        self._calls += 1
        return await super().complete(prompt, replace(sampling, seed=sampling.seed + 100 * self._calls))


class Seedless(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, seed=0))


class Warm(Twin):
    """Draws at temperature 0 too."""

    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, temperature=1.0))


class Talkative(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, max_tokens=sampling.max_tokens + 1))


class Unstoppable(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, stop=()))


class Mixed(Twin):
    """Gives the answer to whoever asked last."""

    def __init__(self, name, profile):
        super().__init__(name, profile)
        self._asked = ("", 0)

    async def echo(self, text, start):
        self._asked = (text, start)
        await asyncio.sleep(0)
        return await super().echo(*self._asked)


class Once(Twin):
    """Cannot be closed twice."""

    async def close(self):
        del self._profile


TWINS = {
    Nameless: "says_who_it_is",
    Templating: "renders_conversations",
    Silent: "renders_conversations",
    Positive: "scores_a_span",
    Free: "scores_a_span",
    Characters: "counts_bytes",
    Late: "counts_bytes",
    Sentinel: "scores_nothing_of_nothing",
    Averaging: "adds_up",
    Stale: "tells_texts_apart",
    Drifting: "scores_the_same_again",
    Deaf: "tells_texts_apart",
    Lenient: "refuses_a_start_outside",
    Strict: "takes_any_text",
    Cutting: "names_what_is_too_long",
    Moody: "draws_by_seed",
    Seedless: "draws_by_seed",
    Warm: "draws_nothing_at_zero",
    Talkative: "keeps_the_limit",
    Unstoppable: "ends_at_a_stop_text",
    Mixed: "answers_side_by_side",
    Once: "closes",
}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_twin_fails_where_it_is_broken(twin):
    found = check(twin)
    assert TWINS[twin] in failed(found), found


def test_every_behaviour_is_failed_by_some_twin():
    assert set(TWINS.values()) == set(check(ScriptedModel))


SAMPLING = Sampling(max_tokens=20, temperature=0.0, seed=0)


def test_faults_come_in_their_order_and_then_no_more():
    async def ask():
        model = FaultyModel(
            ScriptedModel("teacher", PROFILES["teacher"]),
            echoes=("nan", "miscounted", "too-long", "none"),
            completions=("unavailable", "bad-answer", "miscounted"),
        )
        assert isnan((await model.echo("a b c", 1)).total)
        assert (await model.echo("a b c", 1)).tokens == 3
        with pytest.raises(ContextTooLong):
            await model.echo("a b c", 1)
        assert await model.echo("a b c", 1) == await model.echo("a b c", 1)
        for error in (ModelUnavailable, BadAnswer):
            with pytest.raises(error, match="told to fail"):
                await model.complete("a", SAMPLING)
        short, whole = [await model.complete("a", SAMPLING) for _ in range(2)]
        assert short.tokens == whole.tokens - 1
        assert model.asked == {"echo": 5, "complete": 4}

    asyncio.run(ask())


def test_a_hanging_model_answers_nobody():
    async def ask():
        model = FaultyModel(ScriptedModel("teacher", PROFILES["teacher"]), echoes=("hang",))
        async with asyncio.timeout(0.01):
            await model.echo("a b", 1)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())


def test_a_faulty_model_is_otherwise_the_other_one():
    inner = ScriptedModel("teacher", PROFILES["teacher"])
    model: Model = FaultyModel(inner)
    assert model.identity == inner.identity
    assert set(asyncio.run(check_model(model)).values()) == {"ok"}
    with pytest.raises(BadInput):
        model.render([])


def test_every_fault_is_a_model_s_own():
    assert all(issubclass(error, ModelFault) for error in (BadAnswer, ContextTooLong, ModelUnavailable))
