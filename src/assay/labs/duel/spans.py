"""Where actions lie in a text, for each way to write them. Every search is total and linear in the text."""

import re
from array import array
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

__all__ = ["Span", "find_between", "find_boxes", "find_unclosed", "find_whole"]

_BOX: Final = re.compile(r"\\boxed\{|[{}]")
_NOT_BLANK: Final = re.compile(r"\S")
_MARK: Final = re.compile(r'[{}"\\]')


class Span(NamedTuple):
    """Where something lies in a text, in code points: from ``start`` up to ``end``."""

    start: int
    end: int


def find_between(text: str, opener: str, closer: str) -> tuple[Span, ...]:
    """Every stretch from an opener to the first closer behind it; the next begins after that."""
    return tuple(_walk_between(text, opener, closer))


def _walk_between(text: str, opener: str, closer: str) -> Iterator[Span]:
    start = text.find(opener)
    while start >= 0:
        end = text.find(closer, start + len(opener))
        if end < 0:
            return
        yield Span(start, end + len(closer))
        start = text.find(opener, end + len(closer))


def find_whole(text: str) -> tuple[Span, ...]:
    """The text without the space around it, where anything is left."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return (Span(start, end),) if start < end else ()


def find_boxes(text: str) -> tuple[Span, ...]:
    r"""Every ``\boxed{`` up to the brace that closes it, with something in it; boxes may lie in one another.

    A backslash before a brace changes nothing: the network counted such braces too.
    """
    found: list[Span] = []
    opened: list[tuple[int, int, int]] = []
    depth = 0
    for sign in _BOX.finditer(text):
        if sign.group() != "}":
            if sign.group() != "{":
                opened.append((depth, *sign.span()))
            depth += 1
        else:
            depth -= 1
            if opened and opened[-1][0] == depth:
                _, start, body = opened.pop()
                content = _NOT_BLANK.search(text, body)
                if content is not None and content.start() < sign.start():
                    found.append(Span(start, sign.end()))
    return tuple(sorted(found))


def find_unclosed(text: str, start: int) -> Container[int]:
    """The opening braces from ``start`` on that no brace closes, read from each as if a text began there.

    Braces inside double quotes do not count, and inside them a backslash takes the next character's meaning away. A
    brace inside the quotes of one reading is outside them in its own, so the marks are walked from the last to the
    first: of each is kept where the next unmatched closing brace lies when read outside quotes, and where the closing
    quote lies when read inside.
    """
    marks = array("q", (mark.start() for mark in _MARK.finditer(text, start)))
    never = len(marks)
    closing, quote = array("q", [never]) * (never + 2), array("q", [never]) * (never + 2)
    unclosed: set[int] = set()
    for at in range(never - 1, -1, -1):
        sign = text[marks[at]]
        closing[at], quote[at] = closing[at + 1], quote[at + 1]
        if sign == "{":
            if closing[at + 1] == never:
                unclosed.add(marks[at])
            closing[at] = closing[closing[at + 1] + 1]
        elif sign == "}":
            closing[at] = at
        elif sign == '"':
            closing[at], quote[at] = closing[quote[at + 1] + 1], at
        elif at + 1 < never and marks[at + 1] == marks[at] + 1:
            quote[at] = quote[at + 2]
    return unclosed
