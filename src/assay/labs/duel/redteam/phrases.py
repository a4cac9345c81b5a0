"""Phrases that fit every turn: filler, hedges, and what may be said of an action without knowing it."""

from collections.abc import Mapping
from typing import Final

__all__ = ["FILLER", "FORMS", "PHRASES", "announce"]

FILLER: Final = "Let me carefully weigh every possible aspect of this fascinating challenge, one step after another."

FORMS: Final[Mapping[str, str]] = {
    "bash": "Then I answer with one bash block that holds a command.",
    "tool_call": "Then I answer with one tool_call that holds a name and arguments.",
    "boxed": "Then I answer with the result boxed.",
    "text": "Then I answer in plain words.",
    "terminus_json": "Then I answer with analysis, plan and commands.",
}
"""What anybody can say of the action to come, by dialect: its form."""

PHRASES: Final = (
    FILLER,
    *FORMS.values(),
    "It could be this, or that, or both of them.",
    "First grep, then ls, then cat, then find.",
    "Perhaps a file, perhaps a line, perhaps a word.",
    "I should look closer before I go on.",
    "Now I want to know more.",
    "The next thing that I need to see is clear.",
    "The answer is what was asked for.",
    "So it is, so it is.",
    "Hmm.",
)
"""What a search puts thoughts together from."""


def announce(dialect: str) -> str:
    """The filler suffix of a dialect: words about nothing, then the form of what comes."""
    return f"{FILLER} {FORMS.get(dialect, FORMS['text'])}"
