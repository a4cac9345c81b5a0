"""Registration files on disk: YAML, TOML or JSON, read into plain JSON values with one strict reading for all three.

A document that two readers could read differently is refused: names twice, numbers that are not finite or not exact,
lone surrogates, times without quotes, and of YAML its anchors, aliases and tags.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Final, NoReturn, cast

from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, Json, loads
from assay.kernel.errors import BadInput, MalformedDocument
from assay.rules.names import show
from assay.rules.yaml_documents import read_yaml

__all__ = ["LARGEST_DOCUMENT", "SUFFIXES", "read_document", "read_file"]

LARGEST_DOCUMENT: Final = 10_000_000
"""Bytes a registration file may have."""

_LARGEST_YAML: Final = 1_000_000  # the YAML reader takes about ten seconds for as much


def read_document(path: Path) -> dict[str, Json]:
    """The one object that a ``.yaml``, ``.yml``, ``.toml`` or ``.json`` file holds.

    Raises:
        BadInput: There is no such file, it cannot be read, or it does not hold one object that every reader reads the
            same; the message names the file, and the line where there is one.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        msg = f"{path}: expected a file named {', '.join(SUFFIXES)}, so that it is clear how to read it"
        raise BadInput(msg, path=str(path))
    data = read_file(path, LARGEST_DOCUMENT)
    if not data.strip():
        msg = f"{path}: the file is empty; a registration was expected"
        raise BadInput(msg, path=str(path))
    try:
        document = reader(data)
    except MalformedDocument as problem:
        msg = f"{path}: {problem.message}"
        raise BadInput(msg, path=str(path)) from problem
    if not isinstance(document, dict):
        msg = f"{path}: expected an object of named members, got a document of another kind"
        raise BadInput(msg, path=str(path))
    return document


def read_file(path: Path, largest: int) -> bytes:
    """The bytes of a regular file of at most *largest* bytes.

    Raises:
        BadInput: There is none, it is a folder or a device, it is larger, or the system does not let us read it.
    """
    try:
        if path.is_dir():
            msg = f"{path}: this is a folder; name a file"
            raise BadInput(msg, path=str(path))
        if not path.exists():
            where = Path(os.path.abspath(path))  # noqa: PTH100 - unlike resolve, it follows no links and cannot fail
            msg = f"{path}: there is no such file{'' if where == path else f'; looked for {where}'}"
            raise BadInput(msg, path=str(path))
        if not path.is_file():
            msg = f"{path}: this is no regular file"
            raise BadInput(msg, path=str(path))
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        msg = f"{show(str(path))}: cannot be read: {reason}"
        raise BadInput(msg, path=str(path)) from error
    if len(data) > largest:
        msg = f"{path}: larger than {largest:,} bytes, which is the most that is read"
        raise BadInput(msg, path=str(path))
    return data


def _refuse(reason: str, message: str) -> NoReturn:
    raise MalformedDocument(message, reason=reason)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse("not-utf8", f"line {line}: byte 0x{data[error.start]:02x} is not UTF-8")


def _read_yaml(data: bytes) -> Json:
    if len(data) > _LARGEST_YAML:
        _refuse("too-large", f"larger than {_LARGEST_YAML:,} bytes; as YAML no more is read, as JSON there is")
    return read_yaml(_decode(data))


def _read_toml(data: bytes) -> Json:
    try:
        document = tomllib.loads(_decode(data))
    except RecursionError:
        _refuse("too-deep", f"nested deeper than {MAX_DEPTH} levels")
    except ValueError as error:  # TOMLDecodeError, or digits beyond what Python converts
        _refuse("syntax", f"not TOML: {error}")
    return _take_toml(document, "", 0)


def _take_toml(value: object, where: str, depth: int) -> Json:
    """A value as TOML's reader gave it, if JSON can carry it exactly."""
    if depth > MAX_DEPTH:
        _refuse("too-deep", f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case bool() | str():
            return value
        case int():
            if abs(value) > MAX_SAFE_INTEGER:
                _refuse("integer-range", f"{where}: an integer beyond ±(2^53−1) cannot be carried exactly")
            return value
        case float():
            return _take_float(value, where)
        case list():
            items = cast(list[object], value)
            return [_take_toml(item, f"{where}[{place}]", depth + 1) for place, item in enumerate(items)]
        case dict():
            members = cast(Mapping[str, object], value)
            return {name: _take_toml(item, f"{where}.{name}".lstrip("."), depth + 1) for name, item in members.items()}
        case _:
            _refuse("time", f"{where}: a date or time is not JSON; put it in quotes")


def _take_float(value: float, where: str) -> float:
    if not isfinite(value):
        _refuse("not-finite", f"{where}: numbers are finite; there is no NaN and no infinity")
    if value.is_integer() and abs(value) > MAX_SAFE_INTEGER:
        _refuse("integer-range", f"{where}: an integer beyond ±(2^53−1) cannot be carried exactly")
    return value


def _read_json(data: bytes) -> Json:
    return loads(data)


_READERS: Mapping[str, Callable[[bytes], Json]] = {
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".toml": _read_toml,
    ".json": _read_json,
}
SUFFIXES: Final = tuple(_READERS)
