"""JSON objects inside a text that nobody vouches for, read once each however they lie in one another.

The grammar is that of Python's loader, which the network read with: NaN and the infinities are numbers, control
characters may not stand in strings, of two members of one name the later counts. Unlike there, what is read does not
hang on the interpreter's stack, and the time taken grows with the text and no faster.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from assay.labs.duel.spans import Span

__all__ = ["DEEPEST", "JsonObject", "JsonObjects", "read_scalar"]

DEEPEST: Final = 900
"""Objects and lists that may lie in one another; the network's loader gave up somewhere below a thousand."""

_MOST_DIGITS: Final = 4300  # an integer of more ends Python's loader
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_BEGINNING: Final = re.compile(r'\{[ \t\n\r]*+"')
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*+)((?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)")
_LITERAL: Final = re.compile(r"true|false|null|NaN|-?Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonObject:
    """An object: where it ends, and where the value of each member lies."""

    end: int
    members: Mapping[str, Span]


class JsonObjects:
    """The objects of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, JsonObject | None] = {}

    def read(self, start: int) -> JsonObject | None:
        """The object that begins at a brace; None where none does, or one without members or too deep."""
        if start not in self._known:
            if _BEGINNING.match(self._text, start) is None:
                return None
            _Reading(self._text, start, self._known).run()
        return self._known[start]


def read_scalar(text: str, start: int) -> object:
    """The text, number or literal that begins there; it is known to be sound, as a :class:`JsonObject` tells it."""
    return cast("object", json.JSONDecoder().raw_decode(text, start)[0])


@dataclass(slots=True)
class _Open:
    """An object or list that is being read.

    Args:
        start: Where it begins.
        closer: The sign that ends it.
        members: The members read of an object; None for a list.
        key: The name of the member being read.
        value: Where the latest value begins; -1 before the first.
        height: How many objects and lists lie in one another, this one counted.
    """

    start: int
    closer: str
    members: dict[str, Span] | None
    key: str = ""
    value: int = -1
    height: int = 1


class _Reading:
    """Reads one object and what lies in it, and notes every object that ended, and those that never will."""

    def __init__(self, text: str, start: int, known: dict[int, JsonObject | None]) -> None:
        self._text = text
        self._known = known
        self._open = [_Open(start, "}", {})]
        self._at = start + 1

    def run(self) -> None:
        """Reads to the end of the object, or to where the text is no JSON."""
        while self._open and self._advance(self._open[-1]):
            pass
        self._known.update((left.start, None) for left in self._open if left.members is not None)

    def _advance(self, top: _Open) -> bool:
        sign = self._skip_space()
        if sign == top.closer:
            self._close(top)
            return True
        if top.value >= 0:
            if sign != ",":
                return False
            self._at += 1
            sign = self._skip_space()
        if top.members is not None:
            if not self._read_key(top):
                return False
            sign = self._skip_space()
        return self._read_value(top, sign)

    def _skip_space(self) -> str:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _read_key(self, top: _Open) -> bool:
        key = _STRING.match(self._text, self._at)
        if key is None:
            return False
        raw = key.group()
        top.key = cast("str", read_scalar(raw, 0)) if "\\" in raw else raw[1:-1]
        self._at = key.end()
        if self._skip_space() != ":":
            return False
        self._at += 1
        return True

    def _read_value(self, top: _Open, sign: str) -> bool:
        top.value = self._at
        if sign in ("{", "["):
            self._open.append(_Open(self._at, "}", {}) if sign == "{" else _Open(self._at, "]", None))
            self._at += 1
            return True
        end = _end_scalar(self._text, self._at)
        if end is None:
            return False
        self._finish_value(top, end)
        return True

    def _close(self, top: _Open) -> None:
        self._open.pop()
        end = self._at + 1
        if top.members is not None:
            self._known[top.start] = JsonObject(end=end, members=top.members) if top.height <= DEEPEST else None
        if self._open:
            parent = self._open[-1]
            parent.height = max(parent.height, top.height + 1)
            self._finish_value(parent, end)
        self._at = end

    def _finish_value(self, top: _Open, end: int) -> None:
        if top.members is not None:
            top.members[top.key] = Span(top.value, end)
        self._at = end


def _end_scalar(text: str, start: int) -> int | None:
    found = _STRING.match(text, start) or _LITERAL.match(text, start)
    if found is None:
        found = _NUMBER.match(text, start)
        if found is None or (not found.group(2) and len(found.group(1)) > _MOST_DIGITS):
            return None
    return found.end()
