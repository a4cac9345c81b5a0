"""Entries: the vectors both ways, what a body must not hold, and every fault named at its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel import canonical
from assay.kernel.digests import to_raw, to_text
from assay.kernel.errors import BadInput, KeyRefused, MalformedDocument
from assay.kernel.keys import Signer
from assay.kernel.layout import LogSpec
from assay.kernel.logs import MAX_LINE_BYTES, Place, follows, freeze_body, make_entry, scan

START = Place(0, bytes(32))
SPEC = LogSpec(name="rows", file="logs/rows.jsonl", domain="a-domain", signer="rows-log")
SIGNER = Signer(role="rows-log", domain="a-domain", seed=bytes(range(32)))
OTHER = Signer(role="rows-log", domain="a-domain", seed=bytes(32))
AT = "2026-01-02T03:04:05.000Z"
BIG_FLOAT = 1e20


def write(bodies, *, after=START, signer=SIGNER):
    lines = []
    for body in bodies:
        row = make_entry(SPEC, freeze_body(SPEC, body), after=after, recorded_at=AT, signer=signer)
        after = Place(row.sequence, row.hash)
        lines.append(row.line)
    return lines


def faults(lines, **kwargs):
    return [(fault.check, fault.line) for fault in scan(SPEC, SIGNER.public, lines, **kwargs).faults]


def edit(line, **changes):
    return canonical.dumps({**json.loads(line), **changes})


class TestVectors:
    @pytest.fixture
    def ledger(self, evidence):
        return evidence("ledger_entry.json")

    @pytest.fixture
    def spec(self, nursery):
        return nursery().log("babyA")

    def test_every_entry_is_made_byte_for_byte(self, ledger, spec, nursery_signers):
        after = START
        envelope = {*spec.envelope}
        for case in ledger["cases"]:
            body = {name: value for name, value in case["unsigned"].items() if name not in envelope}
            row = make_entry(
                spec,
                freeze_body(spec, body),
                after=after,
                recorded_at=case["unsigned"]["recordedAt"],
                signer=nursery_signers["baby-a-ledger"],
            )
            expected = {
                **case["unsigned"],
                "entryHash": case["entryHash"],
                "writerSignature": case["writerSignature"],
            }
            assert row.line == canonical.dumps(expected), case["id"]
            assert to_text(row.hash) == case["entryHash"]
            after = Place(row.sequence, row.hash)
        assert after.sequence == 13

    def test_every_entry_is_read(self, ledger, spec, nursery_signers):
        lines = [
            canonical.dumps(
                {**case["unsigned"], "entryHash": case["entryHash"], "writerSignature": case["writerSignature"]}
            )
            for case in ledger["cases"]
        ]
        block = scan(spec, nursery_signers["baby-a-ledger"].public, lines, pick=(b'"eventType":"run.sealed"',))
        assert block.faults == []
        assert block.lines == 13
        assert block.first == (1, ledger["first_previous"], ledger["cases"][0]["entryHash"])
        assert block.last == (13, ledger["cases"][-1]["entryHash"])
        assert bytes(block.hashes) == b"".join(to_raw(case["entryHash"]) for case in ledger["cases"])
        assert block.picked == [(13, lines[-1])]


class TestBodies:
    @pytest.mark.parametrize("name", SPEC.envelope)
    def test_members_of_the_envelope_are_refused(self, name):
        with pytest.raises(BadInput, match=name):
            freeze_body(SPEC, {"kind": "row", name: 1})

    def test_another_link_frees_the_usual_name(self):
        linked = LogSpec(name="rows", file="f", domain="d", signer="s", link="previousChannelHash")
        freeze_body(linked, {"previousEntryHash": "mine"})
        with pytest.raises(BadInput, match="previousChannelHash"):
            freeze_body(linked, {"previousChannelHash": "mine"})

    @pytest.mark.parametrize("body", [None, [], "text", 1, ()])
    def test_what_is_no_object_is_refused(self, body):
        with pytest.raises(BadInput, match="must be an object"):
            freeze_body(SPEC, body)

    @pytest.mark.parametrize(
        "value", [float("nan"), float("inf"), 2**53, -(2**53), BIG_FLOAT, "\ud800", {1: 2}, {1, 2}, b"bytes"]
    )
    def test_what_json_cannot_carry_is_refused(self, value):
        with pytest.raises(MalformedDocument):
            freeze_body(SPEC, {"value": value})

    def test_a_body_is_copied(self):
        body = {"list": [1], "object": {"a": 1}}
        frozen = freeze_body(SPEC, body)
        body["list"].append(2)
        body["object"]["a"] = 2
        assert frozen.value == {"list": [1], "object": {"a": 1}}

    def test_an_entry_that_is_too_large_is_refused(self):
        room = MAX_LINE_BYTES - len(write([{"text": ""}])[0])
        assert len(write([{"text": "x" * room}])[0]) == MAX_LINE_BYTES
        with pytest.raises(BadInput, match="attach"):
            write([{"text": "x" * (room + 1)}])

    def test_another_domain_is_refused(self):
        stranger = Signer(role="rows-log", domain="another", seed=bytes(32))
        with pytest.raises(KeyRefused):
            write([{}], signer=stranger)


class TestScan:
    def test_what_was_written_is_sound(self):
        values = [{}, {"x": 0.1, "y": -0.0, "z": 1e-7}, {"\U0001f600": 1, "\uffff": 2}, {"x": 1.0}]
        lines = write(values)
        assert faults(lines) == []
        assert b'"x":1,"y"' not in lines[1]
        assert b'"x":1}' in lines[3]

    @given(st.lists(st.dictionaries(st.text(), st.none() | st.booleans() | st.floats(0, 1) | st.text()), max_size=4))
    def test_any_body_comes_back(self, bodies):
        bodies = [{name: value for name, value in body.items() if name not in SPEC.envelope} for body in bodies]
        lines = write(bodies)
        assert faults(lines) == []
        for body, line in zip(bodies, lines, strict=True):
            assert {name: value for name, value in json.loads(line).items() if name not in SPEC.envelope} == body

    def test_an_edited_value(self):
        lines = write([{"x": 1}, {"x": 2}, {"x": 3}])
        lines[1] = edit(lines[1], x=4)
        assert faults(lines) == [("hash", 2)]

    def test_an_edited_value_with_its_hash_made_right(self):
        lines = write([{"x": 1}, {"x": 2}, {"x": 3}])
        forged = json.loads(write([{"x": 4}], after=Place(1, to_raw(json.loads(lines[0])["entryHash"])))[0])
        lines[1] = edit(lines[1], x=4, entryHash=forged["entryHash"])
        assert faults(lines) == [("signature", 2), ("link", 3)]

    def test_another_key(self):
        lines = write([{"x": 1}], signer=OTHER)
        assert faults(lines) == [("signature", 1), ("signature", 1)]

    @pytest.mark.parametrize(
        ("signature", "sound"),
        [
            (lambda text: text, True),
            (lambda text: text[:-3] + chr(ord(text[-3]) + 1) + "==", False),
            (lambda text: text.removeprefix("ed25519:"), False),
            (lambda text: text[:-1], False),
            (lambda text: text[:20] + "\n" + text[21:], False),
            (lambda text: text[:20] + "\u00e9" + text[21:], False),
            (lambda text: text[:20] + "=" + text[21:], False),
            (lambda text: [text], False),
            (lambda text: None, False),
        ],
    )
    def test_spellings_of_a_signature(self, signature, sound):
        (line,) = write([{"x": 1}])
        changed = edit(line, writerSignature=signature(json.loads(line)["writerSignature"]))
        assert faults([changed]) == ([] if sound else [("signature", 1)])

    @pytest.mark.parametrize("member", ["sequence", "previousEntryHash", "entryHash", "writerKeyId", "recordedAt"])
    @pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], {}])
    def test_an_envelope_of_other_types_is_a_fault_and_no_crash(self, member, value):
        first, second, third = write([{"x": 1}, {"x": 2}, {"x": 3}])
        assert faults([first, edit(second, **{member: value}), third]) != []

    @pytest.mark.parametrize("sequence", [0, 2, 4, -1, True, 3.5, "3", None])
    def test_a_sequence_that_does_not_follow(self, sequence):
        first, second, third = write([{"x": 1}, {"x": 2}, {"x": 3}])
        found = faults([first, second, edit(third, sequence=sequence)])
        assert ("sequence", 3) in found

    def test_dropped_repeated_and_swapped_lines(self):
        first, second, third = write([{"x": 1}, {"x": 2}, {"x": 3}])
        assert faults([first, third]) == [("sequence", 2), ("link", 2)]
        assert faults([first, second, second, third]) == [("sequence", 3), ("link", 3)]
        assert set(faults([second, first, third])) == {("sequence", 2), ("link", 2), ("sequence", 3), ("link", 3)}

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"null",
            b"[]",
            b"1",
            b"{",
            b"\xff",
            b" {}",
            b"{}\r",
            b"[" * 2000,
            b'{"a":1,"a":2}',
            b'{"x":1.0}',
            b'{"x":1e20}',
            b'{"x":100000000000000000000}',
            b'{"x":1e400}',
            b'{"x":"\\ud800"}',
            b'{"sequence":1e300}',
        ],
    )
    def test_any_line_is_a_fault_and_no_crash(self, line):
        assert faults([*write([{"x": 1}]), line])[0] == ("canonical", 2)

    def test_line_numbers_count_from_where_they_are_told(self):
        lines = write([{"x": 1}, {"x": 2}])
        lines[1] = edit(lines[1], x=3)
        assert faults(lines, first_line=500) == [("hash", 501)]

    def test_a_hostile_text_is_not_repeated_whole(self):
        (line,) = write([{"x": 1}])
        noisy = edit(line, entryHash="x" * 100_000, writerKeyId=["y" * 100_000])
        for fault in scan(SPEC, SIGNER.public, [noisy]).faults:
            assert len(fault.message) < 500


@pytest.mark.parametrize(
    ("stated", "before", "checks"),
    [
        ((2, "h", "own"), (1, "h"), []),
        ((3, "h", "own"), (1, "h"), ["sequence"]),
        ((2, "g", "own"), (1, "h"), ["link"]),
        ((1, "g", "own"), (1, "h"), ["sequence", "link"]),
        ((True, "h", "own"), (0, "h"), ["sequence"]),
        ((1, "h", "own"), (None, "h"), ["sequence"]),
        ((1.0, "h", "own"), (0, "h"), ["sequence"]),
    ],
)
def test_what_follows(stated, before, checks):
    assert [fault.check for fault in follows(stated, before, 7)] == checks


def test_a_fork_is_called_a_fork():
    (first,) = write([{"x": 1}])
    (second,) = write([{"x": 2}])
    faults = scan(SPEC, SIGNER.public, [first, second]).faults
    assert "fork" in faults[0].message
    assert "fork" not in scan(SPEC, SIGNER.public, [first, first]).faults[0].message
