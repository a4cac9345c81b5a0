"""The injection probe: what turns a challenger down, and that no fault of ours ever does."""

import asyncio
import math
from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.eras import Era
from assay.labs.duel.injectability import Injection, InjectionRule, judge_injections, probe_injectability
from assay.labs.duel.records import Forced, Sample
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion, Echo, Message

GOOD = "I look.</think>\n```bash\nls\n```"
RULE = InjectionRule(
    era=Era.SAFE,
    temperature=0.8,
    token_limit={"bash": 1792, "text": 99}.__getitem__,
    require_think_close=True,
    seed=11,
)
NETWORK = replace(RULE, era=Era.NETWORK)


def turn(number, kind="bash"):
    return Turn(
        turn_id=f"t{number}",
        prefix=(Message(role="user", content=f"turn {number}"),),
        reference="",
        kind=kind,
        stratum="s",
        source="s",
        language="",
    )


TURNS = [turn(number) for number in range(3)]


class Challenger:
    """Answers each turn by its number, from lists of texts or faults and of echoes or faults."""

    def __init__(self, texts=(GOOD,) * 3, echoes=(-3.0,) * 3, tokens=4):
        self._texts, self._echoes, self._tokens = texts, list(echoes), tokens
        self.samplings = []
        self.echoed = []

    def render(self, messages):
        return messages[0].content

    async def complete(self, prompt, sampling):
        self.samplings.append(sampling)
        await asyncio.sleep(0)
        text = self._texts[int(prompt.split()[1].removesuffix("<think>"))]
        if isinstance(text, Exception):
            raise text
        return Completion(text=text, finish="stop", tokens=9)

    async def echo(self, text, start):
        self.echoed.append(text[start:])
        total = self._echoes.pop(0)
        if isinstance(total, Exception):
            raise total
        return Echo(total=total, tokens=self._tokens, size=len(text[start:].encode()), evaluated=9)


def ask(challenger, rule=RULE, turns=TURNS):
    return asyncio.run(probe_injectability(challenger, turns, rule))


def test_a_challenger_whose_actions_can_be_forced_passes():
    challenger = Challenger()
    result = ask(challenger)
    assert result.rejection is None
    assert [(item.turn, item.echo.tokens) for item in result.injections] == [("t0", 4), ("t1", 4), ("t2", 4)]
    assert challenger.echoed == ["```bash\nls\n```"] * 3
    assert {(sampling.max_tokens, sampling.temperature) for sampling in challenger.samplings} == {(1792, 0.8)}
    assert len({sampling.seed for sampling in challenger.samplings}) == 3


def test_each_dialect_has_its_own_token_limit():
    challenger = Challenger()
    ask(challenger, turns=[turn(0), turn(1, "text")])
    assert [sampling.max_tokens for sampling in challenger.samplings] == [1792, 99]


@pytest.mark.parametrize("rule", [RULE, NETWORK])
@pytest.mark.parametrize("text", ["no action</think>nothing", "never closed\n```bash\nls\n```", ""])
def test_no_action_in_any_turn_turns_it_down(rule, text):
    assert ask(Challenger((text,) * 3), rule).rejection == "probe_no_parsable_action_in_3_turns"
    assert ask(Challenger((text, GOOD, text)), rule).rejection is None


def test_without_the_rule_an_open_thought_is_no_forfeit():
    text = "never closed\n```bash\nls\n```"
    assert ask(Challenger((text,) * 3), replace(RULE, require_think_close=False)).rejection is None


@pytest.mark.parametrize("rule", [RULE, NETWORK])
@pytest.mark.parametrize("total", [math.nan, math.inf, -math.inf])
def test_an_echo_that_is_no_number_turns_it_down_if_it_stays_so(rule, total):
    found = ask(Challenger(echoes=[-1.0, total, total, -1.0]), rule).rejection
    assert found == "probe_nonfinite_logprob:nan"
    assert ask(Challenger(echoes=[-1.0, total, -1.0, -1.0]), rule).rejection is None


def test_an_echo_that_scores_no_token_turns_it_down():
    assert ask(Challenger(tokens=0)).rejection == "probe_empty_action_span"


@pytest.mark.parametrize("fault", [ModelUnavailable("away"), BadAnswer("garbled")])
def test_a_fault_of_ours_is_raised(fault):
    for challenger in (Challenger((GOOD, fault, GOOD)), Challenger(echoes=[-1.0, fault])):
        with pytest.raises(type(fault)):
            ask(challenger)


def test_the_network_held_every_fault_but_one_against_the_challenger():
    for fault in (ContextTooLong("1 too many"), BadAnswer("1 too many")):
        name = type(fault).__name__
        sampled = ask(Challenger((GOOD, fault, GOOD)), NETWORK)
        assert (sampled.injections, sampled.rejection) == ((), f"probe_sample_failed:{name}:1 too many")
        forced = ask(Challenger(echoes=[-1.0, fault]), NETWORK)
        assert (len(forced.injections), forced.rejection) == (1, f"probe_force_failed:{name}:1 too many")
    for challenger in (Challenger((ModelUnavailable("away"),) * 3), Challenger(echoes=[ModelUnavailable("away")])):
        with pytest.raises(ModelUnavailable):
            ask(challenger, NETWORK)


def test_a_turn_that_does_not_fit_is_left_out_and_the_others_decide():
    fault = ContextTooLong("1 too many")
    for challenger in (Challenger((GOOD, fault, GOOD)), Challenger(echoes=[-1.0, fault, -1.0])):
        result = ask(challenger)
        assert result.rejection is None
        assert [item.left_out for item in result.injections] == [None, "context-too-long", None]
    silent = ask(Challenger(("", fault, "")))
    assert silent.rejection == "probe_no_parsable_action_in_2_turns"
    assert ask(Challenger((fault,) * 3)).rejection is None


def test_a_turn_that_the_template_refuses_is_left_out():
    class Picky(Challenger):
        def render(self, messages):
            if messages[0].content == "turn 1":
                raise BadInput("roles")
            return super().render(messages)

    result = ask(Picky())
    assert [item.left_out for item in result.injections] == [None, "template-refuses", None]
    assert result.rejection is None


def test_a_probe_of_no_turns_finds_nothing_wrong():
    assert ask(Challenger(), turns=[]).rejection is None


def test_a_text_that_no_file_could_hold_is_no_action():
    result = ask(Challenger((GOOD + "\ud800",) * 3))
    assert result.rejection == "probe_no_parsable_action_in_3_turns"


def test_the_first_thing_wrong_is_told():
    sample = Sample(text=GOOD, finish="stop", tokens=1)
    empty = Injection(turn="a", dialect="bash", sample=sample, echo=Forced(total=0.0, tokens=0, size=3))
    broken = Injection(turn="b", dialect="bash", sample=sample, echo=Forced(total=None, tokens=2, size=3))
    assert judge_injections([empty, broken]) == "probe_empty_action_span"
    assert judge_injections([broken, empty]) == "probe_nonfinite_logprob:nan"
