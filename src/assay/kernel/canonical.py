"""Canonical JSON: the bytes that are hashed and signed, and the one loader that reads them back.

Writing is RFC 8785 in full. orjson writes the same bytes many times faster as long as a value holds no float and no
member name beyond U+FFFF (it sorts by code point, RFC 8785 by UTF-16 unit). A walk over exact types vouches for that,
ordinary floats are handed over as finished text, and everything else goes to :mod:`assay.kernel.rfc8785`, which alone
decides what is refused. Both roads give the same bytes.

Every refusal is a :class:`MalformedDocument` whose ``reason`` detail is one of: ``duplicate-key``, ``not-finite``,
``lone-surrogate``, ``integer-range``, ``too-deep``, ``not-utf8``, ``byte-order-mark``, ``empty``, ``trailing-data``,
``syntax``, ``not-canonical``, ``key-type``, ``not-json``, ``foreign-shape``, ``foreign-base64``, ``foreign-digest``.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn, TypeAlias, cast

import orjson

from assay.kernel import rfc8785
from assay.kernel.errors import MalformedDocument
from assay.kernel.rfc8785 import MAX_DEPTH, MAX_SAFE_INTEGER, Exact

__all__ = [
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "Foreign",
    "Frozen",
    "Json",
    "Writable",
    "dumps",
    "dumps_evidence",
    "dumps_frozen",
    "freeze",
    "loads",
    "loads_canonical",
    "read_canonical",
    "read_plain_object",
]

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
# What a type checker lets a caller pass, so that a dict[str, int] needs no cast; at run time the types must be exact.
Writable: TypeAlias = bool | int | float | str | Sequence["Writable"] | Mapping[str, "Writable"] | None

_ORJSON: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_PLAIN_SCALARS: Final = frozenset({str, int, bool, type(None)})
_CONTAINERS: Final = frozenset({dict, list, tuple})
_UNFIT: Final = object()  # orjson refuses it
_ASTRAL_LEADS: Final = b"\xf0\xf1\xf2\xf3\xf4"
_SPACE: Final = " \t\n\r"
# All that is no bracket; possessive, and a string may lack its end, so that hostile text costs linear time.
_NO_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++', re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse(reason: str, message: str, **details: Json) -> NoReturn:
    raise MalformedDocument(message, reason=reason, **details)


def _show(text: str) -> str:
    """Text fit for a message: escaped, quoted and cut."""
    return ascii(text if len(text) <= 80 else text[:77] + "...")


def dumps(value: Writable) -> bytes:
    """The RFC 8785 bytes of a value.

    Args:
        value: None, bool, int, float, str, list, tuple (an array) or dict with str names, each of exactly that type.

    Raises:
        MalformedDocument: An integer beyond ±(2^53−1), NaN, an infinity, a lone surrogate, a name that is no text,
            another type (a subclass, too), or nesting deeper than MAX_DEPTH; ``path`` is its JSON Pointer.
    """
    exact = cast(Exact, value)
    fast = _dump_fast(exact)
    return rfc8785.write(exact) if fast is None else fast


def dumps_evidence(value: Writable) -> bytes:
    """As :func:`dumps`, and what is written can be read again by :func:`loads`.

    Raises:
        MalformedDocument: As :func:`dumps`; also a float that would be written as an integer beyond ±(2^53−1).
    """
    exact = cast(Exact, value)
    fast = _dump_fast(exact)
    return rfc8785.write(exact, evidence=True) if fast is None else fast


class Frozen(NamedTuple):
    """A value of its own, out of the caller's reach, that evidence can carry.

    Args:
        value: The copy; add members to a copy of it, never to itself.
        plain: Whether it holds no float and no member name beyond U+FFFF.
    """

    value: Json
    plain: bool


def freeze(value: Writable) -> Frozen:
    """A checked deep copy: changing ``value`` later changes nothing. A float that is an integer becomes one.

    Raises:
        MalformedDocument: As :func:`dumps_evidence`.
    """
    exact = cast(Exact, value)
    fast = _dump_vouched(exact, exact) if _is_plain(exact, MAX_DEPTH) else None
    if fast is not None:
        return Frozen(orjson.loads(fast), plain=True)
    return Frozen(loads(dumps_evidence(value)), plain=False)


def dumps_frozen(value: Json, *, plain: bool) -> bytes:
    """As :func:`dumps_evidence`, without another walk over a frozen value.

    Args:
        value: What :func:`freeze` gave, or a copy of it with members added whose names are within U+FFFF and whose
            values are of exactly the types str, int and bool; the caller answers for that.
        plain: The frozen value's own.

    Raises:
        MalformedDocument: As :func:`dumps_evidence`.
    """
    if plain:
        try:
            return orjson.dumps(value, option=_ORJSON)
        except orjson.JSONEncodeError:
            pass  # the careful road names the reason
    return dumps_evidence(value)


def _dump_fast(value: Exact) -> bytes | None:
    """The canonical bytes, of evidence too, or None where only the careful road can tell."""
    return _dump_vouched(value, value if _is_plain(value, MAX_DEPTH) else _swap_floats(value, MAX_DEPTH))


def _dump_vouched(value: Exact, handed: object) -> bytes | None:
    """The canonical bytes of a value that is ``handed`` to orjson, or None where it refuses or would sort otherwise."""
    try:
        data = orjson.dumps(handed, option=_ORJSON)
    except orjson.JSONEncodeError:
        return None
    if data.isascii() or len(data.translate(None, _ASTRAL_LEADS)) == len(data) or not _has_astral_name(value):
        return data
    return None


def _is_plain(value: Exact, room: int) -> bool:
    """Whether types are exact, none is float and nesting stays within ``room``; orjson sees to names and ranges."""
    if type(value) is dict:
        items = value.values()
    elif type(value) is list or type(value) is tuple:
        items = value
    else:
        return type(value) in _PLAIN_SCALARS
    if not room:
        return False
    if _PLAIN_SCALARS.issuperset(map(type, items)):
        return True
    for item in items:  # noqa: SIM110 - a generator costs half as much again
        if type(item) not in _PLAIN_SCALARS and not _is_plain(item, room - 1):
            return False
    return True


def _swap_floats(value: Exact, room: int) -> object:
    """A copy for orjson with every float as its finished text, and what only the careful road may judge as unfit."""
    if type(value) in _PLAIN_SCALARS:
        return value
    if type(value) is float and abs(value) <= MAX_SAFE_INTEGER:  # never NaN; beyond it, evidence has its own rule
        return orjson.Fragment(rfc8785.number_text(value))
    if room and type(value) is dict:
        return {name: _swap_floats(item, room - 1) for name, item in value.items()}
    if room and (type(value) is list or type(value) is tuple):
        return [_swap_floats(item, room - 1) for item in value]
    return _UNFIT


def _has_astral_name(value: Exact) -> bool:
    if type(value) is dict:
        if rfc8785.has_astral(value):
            return True
        items = value.values()
    elif type(value) is list or type(value) is tuple:
        items = value
    else:
        return False
    return any(_has_astral_name(item) for item in items if type(item) in _CONTAINERS)


def loads(data: bytes | str) -> Json:
    """The value of one strict JSON document.

    Raises:
        MalformedDocument: Not UTF-8, a byte order mark, empty, not JSON, more than one document, a name twice in one
            object, NaN, an infinity or a float beyond the largest, a lone surrogate, an integer literal beyond
            ±(2^53−1), or nesting deeper than MAX_DEPTH.
    """
    text = _decode(data)
    start = len(text) - len(text.lstrip(_SPACE))
    if start == len(text):
        _refuse("empty", "expected a JSON document, got nothing")
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        value, end = cast("tuple[Json, int]", _DECODER.raw_decode(text, start))
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise MalformedDocument(message, reason="syntax", line=error.lineno, column=error.colno) from error
    if text[end:].strip(_SPACE):
        _refuse("trailing-data", f"expected one JSON document, got more text after character {end}", offset=end)
    if _SURROGATE_ESCAPE.search(text):
        dumps(value)  # a lone surrogate is all that it can find wrong in what was just read
    return value


def loads_canonical(data: bytes) -> Json:
    """The value of a strict JSON document that is exactly its own canonical bytes.

    Raises:
        MalformedDocument: As :func:`loads`, or ``not-canonical``, with the offset of the first byte that differs.
    """
    return read_canonical(data).value


def read_canonical(data: bytes) -> Frozen:
    """As :func:`loads_canonical`, and whether the value is plain, so that writing it again needs no walk.

    Raises:
        MalformedDocument: As :func:`loads_canonical`.
    """
    value = read_plain_object(data)
    if value is not None:
        return Frozen(value, plain=True)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    plain = _is_plain(value, MAX_DEPTH)
    if _dump_vouched(value, value if plain else _swap_floats(value, MAX_DEPTH)) == data:
        return Frozen(value, plain=plain)
    value = loads(data)
    expected = dumps(value)
    if expected != data:
        pairs = enumerate(zip(expected, data, strict=False))
        offset = next((at for at, (wanted, found) in pairs if wanted != found), min(len(expected), len(data)))
        _refuse("not-canonical", f"not canonical (RFC 8785): differs from byte {offset} on", offset=offset)
    return Frozen(value, plain=False)


def read_plain_object(data: bytes) -> dict[str, Json] | None:
    """The object that canonical bytes hold if it is plain, else None, which says nothing.

    For the hottest loop there is: what :func:`read_canonical` gives for the same bytes, without the reasons.
    """
    try:
        value: Exact = orjson.loads(data)
        if type(value) is not dict or not _is_plain(value, MAX_DEPTH) or orjson.dumps(value, option=_ORJSON) != data:
            return None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    # Four-byte characters are rare, and only among names do they sort otherwise.
    if not data.isascii() and len(data.translate(None, _ASTRAL_LEADS)) != len(data) and _has_astral_name(value):
        return None
    return cast(dict[str, Json], value)


def _decode(data: bytes | str) -> str:
    try:
        text = data if isinstance(data, str) else data.decode()
        if isinstance(data, str) and not data.isascii():
            data.encode()
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise MalformedDocument(message, reason="not-utf8", offset=error.start) from error
    except UnicodeEncodeError as error:
        message = f"the text holds the lone surrogate U+{ord(error.object[error.start]):04X} at {error.start}"
        raise MalformedDocument(message, reason="lone-surrogate", offset=error.start) from error
    if text.startswith("\ufeff"):
        _refuse("byte-order-mark", "starts with a byte order mark; save it as UTF-8 without one")
    return text


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            _refuse("too-deep", f"nested deeper than {MAX_DEPTH} levels")


def _read_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        name = next(name for name, _ in pairs if name in seen or seen.add(name))
        _refuse("duplicate-key", f"the member {_show(name)} appears more than once in one object", key=_show(name))
    return members


def _read_integer(text: str) -> int:
    # The length is looked at first: Python refuses to convert very long digits, with an error of its own.
    if len(text) > len("-9007199254740991") or abs(int(text)) > MAX_SAFE_INTEGER:
        _refuse("integer-range", f"the integer {_show(text)} is beyond ±(2^53−1); write it as text")
    return int(text)


def _read_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        _refuse("not-finite", f"the number {_show(text)} is beyond the largest float")
    return value


def _read_constant(text: str) -> NoReturn:
    _refuse("not-finite", f"{text} is not JSON; write null, or say in words what happened")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_read_members,
    parse_int=_read_integer,
    parse_float=_read_float,
    parse_constant=_read_constant,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A document that is not ours, carried as its original bytes: never parsed here, never made canonical.

    Args:
        media_type: What its own reader should take it for, e.g. ``application/json``.
        data: The bytes exactly as they came.
    """

    media_type: str
    data: bytes

    @property
    def sha256(self) -> str:
        """The plain SHA-256 of the bytes, 64 lower-case hex digits."""
        return hashlib.sha256(self.data).hexdigest()

    def to_json(self) -> dict[str, Json]:
        """The carrier: ``mediaType``, ``sha256`` and the bytes as padded standard ``base64``."""
        text = base64.b64encode(self.data).decode("ascii")
        return {"mediaType": self.media_type, "sha256": self.sha256, "base64": text}

    @classmethod
    def from_json(cls, value: Json) -> "Foreign":
        """The document out of its carrier; ``from_json(f.to_json()) == f``.

        Raises:
            MalformedDocument: Not exactly the three members as texts, base64 that is not the one spelling of its
                bytes, or bytes that are not those of the digest.
        """
        members = value if type(value) is dict else {}
        media_type, stated, text = (members.get(name) for name in ("mediaType", "sha256", "base64"))
        if len(members) != 3 or type(media_type) is not str or type(stated) is not str or type(text) is not str:
            _refuse("foreign-shape", "expected an object of exactly mediaType, sha256 and base64, all texts")
        foreign = cls(media_type=media_type, data=_read_base64(text))
        if foreign.sha256 != stated:
            message = f"the carried bytes have SHA-256 {foreign.sha256}, but the carrier states {_show(stated)}"
            _refuse("foreign-digest", message, found=foreign.sha256)
        return foreign


def _read_base64(text: str) -> bytes:
    message = "expected padded standard base64, in the one spelling of its bytes"
    try:
        data = base64.b64decode(text)
    except ValueError as error:
        raise MalformedDocument(message, reason="foreign-base64") from error
    # The decoder skips what it does not know and ignores unused bits; encoding again shows both.
    if base64.b64encode(data).decode("ascii") != text:
        _refuse("foreign-base64", message)
    return data
