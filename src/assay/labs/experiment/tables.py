"""The source file as lines of cells: CSV as RFC 4180 has it, or one JSON object a line."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import NoReturn, TypeAlias

from assay.kernel.canonical import loads
from assay.kernel.errors import BadInput, MalformedDocument
from assay.labs.experiment.cells import Cell
from assay.rules.names import describe, nearest, show

__all__ = ["Line", "decode", "list_columns", "read_lines"]

Line: TypeAlias = tuple[int, Mapping[str, Cell]]
"""The number of a line, counted from 1, and its cells by column."""


def decode(data: bytes, file: str) -> str:
    """The text of a source file; a byte order mark at its start is left out.

    Raises:
        BadInput: It is not UTF-8, or empty.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(file, f"line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
    if not text.strip():
        _refuse(file, "the file is empty; a row for each unit and arm was expected")
    return text


def read_lines(text: str, file: str, columns: Sequence[str]) -> Iterator[Line]:
    """The lines of a source file, each with the asked columns; of a JSON line some may be absent.

    Raises:
        BadInput: A line cannot be read, or no line has one of the columns.
    """
    lines = _read_csv(text, file, columns) if file.endswith(".csv") else _read_jsonl(text, file, columns)
    nothing = True
    for line in lines:
        nothing = False
        yield line
    if nothing:
        _refuse(file, "there are no rows; a row for each unit and arm was expected")


def list_columns(text: str, file: str) -> tuple[str, ...]:
    """The columns that a source file has, in the order in which they first come.

    Raises:
        BadInput: It cannot be read.
    """
    if file.endswith(".csv"):
        header = next(_split_csv(text, file))[1]
        _check_separator(header, file)
        return tuple(header)
    return tuple(dict.fromkeys(name for _, cells in _split_jsonl(text, file) for name in cells))


def _refuse(file: str, problem: str) -> NoReturn:
    msg = f"{file}: {problem}"
    raise BadInput(msg, file=file)


def _need_columns(file: str, columns: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    missing = [f"there is no column {show(name)}; {nearest(name, names)}" for name in columns if name not in names]
    if missing:
        _refuse(file, "; ".join(missing))


def _split_csv(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Every record with the number of its first line."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    line = 1
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            _refuse(file, f"line {line}: not CSV: {error}")
        yield line, record
        line = reader.line_num + 1


def _read_csv(text: str, file: str, columns: Sequence[str]) -> Iterator[Line]:
    records = _split_csv(text, file)
    _, header = next(records)
    _check_separator(header, file)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        _refuse(file, f"line 1: two columns are named {show(twice[0])}; give each its own name")
    _need_columns(file, columns, header)
    places = [(name, header.index(name)) for name in columns]
    for line, record in records:
        if len(record) != len(header):
            _refuse(file, f"line {line}: expected {len(header)} cells, as in the header, got {len(record)}")
        yield line, {name: record[place] for name, place in places}


def _check_separator(header: Sequence[str], file: str) -> None:
    found = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if found:
        name = "a tab" if found == "\t" else found
        _refuse(file, f"line 1: the header looks separated by {name}; save the file with commas between the cells")


def _split_jsonl(text: str, file: str) -> Iterator[tuple[int, dict[str, Cell]]]:
    lines = text.split("\n")
    if not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            cells = loads(line)
        except MalformedDocument as problem:
            _refuse(file, f"line {number}: {problem.message}")
        if not isinstance(cells, dict):
            _refuse(file, f"line {number}: expected an object of named members, got {describe(cells)}")
        yield number, cells


def _read_jsonl(text: str, file: str, columns: Sequence[str]) -> Iterator[Line]:
    seen: dict[str, None] = {}
    for number, cells in _split_jsonl(text, file):
        seen.update(dict.fromkeys(cells))
        yield number, {name: cells[name] for name in columns if name in cells}
    _need_columns(file, columns, seen)
