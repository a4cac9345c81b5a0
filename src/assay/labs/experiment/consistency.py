"""What the members of a registration must be to one another."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import ceil
from typing import Final, TypeVar

from pydantic import ValidationError

from assay.kernel.canonical import Json, dumps
from assay.labs.experiment.sections import SUFFIXES, Arms, Binary, Columns, Interval, Outcome, Real, Test
from assay.labs.experiment.signals import read_decision
from assay.rules.admission import Stage, read_stages
from assay.rules.names import describe, show
from assay.rules.predicates import FieldType, Forbidden, Kind
from assay.rules.sections import Section, Text
from assay.stats.exact import read_share

__all__ = [
    "ANOTHER_ARM",
    "MISSING_IN_CONTROL",
    "MISSING_IN_TREATMENT",
    "NO_OUTCOME_IN_CONTROL",
    "NO_OUTCOME_IN_TREATMENT",
    "check_rules",
    "read_admission",
]

ANOTHER_ARM: Final = "another-arm"
MISSING_IN_TREATMENT: Final = "unit-missing-in-treatment"
MISSING_IN_CONTROL: Final = "unit-missing-in-control"
NO_OUTCOME_IN_TREATMENT: Final = "outcome-missing-in-treatment"
NO_OUTCOME_IN_CONTROL: Final = "outcome-missing-in-control"
_RESERVED: Final = (
    ANOTHER_ARM,
    MISSING_IN_TREATMENT,
    MISSING_IN_CONTROL,
    NO_OUTCOME_IN_TREATMENT,
    NO_OUTCOME_IN_CONTROL,
)
_UNDECLARED: Final = ": unknown field "


def check_rules(copy: dict[str, Json]) -> Iterator[str]:
    """Every problem that no single member shows; a section that cannot be read itself is passed over."""
    data = copy.get("data")
    members = data if isinstance(data, dict) else {}
    columns = _read(Columns, members.get("columns"))
    more = _read(_More, {"more": members.get("more", {})})
    file = members.get("file")
    arms, outcome = _read(Arms, copy.get("arms")), _read(_Outcomes, {"outcome": copy.get("outcome")})
    interval, test = _read(Interval, copy.get("interval")), _read(Test, copy.get("test"))
    yield from _check_file(file) if isinstance(file, str) else ()
    if columns and more:
        yield from _check_columns(columns, more.more)
        yield from read_admission(columns, more.more, copy.get("admission", []))[1]
    if arms and arms.treatment == arms.control:
        yield f"arms: treatment and control are both {show(arms.treatment)}; two arms are compared"
    yield from _check_outcome(outcome.outcome, str(file)) if outcome else ()
    yield from _check_draws(interval, test)
    if "decision" in copy:
        yield from read_decision(copy["decision"], "decision")[1]


class _More(Section):
    more: dict[Text, Kind]


class _Outcomes(Section):
    outcome: Outcome


_S = TypeVar("_S", bound=Section)


def _read(model: type[_S], value: Json) -> _S | None:
    try:
        return model.model_validate_json(dumps(value))
    except ValidationError:
        return None


def _check_file(file: str) -> Iterator[str]:
    if not file.endswith(SUFFIXES):
        yield f"data.file: expected the name of a .csv or .jsonl file, got {show(file)}"
    elif file.startswith("/") or "\0" in file or "\\" in file:
        yield f"data.file: expected a path relative to the registration's folder, got {show(file)}"


def _check_columns(columns: Columns, more: Mapping[str, Kind]) -> Iterator[str]:
    roles = columns.model_dump()
    for name, count in Counter([*roles.values(), *more]).items():
        if count > 1:
            uses = [f"columns.{role}" for role, column in roles.items() if column == name]
            uses += ["more"] if name in more else []
            yield f"data: column {show(name)} has one use, not {len(uses)} ({', '.join(uses)})"


def _list_fields(columns: Columns, more: Mapping[str, Kind]) -> dict[str, FieldType]:
    """What admission may read: facts that no outcome can influence."""
    outcome = "admission may not read the outcome; what may enter is decided by facts no outcome can influence"
    arm = "one admission holds for both arms, and `arms` says which rows are compared"
    fields: dict[str, FieldType] = dict(more)
    fields |= {columns.unit: "text", columns.cluster: "text"}
    fields |= {columns.arm: Forbidden(because=arm), columns.outcome: Forbidden(because=outcome)}
    return fields


def read_admission(
    columns: Columns, more: Mapping[str, Kind], document: Json
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """The admission stages, and every problem found in them."""
    stages, problems = read_stages(document, _list_fields(columns, more), "admission", _RESERVED)
    hint = "; a column that admission reads is declared first: add it under data.more, with its type"
    return stages, tuple(f"{problem}{hint}" if _UNDECLARED in problem else problem for problem in problems)


def _check_outcome(outcome: Binary | Real, file: str) -> Iterator[str]:
    if isinstance(outcome, Real):
        if outcome.min is not None and outcome.max is not None and outcome.min >= outcome.max:
            yield f"outcome: min must be below max, got {outcome.min} and {outcome.max}"
        return
    keys = [(type(mark), mark) for mark in (*outcome.true, *outcome.false)]
    for (_, mark), count in Counter(keys).items():
        if count > 1:
            yield f"outcome: {describe(mark)} stands {count} times among the cells of true and false; once is right"
    if file.endswith(".csv"):
        for name, marks in (("true", outcome.true), ("false", outcome.false)):
            for place, mark in enumerate(marks):
                if not isinstance(mark, str):
                    yield f"outcome.{name}[{place}]: cells of a .csv file are text; put {describe(mark)} in quotes"


def _check_draws(interval: Interval | None, test: Test | None) -> Iterator[str]:
    if interval:
        least = ceil(2 / (1 - read_share(interval.level, "interval.level")))
        if interval.draws < least:
            yield f"interval.draws: a level of {interval.level} needs at least {least:,} draws, got {interval.draws:,}"
    if test:
        least = ceil(1 / read_share(test.alpha, "test.alpha")) - 1
        if test.draws < least:
            yield f"test.draws: an alpha of {test.alpha} needs at least {least:,} draws, got {test.draws:,}"
