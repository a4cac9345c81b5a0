"""Strict YAML 1.2: the events of a document, composed into JSON values by the core schema and nothing more.

``no`` and ``on`` are texts. Names are texts as they are written. Anchors, aliases, tags, merge keys, a second document,
times without quotes and numbers in other than plain decimal writing are refused, each with its line.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Final, NoReturn, Protocol, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, Json
from assay.kernel.errors import MalformedDocument
from assay.rules.names import show

__all__ = ["read_yaml"]

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTHS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ODD_NUMBER: Final = re.compile(r"[-+]?0[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?")
_HINTS: Final = {
    "mapping values are not allowed": "a text that holds a colon and a space has to be in quotes",
    "could not find expected ':'": "a name needs a colon and a space behind it; a text on several lines needs quotes",
    "unexpected end of stream": "a quote or bracket that was opened is never closed",
    "unknown escape character": "in double quotes a backslash begins an escape; use single quotes or two backslashes",
    "expected <block end>": "look for a line indented unlike its neighbours, or for a quote inside a text: double a "
    "single quote, or put a backslash before a double one",
    "cannot start any token": "a text that begins with %, @, a backquote or a tab has to be in quotes, and lines are "
    "indented with spaces",
    "expected ',' or": "a bracket is not closed, a comma is missing, or a text that holds one of ,[]{} needs quotes",
}
"""What to do about a problem of syntax, by words of the reader's message."""

_MOST_DIGITS: Final = 400
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_yaml(text: str) -> Json:
    """The value of the one document in *text*.

    Raises:
        MalformedDocument: It is not YAML, holds none or several documents, or something that JSON cannot carry; the
            message begins with the line, counted from 1.
    """
    try:
        return _Composer(text).compose()
    except MarkedYAMLError as error:
        marked = cast(_MarkedError, error)
        mark = marked.problem_mark or marked.context_mark
        line = "" if mark is None else f"line {mark.line + 1}: "
        message = f"{line}not YAML: {marked.problem or marked.context}{_hint(marked.problem or '')}"
        raise MalformedDocument(message, reason="syntax") from error
    except (YAMLError, ValueError) as error:
        message = f"not YAML: {str(error).splitlines()[0]}"
        raise MalformedDocument(message, reason="syntax") from error
    except RecursionError as error:
        message = f"nested deeper than {MAX_DEPTH} levels"
        raise MalformedDocument(message, reason="too-deep") from error


def _hint(problem: str) -> str:
    """What to do about a problem of syntax, in plain words, where it has a usual cause."""
    return next((f"; {advice}" for words, advice in _HINTS.items() if words in problem), "")


class _Mark(Protocol):
    line: int


class _MarkedError(Protocol):
    problem: str | None
    problem_mark: _Mark | None
    context: str | None
    context_mark: _Mark | None


class _Placed(Protocol):
    start_mark: _Mark | None


class _Node(Protocol):
    anchor: str | None
    tag: object


class _Scalar(Protocol):
    value: str
    style: str | None


class _Parser(Protocol):
    def parse(self, stream: str) -> Iterator[Event]: ...


def _refuse(event: Event, reason: str, problem: str) -> NoReturn:
    mark = cast(_Placed, event).start_mark
    line = 0 if mark is None else mark.line + 1
    message = f"line {line}: {problem}"
    raise MalformedDocument(message, reason=reason, line=line)


