"""Chunks: a thousand records each, named by their lines, and never unpacked beyond a bound."""

import gzip
import json
import zlib
from hashlib import sha256

import pytest

from assay.kernel.errors import EvidenceInvalid, MalformedDocument
from assay.labs.duel.corpus.chunks import CHUNK_RECORDS, pack, pack_chunks, unpack_chunk


def digest(data):
    return sha256(data).hexdigest()


def test_records_are_packed_a_thousand_a_chunk_in_order():
    records = [{"n": number, "text": "ü\u2028"} for number in range(2 * CHUNK_RECORDS + 1)]
    chunks = list(pack_chunks(records))
    assert [chunk.records for chunk in chunks] == [1000, 1000, 1]
    lines = [line for chunk in chunks for line in unpack_chunk(chunk.packed, chunk.sha256)]
    assert [json.loads(line) for line in lines] == records


def test_the_digest_is_over_compact_lines_of_raw_unicode():
    (chunk,) = pack_chunks([{"b": "ü", "a": [1, 2]}])
    assert chunk.sha256 == digest('{"a":[1,2],"b":"ü"}\n'.encode())
    assert gzip.decompress(chunk.packed) == '{"a":[1,2],"b":"ü"}\n'.encode()


def test_a_packed_chunk_holds_no_time_and_no_name():
    (chunk,) = pack_chunks([{"a": 1}])
    assert chunk.packed[:4] == b"\x1f\x8b\x08\x00"
    assert chunk.packed[4:8] == bytes(4)
    assert next(iter(pack_chunks([{"a": 1}]))).packed == chunk.packed


def test_a_chunk_of_another_packer_is_read_by_its_lines():
    assert unpack_chunk(gzip.compress(b"{}\n{}\n", 9, mtime=1234), digest(b"{}\n{}\n")) == [b"{}", b"{}"]


def test_no_records_make_no_chunk():
    assert list(pack_chunks([])) == []
    assert unpack_chunk(pack(b""), digest(b"")) == []


def test_other_lines_than_the_digest_says_are_refused():
    with pytest.raises(EvidenceInvalid) as refusal:
        unpack_chunk(pack(b"{}\n"), digest(b"{} \n"))
    assert refusal.value.details["found"] == digest(b"{}\n")


def test_a_bomb_is_not_unpacked():
    bomb = zlib.compress(bytes(50_000_000), 9, 31)
    with pytest.raises(MalformedDocument):
        unpack_chunk(bomb, digest(b""), limit=1000)
    assert unpack_chunk(pack(b"x" * 9 + b"\n"), digest(b"x" * 9 + b"\n"), limit=10) == [b"x" * 9]
    with pytest.raises(MalformedDocument):
        unpack_chunk(pack(b"x" * 10 + b"\n"), digest(b"x" * 10 + b"\n"), limit=10)


WHOLE = pack(b"{}\n")


@pytest.mark.parametrize(
    "packed",
    [b"", b"{}\n", WHOLE[:-1], WHOLE[:5], WHOLE + b"\0", WHOLE + WHOLE, WHOLE[:-5] + b"\0" + WHOLE[-4:]],
    ids=["nothing", "not-packed", "cut", "cut-early", "followed", "twice", "checksum"],
)
def test_what_is_not_one_whole_member_is_refused(packed):
    with pytest.raises(MalformedDocument):
        unpack_chunk(packed, digest(b"{}\n"))


def test_a_last_line_without_an_end_is_refused():
    with pytest.raises(MalformedDocument):
        unpack_chunk(pack(b"{}\n{}"), digest(b"{}\n{}"))


def test_a_record_that_no_bytes_can_hold_is_refused():
    with pytest.raises(MalformedDocument):
        list(pack_chunks([{"text": "\ud800"}]))
