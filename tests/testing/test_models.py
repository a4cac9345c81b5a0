"""The contract suite of models: the scripted one keeps it, and each broken twin fails where it is broken."""

import asyncio
from dataclasses import replace
from itertools import count

import pytest

from assay.kernel.errors import BadInput
from assay.models.errors import ContextTooLong
from assay.models.protocol import Echo
from assay.models.scripted import PROFILES, ScriptedModel
from assay.testing.models import check_model


class Twin(ScriptedModel):
    """The scripted model, as somebody broke it."""

    def __init__(self):
        super().__init__("scripted:teacher", PROFILES["teacher"])
        self.calls = count()


def failed(found):
    return {name for name, outcome in found.items() if outcome != "ok"}


def test_the_scripted_model_keeps_the_contract():
    found = check_model(Twin)
    assert len(found) == 17
    assert set(found.values()) == {"ok"}, found


class Restless(Twin):
    async def echo(self, text, start):
        self.identity = replace(self.identity, name=f"another {next(self.calls)}")
        return await super().echo(text, start)


class Undigested(Twin):
    def __init__(self):
        super().__init__()
        self.identity = replace(self.identity, weights="unknown")


class Forgetful(Twin):
    """Renders the last message only."""

    def render(self, messages):
        return super().render(messages[-1:])


class Ended(Twin):
    """Leaves the conversation where the user ended it."""

    def render(self, messages):
        return super().render(messages).removesuffix("\n<|assistant|>\n")


class Costs(Twin):
    """Gives the sign of a cost."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, total=-echo.total)


class Offset(Twin):
    """Reads each log-probability one token late."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, total=echo.total - 0.25) if echo.tokens else echo


class Whole(Twin):
    """Counts the prompt in."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        whole = await super().echo(text, 0)
        return replace(whole, size=echo.size) if echo.tokens else echo


class Drifting(Twin):
    """Gives another number each time."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, total=echo.total - next(self.calls) / 64 * (echo.tokens > 0))


class Shared(Twin):
    """Mixes up what is asked at the same time."""

    async def echo(self, text, start):
        self.start = start
        await asyncio.sleep(0)
        return replace(await super().echo(text, self.start), size=len(text[start:].encode("utf-8", "surrogatepass")))


class Deaf(Twin):
    """Scores a span by itself."""

    async def echo(self, text, start):
        if not 0 <= start <= len(text):
            raise BadInput("outside")
        return await super().echo(text[start:], 0)


class Characters(Twin):
    async def echo(self, text, start):
        return replace(await super().echo(text, start), size=len(text[start:]))


class Generous(Twin):
    """Gives a token to every span."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return replace(echo, tokens=max(echo.tokens, 1), total=echo.total or -0.5)


class Polite(Twin):
    """Takes only what UTF-8 can carry."""

    async def echo(self, text, start):
        text.encode()
        return await super().echo(text, start)


class Python(Twin):
    """Lets Python's own reading of an index through."""

    async def echo(self, text, start):
        return await super().echo(text, start % (len(text) + 1))


class Cutting(Twin):
    """Cuts what is too long and says nothing."""

    def _check_window(self, text, more):
        try:
            super()._check_window(text, more)
        except ContextTooLong:
            return


class Unseeded(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, seed=next(self.calls)))


class OneTrack(Twin):
    """Draws by the prompt alone."""

    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, seed=1))


class Warm(Twin):
    """Draws by chance where it should not."""

    async def complete(self, prompt, sampling):
        if sampling.temperature == 0:
            sampling = replace(sampling, seed=next(self.calls), temperature=1.0)
        return await super().complete(prompt, sampling)


class Talkative(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, max_tokens=sampling.max_tokens + 1))


class Mute(Twin):
    """Never says that it was cut."""

    async def complete(self, prompt, sampling):
        completion = await super().complete(prompt, sampling)
        return replace(completion, finish="cut" if completion.finish == "length" else "stop")


class Unstoppable(Twin):
    async def complete(self, prompt, sampling):
        return await super().complete(prompt, replace(sampling, stop=()))


class Inclusive(Twin):
    """Says the stop text, too."""

    async def complete(self, prompt, sampling):
        completion = await super().complete(prompt, sampling)
        return replace(completion, text=completion.text + "".join(sampling.stop[:1]))


class Endless(Twin):
    """Answers what is no number."""

    async def echo(self, text, start):
        echo = await super().echo(text, start)
        return Echo(total=float("nan") * echo.tokens, tokens=echo.tokens, size=echo.size, evaluated=echo.evaluated)


TWINS = {
    Restless: {"says_which_it_is"},
    Undigested: {"says_which_it_is"},
    Forgetful: {"renders_conversations"},
    Ended: {"renders_conversations"},
    Costs: {"echoes_negative_numbers", "leaves_the_prompt_out"},
    Endless: {"echoes_negative_numbers"},
    Offset: {"echoes_add_up"},
    Whole: {"echoes_add_up", "leaves_the_prompt_out"},
    Drifting: {"echoes_the_same_again", "echoes_add_up"},
    Shared: {"echoes_the_same_again"},
    Deaf: {"hears_the_prompt"},
    Characters: {"measures_bytes"},
    Generous: {"echoes_nothing_as_nothing"},
    Polite: {"takes_hostile_text"},
    Python: {"refuses_spans_outside_the_text"},
    Cutting: {"refuses_what_is_too_long"},
    Unseeded: {"draws_the_same_by_seed"},
    OneTrack: {"draws_others_by_other_seeds"},
    Warm: {"draws_the_likeliest_at_zero"},
    Talkative: {"keeps_to_the_limit"},
    Mute: {"keeps_to_the_limit"},
    Unstoppable: {"stops_before_stop_texts"},
    Inclusive: {"stops_before_stop_texts"},
}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_twin_fails_where_it_is_broken(twin):
    found = check_model(twin)
    assert failed(found) >= TWINS[twin], found


def test_every_behaviour_is_seen_to_fail():
    assert set().union(*TWINS.values()) == set(check_model(Twin))
