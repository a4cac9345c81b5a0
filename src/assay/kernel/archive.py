"""The one zip form of a bundle: members stored, in order, back to back, with fixed dates and attributes.

The bytes of the archive follow from the names and the data alone (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and
4.3.16; no extra fields, no comments, no compression), so that the same evidence gives the same file everywhere and a
reader can hold every byte between the members against what it must be. Nothing that decompresses, overlaps or points
outside can be written this way.
"""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from assay.kernel.errors import BadInput, MalformedDocument, MissingMaterial
from assay.kernel.layout import check_path

__all__ = ["Member", "Span", "read_archive", "read_span", "write_archive"]

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DATE = 0x21  # 1980-01-01, the first day a zip can name
_UNIX_FILE = (3 << 8) | 20, 0o100644 << 16
_LIMIT = 2**32 - 1
_COUNT_LIMIT = 2**16 - 1
_CHUNK = 1 << 20
_LONGEST_PATH = 8 * 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of a bundle: its path, its size in bytes, its CRC-32, and where its bytes come from."""

    path: str
    size: int
    crc: int
    chunks: Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Span:
    """Where the bytes of a file of a bundle lie: a file of the machine, an offset into it and a size."""

    file: Path
    offset: int
    size: int


def write_archive(out: BinaryIO, members: Iterable[Member]) -> None:
    """Writes the archive of some members.

    Raises:
        BadInput: More, or more bytes, than the classic zip format can name; the folder form has no such limit.
    """
    listed: list[tuple[Member, int]] = []
    offset = 0
    for member in members:
        listed.append((member, offset))
        end = offset + _LOCAL.size + len(member.path) + member.size
        if end > _LIMIT or len(listed) > _COUNT_LIMIT:
            msg = "the bundle is too large for one zip (4 GiB, 65535 files); write it as a folder instead"
            raise BadInput(msg)
        out.write(_local_header(member))
        for chunk in member.chunks():
            out.write(chunk)
        offset = end
    directory = b"".join(_central_header(member, start) for member, start in listed)
    out.write(directory)
    out.write(_end_record(len(listed), len(directory), offset))


def _local_header(member: Member) -> bytes:
    name = member.path.encode("ascii")
    sizes = (member.crc, member.size, member.size)
    return _LOCAL.pack(b"PK\x03\x04", 20, 0, 0, 0, _DATE, *sizes, len(name), 0) + name


def _central_header(member: Member, offset: int) -> bytes:
    name = member.path.encode("ascii")
    made_by, attributes = _UNIX_FILE
    sizes = (member.crc, member.size, member.size)
    return (
        _CENTRAL.pack(b"PK\x01\x02", made_by, 20, 0, 0, 0, _DATE, *sizes, len(name), 0, 0, 0, 0, attributes, offset)
        + name
    )


def _end_record(count: int, directory_size: int, offset: int) -> bytes:
    return _END.pack(b"PK\x05\x06", 0, 0, count, count, directory_size, offset, 0)


def _refuse(what: str) -> NoReturn:
    msg = f"not the zip form of a bundle: {what}; if it was zipped by another tool, unpack it and verify the folder"
    raise MalformedDocument(msg, reason="archive")


def read_archive(path: Path) -> dict[str, Span]:
    """Where each member of an archive lies, after every byte around the members was found to be what it must be.

    The members' own CRC-32s are checked too; their digests are the manifest's affair.

    Raises:
        MalformedDocument: It is not the one zip form of a bundle.
        MissingMaterial: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _read_archive(path, file)
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise MissingMaterial(msg, path=str(path)) from error


def _read_archive(path: Path, file: BinaryIO) -> dict[str, Span]:
    total = file.seek(0, 2)
    if total < _END.size:
        _refuse("it is too short")
    file.seek(total - _END.size)
    magic, _, _, count, _, directory_size, start, _ = _END.unpack(file.read(_END.size))
    if magic != b"PK\x05\x06" or start + directory_size + _END.size != total:
        _refuse("it does not end with its directory")
    if directory_size > count * (_CENTRAL.size + _LONGEST_PATH):
        _refuse("its directory is larger than its members need")
    file.seek(start)
    directory = file.read(directory_size)
    spans: dict[str, Span] = {}
    offset = 0
    rebuilt: list[bytes] = []
    for name, crc, size in _directory_entries(directory, count):
        member = Member(path=_check_name(name, spans), size=size, crc=crc, chunks=tuple)
        header = _local_header(member)
        span = Span(path, offset + len(header), size)
        if span.offset + size > start:
            _refuse(f"{member.path} reaches beyond its place")
        file.seek(offset)
        if file.read(len(header)) != header or _crc(span) != crc:
            _refuse(f"{member.path} is not stored as its directory says")
        rebuilt.append(_central_header(member, offset))
        spans[member.path] = span
        offset = span.offset + size
    if (b"".join(rebuilt), offset) != (directory, start) or _end_record(len(spans), directory_size, start) != (
        _tail(file, total)
    ):
        _refuse("its directory is not the one its members give")
    return spans


def _tail(file: BinaryIO, total: int) -> bytes:
    file.seek(total - _END.size)
    return file.read()


def _directory_entries(directory: bytes, count: int) -> Iterator[tuple[bytes, int, int]]:
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(directory):
            _refuse("its directory is cut short")
        fields = _CENTRAL.unpack_from(directory, at)
        method, crc, packed, size, name_length = fields[4], fields[7], fields[8], fields[9], fields[10]
        name = directory[at + _CENTRAL.size : at + _CENTRAL.size + name_length]
        if method != 0 or packed != size:
            _refuse(f"{name!r} is compressed")
        yield name, crc, size
        at += _CENTRAL.size + name_length


def _check_name(name: bytes, seen: dict[str, Span]) -> str:
    try:
        path = check_path(name.decode("ascii"))
    except (UnicodeDecodeError, MalformedDocument):
        _refuse(f"the name {name!r} does not stay inside the bundle")
    if path in seen:
        _refuse(f"{path} is there twice")
    return path


def read_span(span: Span) -> Iterator[bytes]:
    """The bytes of a span in chunks of at most one MiB.

    Raises:
        MissingMaterial: The file cannot be read, or has become shorter.
    """
    try:
        with span.file.open("rb") as file:
            file.seek(span.offset)
            left = span.size
            while left:
                chunk = file.read(min(_CHUNK, left))
                if not chunk:
                    msg = f"{span.file} became shorter while it was read"
                    raise MissingMaterial(msg, path=str(span.file))
                left -= len(chunk)
                yield chunk
    except OSError as error:
        msg = f"cannot read {span.file}: {error.strerror}"
        raise MissingMaterial(msg, path=str(span.file)) from error


def _crc(span: Span) -> int:
    crc = 0
    for chunk in read_span(span):
        crc = zlib.crc32(chunk, crc)
    return crc
