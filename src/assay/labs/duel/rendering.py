"""The texts that a duel asks models about: prompts, and thoughts put in front of actions (facts 2.1).

They are the same for every family of models and every dialect. Each echo comes with the place where its span begins.
"""

from typing import Final

__all__ = ["action_echo", "think_prompt", "thought_echo"]

_OPENER: Final = "<think>"
_INJECTED: Final = "</think>\nTHOUGHT: "
_BREAK: Final = "\n\n"


def think_prompt(rendered: str) -> str:
    """The prompt G(x): a rendered conversation that ends inside an open think block."""
    return rendered if rendered.rstrip().endswith(_OPENER) else f"{rendered}{_OPENER}"


def action_echo(prompt: str, thought: str, action: str) -> tuple[str, int]:
    """The action after a thought, and where the action begins; an empty thought stays an empty line's worth."""
    before = f"{prompt}{_INJECTED}{thought}{_BREAK}"
    return before + action, len(before)


def thought_echo(prompt: str, thought: str) -> tuple[str, int]:
    """The thought after the prompt, and where it begins; nothing stands behind it."""
    before = f"{prompt}{_INJECTED}"
    return before + thought, len(before)
