"""A stage: the turns that a teacher plays on, scored as a duel scores them; and the attacks that are made there."""

import asyncio
from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput, MissingMaterial
from assay.labs.duel.redteam.phrases import announce
from assay.labs.duel.redteam.stage import PRACTICE, Stage, StageRule, set_stage
from assay.labs.duel.redteam.staged import run_staged
from assay.labs.duel.rendering import action_echo, thought_echo
from assay.models.errors import ContextTooLong
from assay.models.protocol import Message
from assay.models.scripted import PROFILES, Profile, ScriptedModel


def attack(stage):
    return {result.id: result.finding for result in asyncio.run(run_staged(stage))}


@pytest.fixture(scope="module")
def on_v5(make_stage):
    return attack(make_stage())


@pytest.fixture(scope="module")
def on_v4(make_stage):
    return attack(make_stage("v4"))


@pytest.mark.parametrize("name", ["RT-1/A1", "RT-2/A2", "A9", "RT-11", "RT-12", "RT-10"])
def test_v5_holds_on_the_teacher(on_v5, name):
    assert on_v5[name].verdict == "held", on_v5[name].said


def test_v4_pays_the_suffix_on_the_teacher(on_v4):
    assert on_v4["RT-11"].broken == ("the suffix gains nothing",)
    assert on_v4["RT-11"].gained > 0.02


def test_v4_pays_a_leaked_reference_and_a_parrot(on_v4):
    assert on_v4["RT-10"].gained > 0.1
    assert {name for name, finding in on_v4.items() if finding.verdict == "lost"} == {"RT-10", "RT-11", "RT-12"}


def test_rt_10_says_where_the_thought_stands(on_v5):
    assert "the thought stands" in on_v5["RT-10"].said
    assert "within it on" in on_v5["RT-10"].said


def test_rt_2_is_lost_without_the_licence(make_stage):
    finding = attack(make_stage("no-licence"))["RT-2/A2"]
    assert finding.broken == ("the licence blocks the crown",)


def test_a9_is_lost_without_the_floor(make_stage):
    finding = attack(make_stage(min_thought_chars=0))["A9"]
    assert "each is below the floor" in finding.broken


class Counting:
    """A teacher that counts what it is asked."""

    def __init__(self, teacher):
        self._teacher = teacher
        self.echoes = 0

    async def echo(self, text, start):
        self.echoes += 1
        return await self._teacher.echo(text, start)


@pytest.fixture(scope="module")
def teacher():
    return ScriptedModel("scripted:teacher", PROFILES["teacher"])


def test_every_number_is_the_teachers_echo(make_stage, teacher):
    stage = make_stage("v6", turns=2)
    staged = stage.turns[0]
    (row, _) = asyncio.run(stage.play(lambda _: "a thought"))

    def echo(made):
        return asyncio.run(teacher.echo(*made)).per_byte

    prompt, action = staged.prompt, staged.honest.action
    for pair, reference in zip(row.pairs, staged.references, strict=True):
        own, thought = reference.rollout.action, reference.rollout.thought
        assert pair.c_yc_za == echo(action_echo(prompt, "a thought", own))
        assert pair.c_yc_e == echo(action_echo(prompt, "", own))
        assert pair.c_yc_zc == echo(action_echo(prompt, thought, own))
        assert pair.c_zc_x == echo(thought_echo(prompt, thought))
        assert pair.c_za_x == echo(thought_echo(prompt, "a thought"))
        assert pair.c_ya_za == echo(action_echo(prompt, "a thought", action))
        assert pair.c_ya_e == echo(action_echo(prompt, "", action))
        assert pair.c_ya_zc == echo(action_echo(prompt, thought, action))


def test_nothing_is_asked_twice(make_stage, teacher):
    counting, staged = Counting(teacher), make_stage()
    stage = Stage(counting, staged.knobs, staged.turns)
    asyncio.run(stage.play_honest())
    asked = counting.echoes
    asyncio.run(stage.play_honest())
    assert counting.echoes == asked > 0


def test_the_empty_thought_stands_at_nothing(make_stage):
    rows = asyncio.run(make_stage().play(lambda _: "   "))
    assert {pair.c_za_x for row in rows for pair in row.pairs} == {0.0}


def set_up(teacher, make_knobs, tasks=PRACTICE, least=2):
    rule = StageRule(knobs=make_knobs(), references=2, temperature=1.0, token_limit=lambda _: 400, seed=1, turns=3)
    return asyncio.run(set_stage(teacher, tasks, rule, least=least))


def test_a_turn_that_cannot_be_asked_is_passed_over(teacher, make_knobs):
    long = replace(PRACTICE[0], prefix=(Message(role="user", content="word " * 40_000),))
    empty = replace(PRACTICE[0], prefix=())
    stage = set_up(teacher, make_knobs, (long, empty, *PRACTICE))
    assert [staged.turn for staged in stage.turns] == ["practice:0", "practice:1", "practice:2"]


def test_a_teacher_that_never_acts_gives_no_stage(make_knobs):
    idle = ScriptedModel("idle", Profile(insight=1.0, acts=0.0))
    with pytest.raises(MissingMaterial, match="found 0 among 10"):
        set_up(idle, make_knobs)


def test_a_thought_that_does_not_fit_is_said(make_stage):
    with pytest.raises(ContextTooLong):
        asyncio.run(make_stage(turns=2).play(lambda _: "word " * 40_000))


def test_every_dialect_has_a_suffix():
    assert announce("bash") != announce("boxed")
    assert announce("text") == announce("another")


def test_a_template_that_refuses_is_no_error(teacher):
    with pytest.raises(BadInput):
        teacher.render(())
