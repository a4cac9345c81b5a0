"""Tables and figures as data: what a lab's report says, before anybody draws it.

A lab turns a verdict into a :class:`Report`; the application draws the same report as a page and for a terminal.
All text may stem from hostile input and is escaped by whoever draws it.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Block", "Forest", "ForestRow", "Funnel", "FunnelStage", "Paragraph", "Report", "Section", "Table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A few sentences of prose; ``tone`` says whether they inform or warn."""

    text: str
    tone: Literal["plain", "warning"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text cells.

    ``numeric`` names the columns (by position from 0) that are set flush right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """One line of a forest plot: a point, its interval where there is one, and the number of units behind it."""

    label: str
    value: float
    lower: float | None = None
    upper: float | None = None
    units: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """A forest plot: one line a cluster, then the pooled lines, around ``zero``; ``unit`` names the axis."""

    title: str
    unit: str
    rows: tuple[ForestRow, ...]
    pooled: tuple[ForestRow, ...]
    zero: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStage:
    """One stage of an admission funnel: how many entered, how many left here, and why."""

    name: str
    reason: str
    entering: int
    excluded: int
    remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """The whole way from the population to what was analysed; every unit that left is counted at one stage."""

    title: str
    unit: str
    input: int
    stages: tuple[FunnelStage, ...]
    surviving: int
    note: str = ""


Block: TypeAlias = Paragraph | Table | Forest | Funnel


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under one heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A verdict made readable.

    Args:
        title: What was asked, in one line.
        headline: What was decided, in one sentence.
        tone: ``decided`` for a difference found, ``undecided`` for none found, ``refused`` where the rules turned the
            design down.
        labels: Short words that always stand beside the headline, such as ``retrospective``.
        facts: Name and value of the few numbers a reader looks for first.
        sections: Everything else, in reading order.
    """

    title: str
    headline: str
    tone: Literal["decided", "undecided", "refused"]
    labels: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = field(default=())
