"""The chat probe: replies judged by form as the network did, holes closed in the safe era, and faults never counted."""

import asyncio
import hashlib

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.eras import Era
from assay.labs.duel.probe_prompts import PROMPTS
from assay.labs.duel.protocol_probe import Reply, judge_reply, probe, summarise_replies
from assay.labs.duel.sections import Protocol
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Completion

CALL = '<tool_call>\n{"name": "open_file", "arguments": {}}\n</tool_call>'
SETTINGS = Protocol(mode="enforce")
KINDS = {prompt.name: prompt.expects for prompt in PROMPTS}


class Challenger:
    """Answers by a function of the prompt's name; keeps what it was asked, and how many requests were open at once."""

    def __init__(self, answer):
        self._answer = answer
        self.asked = []
        self.open = self.most = 0

    def render(self, messages):
        return next(prompt.name for prompt in PROMPTS if prompt.messages == tuple(messages))

    async def complete(self, prompt, sampling):
        self.open += 1
        self.most = max(self.most, self.open)
        self.asked.append((prompt, sampling))
        await asyncio.sleep(0)
        self.open -= 1
        text = self._answer(prompt.split("<think>")[0].strip())
        return Completion(text=text, finish="stop", tokens=1)


def behave(name):
    return f"hm</think>{CALL if KINDS[name] == 'tool' else 'Well.'}"


def test_replies_are_judged_as_the_network_did(read_cases):
    cases = read_cases("protocol_probe")
    assert len(cases) == 14
    for case in cases:
        given, expected = case["input"], case["expected"]
        for era in Era:
            found = judge_reply(
                given["text"],
                given["expects"],
                era,
                think_stripped=given["think_stripped"],
                structured_tool_calls=given["structured_tool_calls"],
            )
            assert (found.ok, list(found.reasons)) == (expected["ok"], expected["reasons"]), case["id"]
            assert found.think_closed is expected["think_closed"], case["id"]
            assert (found.content_chars, found.tool_calls) == (expected["content_chars"], expected["tool_calls"])


def test_summaries_are_those_of_the_network(read_cases):
    cases = read_cases("protocol_summary")
    assert len(cases) == 3
    for case in cases:
        replies = [Reply(prompt=str(at), **reply) for at, reply in enumerate(case["input"]["replies"])]
        found, expected = summarise_replies(replies, case["input"]["min_pass_rate"], Era.NETWORK), case["expected"]
        assert found.by_reason == expected.pop("by_reason"), case["id"]
        for name, value in expected.items():
            assert getattr(found, name) == value, (case["id"], name)


@pytest.mark.parametrize(
    ("text", "expects", "reasons"),
    [
        ("no end", "tool", ("no_think_close", "no_tool_call")),
        ("no end", "any", ("no_think_close",)),
        (f"a</think>{CALL}{CALL}", "any", ("multiple_tool_calls",)),
        (f"a</think>{CALL}{CALL}", "answer", ("unexpected_tool_call",)),
        (f"a</think>text{CALL}", "tool", ()),
        (f"a</think>text{CALL}", "answer", ("unexpected_tool_call",)),
        ("a</think><tool_call>never closed", "tool", ("no_tool_call",)),
        ("a</think></think>", "answer", ()),
        ("a</think>", "tool", ("no_tool_call",)),
    ],
)
@pytest.mark.parametrize("era", list(Era))
def test_both_eras_judge(text, expects, reasons, era):
    assert judge_reply(text, expects, era).reasons == reasons


@pytest.mark.parametrize("invisible", ["\u200b", "\ufeff \u2060", "\u3164\n", "\U000e0041", "\u00ad", "\x00"])
def test_invisible_text_is_no_text_in_the_safe_era(invisible):
    assert judge_reply(f"a</think>{invisible}", "answer", Era.NETWORK).ok
    assert judge_reply(f"a</think>{invisible}", "answer", Era.SAFE).reasons == ("empty_content",)
    assert judge_reply(f"a</think>{invisible}.", "answer", Era.SAFE).ok


def test_text_beside_a_structured_call_is_content_in_the_safe_era():
    network, safe = (
        judge_reply("Here.", "any", era, think_stripped=True, structured_tool_calls=1)
        for era in (Era.NETWORK, Era.SAFE)
    )
    assert (network.content_chars, safe.content_chars) == (0, 5)
    assert network.ok
    assert safe.ok


def test_an_unknown_expectation_is_refused():
    with pytest.raises(BadInput, match="answer, tool, any"):
        judge_reply("a</think>b", "poem", Era.SAFE)


def test_without_a_reply_nothing_is_passed():
    found = summarise_replies([], 0.0, Era.SAFE)
    assert (found.passed, found.pass_rate, found.think_close_rate) == (False, 0.0, 0.0)


def test_a_failing_sample_of_a_prompt_is_told_and_a_good_one_after_it_does_not_hide_it():
    texts = ["a</think>b", "a", "a</think>b"]
    found = summarise_replies([Reply(prompt="p", expects="answer", text=text) for text in texts], 0.5, Era.SAFE)
    assert found.by_prompt == {"p": ("no_think_close",)}
    assert found.passed
    assert found.says == "2 of 3 replies are good, 0.5 asked for: no_think_close 1"


