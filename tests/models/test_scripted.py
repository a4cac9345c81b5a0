"""The scripted models: the world they live in, whose truth is known, and the contract of every model."""

import asyncio
import random

import pytest

from assay.kernel.errors import BadInput
from assay.models.errors import ContextTooLong
from assay.models.protocol import Message, Sampling
from assay.models.scripted import PROFILES, ScriptedModel
from assay.testing.models import check_model

WORDS = "where are the newest lines about harbour ferries winter timetable tickets"


def model(profile):
    return ScriptedModel(f"scripted:{profile}", PROFILES[profile])


def prompt(own, ask="Answer with a ```bash``` block.", about=WORDS):
    return own.render([Message(role="system", content=ask), Message(role="user", content=about)])


def draw(own, text, seed, **more):
    return asyncio.run(own.complete(text, Sampling(max_tokens=400, temperature=0.8, seed=seed, **more)))


@pytest.mark.parametrize("profile", ["teacher", "strong"])
def test_the_contract(profile):
    found = check_model(lambda: model(profile))
    assert set(found.values()) == {"ok"}, found


def test_the_teacher_thinks_of_what_it_acts_on():
    own = model("teacher")
    text = prompt(own)
    for seed in range(10):
        thought, _, action = draw(own, text, seed).text.partition("\n</think>\n")
        thing = action.removeprefix("```bash\ngrep -rn ").removesuffix(" .\n```")
        assert thing in thought
        assert thing in text


def test_all_three_things_come_up_and_the_first_is_the_likeliest():
    own = model("teacher")
    actions = [draw(own, prompt(own), seed).text.partition("</think>")[2] for seed in range(200)]
    counts = sorted((actions.count(action) for action in set(actions)), reverse=True)
    assert len(counts) == 3
    assert [count / 200 for count in counts] == pytest.approx([0.55, 0.30, 0.15], abs=0.1)


@pytest.mark.parametrize(
    ("ask", "form"),
    [
        ('Reply as {"commands": []}', '{"analysis"'),
        ("End with \\boxed{}", "The answer is \\boxed{"),
        ("Call a tool in <tool_call>", "<tool_call>\n{"),
        ("Use bash", "```bash\n"),
        ("Talk", "It comes down to "),
    ],
)
def test_an_action_has_the_form_that_the_prompt_asks_for(ask, form):
    own = model("teacher")
    assert draw(own, prompt(own, ask), 1).text.partition("\n</think>\n")[2].startswith(form)


def test_a_thought_with_the_thing_lifts_the_action():
    own = model("teacher")
    text = f"{prompt(own)}</think>\nTHOUGHT: "
    action = "grep -rn harbour ."

    def score(thought):
        before = f"{text}{thought}\n\n"
        return asyncio.run(own.echo(before + action, len(before))).total

    assert score("it is about harbour") > score("") > score("it is about winter") - 3
    assert score("") == score("it is about winter")


def test_profiles_play_as_they_are_described():
    weak, silent = model("weak"), model("silent")
    played = [draw(weak, prompt(weak), seed).text for seed in range(100)]
    assert sum("grep" in text for text in played) == pytest.approx(80, abs=12)
    assert sum("zz" in text for text in played) > 50
    assert draw(silent, prompt(silent), 1).text.startswith("\n</think>\n")


def test_one_prompt_and_seed_give_one_text_in_any_order():
    own = model("strong")
    wanted = [draw(own, prompt(own), seed) for seed in range(30)]
    order = list(range(30))
    random.Random(1).shuffle(order)
    assert {seed: draw(own, prompt(own), seed) for seed in order} == dict(enumerate(wanted))


def test_what_it_refuses():
    own = model("teacher")
    with pytest.raises(BadInput, match="needs a message"):
        own.render([])
    with pytest.raises(BadInput, match="the span begins at 9"):
        asyncio.run(own.echo("a", 9))
    with pytest.raises(ContextTooLong, match="the window has 32768"):
        asyncio.run(own.echo("a " * 20_000, 0))


def test_models_of_other_names_have_other_weights():
    assert len({model(name).identity.weights for name in PROFILES}) == len(PROFILES)
