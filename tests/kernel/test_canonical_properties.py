"""The fast and the careful road agree on every document, with each other and with an independent implementation."""

import json
import uuid
from decimal import Decimal

import rfc8785 as independent
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel import rfc8785 as careful
from assay.kernel.canonical import MAX_SAFE_INTEGER, Foreign, dumps, dumps_evidence, dumps_frozen, freeze, loads
from assay.kernel.canonical import loads_canonical as read_canonical
from assay.kernel.errors import MalformedDocument


class Text(str):
    __slots__ = ()


# Where the two orders part, where escapes begin and end, and what no UTF-8 can carry.
TURNING = '\x00\x08\x1f "\\/:,.[{}]e1\x7f\x80\u2028\ud7ff\ue000\ufb33\uffff\U00010000\U0001f600\U0010ffff'
SURROGATES = "\ud800\ud83d\udc00\ude00\udfff"
EDGES = (
    0.0,
    -0.0,
    1e-6,
    1e-7,
    9.9e-5,
    1e-4,
    1.0,
    1e15,
    1e16,
    1e20,
    1e21,
    2.0**53,
    2.0**53 - 1,
    5e-324,
    1.7976931348623157e308,
)

safe_text = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(TURNING)), max_size=8)
any_text = st.one_of(safe_text, st.text(st.sampled_from(TURNING + SURROGATES), max_size=4))
safe_integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
any_integers = st.one_of(st.integers(), st.sampled_from([2**53, -(2**53), 2**63, 2**64, 10**30]))
safe_floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(EDGES),
    st.integers(0, 10**6).map(lambda n: n / 64),
)
any_floats = st.one_of(st.floats(), st.sampled_from(EDGES))
strangers = st.sampled_from([b"x", Decimal(1), Text("x"), uuid.UUID(int=1), frozenset(), range(2)])


def nested(leaves, names):
    lists = st.lists(leaves, max_size=4)
    start = st.one_of(leaves, lists, lists.map(tuple))
    return st.recursive(
        start,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
        max_leaves=16,
    )


scalars = st.one_of(st.none(), st.booleans())
plain_values = nested(st.one_of(scalars, safe_integers, safe_text), safe_text)
safe_values = nested(st.one_of(scalars, safe_integers, safe_text, safe_floats), safe_text)
any_values = nested(
    st.one_of(scalars, any_integers, any_text, any_floats, strangers),
    st.one_of(any_text, st.sampled_from([1, None, Text("x"), 0.5])),
)


def outcome(act, *arguments, **options):
    """What came out: a result, or the reason and the place of the refusal."""
    try:
        return act(*arguments, **options)
    except MalformedDocument as refusal:
        json.dumps(refusal.details).encode()
        return refusal.details["reason"], refusal.details.get("path"), refusal.details.get("offset")


def read_carefully(data):
    value = loads(data)
    if careful.write(value) != data:
        message = "not canonical"
        raise MalformedDocument(message, reason="not-canonical")
    return value


def typed(value):
    """The value with the type of every part, so that 1, 1.0 and true are three things."""
    if isinstance(value, dict):
        return [(name, typed(item)) for name, item in value.items()]
    return [typed(item) for item in value] if isinstance(value, list) else (type(value), value)


@given(any_values)
def test_both_roads_write_the_same_or_refuse_the_same(value):
    assert outcome(dumps, value) == outcome(careful.write, value)
    assert outcome(dumps_evidence, value) == outcome(careful.write, value, evidence=True)


@given(st.one_of(plain_values, safe_values))
def test_an_independent_implementation_writes_the_same(value):
    assert dumps(value) == independent.dumps(value)


@given(safe_floats)
def test_an_independent_implementation_writes_the_same_numbers(value):
    assert dumps(value) == dumps([value])[1:-1] == independent.dumps(value)


@given(any_values)
def test_what_evidence_writes_can_be_read(value):
    try:
        data = dumps_evidence(value)
    except MalformedDocument:
        return
    back = read_canonical(data)
    assert dumps(back) == data
    assert typed(back) == typed(read_carefully(data))


@given(any_values)
def test_freezing_gives_the_same_bytes(value):
    written = outcome(dumps_evidence, value)
    frozen = outcome(freeze, value)
    if isinstance(written, bytes):
        assert dumps_frozen(frozen.value, plain=frozen.plain) == written
        assert typed(frozen.value) == typed(read_carefully(written))
    else:
        assert frozen == written


def judge_alike(data):
    """Both roads over one document: the same value, types and all, or the same reason."""
    fast, slow = outcome(read_canonical, data), outcome(read_carefully, data)
    if isinstance(slow, tuple):
        assert fast[0] == slow[0]
    else:
        assert typed(fast) == typed(slow)


@given(st.one_of(plain_values, safe_values), st.data())
def test_both_roads_read_a_changed_document_alike(value, data):
    document = dumps(value)
    judge_alike(document)
    place = data.draw(st.integers(0, len(document)))
    inserted = data.draw(
        st.sampled_from([b"", b"0", b"1", b".", b"e", b"-", b'"', b" ", b"\\", b"[", b",", b"\xf0", b"\xff"])
    )
    kept = data.draw(st.integers(place, min(place + 2, len(document))))
    judge_alike(document[:place] + inserted + document[kept:])


@given(
    st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                '"',
                "\\",
                "\\u",
                "d83d",
                "\\ude00",
                "a",
                "0",
                "1",
                "-",
                ".",
                "e",
                "E",
                "+",
                "9007199254740992",
                " ",
                "\n",
                "null",
                "true",
                "NaN",
                "Infinity",
                "1e999",
                '"a":',
                "\ufb33",
                "\U0001f600",
                "\x00",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_scraps_of_json_are_read_or_refused_alike(text):
    judge_alike(text.encode())
    assert outcome(loads, text) == outcome(loads, text.encode())


@given(st.binary(max_size=40))
def test_the_loader_lets_no_other_error_through(data):
    judge_alike(data)


@given(any_text, safe_values)
def test_the_loader_reads_what_the_standard_library_writes(name, value):
    text = json.dumps({name: value}, indent=1)
    read = outcome(loads, text)
    lone = any("\ud800" <= character <= "\udfff" for character in json.loads(json.dumps(name)))
    assert read[0] == "lone-surrogate" if lone else read == json.loads(text)


@given(st.text(max_size=20), st.binary(max_size=40))
def test_foreign_documents_come_back(media_type, data):
    foreign = Foreign(media_type=media_type, data=data)
    assert Foreign.from_json(read_canonical(dumps(foreign.to_json()))) == foreign


@given(any_values)
def test_reading_a_carrier_lets_no_other_error_through(value):
    for carrier in (value, {"mediaType": "a", "sha256": "b", "base64": value}):
        assert isinstance(outcome(Foreign.from_json, carrier), tuple)
