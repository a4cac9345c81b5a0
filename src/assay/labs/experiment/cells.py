"""What a cell of the source means: read exactly, and refused with its line and column where it means nothing.

A cell of a ``.csv`` file is text, and an empty one is missing. A member of a ``.jsonl`` line has a type of its own, and
null, or no such member, is missing. Nothing is coerced from one to the other.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final, NoReturn, TypeAlias

from assay.kernel.canonical import MAX_SAFE_INTEGER, Json
from assay.kernel.errors import BadInput
from assay.labs.experiment.sections import Binary, Mark, Real
from assay.rules.names import describe, show
from assay.rules.predicates import Kind, Value

__all__ = ["Cell", "Reader", "is_number_text", "outcome_reader", "value_reader"]

Cell: TypeAlias = Json
Reader: TypeAlias = Callable[[Cell, str], Value]
"""Takes a cell and its place (``line 3, column 'turns'``), gives its value, None where it is missing."""

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_LONGEST: Final = 400


def _refuse(where: str, expected: str, cell: Cell) -> NoReturn:
    msg = f"{where}: expected {expected}, got {describe(cell)}"
    raise BadInput(msg, where=where)


def value_reader(kind: Kind, *, typed: bool) -> Reader:
    """The reader of a column that admission may ask; ``typed`` where cells have types of their own."""
    read = (_TYPED if typed else _TEXTS)[kind]
    return lambda cell, where: None if _is_missing(cell, typed=typed) else read(cell, where)


def outcome_reader(outcome: Binary | Real, *, typed: bool) -> Reader:
    """The reader of the outcome column of the compared arms."""
    return _binary_reader(outcome, typed=typed) if isinstance(outcome, Binary) else _real_reader(outcome, typed=typed)


def _is_missing(cell: Cell, *, typed: bool) -> bool:
    return cell is None or (not typed and cell == "")


def _binary_reader(outcome: Binary, *, typed: bool) -> Reader:
    # The type is part of the key, because in Python true equals 1.
    meanings: Mapping[tuple[type, Mark], bool] = {
        **{(type(mark), mark): True for mark in outcome.true},
        **{(type(mark), mark): False for mark in outcome.false},
    }
    expected = f"{_list(outcome.true)} for true or {_list(outcome.false)} for false"

    def read(cell: Cell, where: str) -> Value:
        if isinstance(cell, bool | int | str) and (type(cell), cell) in meanings:
            return meanings[type(cell), cell]
        return None if _is_missing(cell, typed=typed) else _refuse(where, expected, cell)

    return read


def _list(marks: tuple[Mark, ...]) -> str:
    return " or ".join(show(mark) if isinstance(mark, str) else str(mark).lower() for mark in marks)


def _real_reader(outcome: Real, *, typed: bool) -> Reader:
    low, high = outcome.min, outcome.max
    bounds = [f"of at least {low}"] * (low is not None) + [f"of at most {high}"] * (high is not None)
    read_any = _read_number if typed else _read_number_text

    def read(cell: Cell, where: str) -> Value:
        if _is_missing(cell, typed=typed):
            return None
        number = read_any(cell, where)
        if (low is not None and number < low) or (high is not None and number > high):
            _refuse(where, f"a number {' and '.join(bounds)}", cell)
        return number

    return read


def _read_number(cell: Cell, where: str) -> int | float:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        _refuse(where, "a number", cell)
    return _carry(cell, cell, where)


def is_number_text(text: str) -> bool:
    """Whether a text is a number in plain decimal writing, as JSON has it."""
    return len(text) <= _LONGEST and _NUMBER.fullmatch(text) is not None


def _read_number_text(cell: Cell, where: str) -> int | float:
    if not isinstance(cell, str) or not is_number_text(cell):
        _refuse(where, "a number", cell)
    return _carry(int(cell) if _INTEGER.fullmatch(cell) else float(cell), cell, where)


def _carry(number: int | float, cell: Cell, where: str) -> int | float:
    """The number as evidence carries it: whole ones as integers."""
    if not isfinite(number) or (abs(number) > MAX_SAFE_INTEGER and number == int(number)):
        _refuse(where, "a number within ±(2^53−1), which can be carried exactly", cell)
    return int(number) if number == int(number) else number


def _read_text(cell: Cell, where: str) -> str:
    return cell if isinstance(cell, str) else _refuse(where, "text", cell)


def _read_truth(cell: Cell, where: str) -> bool:
    return cell if isinstance(cell, bool) else _refuse(where, "true or false", cell)


def _read_truth_text(cell: Cell, where: str) -> bool:
    return cell == "true" if cell in ("true", "false") else _refuse(where, "true or false", cell)


_TYPED: Final[Mapping[Kind, Reader]] = {"number": _read_number, "text": _read_text, "boolean": _read_truth}
_TEXTS: Final[Mapping[Kind, Reader]] = {"number": _read_number_text, "text": _read_text, "boolean": _read_truth_text}
