"""Funnels: how many entered, how many left at each stage and why, and a reconciliation that no count escapes.

What remains is always computed and never given. A *partition* counts rows that a stage removed and that are looked at
on their own; it is never pooled with the survivors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.kernel.errors import BadInput, EvidenceInvalid
from assay.rules.names import nearest, show

__all__ = [
    "Funnel",
    "FunnelStage",
    "PartitionCount",
    "StageCount",
    "build_funnel",
    "compose_funnels",
    "reconcile",
    "render_funnel",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCount:
    """How many rows left at one stage.

    Args:
        id: The stage's name, its own in the funnel.
        excluded: How many left here, at least 0.
        reason: The reason they left by, in plain words.
        exclusions: The same number by named reasons, or nothing.
        waives: Standard checks that the stage deliberately does not apply; carried and shown, never executed.
    """

    id: str
    excluded: int
    reason: str = ""
    exclusions: Mapping[str, int] = field(default_factory=dict[str, int])
    waives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCount:
    """How many of the rows that the stage ``source`` removed are looked at on their own."""

    id: str
    source: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStage:
    """One stage with the numbers that follow from those before it."""

    id: str
    entering: int
    excluded: int
    remaining: int
    reason: str = ""
    exclusions: Mapping[str, int] = field(default_factory=dict[str, int])
    waives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """The whole way from a population to its survivors."""

    population: str
    input: int
    stages: tuple[FunnelStage, ...]
    surviving: int
    partitions: tuple[PartitionCount, ...] = ()


def build_funnel(
    population: str, entering: int, counts: Iterable[StageCount], partitions: Iterable[PartitionCount] = ()
) -> Funnel:
    """The funnel of a population of *entering* rows.

    Raises:
        BadInput: The counts cannot be those of one funnel; ``details["reason"]`` names the first problem.
    """
    _need_count(entering, "input", f"{population}: the input")
    stages: list[FunnelStage] = []
    remaining = entering
    for count in counts:
        _check_count(count, remaining, {stage.id for stage in stages})
        stages.append(
            FunnelStage(
                id=count.id,
                entering=remaining,
                excluded=count.excluded,
                remaining=remaining - count.excluded,
                reason=count.reason,
                exclusions=dict(count.exclusions),
                waives=count.waives,
            )
        )
        remaining -= count.excluded
    drawn = tuple(partitions)
    _check_partitions(drawn, stages)
    return Funnel(population=population, input=entering, stages=tuple(stages), surviving=remaining, partitions=drawn)


def reconcile(funnel: Funnel) -> None:
    """Returns if every number of the funnel follows from those before it.

    Raises:
        EvidenceInvalid: One does not; ``details["reason"]`` and ``details["stage"]`` say which.
    """
    remaining = funnel.input
    for stage in funnel.stages:
        if stage.entering != remaining:
            msg = f"stage {show(stage.id)}: {remaining} rows remain before it, but {stage.entering} enter it"
            raise EvidenceInvalid(msg, reason="does-not-chain", stage=stage.id)
        remaining -= stage.excluded
        if stage.remaining != remaining:
            msg = (
                f"stage {show(stage.id)}: {stage.entering} enter and {stage.excluded} leave, "
                f"so {remaining} remain and not {stage.remaining}"
            )
            raise EvidenceInvalid(msg, reason="does-not-reconcile", stage=stage.id)
    if funnel.surviving != remaining:
        msg = f"{remaining} rows remain after the last stage, but {funnel.surviving} are said to survive"
        raise EvidenceInvalid(msg, reason="does-not-reconcile", stage="surviving")
    try:
        build_funnel(funnel.population, funnel.input, _count_stages(funnel), funnel.partitions)
    except BadInput as problem:
        raise EvidenceInvalid(problem.message, **problem.details) from problem


def compose_funnels(first: Funnel, second: Funnel) -> Funnel:
    """One funnel of two, the second of which starts from the survivors of the first; it keeps the first's population.

    Raises:
        BadInput: The second's input is not what survived the first, or the two share a stage or a partition.
    """
    if second.input != first.surviving:
        msg = f"{first.surviving} rows survive {show(first.population)}, but {second.input} enter the funnel behind it"
        raise BadInput(msg, reason="funnel-boundary-mismatch")
    counts = [*_count_stages(first), *_count_stages(second)]
    return build_funnel(first.population, first.input, counts, [*first.partitions, *second.partitions])


def render_funnel(funnel: Funnel) -> str:
    """The funnel as a text table, with the line that restates its reconciliation."""
    rows = [("stage", "entering", "excluded", "remaining")]
    rows += [(_label(stage), str(stage.entering), str(stage.excluded), str(stage.remaining)) for stage in funnel.stages]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    left = sum(stage.excluded for stage in funnel.stages)
    ends = [f"{funnel.input} entered = {funnel.surviving} surviving + {left} excluded"]
    ends += [f"{part.id}: {part.count} of those that left at {part.source}, never pooled" for part in funnel.partitions]
    return "\n".join([f"{funnel.population}: {funnel.input}", *table, *ends])


def _label(stage: FunnelStage) -> str:
    return f"{stage.id} (waives {', '.join(stage.waives)})" if stage.waives else stage.id


def _count_stages(funnel: Funnel) -> list[StageCount]:
    return [
        StageCount(
            id=stage.id,
            excluded=stage.excluded,
            reason=stage.reason,
            exclusions=stage.exclusions,
            waives=stage.waives,
        )
        for stage in funnel.stages
    ]


def _need_count(number: int, reason: str, what: str) -> None:
    if type(number) is not int or number < 0:
        msg = f"{what}: expected a whole number of rows, at least 0, got {show(number)}"
        raise BadInput(msg, reason=reason)


def _check_count(count: StageCount, entering: int, seen: set[str]) -> None:
    what = f"stage {show(count.id)}"
    if count.id in seen:
        msg = f"{what}: there are two stages of this name; give each its own"
        raise BadInput(msg, reason="duplicate-stage")
    _need_count(count.excluded, "stage-gains-rows", what)
    if count.excluded > entering:
        msg = f"{what}: {count.excluded} rows leave, but only {entering} enter"
        raise BadInput(msg, reason="excludes-more-than-entered")
    for name, number in count.exclusions.items():
        _need_count(number, "negative-exclusion", f"{what}, reason {show(name)}")
    named = sum(count.exclusions.values())
    if count.exclusions and named != count.excluded:
        msg = f"{what}: {count.excluded} rows leave, but the named reasons account for {named}"
        raise BadInput(msg, reason="exclusions-do-not-sum")


def _check_partitions(partitions: Sequence[PartitionCount], stages: Sequence[FunnelStage]) -> None:
    excluded = {stage.id: stage.excluded for stage in stages}
    drawn: Counter[str] = Counter()
    for part in partitions:
        what = f"partition {show(part.id)}"
        if sum(part.id == other.id for other in partitions) > 1:
            msg = f"{what}: there are two partitions of this name; give each its own"
            raise BadInput(msg, reason="duplicate-partition")
        if part.source not in excluded:
            msg = f"{what}: unknown stage {show(part.source)}; {nearest(part.source, excluded)}"
            raise BadInput(msg, reason="partition-unknown-stage")
        _need_count(part.count, "partition-count", what)
        drawn[part.source] += part.count
        if drawn[part.source] > excluded[part.source]:
            msg = (
                f"{what}: stage {show(part.source)} removed {excluded[part.source]} rows, "
                f"but its partitions hold {drawn[part.source]}"
            )
            raise BadInput(msg, reason="partition-overdraws")
