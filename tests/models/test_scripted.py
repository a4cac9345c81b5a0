"""Scripted models: they keep the contract, play every dialect, and what they cost hangs on what was said before."""

import asyncio
from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.dialects import find_dialect
from assay.labs.duel.eras import Era
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.models.errors import ContextTooLong
from assay.models.protocol import Message, Sampling
from assay.models.scripted import PROFILES, Profile, ScriptedModel
from assay.testing.models import check_model

TEACHER = ScriptedModel("scripted:teacher", PROFILES["teacher"])


def draw(model, prompt, seed=0, *, tokens=200, temperature=0.8, stop=()):
    sampling = Sampling(max_tokens=tokens, temperature=temperature, seed=seed, stop=stop)
    return asyncio.run(model.complete(prompt, sampling))


def score(model, text, start):
    return asyncio.run(model.echo(text, start))


@pytest.mark.parametrize("name", ["teacher", "strong"])
def test_they_keep_the_contract(name):
    found = asyncio.run(check_model(ScriptedModel(name, PROFILES[name])))
    assert set(found.values()) == {"ok"}, found


def test_the_filler_says_the_same_at_every_seed():
    """The one behaviour that a model which always begins alike does not have."""
    found = asyncio.run(check_model(ScriptedModel("weak", PROFILES["weak"])))
    assert {name for name, outcome in found.items() if outcome != "ok"} == {"draws_by_seed"}


ASKS = {
    "bash": "Answer with one ```bash block.",
    "tool_call": "Call with <tool_call> and </tool_call> around JSON.",
    "boxed": "Put the answer into \\boxed{}.",
    "terminus_json": 'Answer with JSON: {"analysis": "", "plan": "", "commands": []}',
    "text": "Answer in a sentence.",
}


@pytest.mark.parametrize("dialect", sorted(ASKS))
def test_they_act_in_the_form_that_is_asked_for(dialect):
    prompt = think_prompt(TEACHER.render([Message(role="user", content=f"Find the error in parser. {ASKS[dialect]}")]))
    for seed in range(5):
        _, _, answer = draw(TEACHER, prompt, seed).text.partition("</think>")
        assert len(find_dialect(dialect).find(answer, Era.SAFE)) == 1, answer


def test_a_profile_says_how_often_it_acts_and_closes():
    prompt = think_prompt(TEACHER.render([Message(role="user", content=f"Find the parser. {ASKS['bash']}")]))
    mute = ScriptedModel("mute", replace(PROFILES["teacher"], acts=0.0))
    open_ended = ScriptedModel("open", Profile(insight=1.0, closes=0.0))
    sometimes = ScriptedModel("sometimes", Profile(insight=1.0, acts=0.5))
    assert not any("```" in draw(mute, prompt, seed).text for seed in range(8))
    assert not any("</think>" in draw(open_ended, prompt, seed).text for seed in range(8))
    assert 5 < sum("```" in draw(sometimes, prompt, seed).text for seed in range(40)) < 35


def test_a_thought_that_names_the_thing_lifts_the_action():
    action = "```bash\ngrep -rn parser .\n```"
    named = score(TEACHER, *action_echo("Find the bug.", "look at parser", action))
    empty = score(TEACHER, *action_echo("Find the bug.", "", action))
    other = score(TEACHER, *action_echo("Find the bug.", "look at lexer", action))
    assert named.size == empty.size == other.size == len(action)
    assert named.total > empty.total == other.total


def test_a_thought_helps_no_word_of_its_own():
    once = score(TEACHER, *thought_echo("Find.", "zebra"))
    twice = score(TEACHER, *thought_echo("Find.", "zebra zebra"))
    near = score(TEACHER, *action_echo("Find.", "zebra", "zebra"))
    assert once.total < twice.total - once.total < near.total


def test_what_is_said_later_costs_nobody():
    """A log-probability of a span hangs on what stands before it, not on where the span is taken to begin."""
    text, start = action_echo("Find the bug.", "look at parser", "grep parser now")
    whole = score(TEACHER, text, start)
    cut = text.index(" now")
    assert whole.total == score(TEACHER, text[:cut], start).total + score(TEACHER, text, cut).total


def test_sums_are_exact_eighths():
    total = score(TEACHER, "one two, three. Four five six?", 3).total
    assert total * 8 == int(total * 8)


def test_profiles_and_names_make_weights():
    same, again = (ScriptedModel("a", PROFILES["weak"]).identity for _ in range(2))
    assert same == again
    assert same.checked
    assert same.weights != ScriptedModel("b", PROFILES["weak"]).identity.weights
    assert same.weights != ScriptedModel("a", PROFILES["strong"]).identity.weights


def test_the_window_holds_prompt_and_limit():
    prompt = "word " * 16_000
    with pytest.raises(ContextTooLong, match="32768"):
        draw(TEACHER, prompt, tokens=1000)


@pytest.mark.parametrize("start", [-1, 5])
def test_a_span_begins_in_its_text(start):
    with pytest.raises(BadInput):
        score(TEACHER, "text", start)