def test_the_detail_names_the_two_most_frequent_reasons():
    texts = ["a"] * 1 + ["a</think>"] * 2 + [f"a</think>b{CALL}"] * 3
    found = summarise_replies([Reply(prompt="p", expects="answer", text=text) for text in texts], 0.9, Era.SAFE)
    assert found.detail == "pass_rate=0.00<0.9;unexpected_tool_call=3,empty_content=2"


def test_the_prompts_are_of_the_kinds_that_the_facts_name():
    assert len(KINDS) == len(PROMPTS) == 10
    kinds = list(KINDS.values())
    assert (kinds.count("answer"), kinds.count("tool"), kinds.count("any")) == (7, 2, 1)
    assert sum(prompt.messages[0].role != "system" for prompt in PROMPTS) == 1
    assert sum(any(message.role == "assistant" for message in prompt.messages) for prompt in PROMPTS) == 1
    assert all(prompt.messages[-1].role == "user" for prompt in PROMPTS)
    for prompt in PROMPTS:
        if prompt.expects != "answer":
            assert "<tool_call>" in prompt.messages[0].content


def test_the_prompts_do_not_change_without_notice():
    """Replies in evidence were given to these very prompts."""
    text = "\n".join(
        "\n".join([prompt.name, prompt.expects, *(f"{message.role}: {message.content}" for message in prompt.messages)])
        for prompt in PROMPTS
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "c7cc6894164ec929cc7e1fa7e32c8daf062bc95b43516f544b97b3815386ae9b"


def test_a_well_behaved_challenger_passes():
    challenger = Challenger(behave)
    result = asyncio.run(probe(challenger, SETTINGS, seed=5))
    assert result.summary.passed
    assert result.summary.n == 20
    assert [(reply.prompt, reply.number) for reply in result.replies] == [
        (prompt.name, number) for prompt in PROMPTS for number in range(2)
    ]
    assert challenger.most == 8
    assert all(prompt.endswith("<think>") for prompt, _ in challenger.asked)
    samplings = [sampling for _, sampling in challenger.asked]
    assert {(sampling.max_tokens, sampling.temperature) for sampling in samplings} == {(1024, 0.7)}
    assert len({sampling.seed for sampling in samplings}) == 20


def test_requests_at_once_change_no_reply_and_another_slice_gives_other_seeds():
    one, many, other = Challenger(behave), Challenger(behave), Challenger(behave)
    first = asyncio.run(probe(one, SETTINGS, seed=5, in_flight=1))
    assert first == asyncio.run(probe(many, SETTINGS, seed=5, in_flight=20))
    asyncio.run(probe(other, SETTINGS, seed=6))
    assert (one.most, many.most) == (1, 20)
    assert {sampling.seed for _, sampling in one.asked} == {sampling.seed for _, sampling in many.asked}
    assert not {sampling.seed for _, sampling in one.asked} & {sampling.seed for _, sampling in other.asked}


@pytest.mark.parametrize("bad", [2, 3])
def test_a_challenger_fails_with_three_bad_replies_of_twenty(bad):
    count = iter(range(100))
    result = asyncio.run(probe(Challenger(lambda name: "hm" if next(count) < bad else behave(name)), SETTINGS, seed=5))
    assert result.summary.passed is (bad == 2)


def test_a_template_that_refuses_a_conversation_is_the_challenger_s_own():
    class Picky(Challenger):
        def render(self, messages):
            if messages[0].role == "system":
                msg = "no system message"
                raise BadInput(msg)
            return super().render(messages)

    result = asyncio.run(probe(Picky(behave), SETTINGS, seed=5))
    assert not result.summary.passed
    assert result.summary.by_reason == {"template_refuses": 18}
    assert sum(reply.sample is None for reply in result.replies) == 18


def failing(fault):
    def fail(name):
        if name == "editor-search":
            msg = "out of order"
            raise fault(msg)
        return behave(name)

    return fail


def test_a_model_that_cannot_be_reached_is_raised_and_leaves_nothing_under_way():
    async def run():
        before = len(asyncio.all_tasks())
        with pytest.raises(ModelUnavailable, match="out of order"):
            await probe(Challenger(failing(ModelUnavailable)), SETTINGS, seed=5)
        assert len(asyncio.all_tasks()) == before

    asyncio.run(run())


@pytest.mark.parametrize("fault", [ContextTooLong, BadAnswer])
def test_a_fault_that_trying_again_would_not_mend_is_left_out_and_counts_for_nobody(fault):
    shadow = SETTINGS.model_copy(update={"mode": "shadow"})
    result = asyncio.run(probe(Challenger(failing(fault)), shadow, seed=5))
    left_out = [reply for reply in result.replies if reply.left_out is not None]
    assert {(reply.prompt, reply.left_out, reply.sample) for reply in left_out} == {("editor-search", fault.code, None)}
    assert (result.summary.n, result.summary.passed) == (20 - len(left_out), True)


def test_a_text_that_no_file_could_hold_is_kept_readable():
    result = asyncio.run(probe(Challenger(lambda name: behave(name) + "\ud800"), SETTINGS, seed=5))
    assert all(reply.sample.broken and "\ud800" not in reply.sample.text for reply in result.replies)
