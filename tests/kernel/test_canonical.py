"""Canonical bytes, the strict loader, frozen values and foreign documents, case by case."""

import base64
import dataclasses
import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import orjson
import pytest

from assay.kernel import canonical
from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, Foreign, dumps, dumps_evidence, loads, loads_canonical
from assay.kernel.errors import MalformedDocument


class Word(str):
    __slots__ = ()


class Kind(StrEnum):
    A = "a"


@dataclasses.dataclass
class Row:
    a: int


def details_of(act, *arguments, **options):
    with pytest.raises(MalformedDocument) as caught:
        act(*arguments, **options)
    caught.value.message.encode()
    json.dumps(caught.value.details).encode()
    return caught.value.details


def reason(act, *arguments, **options):
    return details_of(act, *arguments, **options)["reason"]


@pytest.fixture(scope="module")
def cases(vectors):
    return json.loads((vectors / "evidence" / "jcs.json").read_text(encoding="utf-8"))["cases"]


def test_accepted_vectors(cases):
    accepted = [case for case in cases if case["expect"] == "accept"]
    assert len(accepted) > 25
    for case in accepted:
        data = dumps(loads(case["input"]))
        assert data == case["canonical"].encode(), case["id"]
        assert data.hex() == case["utf8_hex"], case["id"]
        assert hashlib.sha256(data).hexdigest() == case["sha256"], case["id"]
        assert dumps(loads(case["input"].encode())) == data


def test_refused_vectors(cases):
    expected = {
        "reject-nan": "not-finite",
        "reject-infinity": "not-finite",
        "reject-duplicate-name": "duplicate-key",
        "reject-lone-high": "lone-surrogate",
        "reject-trailing-comma": "syntax",
        "reject-inexact-integer": "integer-range",
    }
    assert {case["id"]: reason(loads, case["input"]) for case in cases if case["expect"] == "reject"} == expected


def test_the_vector_that_may_go_either_way_is_refused(cases):
    assert [reason(loads, case["input"]) for case in cases if case["expect"] == "either"] == ["integer-range"]


def test_published_documents(shared):
    published = json.loads(shared("vectors/evidence/real/jcs_published.json").read_text(encoding="utf-8"))
    for document in published["documents"]:
        data = bytes.fromhex(document["canonical_utf8_hex"])
        assert dumps(loads(bytes.fromhex(document["input_utf8_hex"]))) == data
        assert dumps(loads_canonical(data)) == data


@pytest.mark.parametrize(
    ("value", "reason_slug"),
    [
        (UUID(int=1), "not-json"),
        (datetime(2026, 1, 1, tzinfo=UTC), "not-json"),
        (Kind.A, "not-json"),
        (Row(1), "not-json"),
        (Word("x"), "not-json"),
        (Decimal(1), "not-json"),
        (b"x", "not-json"),
        ({"a"}, "not-json"),
        (orjson.Fragment(b"1"), "not-json"),
        (float("nan"), "not-finite"),
        (float("inf"), "not-finite"),
        (2**53, "integer-range"),
        (2**64, "integer-range"),
        ("\ud800", "lone-surrogate"),
        ({"\udc00": 1}, "lone-surrogate"),
        ({1: 1}, "key-type"),
        ({None: 1}, "key-type"),
        ({Word("x"): 1}, "key-type"),
        ({Kind.A: 1}, "key-type"),
    ],
)
def test_what_is_not_json_is_refused_wherever_it_is(value, reason_slug):
    for place in (value, [value], {"a": (1, value)}, {"float": 0.5, "a": [value]}):
        assert reason(dumps, place) == reason(dumps_evidence, place) == reason(canonical.freeze, place) == reason_slug


@pytest.mark.parametrize("value", [[1e16], [1.0], [-0.0], {"\ufb33": 1, "\U0001f600": 2}])
def test_orjson_alone_would_write_otherwise(value):
    assert orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != dumps(value)


@pytest.mark.parametrize("value", [float("nan"), UUID(int=1), Kind.A, orjson.Fragment(b"1.0")])
def test_orjson_alone_would_not_refuse(value):
    assert orjson.dumps([value])
    assert reason(dumps, [value]) in {"not-json", "not-finite"}


