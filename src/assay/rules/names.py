"""Names in messages: how a value is shown, and which known name was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["describe", "nearest", "show", "suggest"]

_LONGEST = 60
_MOST_LISTED = 12
_LIKE = 0.65


def show(value: object) -> str:
    """The value as a message shows it: quoted where it is text, never longer than 60 characters or so."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def suggest(name: str, known: Iterable[str]) -> str:
    """A question for a message, whether *name* was meant to be the known name that is like it; else nothing."""
    close = get_close_matches(name, list(known), n=1, cutoff=_LIKE)
    return f"did you mean {show(close[0])}?" if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause for a message: the known name that *name* was probably meant to be, else the known names.

    >>> nearest("turn", ["turns", "cost"])
    "did you mean 'turns'?"
    >>> nearest("x", ["turns", "cost"])
    "known: 'turns', 'cost'"
    """
    names = list(known)
    hint = suggest(name, names)
    if hint:
        return hint
    if not names:
        return "there are none"
    rest = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"known: {', '.join(map(show, names[:_MOST_LISTED]))}{rest}"


def describe(value: object) -> str:
    """The kind of a JSON value in plain words, with the value where it is short.

    >>> describe(True), describe([]), describe(3)
    ('true', 'an empty list', '3')
    """
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {show(value)}"
        case list() | tuple():
            return "a list" if value else "an empty list"
        case dict():
            return "an object" if value else "an empty object"
        case _:
            return show(value)
