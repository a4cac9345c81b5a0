"""Action dialects: how an action is written in a reply. A new one is a row of :data:`DIALECTS` (facts 3.2)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from assay.kernel.errors import UnknownName
from assay.labs.duel.batches import find_batches
from assay.labs.duel.eras import Era
from assay.labs.duel.spans import Span, find_between, find_boxes, find_whole
from assay.rules.names import nearest, show

__all__ = ["DIALECTS", "NO_KIND", "Dialect", "Finder", "Span", "find_dialect"]

NO_KIND: Final = "bash"
"""The dialect of a turn that states none."""

Finder: TypeAlias = Callable[[str, Era], tuple[Span, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way to write an action.

    Args:
        name: Its name in contracts and corpora.
        find: Every complete action in a text, in order of their beginnings; total on any text.
        marker: What the message that mandates the dialect holds, in lower case; nothing where any message does.
        marker_roles: The roles of which the first message may hold the marker.
        ends_in_text: Whether a rollout in this dialect may end on prose, which is then a turn of dialect ``text``.
    """

    name: str
    find: Finder
    marker: str
    marker_roles: tuple[str, ...] = ("system",)
    ends_in_text: bool = False


def find_dialect(kind: str | None, dialects: Mapping[str, Dialect] | None = None) -> Dialect:
    """The dialect of that name; none, or an empty one, means ``bash``.

    Args:
        kind: The name, as a turn states it.
        dialects: Where it is looked up; :data:`DIALECTS` by default.

    Raises:
        UnknownName: No row has it.
    """
    table = DIALECTS if dialects is None else dialects
    dialect = table.get(kind or NO_KIND)
    if dialect is None:
        msg = f"no dialect is called {show(kind)}; {nearest(str(kind), table)}"
        raise UnknownName(msg, kind=kind)
    return dialect


def _find_bash(text: str, _: Era) -> tuple[Span, ...]:
    return find_between(text, "```bash\n", "\n```")


def _find_tool_call(text: str, _: Era) -> tuple[Span, ...]:
    return find_between(text, "<tool_call>", "</tool_call>")


def _find_boxed(text: str, _: Era) -> tuple[Span, ...]:
    return find_boxes(text)


def _find_text(text: str, _: Era) -> tuple[Span, ...]:
    return find_whole(text)


def _find_terminus(text: str, era: Era) -> tuple[Span, ...]:
    return find_batches(text, past_strays=era is Era.SAFE)


_ROWS: Final = (
    Dialect(name="bash", find=_find_bash, marker="bash", ends_in_text=True),
    Dialect(name="tool_call", find=_find_tool_call, marker="tool", ends_in_text=True),
    Dialect(name="boxed", find=_find_boxed, marker="boxed"),
    Dialect(name="text", find=_find_text, marker=""),
    Dialect(name="terminus_json", find=_find_terminus, marker='"commands"', marker_roles=("system", "user")),
)
DIALECTS: Final[Mapping[str, Dialect]] = {row.name: row for row in _ROWS}
"""The dialects by name."""