def test_text_beyond_the_first_plane_in_values_only():
    value = {"b": "\U0001f600", "a": ["\U0001f600", {"\uffff": 1, "\ufb33": 2}]}
    assert dumps(value) == '{"a":["\U0001f600",{"\ufb33":2,"\uffff":1}],"b":"\U0001f600"}'.encode()


def test_names_beyond_the_first_plane_however_deep():
    value = [{"x": ({"\ufb33": 1.5, "\U0001f600": 2},)}]
    assert dumps(value) == '[{"x":[{"\U0001f600":2,"\ufb33":1.5}]}]'.encode()


def test_evidence_can_always_be_read():
    assert dumps(1e20) == b"1" + b"0" * 20
    assert reason(dumps_evidence, {"a": 1e20}) == "integer-range"
    assert reason(dumps_evidence, 2.0**53) == "integer-range"
    for value in (2.0**53 - 1, 1e21, 0.1, -0.0, MAX_SAFE_INTEGER):
        assert loads(dumps_evidence(value)) == value


def test_depth_limit_of_every_road():
    at_limit = [[1]]
    for _ in range(MAX_DEPTH - 2):
        at_limit = [at_limit]
    data = b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    floats = data.replace(b"1", b"1.5")
    assert dumps(at_limit) == dumps_evidence(at_limit) == data
    for text in (data, floats, data.replace(b"1", b'"[[{"')):
        assert dumps(loads(text)) == dumps(loads_canonical(text)) == text
        assert reason(loads, b"[" + text + b"]") == "too-deep"
        assert reason(loads_canonical, b"[" + text + b"]") == "too-deep"
        assert reason(loads, b'{"a":' + text + b"}") == "too-deep"
    assert reason(dumps, [at_limit]) == "too-deep"
    names = {"a": 0.5}
    for _ in range(MAX_DEPTH - 1):
        names = {"a": names}
    assert dumps(names) == b'{"a":' * MAX_DEPTH + b"0.5" + b"}" * MAX_DEPTH
    for deeper in ({"a": names}, [names], (names,)):
        assert reason(dumps, deeper) == "too-deep"


def test_many_brackets_are_not_depth():
    for data in (b"[" + b"[]," * 500 + b"{}]", b'["' + b"[{" * 500 + b'"]', b'["' + b'\\"[' * 500 + b'"]'):
        assert dumps(loads(data)) == dumps(loads_canonical(data)) == data


@pytest.mark.parametrize(
    ("data", "reason_slug"),
    [
        (b"", "empty"),
        (b" \n\t\r", "empty"),
        (b"\xef\xbb\xbf{}", "byte-order-mark"),
        ("\ufeff{}", "byte-order-mark"),
        (b'"\xff"', "not-utf8"),
        (b'"\xed\xa0\x80"', "not-utf8"),
        (b'"\xc0\x80"', "not-utf8"),
        ('{"a":1}'.encode("utf-16"), "not-utf8"),
        ("{}".encode("utf-16-le"), "syntax"),
        (b"NaN", "not-finite"),
        (b"[Infinity]", "not-finite"),
        (b'{"a":-Infinity}', "not-finite"),
        (b"1e999", "not-finite"),
        (b"-1e999", "not-finite"),
        (b"9007199254740992", "integer-range"),
        (b"-9007199254740992", "integer-range"),
        (b'"\\ud800"', "lone-surrogate"),
        (b'"\\udfff\\ud800"', "lone-surrogate"),
        (b'{"\\uDC00":1}', "lone-surrogate"),
        (b'["\\ud83d\\ude00",{"a":"\\ud83dx"}]', "lone-surrogate"),
        ('"\ud800"', "lone-surrogate"),
        ('"\ud83d\\ude00"', "lone-surrogate"),
        (b'{"a":1,"a":1}', "duplicate-key"),
        (b'[{"b":{"a":1,"\\u0061":2}}]', "duplicate-key"),
        (b"{} {}", "trailing-data"),
        (b"1 2", "trailing-data"),
        (b"[]]", "trailing-data"),
        (b"01", "trailing-data"),
        (b"{}\x00", "trailing-data"),
        (b"\xc2\xa0{}", "syntax"),
        (b"\x0c{}", "syntax"),
        (b"[1,]", "syntax"),
        (b'{"a":1,}', "syntax"),
        (b"{'a':1}", "syntax"),
        (b"{a:1}", "syntax"),
        (b'"\x01"', "syntax"),
        (b'"\n"', "syntax"),
        (b'"\\x41"', "syntax"),
        (b'"\\u12"', "syntax"),
        (b'"\\u+123"', "syntax"),
        (b'"abc', "syntax"),
        (b"[1", "syntax"),
        (b"+1", "syntax"),
        (b".5", "syntax"),
        (b"-", "syntax"),
        (b"1.", "trailing-data"),
        (b"1e", "trailing-data"),
        (b"tru", "syntax"),
        (b"// x\n1", "syntax"),
        ("\u0661".encode(), "syntax"),
    ],
)
def test_what_the_loader_refuses(data, reason_slug):
    assert reason(loads, data) == reason_slug
    if isinstance(data, bytes):
        assert reason(loads_canonical, data) == reason_slug


