"""Admission: what may enter an analysis, decided row by row by registered conditions, with every removed row counted.

What may enter is decided by facts no outcome can influence: the caller declares the outcome as a forbidden field.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.rules.funnel import Funnel, PartitionCount, StageCount, build_funnel
from assay.rules.names import describe, nearest, show
from assay.rules.predicates import FieldType, Predicate, Value, evaluate, read_predicate

__all__ = ["Admitted", "Partition", "Stage", "admit", "read_stages"]

Row = TypeVar("Row")

_MEMBERS = ("id", "keep", "reason")
_IDENTITY = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of an admission: rows for which ``keep`` does not hold leave, for the stated reason."""

    id: str
    keep: Predicate
    reason: str = ""
    waives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Rows among those that the stage ``source`` removed, looked at on their own and never pooled."""

    id: str
    source: str
    keep: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(Generic[Row]):
    """What came of an admission: the rows that stay, in their order, and where the others left."""

    survivors: tuple[Row, ...]
    counts: tuple[StageCount, ...]
    partitions: Mapping[str, tuple[Row, ...]]
    sources: Mapping[str, str]

    def funnel(self, population: str) -> Funnel:
        """The funnel of the admission.

        Raises:
            BadInput: Two partitions claim one row.
        """
        entering = len(self.survivors) + sum(count.excluded for count in self.counts)
        drawn = [
            PartitionCount(id=name, source=self.sources[name], count=len(rows))
            for name, rows in self.partitions.items()
        ]
        return build_funnel(population, entering, self.counts, drawn)


def admit(
    rows: Iterable[Row],
    stages: Sequence[Stage],
    record: Callable[[Row], Mapping[str, Value]],
    partitions: Sequence[Partition] = (),
) -> Admitted[Row]:
    """Passes rows through the stages, in order.

    Args:
        rows: The rows that enter.
        stages: The stages, each with a name of its own.
        record: The facts of a row that conditions may read.
        partitions: What to keep an eye on among the removed rows.

    Raises:
        BadInput: Two stages share a name, or a partition names none of them.
    """
    _check_names(stages, partitions)
    remaining = list(rows)
    counts: list[StageCount] = []
    drawn: dict[str, tuple[Row, ...]] = {part.id: () for part in partitions}
    for stage in stages:
        kept: list[Row] = []
        removed: list[Row] = []
        for row in remaining:
            (kept if evaluate(stage.keep, record(row)) else removed).append(row)
        for part in partitions:
            if part.source == stage.id:
                drawn[part.id] = tuple(row for row in removed if evaluate(part.keep, record(row)))
        counts.append(StageCount(id=stage.id, excluded=len(removed), reason=stage.reason, waives=stage.waives))
        remaining = kept
    sources = {part.id: part.source for part in partitions}
    return Admitted(survivors=tuple(remaining), counts=tuple(counts), partitions=drawn, sources=sources)


def read_stages(
    document: Json, fields: Mapping[str, FieldType], where: str, reserved: Sequence[str] = ()
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """The stages that a list of ``{id, keep, reason}`` states, and every problem found in it.

    Args:
        document: The list.
        fields: What conditions may read; the outcome is declared as :class:`~assay.rules.predicates.Forbidden`.
        where: The list's place, for messages.
        reserved: Names that stages may not have.
    """
    if not isinstance(document, list):
        return (), (f"{where}: expected a list of stages {{id, keep, reason}}, got {describe(document)}",)
    stages: list[Stage] = []
    problems: list[str] = []
    names = list(reserved)
    for place, item in enumerate(document):
        stage, found = _read_stage(item, fields, f"{where}[{place}]", names)
        problems += found
        stages += [stage] if stage else []
    return tuple(stages), tuple(problems)


def _read_stage(
    item: Json, fields: Mapping[str, FieldType], where: str, names: list[str]
) -> tuple[Stage | None, list[str]]:
    if not isinstance(item, dict):
        return None, [f"{where}: expected a stage {{id, keep, reason}}, got {describe(item)}"]
    problems = [f"{where}.{name}: unknown member; {nearest(name, _MEMBERS)}" for name in item if name not in _MEMBERS]
    problems += [f"{where}: {name} is missing" for name in _MEMBERS if name not in item]
    problems += _check_identity(item, where, names)
    reason = item.get("reason")
    if "reason" in item and not (isinstance(reason, str) and reason.strip()):
        problems.append(f"{where}.reason: expected the reason that removed rows leave by, got {describe(reason)}")
    keep, found = read_predicate(item["keep"], fields, f"{where}.keep") if "keep" in item else (None, ())
    problems += found
    identity = item.get("id")
    if problems or keep is None or not isinstance(identity, str) or not isinstance(reason, str):
        return None, problems
    return Stage(id=identity, keep=keep, reason=reason), []


def _check_identity(item: dict[str, Json], where: str, names: list[str]) -> list[str]:
    """What is wrong with a stage's name; a good one is noted among the names taken."""
    if "id" not in item:
        return []
    identity = item["id"]
    if not isinstance(identity, str) or not _IDENTITY.fullmatch(identity):
        return [f"{where}.id: expected a name of small letters, digits and hyphens, got {describe(identity)}"]
    if identity in names:
        return [f"{where}.id: {show(identity)} is taken; every stage needs a name of its own"]
    names.append(identity)
    return []


def _check_names(stages: Sequence[Stage], partitions: Sequence[Partition]) -> None:
    for what, ids in (("stages", [s.id for s in stages]), ("partitions", [p.id for p in partitions])):
        if len(set(ids)) != len(ids):
            msg = f"{what} need names of their own, got {', '.join(map(show, ids))}"
            raise BadInput(msg, reason="duplicate-stage")
    known = [stage.id for stage in stages]
    for part in partitions:
        if part.source not in known:
            msg = f"partition {show(part.id)}: unknown stage {show(part.source)}; {nearest(part.source, known)}"
            raise BadInput(msg, reason="partition-unknown-stage")
