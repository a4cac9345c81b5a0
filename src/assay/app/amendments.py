"""Saying in a report that its rule was changed after it was sealed, whatever the lab."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.kernel.canonical import Json
from assay.verifier.figures import Paragraph, Report, Section, Table

__all__ = ["Change", "read_changes", "show_amendments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One amendment, for readers: when, why, and what its author had already seen."""

    at: str
    why: str
    seen: str


def read_changes(facts: Mapping[str, Json]) -> list[Change]:
    """The amendments that a verification met."""
    listed = facts.get("amendments")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [Change(at=str(item["at"]), why=str(item["why"]), seen=str(item["seen"])) for item in items]


def show_amendments(report: Report, changes: Sequence[Change]) -> Report:
    """The report with a label and a first section that tell of every amendment; the same report where there is none."""
    if not changes:
        return report
    warning = Paragraph(
        text=f"The rule was changed {len(changes)} time{'s' * (len(changes) > 1)} after it was first sealed. The "
        "verdict follows the rule as it stood at the end; read what had been seen by then.",
        tone="warning",
    )
    rows = tuple((change.at, change.why, change.seen) for change in changes)
    table = Table(title="Amendments", columns=("when", "why", "what its author had already seen"), rows=rows)
    section = Section(title="Changed after sealing", blocks=(warning, table))
    return replace(report, labels=(*report.labels, "amended"), sections=(section, *report.sections))