def test_what_the_loader_refuses_at_length():
    long = {
        b"9" * 400 + b".0": "not-finite",
        b"1" * 5000: "integer-range",
        b'"' + b'\\"[' * 300_000: "syntax",
        b"[" * 200_000: "too-deep",
        b'{"a":' * 200_000: "too-deep",
    }
    for data, reason_slug in long.items():
        assert reason(loads, data) == reason(loads_canonical, data) == reason_slug
        assert len(repr(details_of(loads, data))) < 200


def test_messages_name_what_was_found():
    assert details_of(loads, b'{"k\\u00e9y":1,"k\\u00e9y":2}')["key"] == r"'k\xe9y'"
    assert details_of(loads, b'{"\\ud800":1,"\\ud800":2}')["key"] == r"'\ud800'"
    assert details_of(loads, b'[{"a":["\\ud800"]}]')["path"] == "/0/a/0"
    assert details_of(loads, b"[\n  tru]") == {"reason": "syntax", "line": 2, "column": 3}
    assert details_of(loads, b'"abc\xff"')["offset"] == 4
    assert details_of(loads, b"[] x")["offset"] == 2


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' {"a" : [1, -0, 0.0, 1e2, 1E+2, 0.5e-1, 1e-999]} \r\n', {"a": [1, 0, 0.0, 100.0, 100.0, 0.05, 0.0]}),
        (b'"\\ud83d\\ude00\\u0000\\/"', "\U0001f600\x00/"),
        (b'"\\\\ud800"', "\\ud800"),
        ('{"\U0001f600":"\u2028\x7f"}', {"\U0001f600": "\u2028\x7f"}),
        (b"null", None),
        (b"[9007199254740991,1e21]", [MAX_SAFE_INTEGER, 1e21]),
    ],
)
def test_what_the_loader_takes(data, value):
    assert loads(data) == value


def test_numbers_keep_their_kind():
    assert [type(item) for item in loads(b"[1,1.0,-0,-0.0,1e0,true]")] == [int, float, int, float, float, bool]


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'{"b":1,"a":2}', 2),
        (b"[1, 2]", 3),
        (b"[1.0]", 2),
        (b"[0.50]", 4),
        (b"[-0]", 1),
        (b"[-0.0]", 1),
        (b"1E2", 1),
        (b"[1e-6]", 1),
        (b"1e20", 1),
        (b'"\\u0061"', 1),
        (b'"\\/"', 1),
        (b"{}\n", 2),
        (b" 1", 0),
        ('{"\ufb33":1,"\U0001f600":2}'.encode(), 2),
    ],
)
def test_what_is_not_canonical(data, offset):
    loads(data)
    assert details_of(loads_canonical, data) == {"reason": "not-canonical", "offset": offset}


