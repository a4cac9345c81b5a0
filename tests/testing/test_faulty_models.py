"""A model whose faults are written down beforehand."""

import asyncio
from math import isnan

import pytest

from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Message, Model, Sampling
from assay.models.scripted import PROFILES, ScriptedModel
from assay.testing.faulty_models import FaultyModel

SAMPLING = Sampling(max_tokens=20, temperature=0.0, seed=0)


def make(**faults):
    return FaultyModel(ScriptedModel("teacher", PROFILES["teacher"]), **faults)


def test_faults_come_in_their_order_and_then_no_more():
    async def ask():
        model = make(
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
        async with asyncio.timeout(0.01):
            await make(echoes=("hang",)).echo("a b", 1)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())


def test_it_is_otherwise_the_other_model():
    inner = ScriptedModel("teacher", PROFILES["teacher"])
    model: Model = FaultyModel(inner)
    messages = [Message(role="user", content="hello")]
    assert model.identity == inner.identity
    assert model.render(messages) == inner.render(messages)
    asyncio.run(model.close())
