"""Leakage: the reference's readings, and where ours is safer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.eras import Era
from assay.labs.duel.leakage import NameNotText, leaks

BATCH = '{"analysis": "look", "plan": "list", "commands": ["ls -la source"]}'
ACTIONS = [
    "```bash\nls -la source\n```",
    "<tool_call>ls -la source</tool_call>",
    "\\boxed{42}",
    "All tests pass now.",
    BATCH,
]
NAMES = st.sampled_from(['"name"', '"look"', "5", "0", "null", "[]", "[1]", "{}", "true", '""', "-0.0", "NaN"])
NAMED = st.tuples(NAMES, st.sampled_from(["}", ', "plan": "list source"}', "", "} tail"])).map(
    lambda parts: f'{{"name": {parts[0]}{parts[1]}'
)
TEXTS = st.text(alphabet=st.characters(codec=None), max_size=20)


def name_action(name):
    return f'{{"name": {name}, {BATCH[1:]}'


def test_vectors(read_cases):
    for case in read_cases("leakage"):
        told = case["input"]
        found = leaks(told["z"], told["y"], told["fuzzy"], era=Era.NETWORK)
        assert found == case["expected"]["leak"], case["id"]


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_in_its_own_thought_leaks_in_every_dialect(action):
    for era in Era:
        assert leaks(f"I will do this: {action} and stop", action, era=era)
        assert not leaks("something else entirely", action, era=era)


def test_a_paraphrase_does_not_leak():
    for era in Era:
        assert not leaks("I list what the sources hold", ACTIONS[0], era=era)


@pytest.mark.parametrize(
    ("thought", "action", "expected"),
    [
        ("alpha", "alpha beta beta", False),
        ("beta", "alpha beta beta", True),
        ("aaa bbb ccc", "aaa bbb ccc ddd eee", True),
        ("aaa bbb", "aaa bbb ccc ddd eee", False),
        ("pwd", "```bash\npwd\n```", True),
        ("pwd", "```sh\npwd\n```", False),
        ("anything", "```bash\n```", False),
    ],
)
def test_words_count_as_often_as_they_stand(thought, action, expected):
    for era in Era:
        assert leaks(thought, action, era=era) == expected


def test_a_made_up_name_hides_an_action_on_the_network_only():
    thought = BATCH  # every word of the action but the name
    assert not leaks(thought, name_action('"qqq"'), era=Era.NETWORK)
    assert leaks(thought, name_action('"qqq"'), era=Era.SAFE)


def test_a_name_in_the_thought_is_a_leak_in_both_eras():
    for era in Era:
        assert leaks("call qqq now", name_action('"q\\u0071q"'), era=era)


@pytest.mark.parametrize("action", ['{"name": "look"', '{"name": "look"} and', '{"x": "name", "y": "look", }'])
def test_text_that_is_no_json_has_no_name(action):
    assert not leaks(f"a {action[:-1]}", action, era=Era.NETWORK)


def test_broken_json_is_judged_by_its_words_under_the_safe_reading():
    action = '{"name": "look" and list the source'
    assert not leaks("look and list the source", action, era=Era.NETWORK)
    assert leaks("look and list the source", action, era=Era.SAFE)


@pytest.mark.parametrize("name", ["5", "[1]", '{"a": 1}', "true", "NaN", "1e400", "-0.5"])
def test_a_name_that_is_no_text_ends_the_networks_reading_and_not_the_safe_one(name):
    with pytest.raises(NameNotText, match="to be text, got"):
        leaks("a thought", name_action(name), era=Era.NETWORK)
    assert not leaks("a thought", name_action(name), era=Era.SAFE)
    assert leaks(BATCH, name_action(name), era=Era.SAFE)


@pytest.mark.parametrize("name", ["0", "-0.0", "1e-999", "[ ]", "{}", "false", "null", '""'])
def test_a_name_that_says_nothing_is_no_leak_on_the_network(name):
    assert not leaks(BATCH, name_action(name), era=Era.NETWORK)


def test_an_action_without_end_of_nesting_is_judged_all_the_same():
    action = '{"name": ' + "[" * 100_000
    assert not leaks("a thought", action, era=Era.NETWORK)
    assert not leaks("a thought", action, era=Era.SAFE)


@given(TEXTS, TEXTS | NAMED | st.sampled_from(ACTIONS), st.sampled_from([0.0, 0.6, 1.0]))
def test_the_safe_reading_never_raises_and_finds_every_leak_of_the_network(thought, action, share):
    safe = leaks(thought, action, share, era=Era.SAFE)
    try:
        network = leaks(thought, action, share, era=Era.NETWORK)
    except NameNotText:
        network = False
    assert safe or not network
    if '"name"' not in action:
        assert safe == network