class _Composer:
    """Composes one document from its events."""

    def __init__(self, text: str) -> None:
        self._events = cast(_Parser, YAML(typ="safe", pure=True)).parse(text)

    def compose(self) -> Json:
        self._expect(StreamStartEvent, next(self._events))
        event = next(self._events)
        if isinstance(event, StreamEndEvent):
            _refuse(event, "empty", "expected a document, got nothing but comments")
        self._expect(DocumentStartEvent, event)
        value = self._take(next(self._events), 0)
        self._expect(DocumentEndEvent, next(self._events))
        event = next(self._events)
        if not isinstance(event, StreamEndEvent):
            _refuse(event, "trailing-data", "a second document begins here; one was expected")
        return value

    def _expect(self, kind: type[Event], event: Event) -> None:
        if not isinstance(event, kind):
            _refuse(event, "syntax", "not YAML that can be read here")

    def _take(self, event: Event, depth: int) -> Json:
        if depth > MAX_DEPTH:
            _refuse(event, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
        _check_plain(event)
        match event:
            case ScalarEvent():
                return _read_scalar(event)
            case SequenceStartEvent():
                return self._take_list(depth)
            case MappingStartEvent():
                return self._take_object(depth)
            case _:
                _refuse(event, "syntax", "not YAML that can be read here")

    def _take_list(self, depth: int) -> list[Json]:
        items: list[Json] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self._take(event, depth + 1))
        return items

    def _take_object(self, depth: int) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            _check_plain(event)
            name = _read_name(event)
            if name in members:
                _refuse(event, "duplicate-key", f"{show(name)} is given a second time in one object")
            members[name] = self._take(next(self._events), depth + 1)
        return members


def _check_plain(event: Event) -> None:
    """Refuses what makes a node more than its own text."""
    if isinstance(event, AliasEvent):
        _refuse(event, "alias", "aliases (*name) are not read; write the value out")
    if not isinstance(event, NodeEvent):
        _refuse(event, "syntax", "not YAML that can be read here")
    node = cast(_Node, event)
    if node.anchor is not None:
        _refuse(event, "anchor", "anchors (&name) are not read; write the value out where it is used")
    if node.tag is not None:
        _refuse(event, "tag", f"tags ({show(str(node.tag))}) are not read; a value is what it is written as")


def _is_plain(event: ScalarEvent) -> bool:
    """Whether the text stands without quotes and is no block."""
    return not cast(_Scalar, event).style


def _read_text(event: ScalarEvent) -> str:
    text = cast(_Scalar, event).value
    if _SURROGATE.search(text):
        _refuse(event, "lone-surrogate", "a lone surrogate is not text; write the character itself")
    return text


def _read_name(event: Event) -> str:
    if not isinstance(event, ScalarEvent):
        _refuse(event, "key-type", "the name of a member is a text, not a list or an object")
    name = _read_text(event)
    if not _is_plain(event) or name in ("true", "false"):
        return name
    if name == "<<":
        _refuse(event, "merge", "merge keys (<<) are not read; write the members out")
    if not isinstance(_resolve(event, name), str):
        _refuse(event, "key-type", f"the name of a member is a text; put {show(name)} in quotes")
    return name


def _read_scalar(event: ScalarEvent) -> Json:
    text = _read_text(event)
    return _resolve(event, text) if _is_plain(event) else text


def _resolve(event: ScalarEvent, text: str) -> bool | int | float | str | None:
    """What a text without quotes stands for."""
    if text in _NULL:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return _read_number(event, text)
    if _NOT_FINITE.fullmatch(text):
        _refuse(event, "not-finite", f"numbers are finite; there is no {text}")
    if _ODD_NUMBER.fullmatch(text):
        _refuse(event, "number", f"write {show(text)} as a plain decimal number, or in quotes if it is text")
    if _TIME.fullmatch(text):
        _refuse(event, "time", f"a date or time is not JSON; put {show(text)} in quotes")
    return text


def _read_number(event: ScalarEvent, text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        number = int(text) if len(text) <= _MOST_DIGITS else MAX_SAFE_INTEGER + 1
    else:
        number = float(text)
        if not isfinite(number):
            _refuse(event, "not-finite", f"the number {show(text)} is beyond the largest that can be carried")
    if abs(number) > MAX_SAFE_INTEGER and (isinstance(number, int) or number.is_integer()):
        _refuse(event, "integer-range", f"{show(text)} is beyond ±(2^53−1) and cannot be carried exactly")
    return number
