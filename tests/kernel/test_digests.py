"""Digests against the published ledger entries and derivations."""

import hashlib
import json

import pytest

from assay.kernel.digests import ZERO, digest, hash_bytes, to_raw, to_text
from assay.kernel.errors import InvariantBroken, MalformedDocument


def read(vectors, name):
    return json.loads((vectors / "evidence" / name).read_text(encoding="utf-8"))


def test_ledger_entries(vectors):
    ledger = read(vectors, "ledger_entry.json")
    assert len(ledger["cases"]) == 13
    before = ledger["first_previous"]
    assert before == ZERO
    for case in ledger["cases"]:
        assert case["unsigned"]["previousEntryHash"] == before
        before = digest(ledger["domain"], case["unsigned"])
        assert before == case["entryHash"], case["id"]
        assert to_text(hash_bytes(ledger["domain"], case["canonical"].encode())) == before


def test_a_changed_entry_has_another_digest(vectors):
    ledger = read(vectors, "ledger_entry.json")
    case = ledger["cases"][0]
    assert digest(ledger["domain"], {**case["unsigned"], "turn": 1}) != case["entryHash"]
    assert digest(ledger["domain"] + "x", case["unsigned"]) != case["entryHash"]


def test_derivations(vectors):
    derived = read(vectors, "seeds_and_ids.json")
    for name, member in (("runIdHash", "runId"), ("rejectedPayload", "payload"), ("babyProposal", "proposal")):
        case = derived[name]
        by_value = digest(case["domain"], case[member])
        by_text = to_text(hash_bytes(case["domain"], str(case[member]).encode()))
        assert case["value"] in (by_value, by_text), name


def test_the_formula():
    assert hash_bytes("d", b"payload") == hashlib.sha256(b"d\0payload").digest()
    assert hash_bytes("\u00e9", b"") == hashlib.sha256(b"\xc3\xa9\0").digest()
    assert digest("d", {"b": 1.0, "a": ()}) == "sha256:" + hashlib.sha256(b'd\0{"a":[],"b":1}').hexdigest()


def test_a_domain_ends_where_it_ends():
    with pytest.raises(InvariantBroken):
        hash_bytes("a\0b", b"c")


def test_texts_and_raw_bytes():
    raw = bytes(range(32))
    assert to_raw(to_text(raw)) == raw
    assert to_raw(ZERO) == bytes(32)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0" * 64,
        "0" * 71,
        "sha256:",
        "sha256:" + "0" * 63,
        "sha256:" + "0" * 65,
        "sha256:" + "A" * 64,
        "sha256:" + "g" * 64,
        "sha256:" + "0" * 62 + " 0",
        "sha256:" + "\u0661" * 64,
        "SHA256:" + "0" * 64,
        "sha512:" + "0" * 64,
        "sha256:sha256:" + "0" * 57,
        " " + ZERO,
        ZERO + "\n",
        "\ud800",
    ],
)
def test_what_is_no_digest_text(text):
    with pytest.raises(MalformedDocument) as caught:
        to_raw(text)
    caught.value.message.encode()
    assert caught.value.details == {"reason": "digest"}
