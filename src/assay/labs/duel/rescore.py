"""Counterfactuals: what stored duels would have come to under another contract, before anybody changes a rule."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from assay.kernel.errors import AssayError
from assay.labs.duel.crown import Duel, judge
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.rows import Row
from assay.verifier.figures import Block, Paragraph, Report, Section, Table

__all__ = ["Rescored", "Stored", "report_rescored", "rescore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A duel that was judged.

    Args:
        name: The file it came from.
        challenger: The challenger's rows.
        king: The king's rows.
        margin: The margin that it was judged by; None where none is stored.
        crowned: Whether the challenger was crowned.
        held: What else than its rows decided it; empty where nothing did.
    """

    name: str
    challenger: tuple[Row, ...]
    king: tuple[Row, ...]
    margin: float | None
    crowned: bool
    held: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """A duel under another contract.

    Args:
        stored: What it was judged as.
        duel: What it comes to; None where the other contract cannot score its rows.
        why: Why it cannot; empty where it can.
    """

    stored: Stored
    duel: Duel | None
    why: str = ""

    @property
    def shift(self) -> float | None:
        """The new margin less the old one."""
        if self.duel is None or self.stored.margin is None:
            return None
        return self.duel.margin - self.stored.margin

    @property
    def flipped(self) -> bool:
        """Whether the crown goes the other way."""
        return self.duel is not None and self.duel.challenger_wins != self.stored.crowned


def rescore(stored: Sequence[Stored], knobs: Knobs) -> Iterator[Rescored]:
    """Each duel under other numbers; one that they cannot score says why and hides no other."""
    for item in stored:
        if item.held:
            yield Rescored(stored=item, duel=None, why=item.held)
            continue
        try:
            yield Rescored(stored=item, duel=judge(item.challenger, item.king, knobs))
        except AssayError as problem:
            yield Rescored(stored=item, duel=None, why=problem.message)


def report_rescored(found: Sequence[Rescored]) -> Report:
    """The margin shifts and flips of stored duels."""
    rows = tuple(_line(item) for item in found)
    shifts = [item.shift for item in found if item.shift is not None]
    flips, refused = sum(item.flipped for item in found), sum(item.duel is None for item in found)
    told = (
        ("duels", str(len(found))),
        ("flips", str(flips)),
        ("cannot be scored", str(refused)),
        ("median shift", _number(median(shifts)) if shifts else "–"),
        ("largest shift", _number(max(shifts, key=abs)) if shifts else "–"),
    )
    columns = ("duel", "margin then", "margin now", "shift", "crown then", "crown now")
    table = Table(title="Every duel", columns=columns, rows=rows, numeric=(1, 2, 3))
    whys: tuple[Block, ...] = tuple(
        Paragraph(text=f"{item.stored.name}: {item.why}", tone="warning") for item in found if item.duel is None
    )
    return Report(
        title="Stored duels under another contract",
        headline=f"{flips} of {len(found)} duels would be decided the other way",
        tone="decided" if flips else "undecided",
        facts=told,
        sections=(Section(title="Margins and crowns", blocks=(table, *whys)),),
    )


def _line(item: Rescored) -> tuple[str, ...]:
    now = item.duel
    return (
        item.stored.name,
        _number(item.stored.margin),
        _number(now.margin if now else None),
        _number(item.shift),
        _crown(crowned=item.stored.crowned),
        "not scored" if now is None else _crown(crowned=now.challenger_wins) + (" ← flips" if item.flipped else ""),
    )


def _crown(*, crowned: bool) -> str:
    return "challenger" if crowned else "king"


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return format(value, "+.5f").replace("-", "−")
