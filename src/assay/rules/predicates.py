"""Conditions on one record, registered as data and read without any coercion.

A condition is one of ``{field, op, value}`` with op ``eq ne lt lte gt gte``, ``{field, in: [...]}``, ``{all: [...]}``,
``{any: [...]}`` and ``{not: ...}``. ``all`` of nothing holds and ``any`` of nothing does not.

Fields are declared with a type. A literal of another type, an ordering of anything but numbers, an unknown field and an
unknown member are refused when the condition is read, so that none of them can decide anything later.

A field without a value (null, or absent) satisfies no comparison, whatever its operator, and neither does the negation
of that comparison: what is not known is neither true nor false, and only what is true holds. The one question that a
missing value answers is whether it is missing: ``{field, op: eq, value: null}``, and ``ne`` for the contrary.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.rules.names import describe, nearest, show

__all__ = [
    "All",
    "AnyOf",
    "Compare",
    "FieldType",
    "Forbidden",
    "Kind",
    "Not",
    "OneOf",
    "Predicate",
    "Value",
    "evaluate",
    "parse",
    "read_predicate",
]

Kind: TypeAlias = Literal["number", "text", "boolean"]
Operator: TypeAlias = Literal["eq", "ne", "lt", "lte", "gt", "gte"]
Value: TypeAlias = bool | int | float | str | None
Truth: TypeAlias = bool | None

_OPERATORS: Mapping[str, Operator] = {"eq": "eq", "ne": "ne", "lt": "lt", "lte": "lte", "gt": "gt", "gte": "gte"}
_LARGEST = 2**53 - 1
_DEEPEST = 16
_EXAMPLE = "a condition such as {field: turns, op: gt, value: 0}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """A field that exists and that no condition here may read; ``because`` says why."""

    because: str


FieldType: TypeAlias = Kind | tuple[bool | str, ...] | Forbidden
"""The type of a field: a kind of value, the closed set of its values, or the reason why it may not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Holds where the field compares with the value as the operator says."""

    field: str
    op: Operator
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """Holds where the field equals one of the values."""

    field: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class All:
    """Holds where every part holds."""

    parts: "tuple[Predicate, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Holds where at least one part holds."""

    parts: "tuple[Predicate, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """Holds where the part is known not to hold."""

    part: "Predicate"


Predicate: TypeAlias = Compare | OneOf | All | AnyOf | Not


def parse(document: Json, fields: Mapping[str, FieldType]) -> Predicate:
    """The condition that *document* states about the declared fields.

    Raises:
        BadInput: It states none; the message lists every problem found.
    """
    predicate, problems = read_predicate(document, fields, "condition")
    if predicate is None:
        raise BadInput("; ".join(problems), problems=list(problems))
    return predicate


def read_predicate(
    document: Json, fields: Mapping[str, FieldType], where: str
) -> tuple[Predicate | None, tuple[str, ...]]:
    """The condition, or None with every problem found, each beginning with the place of the member it is about."""
    reader = _Reader(fields)
    predicate = reader.read(document, where, 0)
    return (None if reader.problems else predicate), tuple(reader.problems)


def evaluate(predicate: Predicate, record: Mapping[str, Value]) -> bool:
    """Whether the condition is known to hold for the record.

    >>> missing: dict[str, Value] = {"turns": None}
    >>> more = Compare(field="turns", op="gt", value=0)
    >>> evaluate(more, missing), evaluate(Not(part=more), missing)
    (False, False)
    """
    return _truth(predicate, record) is True


def _truth(predicate: Predicate, record: Mapping[str, Value]) -> Truth:
    match predicate:
        case Compare():
            return _compare(record.get(predicate.field), predicate.op, predicate.value)
        case OneOf():
            value = record.get(predicate.field)
            return None if value is None else any(_same(value, known) for known in predicate.values)
        case All():
            return _weakest(_truth(part, record) for part in predicate.parts)
        case AnyOf():
            return _opposite(_weakest(_opposite(_truth(part, record)) for part in predicate.parts))
        case Not():
            return _opposite(_truth(predicate.part, record))


def _opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _weakest(truths: Iterable[Truth]) -> Truth:
    known = True
    for truth in truths:
        if truth is False:
            return False
        known = known and truth is not None
    return True if known else None


def _same(left: Value, right: Value) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _compare(left: Value, op: Operator, right: Value) -> Truth:
    if right is None:
        return (left is None) == (op == "eq")
    if left is None:
        return None
    if op in ("eq", "ne"):
        return _same(left, right) == (op == "eq")
    if isinstance(left, bool | str) or isinstance(right, bool | str):
        return None
    match op:
        case "lt":
            return left < right
        case "lte":
            return left <= right
        case "gt":
            return left > right
        case _:
            return left >= right


class _Reader:
    """Reads one condition and collects what is wrong with it."""

    def __init__(self, fields: Mapping[str, FieldType]) -> None:
        self._fields = fields
        self.problems: list[str] = []

    def read(self, document: Json, where: str, depth: int) -> Predicate | None:
        if depth > _DEEPEST:
            return self._refuse(f"{where}: conditions nest at most {_DEEPEST} deep")
        if not isinstance(document, dict):
            return self._refuse(f"{where}: expected {_EXAMPLE}, got {describe(document)}")
        members = set(document)
        if "field" in members:
            return self._read_member(document, where) if "in" in members else self._read_compare(document, where)
        if members == {"all"}:
            parts = self._read_parts(document["all"], f"{where}.all", depth)
            return None if parts is None else All(parts=parts)
        if members == {"any"}:
            parts = self._read_parts(document["any"], f"{where}.any", depth)
            return None if parts is None else AnyOf(parts=parts)
        if members == {"not"}:
            part = self.read(document["not"], f"{where}.not", depth + 1)
            return None if part is None else Not(part=part)
        got = ", ".join(map(show, document)) or "no members"
        return self._refuse(f"{where}: expected {_EXAMPLE}, or one of all, any and not by itself; got {got}")

    def _refuse(self, problem: str) -> None:
        self.problems.append(problem)

    def _read_parts(self, document: Json, where: str, depth: int) -> tuple[Predicate, ...] | None:
        if not isinstance(document, list):
            return self._refuse(f"{where}: expected a list of conditions, got {describe(document)}")
        parts = [self.read(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(document)]
        return tuple(part for part in parts if part is not None) if None not in parts else None

    def _read_compare(self, document: dict[str, Json], where: str) -> Predicate | None:
        kind = self._read_field(document, where, ("field", "op", "value"))
        op = document.get("op")
        known = _OPERATORS.get(op) if isinstance(op, str) else None
        if "op" in document and known is None:
            self._refuse(f"{where}.op: expected one of {', '.join(_OPERATORS)}, got {describe(op)}")
        field = document["field"]
        if kind is None or known is None or "value" not in document or not isinstance(field, str):
            return None
        value = document["value"]
        if known not in ("eq", "ne") and kind != "number":
            return self._refuse(f"{where}.op: only numbers have an order, and {show(field)} is {_name(kind)}; use eq")
        if value is None and known in ("eq", "ne"):
            return Compare(field=field, op=known, value=None)
        read = self._read_value(value, kind, f"{where}.value")
        return None if read is None else Compare(field=field, op=known, value=read)

    def _read_member(self, document: dict[str, Json], where: str) -> Predicate | None:
        kind = self._read_field(document, where, ("field", "in"))
        values = document["in"]
        if not isinstance(values, list):
            return self._refuse(f"{where}.in: expected a list of values, got {describe(values)}")
        field = document["field"]
        if kind is None or not isinstance(field, str):
            return None
        read = [self._read_value(value, kind, f"{where}.in[{place}]") for place, value in enumerate(values)]
        return None if None in read else OneOf(field=field, values=tuple(read))

    def _read_field(
        self, document: dict[str, Json], where: str, members: tuple[str, ...]
    ) -> Kind | tuple[bool | str, ...] | None:
        """The type of the field that *document* names, after its members have been looked at."""
        for name in document:
            if name not in members:
                self._refuse(f"{where}.{name}: unknown member; {nearest(name, members)}")
        for name in members:
            if name not in document:
                self._refuse(f"{where}: {name} is missing")
        field = document["field"]
        if not isinstance(field, str):
            return self._refuse(f"{where}.field: expected the name of a field, got {describe(field)}")
        kind = self._fields.get(field)
        if isinstance(kind, Forbidden):
            return self._refuse(f"{where}.field: {show(field)} may not be read here: {kind.because}")
        if kind is None:
            known = [name for name, type_ in self._fields.items() if not isinstance(type_, Forbidden)]
            return self._refuse(f"{where}.field: unknown field {show(field)}; {nearest(field, known)}")
        return kind

    def _read_value(self, value: Json, kind: Kind | tuple[bool | str, ...], where: str) -> Value:
        """The literal itself, or None if it does not fit the type of the field."""
        fits = _fits_set(value, kind) if isinstance(kind, tuple) else _fits_kind(value, kind)
        if fits and not isinstance(value, list | dict):
            return value
        return self._refuse(f"{where}: expected {_name(kind)}, got {describe(value)}{_advise(value, kind)}")


def _fits_set(value: Json, values: tuple[bool | str, ...]) -> bool:
    return isinstance(value, bool | str) and any(_same(value, known) for known in values)


def _fits_kind(value: Json, kind: Kind) -> bool:
    match kind:
        case "text":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return False
            return isfinite(value) if isinstance(value, float) else abs(value) <= _LARGEST


def _name(kind: Kind | tuple[bool | str, ...]) -> str:
    match kind:
        case "number":
            return "a finite number"
        case "text":
            return "text"
        case "boolean":
            return "true or false"
        case tuple():
            return "one of " + ", ".join(str(value).lower() if isinstance(value, bool) else value for value in kind)


def _advise(value: Json, kind: Kind | tuple[bool | str, ...]) -> str:
    if value is None:
        return "; to ask whether a value is missing use {op: eq, value: null}"
    if isinstance(kind, tuple) and isinstance(value, str):
        return "; " + nearest(value, [known for known in kind if isinstance(known, str)])
    return ""
