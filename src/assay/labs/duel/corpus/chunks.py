"""Chunks: up to a thousand view records, one a line, gzipped; their digest is over the lines (facts 5.5)."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from assay.kernel.canonical import Writable, dumps
from assay.kernel.errors import BadInput, EvidenceInvalid, MalformedDocument

__all__ = ["CHUNK_RECORDS", "LARGEST_CHUNK", "LARGEST_PACKED", "Chunk", "pack_chunks", "unpack_chunk"]

CHUNK_RECORDS: Final = 1000
"""Records a chunk has, but for the last."""

LARGEST_CHUNK: Final = 1 << 30
"""Bytes the lines of a chunk may have."""

LARGEST_PACKED: Final = LARGEST_CHUNK + (LARGEST_CHUNK >> 8)
"""Bytes a packed chunk may have: more than any packing of the largest lines."""

_LEVEL: Final = 6
_GZIP: Final = 31  # zlib's window bits for gzip, whose header it writes without a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A chunk that is to be published.

    Args:
        sha256: The digest of its lines, in hex.
        packed: The lines, gzipped.
        records: How many there are.
    """

    sha256: str
    packed: bytes
    records: int


def pack_chunks(records: Sequence[Writable]) -> Iterator[Chunk]:
    """The chunks that hold some records, in order.

    Raises:
        MalformedDocument: A record cannot be written, such as one with a lone surrogate.
        BadInput: A thousand records are larger than a chunk may be.
    """
    for start in range(0, len(records), CHUNK_RECORDS):
        part = records[start : start + CHUNK_RECORDS]
        lines = b"".join(dumps(record) + b"\n" for record in part)
        if len(lines) > LARGEST_CHUNK:
            msg = f"{len(part)} records have {len(lines):,} bytes, and a chunk has at most {LARGEST_CHUNK:,}"
            raise BadInput(msg)
        yield Chunk(sha256=sha256(lines).hexdigest(), packed=pack(lines), records=len(part))


def pack(data: bytes) -> bytes:
    """The bytes, gzipped, without a time or a name."""
    return zlib.compress(data, _LEVEL, _GZIP)


def unpack_chunk(packed: bytes, digest: str, *, limit: int = LARGEST_CHUNK) -> list[bytes]:
    """The lines of a chunk, each without its line feed.

    Args:
        packed: The gzipped lines.
        digest: What their SHA-256 has to be, in hex.
        limit: Bytes they may have.

    Raises:
        MalformedDocument: It is not one whole gzip member, has more bytes, or does not end with a line feed.
        EvidenceInvalid: The digest is another one.
    """
    lines = _unpack(packed, limit)
    found = sha256(lines).hexdigest()
    if found != digest:
        msg = f"the chunk's lines have the SHA-256 {found}, and the manifest states {digest}"
        raise EvidenceInvalid(msg, found=found, stated=digest)
    if not lines:
        return []
    if not lines.endswith(b"\n"):
        msg = "the chunk's last line has no end"
        raise MalformedDocument(msg, reason="chunk")
    return lines[:-1].split(b"\n")


def _unpack(packed: bytes, limit: int) -> bytes:
    unpacking = zlib.decompressobj(_GZIP)
    try:
        # One byte more than the limit shows that there are more, however many they would become.
        lines = unpacking.decompress(packed, limit + 1)
    except zlib.error as error:
        msg = f"expected a gzipped chunk: {error}"
        raise MalformedDocument(msg, reason="chunk") from error
    if len(lines) > limit:
        msg = f"the chunk unpacks to more than {limit:,} bytes, which is the most that is read"
        raise MalformedDocument(msg, reason="chunk")
    if not unpacking.eof or unpacking.unused_data:
        msg = "the chunk is cut, or something follows its end"
        raise MalformedDocument(msg, reason="chunk")
    return lines
