"""The careful road against published data: documents, numbers, and the start of the public number sequence."""

import hashlib
import json
import struct
from enum import IntEnum
from itertools import islice

import pytest

from assay.kernel import rfc8785
from assay.kernel.canonical import loads
from assay.kernel.errors import MalformedDocument


class Colour(IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


def as_float(bits):
    return struct.unpack(">d", bits.to_bytes(8, "big"))[0]


def refusal(value, **options):
    with pytest.raises(MalformedDocument) as caught:
        rfc8785.write(value, **options)
    json.dumps(caught.value.details).encode()
    return caught.value.details["reason"], caught.value.details["path"]


@pytest.fixture(scope="module")
def published(shared):
    return json.loads(shared("vectors/evidence/real/jcs_published.json").read_text(encoding="utf-8"))


def test_published_documents(published):
    for document in published["documents"]:
        value = loads(bytes.fromhex(document["input_utf8_hex"]))
        assert rfc8785.write(value).hex() == document["canonical_utf8_hex"], document["name"]


@pytest.mark.parametrize("table", ["appendix_b", "es6_static"])
def test_published_numbers(published, table):
    for bits, text in published[table]:
        assert rfc8785.number_text(as_float(int(bits, 16))) == text, bits
        assert rfc8785.write(as_float(int(bits, 16))) == text.encode()


def test_published_numbers_without_a_text(published):
    for bits, _ in published["appendix_b_errors"]:
        assert refusal(as_float(int(bits, 16))) == ("not-finite", "")


def sequence(published):
    """Bits of the public number sequence, as the vector file describes it."""
    yield from (int(bits, 16) for bits, _ in published["es6_static"])
    yield from range(0x0010000000000000, 0x0010000000000000 + 2000)
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for (bits,) in struct.iter_unpack("<Q", block):
            if bits & (2**63 - 1) and (bits >> 52) & 0x7FF != 0x7FF:
                yield bits


def checksum(bits_of_numbers):
    running = hashlib.sha256()
    for bits in bits_of_numbers:
        running.update(f"{bits:x},{rfc8785.number_text(as_float(bits))}\n".encode())
    return running.hexdigest()


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_public_number_sequence(published, count):
    assert checksum(islice(sequence(published), count)) == published["es6_checksums"][str(count)]


def test_the_checksum_sees_one_number_missing(published):
    assert checksum(islice(sequence(published), 1, 1001)) != published["es6_checksums"]["1000"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ((1, (2.5,)), "[1,[2.5]]"),
        ({"b": [None, True, False], "a": {"": -0.0}}, '{"a":{"":0},"b":[null,true,false]}'),
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'),
        ({"a\ufb33": 1, "a\U0001f600": 2, "a": 3}, '{"a":3,"a\U0001f600":2,"a\ufb33":1}'),
        (
            '\x00\x08\t\n\x0b\x0c\r\x1f"\\/\x7f\x80\u2028',
            '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\/\x7f\x80\u2028"',
        ),
        (
            [1e16, 1e21, -1e20, 123456789012345680000.0],
            "[10000000000000000,1e+21,-100000000000000000000,123456789012345680000]",
        ),
        ([1e-4, 1e-5, 1.5e-6, 1e-6, 1e-7, -5e-324], "[0.0001,0.00001,0.0000015,0.000001,1e-7,-5e-324]"),
        ([2**53 - 1, 1 - 2**53], "[9007199254740991,-9007199254740991]"),
    ],
)
def test_text_of_a_value(value, text):
    assert rfc8785.write(value) == text.encode()


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        (float("nan"), "not-finite", ""),
        ({"a": [0, float("-inf")]}, "not-finite", "/a/1"),
        ({"a/b": {"~": 2**53}}, "integer-range", "/a~1b/~0"),
        (-(2**53), "integer-range", ""),
        ([10**5000], "integer-range", "/0"),
        ({"a": "x\ud800"}, "lone-surrogate", "/a"),
        ({"x\udfff": 1}, "lone-surrogate", "/x\\udfff"),
        ({"x\udfff": 1, "\U0001f600": 1}, "lone-surrogate", "/x\\udfff"),
        ({"a": {1: 2}}, "key-type", "/a"),
        ({Name("a"): 1}, "key-type", ""),
        ({"a": b"x"}, "not-json", "/a"),
        ([Colour.RED], "not-json", "/0"),
        ([Name("x")], "not-json", "/0"),
        ([{1}], "not-json", "/0"),
    ],
)
def test_what_is_refused_and_where(value, reason, path):
    assert refusal(value) == (reason, path)


def test_depth_limit():
    value = []
    for _ in range(rfc8785.MAX_DEPTH - 1):
        value = [value]
    assert rfc8785.write(value) == b"[" * 128 + b"]" * 128
    assert refusal([value]) == ("too-deep", "/0" * 128)
    assert refusal({"a": value}) == ("too-deep", "/a" + "/0" * 127)


def test_a_cycle_is_too_deep():
    value = []
    value += [value, value]
    assert refusal(value)[0] == "too-deep"


def test_evidence_refuses_floats_that_would_read_as_big_integers():
    for value in (2.0**53, -1e20, 9.007199254740994e15, 999999999999999900000.0):
        rfc8785.write(value)
        assert refusal([value], evidence=True) == ("integer-range", "/0")
    for value in (2.0**53 - 1, 1e21, -1.5e300, 1e-300):
        assert rfc8785.write(value, evidence=True) == rfc8785.write(value)
