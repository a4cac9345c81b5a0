"""What a completion holds: the thought and the last action behind it, or nothing (facts 3.1).

A completion begins inside the open think block that its prompt ends with.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.labs.duel.dialects import Dialect, find_dialect
from assay.labs.duel.eras import Era

__all__ = ["CLOSER", "Rollout", "split_completion"]

CLOSER: Final = "</think>"
_LABEL: Final = re.compile(r"^\s*THOUGHT:\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What a completion holds.

    Args:
        thought: What was thought, latent and visible; empty where there is no action.
        action: The action; empty where there is none.
        closed: Whether the thought was closed.
    """

    thought: str
    action: str
    closed: bool

    @property
    def forfeit(self) -> bool:
        """Whether there is no action."""
        return not self.action


def split_completion(
    text: str,
    kind: str | None,
    *,
    require_think_close: bool,
    era: Era,
    dialects: Mapping[str, Dialect] | None = None,
) -> Rollout:
    """The last complete action of the dialect behind the thought, and everything thought before it.

    What was written inside the think block is no action; earlier actions of a reply become part of the thought, and
    what follows the last one is dropped.

    Args:
        text: The completion.
        kind: The dialect of the turn.
        require_think_close: Whether a completion that never closes its thought holds nothing.
        era: Whose reading of the rules applies.
        dialects: Where the dialect is looked up.

    Raises:
        UnknownName: No such dialect.
    """
    dialect = find_dialect(kind, dialects)
    latent, closer, rest = text.partition(CLOSER)
    closed = bool(closer)
    if not closed:
        latent, rest = "", text
        if require_think_close:
            return Rollout(thought="", action="", closed=False)
    spans = dialect.find(rest, era)
    if not spans:
        return Rollout(thought="", action="", closed=closed)
    last = spans[-1]
    visible = _LABEL.sub("", rest[: last.start].strip())
    thought = "\n".join(part for part in (latent.strip(), visible.strip()) if part)
    return Rollout(thought=thought, action=rest[last.start : last.end], closed=closed)
