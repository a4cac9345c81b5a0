"""Whether a thought gives its own action away: the text that the licence B does not pay for (facts 1.7)."""

from collections import Counter
from typing import Final

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.eras import Era
from assay.labs.duel.json_objects import JsonObjects, read_scalar
from assay.labs.duel.spans import Span
from assay.rules.names import show

__all__ = ["LEAK_SHARE", "NameNotText", "leaks"]

LEAK_SHARE: Final = 0.6
_OPENER: Final = "```bash\n"
_CLOSER: Final = "\n```"
_SHORTEST_TOKEN: Final = 3


class NameNotText(EvidenceInvalid):
    """An action whose ``name`` is no text: what ended the network's scorer."""

    code = "name-not-text"


def leaks(thought: str, action: str, share: float = LEAK_SHARE, *, era: Era) -> bool:
    """Whether the action, or enough of its words, stands in the thought; case counts.

    On the network a JSON action with the text ``"name"`` was judged by that member alone, so that one with a made-up
    name never leaked, and a name that is no text ended the scorer. The safe reading lets the name only add a leak.

    Args:
        thought: The thought.
        action: The action, with its bash fence or without.
        share: Share of the action's words inside the thought from which it leaks.
        era: Whose reading of the rules applies; the safe one raises nothing.

    Raises:
        NameNotText: On the network, where ``name`` is no text.
    """
    command = _unfence(action.strip())
    if not command:
        return False
    if command in thought:
        return True
    if command.startswith("{") and '"name"' in command:
        by_name = _leaks_name(thought, command, era)
        if by_name or era is Era.NETWORK:
            return by_name
    return _leaks_tokens(thought, command, share)


def _unfence(command: str) -> str:
    if command.startswith(_OPENER) and command.endswith(_CLOSER):
        return command[len(_OPENER) : -len(_CLOSER)].strip()
    return command


def _leaks_tokens(thought: str, command: str, share: float) -> bool:
    tokens = Counter(token for token in command.split() if len(token) >= _SHORTEST_TOKEN)
    if not tokens:
        return False
    return sum(count for token, count in tokens.items() if token in thought) / tokens.total() >= share


def _leaks_name(thought: str, command: str, era: Era) -> bool:
    found = JsonObjects(command).read(0)
    span = found.members.get("name") if found is not None and found.end == len(command) else None
    if span is None:
        return False
    name = read_scalar(command, span.start) if command[span.start] not in "{[" else None
    if isinstance(name, str):
        return bool(name) and name in thought
    if era is Era.NETWORK and (name or _holds_something(command, span)):
        msg = f"expected the action's name to be text, got {show(command[span.start : span.end])}"
        raise NameNotText(msg)
    return False


def _holds_something(command: str, span: Span) -> bool:
    """Whether the value is an object or list that is not empty."""
    return command[span.start] in "{[" and bool(command[span.start + 1 : span.end - 1].strip())
