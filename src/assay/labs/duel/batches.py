"""Batches of terminal commands: the JSON objects that are the actions of the dialect ``terminus_json``."""

from collections.abc import Container, Iterator
from typing import Final

from assay.labs.duel.json_objects import JsonObject, JsonObjects
from assay.labs.duel.spans import Span, find_unclosed

__all__ = ["find_batches"]

_MEMBERS: Final = frozenset({"analysis", "plan", "commands"})


def find_batches(text: str, *, past_strays: bool) -> tuple[Span, ...]:
    """Every object with an ``analysis``, a ``plan`` and a list of ``commands``, from left to right.

    One that lies in an object which is no batch is found too; none is looked for inside a batch.

    Args:
        text: Any text.
        past_strays: Whether a brace that never closes is passed over. On the network it ended the search, so that one
            in the prose before a good object cost the turn (facts 3.2 and 16, stray brace).
    """
    return tuple(_walk(text, past_strays=past_strays))


def _walk(text: str, *, past_strays: bool) -> Iterator[Span]:
    objects = JsonObjects(text)
    unclosed: Container[int] | None = () if past_strays else None
    start = text.find("{")
    while start >= 0:
        found = objects.read(start)
        if found is not None and _is_batch(text, found):
            yield Span(start, found.end)
            start = text.find("{", found.end)
            continue
        if found is None:
            unclosed = find_unclosed(text, start) if unclosed is None else unclosed
            if start in unclosed:
                return
        start = text.find("{", start + 1)


def _is_batch(text: str, found: JsonObject) -> bool:
    return found.members.keys() >= _MEMBERS and text[found.members["commands"].start] == "["
