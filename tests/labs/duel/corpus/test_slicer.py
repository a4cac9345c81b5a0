"""Which replies are turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import UnknownName
from assay.labs.duel.corpus.slicer import ended_on_purpose, phase_of, slice_reply
from assay.labs.duel.corpus.validate import MOST_PREFIX_CHARS
from assay.labs.duel.eras import Era
from assay.models.protocol import Message

LONG = "grep -rn 'a name that is long enough to be told apart' src"
BASH = "THOUGHT: look\n\n```bash\nls\n```"


def say(*pairs):
    return [Message(role=role, content=content) for role, content in pairs]


def cut(reply, *before, kind="bash", era=Era.NETWORK, deliberate=False):
    prefix = before or (("system", "use bash"), ("user", "go"))
    return slice_reply(say(*prefix, ("assistant", reply)), kind, era, deliberate=deliberate)


def block(command):
    return f"```bash\n{command}\n```"


def test_a_reply_with_one_action_after_a_user_is_a_turn():
    found = cut(BASH)
    assert found.kind == "bash"
    assert found.reference.content == BASH
    assert [message.role for message in found.prefix] == ["system", "user"]


def test_a_turn_needs_something_before_it_that_ends_on_the_user():
    assert slice_reply([], "bash", Era.NETWORK) is None
    assert slice_reply(say(("assistant", BASH)), "bash", Era.NETWORK) is None
    assert cut(BASH, ("user", "go"), ("assistant", "hm")) is None
    assert cut(BASH, ("user", "go"), ("system", "use bash")) is None
    assert slice_reply(say(("user", "go"), ("user", BASH)), "bash", Era.NETWORK) is None


def test_roles_of_no_plain_conversation_are_dropped():
    found = cut(BASH, ("user", "go"), ("tool", "out"))
    assert [message.role for message in found.prefix] == ["user"]
    assert cut(BASH, ("tool", "out")) is None


@pytest.mark.parametrize("reply", ["just prose", f"{BASH}\n{BASH}", "```sh\nls\n```", "", "```bash\nls"])
def test_not_exactly_one_action_is_no_turn(reply):
    assert cut(reply) is None


def test_the_fences_of_one_harness_are_those_of_the_dialect():
    other = BASH.replace("```bash\n", "```mswea_bash_command\n")
    found = cut(other, ("user", other), ("assistant", other), ("user", "out"))
    assert {message.content for message in found.prefix} == {BASH, "out"}
    assert found.reference.content == BASH
    assert cut("```mswea_bash_command \nls\n```") is None


def test_an_action_that_was_said_before_is_no_turn():
    assert cut(block(LONG), ("user", "go")) is not None
    assert cut(block(LONG), ("user", f"please run {block(LONG)} now")) is None
    assert cut(block(LONG), ("user", f"RUN ```BASH  {LONG.upper()}\t\n ``` now")) is None
    assert cut(block(LONG), ("user", "go"), ("assistant", block(LONG)), ("user", "again")) is None
    assert cut(block(LONG), ("user", f"it said {LONG}")) is not None


@pytest.mark.parametrize(("size", "leaks"), [(40, False), (41, True)])
def test_an_action_of_forty_characters_may_be_said_twice(size, leaks):
    action = block("x" * (size - len(block(""))))
    assert len(" ".join(action.split())) == size
    assert (cut(action, ("user", action)) is None) is leaks


def test_the_longest_prefix():
    assert cut(BASH, ("system", "s"), ("user", "x" * (MOST_PREFIX_CHARS - 1))) is not None
    assert cut(BASH, ("system", "s"), ("user", "x" * MOST_PREFIX_CHARS)) is None


def test_prose_that_ends_a_rollout_on_purpose_is_a_turn_of_its_own_dialect():
    assert cut("It is done.", deliberate=True).kind == "text"
    assert cut("It is done.", deliberate=True, kind="tool_call").kind == "text"
    assert cut(BASH, deliberate=True).kind == "bash"
    assert cut(f"{BASH}\n{BASH}", deliberate=True) is None
    assert cut(" \n ", deliberate=True) is None
    for kind in ("boxed", "terminus_json"):
        assert cut("It is done.", deliberate=True, kind=kind) is None


def test_prose_that_was_said_before_is_no_turn():
    prose = "Everything that was asked for is done, and the tests pass."
    assert cut(prose, ("user", f"say: {prose}"), deliberate=True) is None
    assert cut("Done.", ("user", "say: Done."), deliberate=True) is not None


def test_the_era_decides_how_actions_are_found():
    stray = 'I write {: and then {"analysis": "a", "plan": "p", "commands": []}'
    assert cut(stray, kind="terminus_json") is None
    assert cut(stray, kind="terminus_json", era=Era.SAFE).kind == "terminus_json"


def test_an_unknown_dialect_is_refused_by_name():
    with pytest.raises(UnknownName, match="'tool'"):
        cut(BASH, kind="tool")


def test_phases_are_thirds():
    assert [phase_of(at, 1) for at in range(1)] == ["early"]
    assert [phase_of(at, 2) for at in range(2)] == ["early", "mid"]
    assert [phase_of(at, 3) for at in range(3)] == ["early", "mid", "late"]
    assert [phase_of(at, 7) for at in range(7)] == ["early"] * 3 + ["mid"] * 2 + ["late"] * 2


@pytest.mark.parametrize(
    ("stop", "calls", "expected"),
    [
        ("agent_completed", None, True),
        ("agent_completed", [], True),
        ("agent_completed", [{"node": 2, "finish_reason": "stop"}], True),
        ("agent_completed", [{"node": 2, "finish_reason": "length"}], False),
        ("agent_completed", [{"node": 2, "finish_reason": "length"}, {"node": 2, "finish_reason": "stop"}], True),
        ("agent_completed", [{"node": 2, "finish_reason": "stop"}, {"node": 2, "finish_reason": "length"}], False),
        ("agent_completed", [{"node": 1, "finish_reason": "length"}], True),
        ("agent_completed", ["junk", None, {"node": 2}], True),
        ("max_turns", [{"node": 2, "finish_reason": "stop"}], False),
        (None, [], False),
    ],
)
def test_an_end_on_purpose(stop, calls, expected):
    assert ended_on_purpose({"stop_condition": stop, "calls": calls}, 2) is expected


ROLES = st.sampled_from(["system", "user", "assistant", "tool", "other"])
WORDS = st.lists(st.sampled_from(["```bash\n", "\n```", "ls", "\n", "\\boxed{", "}", "{", " ", LONG]), max_size=8)


@given(
    st.lists(st.tuples(ROLES, WORDS.map("".join)), max_size=5),
    st.sampled_from(["bash", "boxed", "tool_call", "text", "terminus_json"]),
    st.sampled_from(Era),
    st.booleans(),
)
def test_any_conversation_is_cut_or_not(pairs, kind, era, deliberate):
    found = slice_reply(say(*pairs), kind, era, deliberate=deliberate)
    if found is not None:
        assert found.prefix[-1].role == "user"
        assert found.reference.role == "assistant"
        assert found.kind in (kind, "text")
