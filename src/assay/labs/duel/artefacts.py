"""Artefacts: the one file per duel that the public network publishes, and that ours are exported to.

They are other people's JSON: NaN and infinities may stand in them, and members that nothing here reads.
"""

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, cast

from assay.kernel.errors import BadInput
from assay.labs.duel.artefact_rows import read_rows
from assay.labs.duel.rows import Row
from assay.rules.documents import read_file

__all__ = ["LARGEST_ARTEFACT", "Artefact", "read_artefact", "read_json_file"]

LARGEST_ARTEFACT: Final = 1_000_000_000
"""Bytes that an artefact may have once it is unpacked."""

_GZIP: Final = b"\x1f\x8b"
_LONGEST_INTEGER: Final = 300
"""Digits of a whole number, its sign counted: every one of them is also a finite float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One duel as it was published.

    Args:
        name: What the file is called, for messages.
        verdict: The stored verdict; empty where the file has none.
        request: What was asked for: repositories, key and block hash.
        slice: The stored slice.
        turn_ids: The turns of the slice in the order of play; none where the file has none.
        challenger: The challenger's rows.
        king: The king's rows.
        bank: What each side's share above the published priors was stored as, by side.
    """

    name: str
    verdict: Mapping[str, object]
    request: Mapping[str, object]
    slice: Mapping[str, object]
    turn_ids: tuple[str, ...] | None
    challenger: tuple[Row, ...]
    king: tuple[Row, ...]
    bank: Mapping[str, float | None]


def read_artefact(path: Path, verdict: Mapping[str, object] | None = None) -> Artefact:
    """The duel in a ``.json`` or ``.json.gz`` file.

    Args:
        path: The file.
        verdict: The stored verdict, where it lies in another file.

    Raises:
        BadInput: There is no such file, or it holds no artefact; the message says which member is wrong.
    """
    record = read_json_file(path)
    ids = record.get("turn_ids")
    if ids is not None and not (
        isinstance(ids, list) and all(isinstance(item, str) for item in cast("list[object]", ids))
    ):
        _refuse(path, "turn_ids", "a list of texts")
    if ids is not None and len(set(cast("list[str]", ids))) < len(cast("list[str]", ids)):
        _refuse(path, "turn_ids", "each turn once")
    try:
        rows = {side: read_rows(record.get(f"{side}_rows")) for side in ("challenger", "king")}
    except BadInput as problem:
        msg = f"{path}: {problem.message}"
        raise BadInput(msg, **problem.details) from problem
    return Artefact(
        name=path.name,
        verdict=verdict if verdict is not None else _read_part(record, "verdict", path),
        request=_read_part(record, "request", path),
        slice=_read_part(record, "slice", path),
        turn_ids=None if ids is None else tuple(cast("list[str]", ids)),
        challenger=rows["challenger"],
        king=rows["king"],
        bank={side: _read_share(record.get(f"{side}_bank_frac"), side, path) for side in ("challenger", "king")},
    )


def read_json_file(path: Path) -> Mapping[str, object]:
    """The one JSON object in a file of somebody else's, packed with gzip or not; NaN and infinities are numbers.

    Raises:
        BadInput: There is no such file, it is larger than an artefact may be, or it holds no JSON object.
    """
    data = read_file(path, LARGEST_ARTEFACT)
    if data.startswith(_GZIP):
        data = _unpack(data, path)
    try:
        # The strict loader refuses NaN, and public records hold it.
        value: object = json.loads(data, parse_int=_read_whole)  # noqa: TID251
    except (ValueError, RecursionError) as error:
        msg = f"{path}: this is no JSON: {error}"
        raise BadInput(msg, path=str(path)) from error
    if not isinstance(value, dict):
        _refuse(path, "the file", "an object")
    return cast("dict[str, object]", value)


def _read_whole(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        msg = f"expected numbers of at most {_LONGEST_INTEGER} digits, got {digits:.20}..."
        raise ValueError(msg)
    return int(digits)


def _unpack(data: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, LARGEST_ARTEFACT)
    except zlib.error as error:
        msg = f"{path}: cannot be unpacked: {error}"
        raise BadInput(msg, path=str(path)) from error
    if not unpacker.eof:
        whole = "is larger than an artefact may be" if unpacker.unconsumed_tail else "is cut short"
        msg = f"{path}: what it unpacks to {whole}"
        raise BadInput(msg, path=str(path))
    return unpacked


def _read_part(record: Mapping[str, object], name: str, path: Path) -> Mapping[str, object]:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        _refuse(path, name, "an object")
    return cast("dict[str, object]", value)


def _read_share(value: object, side: str, path: Path) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(path, f"{side}_bank_frac", "a number")
    return float(value)


def _refuse(path: Path, member: str, expected: str) -> NoReturn:
    msg = f"{path}: {member}: expected {expected}"
    raise BadInput(msg, path=str(path), member=member)


def pack(data: bytes) -> bytes:
    """The bytes packed with gzip, the same for the same bytes."""
    return gzip.compress(data, 6, mtime=0)
