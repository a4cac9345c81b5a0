"""Envelopes of rollouts: what they say is read, and the member that is wrong is named."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import AssayError
from assay.labs.duel.corpus.envelopes import BadEnvelope, read_envelope
from assay.labs.duel.corpus.views import derive_view


def change(document, place, value):
    """The document with another value at a dotted place; the ellipsis takes the member out."""
    name, _, rest = place.partition(".")
    new = change(document[name], rest, value) if rest else value
    kept = {key: member for key, member in document.items() if key != name}
    return kept if new is ... else {**kept, name: new}


def test_what_an_envelope_says(make_envelope):
    found = read_envelope(make_envelope([], info={"run_tag": "abcd1234", "generated_at": "2026-09-09"}))
    assert (found.rollout_id, found.source, found.instance_id) == ("r1", "swe", "org__repo-12")
    assert (found.policy_id, found.harness, found.model) == ("p", "h", "endpoint/model")
    assert (found.repo, found.language, found.stratum, found.action_kind) == ("org/repo", "python", None, "bash")
    assert found.generated_at == "2026-09-09"
    digest = sha256(b"org__repo-12").hexdigest()[:8]
    assert found.trajectory_id == f"org__repo.{digest}.pr_12__abcd1234"


def test_members_of_others_are_passed_over(make_envelope):
    envelope = make_envelope([])
    more = {
        **envelope,
        "uploader": 1,
        "task": {**envelope["task"], "image": 5},
        "policy": {**envelope["policy"], "x": []},
    }
    assert read_envelope(more) == read_envelope(envelope)


@pytest.mark.parametrize("info", [{}, {"run_tag": ""}, {"run_tag": 7}, {"run_tag": None}])
def test_without_a_tag_the_digest_of_the_trace_tells_runs_apart(make_envelope, info):
    envelope = make_envelope([{"message": {"role": "user", "content": "é"}}], info=info)
    digest = sha256(json.dumps(envelope["trace"], sort_keys=True).encode()).hexdigest()[:8]
    assert read_envelope(envelope).trajectory_id.endswith(f".pr_12__{digest}")


def test_without_a_date_of_its_own_a_rollout_has_that_of_its_storing(make_envelope):
    for info in ({}, {"generated_at": ""}, {"generated_at": 5}, "no object", None):
        envelope = {**make_envelope([], info=info), "stored_at": "2026-09-01"}
        assert read_envelope(envelope).generated_at == "2026-09-01"
        assert read_envelope({**envelope, "stored_at": None}).generated_at is None


def test_a_task_without_a_number_has_none(make_envelope):
    for name in ("org__repo", "org__repo-", "-12x", "org__repo-12\n"):
        envelope = change(make_envelope([], info={"run_tag": "t"}), "task.sid", name)
        digest = sha256(name.encode()).hexdigest()[:8]
        assert read_envelope(envelope).trajectory_id == f"{name}.{digest}.pr_0__t"


@pytest.mark.parametrize(
    "place",
    ["rollout_id", "source", "task.uid", "task.sid", "task.repo", "task.language", "policy.id", "policy.harness",
     "policy.model"],
)  # fmt: skip
def test_the_member_that_is_wrong_is_named(make_envelope, place):
    for value in (..., None, 5, True, [], {"a": 1}):
        with pytest.raises(BadEnvelope, match=rf"envelope, {place}: expected text, got ") as caught:
            read_envelope(change(make_envelope([]), place, value))
        assert caught.value.details["place"] == place


@pytest.mark.parametrize("place", ["rollout_id", "task.uid", "task.sid"])
def test_an_id_is_not_empty(make_envelope, place):
    with pytest.raises(BadEnvelope, match=f"{place}: expected text that is not empty, got ''"):
        read_envelope(change(make_envelope([]), place, ""))


@pytest.mark.parametrize("place", ["task", "policy", "trace"])
def test_the_object_that_is_wrong_is_named(make_envelope, place):
    for value in (..., None, 5, "x", []):
        with pytest.raises(BadEnvelope, match=f"{place}: expected an object, got "):
            read_envelope(change(make_envelope([]), place, value))


@pytest.mark.parametrize("place", ["task.stratum", "policy.action_kind", "stored_at"])
def test_what_may_be_missing_is_still_text(make_envelope, place):
    for value in (..., None):
        read_envelope(change(make_envelope([]), place, value))
    with pytest.raises(BadEnvelope, match=f"{place}: expected text, got 5"):
        read_envelope(change(make_envelope([]), place, 5))


def test_only_schema_one_is_read(make_envelope):
    for schema in (2, 0, "1", 1.0, True, None, ...):
        with pytest.raises(BadEnvelope, match="schema: expected 1, got "):
            read_envelope(change(make_envelope([]), "schema", schema))
    for whole in (None, [], "x", 3):
        with pytest.raises(BadEnvelope, match="the whole: expected an object"):
            read_envelope(whole)


def test_a_message_is_short_and_printable(make_envelope):
    with pytest.raises(BadEnvelope) as caught:
        read_envelope(change(make_envelope([]), "source", ["\x1b[2J\ud800" * 99]))
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 150


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLACES = (
    "schema", "rollout_id", "source", "stored_at", "task", "task.uid", "task.sid", "task.repo", "task.language",
    "task.stratum", "policy", "policy.id", "policy.model", "policy.harness", "policy.action_kind", "trace",
    "trace.nodes", "trace.calls", "trace.tools", "trace.info", "trace.errors", "trace.rewards", "trace.stop_condition",
)  # fmt: skip
NODES = [
    {"message": {"role": "system", "content": "bash"}},
    {"message": {"role": "user", "content": "go"}},
    {"message": {"role": "assistant", "content": "```bash\nls\n```"}, "sampled": True},
]


@given(st.dictionaries(st.sampled_from(PLACES), JUNK, max_size=3))
def test_a_hostile_envelope_is_read_or_refused(make_envelope, changes):
    envelope = make_envelope(NODES)
    for place, value in sorted(changes.items(), key=lambda item: -item[0].count(".")):
        envelope = change(envelope, place, value)
    try:
        derive_view(read_envelope(envelope))
    except AssayError:
        return


@given(st.lists(st.sampled_from(NODES) | JUNK | st.fixed_dictionaries(
    {}, optional={"message": st.fixed_dictionaries({}, optional={"role": JUNK | st.sampled_from(["user", "assistant"]),
                                                                  "content": JUNK, "tool_calls": JUNK}),
                  "parent": JUNK, "sampled": JUNK}), max_size=5))  # fmt: skip
def test_hostile_nodes_are_read_or_refused(make_envelope, nodes):
    try:
        derive_view(read_envelope(make_envelope(nodes)))
    except AssayError:
        return
