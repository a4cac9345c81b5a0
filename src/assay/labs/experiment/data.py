"""The rows of a registered file: the bytes are the registered ones, and every cell that decides is read exactly."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn, cast

from assay.kernel.errors import BadInput, EvidenceInvalid
from assay.labs.experiment.cells import Cell, Reader, outcome_reader, value_reader
from assay.labs.experiment.pairing import pair_rows
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.rows import Row, Score
from assay.labs.experiment.sections import Arms
from assay.labs.experiment.tables import Line, decode, read_lines
from assay.rules.documents import read_file
from assay.rules.names import describe, show, suggest
from assay.rules.predicates import Value

__all__ = ["LARGEST_SOURCE", "Row", "read_rows"]

LARGEST_SOURCE: Final = 2_000_000_000
"""Bytes a source file may have."""


def read_rows(path: Path, experiment: Experiment) -> list[Row]:
    """Every row of the registered file, in the file's order.

    Raises:
        BadInput: The file cannot be read, is not the registered one, or holds rows that cannot be compared; the message
            names the file, and line and column where there are any.
    """
    data = read_file(path, LARGEST_SOURCE)
    _check_digest(path, data, experiment)
    typed = experiment.data.suffix == ".jsonl"
    columns = experiment.data.columns
    wanted = (columns.arm, columns.unit, columns.cluster, columns.outcome, *experiment.data.more)
    name = experiment.data.file
    reading = _Reading(experiment, name, typed=typed)
    lines: list[int] = []
    rows: list[Row] = []
    for line in read_lines(decode(data, name), name, wanted):
        lines.append(line[0])
        rows.append(reading.read(len(rows), line))
    _check_arms(name, rows, experiment.arms)
    _check_pairs(name, rows, lines, experiment)
    return rows


class _Reading:
    """Reads lines of one source into rows."""

    def __init__(self, experiment: Experiment, file: str, *, typed: bool) -> None:
        self._file = file
        self._columns = experiment.data.columns
        self._arms = (experiment.arms.treatment, experiment.arms.control)
        self._outcome = outcome_reader(experiment.outcome, typed=typed)
        self._more: Mapping[str, Reader] = {
            name: value_reader(kind, typed=typed) for name, kind in experiment.data.more.items()
        }

    def read(self, index: int, line: Line) -> Row:
        number, cells = line
        columns = self._columns
        arm = self._name(cells, number, columns.arm)
        compared = arm in self._arms
        return Row(
            index=index,
            arm=arm,
            unit=self._name(cells, number, columns.unit),
            cluster=self._name(cells, number, columns.cluster),
            # the reader of outcomes gives scores only
            outcome=cast(Score | None, self._value(cells, number, columns.outcome, self._outcome))
            if compared
            else None,
            more={name: self._value(cells, number, name, reader) for name, reader in self._more.items()},
        )

    def _value(self, cells: Mapping[str, Cell], line: int, column: str, reader: Reader) -> Value:
        return reader(cells.get(column), f"{self._file}: line {line}, column {show(column)}")

    def _name(self, cells: Mapping[str, Cell], line: int, column: str) -> str:
        cell = cells.get(column)
        if not isinstance(cell, str) or not cell.strip():
            got = "an empty cell" if cell == "" else describe(cell)
            msg = f"{self._file}: line {line}, column {show(column)}: expected a name, got {got}"
            raise BadInput(msg, file=self._file, line=line)
        return cell


def _refuse(file: str, problem: str) -> NoReturn:
    msg = f"{file}: {problem}"
    raise BadInput(msg, file=file)


def _check_digest(path: Path, data: bytes, experiment: Experiment) -> None:
    found, registered = hashlib.sha256(data).hexdigest(), experiment.data.sha256
    if found != registered:
        msg = (
            f"{path}: the file's SHA-256 is {found}, registered was {registered}; "
            f"restore the file, or register this one: `sha256sum {path.name}` prints its digest for data.sha256, and "
            "`assay experiment new` writes the registration anew"
        )
        raise BadInput(msg, path=str(path), found=found, registered=registered)


def _check_arms(file: str, rows: Sequence[Row], arms: Arms) -> None:
    counts = Counter(row.arm for row in rows)
    listed = ", ".join(f"{show(arm)} ({count} rows)" for arm, count in sorted(counts.items()))
    _check_twins(file, arms, counts)
    for role, arm in (("treatment", arms.treatment), ("control", arms.control)):
        if arm not in counts:
            hint = suggest(arm, counts)
            _refuse(
                file, f"no row is of the {role} arm {show(arm)}{f' ({hint})' if hint else ''}; the arms are {listed}"
            )


def _check_twins(file: str, arms: Arms, counts: Mapping[str, int]) -> None:
    for arm in (arms.treatment, arms.control):
        for other in sorted(counts):
            if other not in {arms.treatment, arms.control} and _plain(other) == _plain(arm):
                _refuse(
                    file,
                    f"the arm {show(other)} ({counts[other]} rows) differs from the compared arm {show(arm)} by "
                    "spaces, case or Unicode form only, and its rows would be left out; give one arm one name",
                )


def _plain(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _check_pairs(file: str, rows: Sequence[Row], lines: Sequence[int], experiment: Experiment) -> None:
    try:
        pair_rows(rows, experiment)
    except EvidenceInvalid as problem:
        indexes = cast(list[int], problem.details["rows"])  # as pair_rows says
        first, second = (lines[index] for index in indexes)
        _refuse(file, f"lines {first} and {second}: {problem.message}")
