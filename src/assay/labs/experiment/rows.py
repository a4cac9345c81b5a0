"""One row of the source, as it is logged and as it is read back.

A row of an arm that is not compared is logged with its arm, unit and cluster; its outcome was not read and is null.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, TypeAlias, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.labs.experiment.logs import LAYOUT, ROWS
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.sections import Columns, Real
from assay.rules.names import show
from assay.rules.predicates import Kind, Value
from assay.verifier.lab import Evidence, Record

__all__ = ["Row", "RowShape", "list_rows"]

Score: TypeAlias = bool | int | float

_MEMBERS: Final = frozenset({"kind", "index", "arm", "unit", "cluster", "outcome", "more"})
_ENVELOPE: Final = frozenset(LAYOUT.log(ROWS).envelope)
_WHOLE: Final = _MEMBERS | _ENVELOPE
_TYPES: Final[Mapping[Kind, tuple[type, ...]]] = {"number": (int, float), "text": (str,), "boolean": (bool,)}
_SOURCE: Final = frozenset({"kind", "sha256", "rows"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShape:
    """What rows under one registration look like.

    Args:
        arms: The arms that are compared.
        binary: Whether the outcome is true or false.
        lowest: The least a real outcome may be, or None.
        highest: The most a real outcome may be, or None.
        more: The further columns and their types.
    """

    arms: frozenset[str]
    binary: bool
    lowest: float | None
    highest: float | None
    more: Mapping[str, tuple[type, ...]]

    @classmethod
    def of(cls, experiment: Experiment) -> "RowShape":
        """The shape that a registration gives its rows."""
        outcome, arms = experiment.outcome, experiment.arms
        real = outcome if isinstance(outcome, Real) else None
        return cls(
            arms=frozenset({arms.treatment, arms.control}),
            binary=real is None,
            lowest=real.min if real else None,
            highest=real.max if real else None,
            more={name: _TYPES[kind] for name, kind in experiment.data.more.items()},
        )

    def takes(self, outcome: object) -> bool:
        """Whether *outcome* is one that a compared arm's row may have."""
        if outcome is None:
            return True
        if self.binary:
            return type(outcome) is bool
        if type(outcome) is not int and type(outcome) is not float:
            return False
        low, high = self.lowest, self.highest
        return isfinite(outcome) and (low is None or outcome >= low) and (high is None or outcome <= high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the source.

    Args:
        index: Its place in the file, from 0, the header not counted.
        arm: The arm it belongs to.
        unit: What was tried.
        cluster: The cluster of the unit.
        outcome: True or false of a binary outcome, a number of a real one; None where it is missing, and for the rows
            of arms that are not compared.
        more: The further columns that admission may read.
    """

    index: int
    arm: str
    unit: str
    cluster: str
    outcome: Score | None
    more: Mapping[str, Value]

    def to_body(self) -> dict[str, Json]:
        """The body of the row's log entry."""
        return {
            "kind": "row.read",
            "index": self.index,
            "arm": self.arm,
            "unit": self.unit,
            "cluster": self.cluster,
            "outcome": self.outcome,
            "more": dict(self.more),
        }

    @classmethod
    def from_body(cls, body: Record, shape: RowShape) -> "Row":
        """The row that a log entry holds, with or without its envelope.

        Raises:
            EvidenceInvalid: The entry is not one that is written under the registration.
        """
        if not body.keys() <= _WHOLE or not body.keys() >= _MEMBERS:
            raise _refuse(body, f"expected the members {', '.join(sorted(_MEMBERS))}")
        index, arm, unit, cluster = body["index"], body["arm"], body["unit"], body["cluster"]
        outcome, more = body["outcome"], body["more"]
        if type(index) is not int or index < 0 or body["kind"] != "row.read":
            raise _refuse(body, "expected a row.read with an index from 0")
        if not (type(arm) is str and arm and type(unit) is str and unit and type(cluster) is str and cluster):
            raise _refuse(body, "arm, unit and cluster are texts that are not empty")
        if arm not in shape.arms:
            if outcome is not None:
                raise _refuse(body, f"the arm {show(arm)} is not compared, so its outcome must not have been read")
        elif not shape.takes(outcome):
            raise _refuse(body, f"{show(outcome)} is no outcome under this registration")
        if type(more) is not dict or more.keys() != shape.more.keys():
            raise _refuse(body, f"more holds exactly the columns {', '.join(shape.more) or '(none)'}")
        for name, types in shape.more.items():
            if more[name] is not None and type(more[name]) not in types:
                raise _refuse(body, f"{show(more[name])} is of another type than column {show(name)}")
        score, values = cast(Score | None, outcome), cast(Mapping[str, Value], more)  # as checked above
        return cls(index=index, arm=arm, unit=unit, cluster=cluster, outcome=score, more=values)

    def facts(self, columns: Columns) -> dict[str, Value]:
        """What admission may read of the row, by the names of the file's columns."""
        return {**self.more, columns.unit: self.unit, columns.cluster: self.cluster}


def _refuse(body: Record, problem: str) -> EvidenceInvalid:
    where = f"entry {body.get('sequence', '?')}, row {show(body.get('index', '?'))}"
    return EvidenceInvalid(f"log {ROWS}, {where}: {problem}", log=ROWS, sequence=body.get("sequence"))


def list_rows(experiment: Experiment, evidence: Evidence) -> Iterator[Row]:
    """Every row that the evidence holds, in order; what is not a run's own log of rows is refused on the way.

    Raises:
        EvidenceInvalid: An entry is not one that such a run writes, rows are missing or repeated, or the source is not
            the registered one.
    """
    shape = RowShape.of(experiment)
    stated: int | None = None
    opened = closed = False
    following = 0
    for entry in evidence.entries(ROWS):
        kind = entry.get("kind")
        if closed:
            raise _refuse(entry, "an entry stands behind the one that closes the log")
        if not opened and kind != "run.opened":
            raise _refuse(entry, f"expected run.opened as the first entry, got {show(kind)}")
        if kind == "row.read":
            row = Row.from_body(entry, shape)
            if stated is None or row.index != following:
                raise _refuse(entry, f"expected row {following}, after the entry that names the source")
            following += 1
            yield row
        elif kind == "source.read":
            if stated is not None:
                raise _refuse(entry, "the source is named a second time")
            stated = _read_source(entry, experiment)
        elif kind == "run.closed":
            closed = True
        elif kind != "run.recovered" and (opened or kind != "run.opened"):
            raise _refuse(entry, f"entries of the kind {show(kind)} do not belong here")
        opened = True
    _check_count(stated, following)


def _read_source(entry: Record, experiment: Experiment) -> int:
    if frozenset(entry.keys() - _ENVELOPE) != _SOURCE:
        raise _refuse(entry, f"expected the members {', '.join(sorted(_SOURCE))}")
    rows, sha256 = entry["rows"], entry["sha256"]
    if sha256 != experiment.data.sha256:
        registered = experiment.data.sha256
        raise _refuse(entry, f"the rows come from a file of SHA-256 {show(sha256)}, registered was {registered}")
    if type(rows) is not int or rows < 0:
        raise _refuse(entry, f"expected a number of rows, got {show(rows)}")
    return rows


def _check_count(stated: int | None, found: int) -> None:
    if stated is None:
        msg = f"log {ROWS}: no entry names the source of the rows"
        raise EvidenceInvalid(msg, log=ROWS)
    if stated != found:
        msg = f"log {ROWS}: the source has {stated} rows, the log holds {found}"
        raise EvidenceInvalid(msg, log=ROWS, stated=stated, found=found)
