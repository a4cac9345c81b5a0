"""Strict reading of JSON objects: every member known, every known member there, every type exact."""

from collections.abc import Mapping
from typing import TypeAlias

from assay.kernel.canonical import Json
from assay.kernel.errors import MalformedDocument

__all__ = ["Members", "read_list", "read_object", "read_texts"]

Members: TypeAlias = Mapping[str, type | tuple[type, ...]]
_WORDS: Mapping[type, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _expected(types: type | tuple[type, ...]) -> str:
    return " or ".join(_WORDS.get(kind, "null") for kind in (types if isinstance(types, tuple) else (types,)))


def _named(value: Json) -> str:
    return _WORDS.get(type(value), "null")


def read_object(value: Json, where: str, required: Members, optional: Members | None = None) -> dict[str, Json]:
    """The object itself, if it has exactly the required members, no unknown ones, and the exact types.

    Args:
        value: What came.
        where: What it is, for the message (``manifest.json``, ``logs[2]``).
        required: The members that must be there, each with its JSON type or types (``int`` does not take ``true``).
        optional: Members that may be there.

    Raises:
        MalformedDocument: Something is missing, unknown or of another type.
    """
    if type(value) is not dict:
        msg = f"{where}: expected an object, got {_named(value)}"
        raise MalformedDocument(msg, reason="shape", where=where)
    known = {**required, **(optional or {})}
    missing = [name for name in required if name not in value]
    unknown = [name for name in value if name not in known]
    if missing or unknown:
        parts = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
        msg = f"{where}: members do not fit ({'; '.join(parts)})"
        raise MalformedDocument(msg, reason="shape", where=where)
    for name, member in value.items():
        types = known[name]
        if type(member) not in (types if isinstance(types, tuple) else (types,)):
            msg = f"{where}.{name}: expected {_expected(types)}, got {_named(member)}"
            raise MalformedDocument(msg, reason="shape", where=f"{where}.{name}")
    return value


def read_list(value: Json, where: str) -> list[Json]:
    """The list itself.

    Raises:
        MalformedDocument: It is not a list.
    """
    if type(value) is not list:
        msg = f"{where}: expected a list, got {_named(value)}"
        raise MalformedDocument(msg, reason="shape", where=where)
    return value


def read_texts(value: Json, where: str) -> tuple[str, ...]:
    """A list of texts as a tuple.

    Raises:
        MalformedDocument: It is not a list, or holds something else.
    """
    texts: list[str] = []
    for item in read_list(value, where):
        if type(item) is not str:
            msg = f"{where}: expected a list of texts, got {_named(item)} in it"
            raise MalformedDocument(msg, reason="shape", where=where)
        texts.append(item)
    return tuple(texts)