@pytest.mark.parametrize(
    "data",
    [
        b"null",
        b"7",
        b"0.5",
        b"1e+21",
        b"-1e-7",
        b'"x"',
        b'{"a":0.000001,"b":[1.5,"2.0,3.0"],"c":":1.0"}',
        '{"\U0001f600":2,"\ufb33":1}'.encode(),
        '{"\U0001f600":0.25,"\ufb33":[1e+300]}'.encode(),
        '{"a":"\U0001f600","b":0.25}'.encode(),
    ],
)
def test_what_is_canonical(data):
    assert loads_canonical(data) == loads(data)
    assert dumps(loads_canonical(data)) == data


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        ({"b": [1, {"c": "\U0001f600"}], "a": None}, True),
        ({"b": [1, {"c": 0.5}]}, False),
        ({"b": {"\U0001f600": 1}}, False),
    ],
)
def test_freezing_and_adding_members(body, plain):
    before = dumps(body)
    frozen = canonical.freeze(body)
    body["b"].clear()
    assert frozen.plain is plain
    assert dumps(frozen.value) == canonical.dumps_frozen(frozen.value, plain=frozen.plain) == before
    entry = {**frozen.value, "sequence": 1, "Z": "\u00e9"}
    assert canonical.dumps_frozen(entry, plain=frozen.plain) == dumps(entry)


@pytest.mark.parametrize(
    ("text", "plain"),
    [('{"a":["\U0001f600",1]}', True), ('{"a":[0.5]}', False), ('{"\U0001f600":1}', False), ("1e+21", False)],
)
def test_what_is_read_back_says_whether_it_is_plain(text, plain):
    read = canonical.read_canonical(text.encode())
    assert read == canonical.Frozen(loads(text), plain=plain)
    assert canonical.dumps_frozen(read.value, plain=read.plain) == text.encode()
    assert reason(canonical.read_canonical, text.encode() + b" ") == "not-canonical"


def test_a_frozen_float_that_is_an_integer_becomes_one():
    frozen = canonical.freeze([1.0, -0.0, 0.5])
    assert [type(item) for item in frozen.value] == [int, int, float]
    assert frozen.value == [1, 0, 0.5]


def test_freezing_refuses_what_evidence_cannot_carry():
    assert reason(canonical.freeze, {"a": 1e20}) == "integer-range"
    assert reason(canonical.dumps_frozen, {"a": 2**53}, plain=True) == "integer-range"
    assert reason(canonical.dumps_frozen, {"a": "\ud800"}, plain=True) == "lone-surrogate"
    assert reason(canonical.dumps_frozen, {"a": 1e20}, plain=False) == "integer-range"
    for stranger in (Word("x"), Row(1), datetime(2026, 1, 1, tzinfo=UTC)):
        assert reason(canonical.dumps_frozen, {"a": stranger}, plain=True) == "not-json"


DOCUMENT = Foreign(media_type="application/json", data=b'{"a": "\\ud800", "b": 2e18}\n\xff')


def test_a_foreign_document_comes_back_as_it_was():
    carried = loads_canonical(dumps(DOCUMENT.to_json()))
    assert Foreign.from_json(carried) == DOCUMENT
    assert carried["sha256"] == DOCUMENT.sha256 == hashlib.sha256(DOCUMENT.data).hexdigest()
    assert base64.b64decode(carried["base64"]) == DOCUMENT.data
    empty = Foreign(media_type="text/plain", data=b"")
    assert Foreign.from_json(empty.to_json()) == empty


@pytest.mark.parametrize(
    ("change", "reason_slug"),
    [
        ({"extra": 1}, "foreign-shape"),
        ({"mediaType": None}, "foreign-shape"),
        ({"base64": 1}, "foreign-shape"),
        ({"sha256": "0" * 64}, "foreign-digest"),
        ({"sha256": DOCUMENT.sha256.upper()}, "foreign-digest"),
        ({"base64": base64.b64encode(DOCUMENT.data + b"x").decode()}, "foreign-digest"),
        ({"base64": base64.b64encode(DOCUMENT.data).decode() + "\n"}, "foreign-base64"),
        ({"base64": base64.b64encode(DOCUMENT.data).decode().rstrip("=")}, "foreign-base64"),
        ({"base64": "YR=="}, "foreign-base64"),
        ({"base64": "_w=="}, "foreign-base64"),
        ({"base64": "\u00e9"}, "foreign-base64"),
    ],
)
def test_a_changed_carrier_is_refused(change, reason_slug):
    assert reason(Foreign.from_json, {**DOCUMENT.to_json(), **change}) == reason_slug


@pytest.mark.parametrize("value", [None, [], "x", {}, {"mediaType": "a", "sha256": "b"}])
def test_what_is_no_carrier_is_refused(value):
    assert reason(Foreign.from_json, value) == "foreign-shape"
