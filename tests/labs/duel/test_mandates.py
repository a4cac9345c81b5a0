"""Mandates and references: which dialect a conversation asks for, and what the fold and the tripwire turn away."""

import pytest

from assay.kernel.errors import BadInput, UnknownName
from assay.labs.duel.dialects import DIALECTS, Dialect, Span
from assay.labs.duel.eras import Era
from assay.labs.duel.mandates import check_admission, check_mandate, check_reference, check_slice
from assay.models.protocol import Message

BATCH = '{"analysis": "a", "plan": "p", "commands": []}'
ASKS_FOR_BATCH = [Message(role="user", content='answer with "commands"')]


def system(*contents):
    return [Message(role="system", content=content) for content in contents]


def test_reference_vectors(read_cases):
    for case in read_cases("reference_check"):
        told = case["input"]
        prefix = [Message(**message) for message in told["prefix"]]
        reason, action = check_reference(prefix, told["reference_turn"], told["kind"], Era.NETWORK)
        assert {"drop_reason": reason, "action": action} == case["expected"], case["id"]


def test_slice_vectors(read_cases):
    for case in read_cases("check_dialects"):
        kinds, allowed = case["input"]["action_kinds"], case["input"]["allowed"]
        if case["expected"].get("ok"):
            check_slice(kinds, allowed)
        else:
            with pytest.raises(BadInput):
                check_slice(kinds, allowed)


def test_the_tripwire_tells_unknown_dialects_from_those_that_are_not_admitted():
    with pytest.raises(BadInput, match="action_kind_not_admitted:boxed, action_kind_unregistered:tool") as caught:
        check_slice(["bash", "boxed", "tool", "boxed"], ["bash", "tool"])
    assert caught.value.details["reasons"] == ["action_kind_not_admitted:boxed", "action_kind_unregistered:tool"]


def test_a_turn_without_a_dialect_is_admitted_as_bash():
    check_slice([None, "", "bash"], ["bash"])
    with pytest.raises(BadInput, match="action_kind_not_admitted:bash"):
        check_slice([None], ["text"])


def test_without_a_list_every_registered_dialect_is_admitted():
    assert [check_admission(kind, None) for kind in (*DIALECTS, None)] == [None] * 6
    assert check_admission("tool", None) == "action_kind_unregistered:tool"


def test_only_the_first_message_of_a_role_mandates():
    assert check_mandate(system("be nice", "use bash"), "bash") == "system_msg_no_bash_mandate"
    assert check_mandate(system("use BASH", "be nice"), "bash") is None
    assert check_mandate([*system("be nice"), *ASKS_FOR_BATCH], "terminus_json") is None
    assert check_mandate(ASKS_FOR_BATCH, "bash") == "system_msg_no_bash_mandate"


def test_a_dialect_without_a_marker_needs_a_system_message_all_the_same():
    assert check_mandate([], "text") == "system_msg_no_text_mandate"
    assert check_mandate(system(""), "text") is None


@pytest.mark.parametrize("count", [0, 2, 3])
def test_a_reference_holds_exactly_one_action(count):
    reference = "\\boxed{1} " * count
    assert check_reference(system("boxed"), reference, "boxed") == (f"ref_boxed_actions={count}", "")
    assert check_reference(system("none"), reference, "boxed") == ("system_msg_no_boxed_mandate", "")


def test_a_reference_behind_a_stray_brace_is_kept_under_the_safe_reading():
    reference = "open { then " + BATCH
    network = check_reference(ASKS_FOR_BATCH, reference, "terminus_json", Era.NETWORK)
    assert network == ("ref_terminus_json_actions=0", "")
    assert check_reference(ASKS_FOR_BATCH, reference, "terminus_json", Era.SAFE) == (None, BATCH)


def test_a_dialect_added_by_a_row_mandates_and_is_admitted():
    row = Dialect(name="shout", find=lambda text, _: (Span(0, len(text)),), marker="loud", marker_roles=("user",))
    rows = {**DIALECTS, "shout": row}
    prefix = [Message(role="user", content="be LOUD")]
    assert check_reference(prefix, "hey", "shout", Era.SAFE, rows) == (None, "hey")
    check_slice(["shout"], ["shout"], rows)
    with pytest.raises(BadInput, match="action_kind_unregistered:shout"):
        check_slice(["shout"], ["shout"])


def test_an_unknown_dialect_is_named():
    with pytest.raises(UnknownName, match="did you mean 'bash'"):
        check_mandate([], "bahs")
    with pytest.raises(UnknownName, match="did you mean 'bash'"):
        check_reference([], "", "bahs")
