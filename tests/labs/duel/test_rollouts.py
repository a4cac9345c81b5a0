"""Completions split into thought and action."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import UnknownName
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.eras import Era
from assay.labs.duel.rollouts import Rollout, split_completion

BATCH = '{"analysis": "a", "plan": "p", "commands": []}'
ACTIONS = {
    "bash": "```bash\nls\n```",
    "tool_call": "<tool_call>ls</tool_call>",
    "boxed": "\\boxed{4}",
    "text": "All done.",
    "terminus_json": BATCH,
}
KINDS = st.sampled_from(sorted(DIALECTS))
PIECES = st.sampled_from([*ACTIONS.values(), "</think>", "THOUGHT: ", "{", "\\boxed{", " ", "\n"])
TEXTS = st.lists(PIECES | st.text(alphabet=st.characters(codec=None), max_size=5), max_size=10).map("".join)


def split(text, kind, *, require=True, era=Era.SAFE):
    return split_completion(text, kind, require_think_close=require, era=era)


def test_vectors(read_cases):
    for case in read_cases("split_rollout"):
        told = case["input"]
        found = split(told["text"], told["kind"], require=told["require_think_close"], era=Era.NETWORK)
        assert {"z": found.thought, "y": found.action} == case["expected"], case["id"]


@given(TEXTS, KINDS, st.booleans(), st.sampled_from(Era))
def test_any_text_is_split(text, kind, require, era):
    found = split(text, kind, require=require, era=era)
    latent, closer, rest = text.partition("</think>")
    assert found.closed == bool(closer)
    assert found.action in (rest if closer else text)
    assert found.forfeit == (not found.action)
    assert not found.forfeit or not found.thought
    assert found.forfeit or not closer or found.thought.startswith(latent.strip())


@given(TEXTS, KINDS, st.booleans())
def test_the_eras_differ_in_actions_behind_stray_braces_only(text, kind, require):
    network, safe = (split(text, kind, require=require, era=era) for era in (Era.NETWORK, Era.SAFE))
    assert network == safe or (kind == "terminus_json" and not safe.forfeit and "{" in text)


@pytest.mark.parametrize(("kind", "action"), ACTIONS.items())
def test_a_runaway_thought_is_a_forfeit_only_where_closing_is_asked_for(kind, action):
    for era in Era:
        assert split(action, kind, era=era) == Rollout(thought="", action="", closed=False)
        assert split(action, kind, require=False, era=era) == Rollout(thought="", action=action, closed=False)


@pytest.mark.parametrize(("kind", "action"), ACTIONS.items())
def test_an_action_inside_the_thought_never_counts(kind, action):
    assert split(f"{action}</think> ", kind).forfeit
    assert split(f"{action}</think>", kind, require=False).forfeit


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        ("a</think>THOUGHT: b ```bash\nls\n```", "a\nb"),
        ("a</think>THOUGHT: THOUGHT: b ```bash\nls\n```", "a\nTHOUGHT: b"),
        ("a</think>thought: b ```bash\nls\n```", "a\nthought: b"),
        ("THOUGHT: a</think>```bash\nls\n```", "THOUGHT: a"),
        (" a </think> b </think> ```bash\nls\n``` c", "a\nb </think>"),
        (" </think> ```bash\nls\n```", ""),
    ],
)
def test_what_a_thought_is_made_of(text, thought):
    assert split(text, None).thought == thought


def test_a_stray_brace_is_no_forfeit_under_the_safe_reading():
    text = "why</think>open { then " + BATCH
    assert split(text, "terminus_json", era=Era.NETWORK).forfeit
    assert split(text, "terminus_json") == Rollout(thought="why\nopen { then", action=BATCH, closed=True)


def test_an_unknown_dialect_is_named():
    with pytest.raises(UnknownName, match="no dialect is called 'python'"):
        split("x", "python")
