"""A tiny lab that is real all the same, for tests of whatever works with any lab; and running one on its own.

The toy lab adds up registered numbers: those up to a registered limit are accepted, the others refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.digests import to_text
from assay.kernel.errors import BadInput, EvidenceInvalid, MalformedDocument
from assay.kernel.layout import Layout, default_layout
from assay.kernel.run import Run
from assay.kernel.seal import registration_digest
from assay.kernel.shape import read_list, read_object
from assay.kernel.store.protocol import EntryRow
from assay.verifier.claims import VERDICT
from assay.verifier.figures import Funnel, FunnelStage, Report, Section, Table
from assay.verifier.lab import Check, Evidence, Lab, OpenRun, Progress, Record, Unwatched, Work

__all__ = ["TOY", "Toy", "ToyLab", "finish_run"]

ROWS, DECISIONS = "rows", "decisions"
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """A toy registration: the numbers to add, and the largest that is accepted."""

    id: str
    values: tuple[int, ...]
    limit: int


class ToyLab:
    """The toy lab; see :class:`assay.verifier.lab.Lab`.

    Args:
        batch: How many numbers go into one transaction; it does not show in the evidence but for its checkpoints.
    """

    name = "toy"

    def __init__(self, batch: int = 1) -> None:
        """Takes ``batch`` numbers at a time."""
        self._batch = batch

    @property
    def layout(self) -> Layout:
        """The kernel's default layout with a log of rows and a log of decisions."""
        return default_layout(self.name, (ROWS, DECISIONS))

    def load(self, document: Record) -> Toy:
        """The registration a document states; the limit is 10 where it states none."""
        try:
            fields = read_object(
                dict(document), "registration", {"lab": str, "version": int, "id": str, "values": list}, {"limit": int}
            )
            values = read_list(fields["values"], "values")
        except MalformedDocument as error:
            raise BadInput(error.message) from error
        if (fields["lab"], fields["version"]) != (self.name, 1) or not all(type(value) is int for value in values):
            msg = f"expected lab {self.name} version 1 and a list of integers, got {fields['lab']!r} and {values!r:.80}"
            raise BadInput(msg)
        limit = cast("int", fields.get("limit", 10))
        return Toy(id=cast("str", fields["id"]), values=tuple(cast("list[int]", values)), limit=limit)

    def document(self, registration: Toy) -> dict[str, Json]:
        """The document that is sealed."""
        return {
            "lab": self.name,
            "version": 1,
            "id": registration.id,
            "values": [*registration.values],
            "limit": registration.limit,
        }

    def prepare(self, registration: Toy, folder: Path) -> Work:
        """There is nothing to read; every number makes an entry in both logs, in one transaction."""
        del folder
        return Work(label="adding", units=len(registration.values), run=partial(_record, registration, self._batch))

    def checks(self) -> tuple[Check[Toy], ...]:
        """Every row is judged once, in order, by its hash and the limit."""
        return (Check(name="judgements", run=_check_judgements),)

    def derive(self, registration: Toy, evidence: Evidence) -> dict[str, Json]:
        """How many numbers were accepted and refused, and the total of those accepted."""
        values = [entry.get("value") for entry in _of_kind(evidence, ROWS, "row.read")]
        if values != [*registration.values]:
            msg = "the rows are not the registered numbers in their order"
            raise EvidenceInvalid(msg)
        accepted = [value for value in registration.values if value <= registration.limit]
        return {
            "kind": "toy.verdict",
            "version": 1,
            "id": registration.id,
            "registration": registration_digest(self.document(registration)),
            "accepted": len(accepted),
            "refused": len(registration.values) - len(accepted),
            "total": sum(accepted),
        }

    def report(self, verdict: Record) -> Report:
        """One table and one funnel."""
        accepted, refused = cast("int", verdict["accepted"]), cast("int", verdict["refused"])
        rows = (("accepted", str(accepted)), ("refused", str(refused)), ("total", str(verdict["total"])))
        stage = FunnelStage(
            name="limit",
            reason="above the limit",
            entering=accepted + refused,
            excluded=refused,
            remaining=accepted,
        )
        funnel = Funnel(title="Numbers", unit="number", input=accepted + refused, stages=(stage,), surviving=accepted)
        table = Table(title="Counts", columns=("what", "count"), rows=rows, numeric=(1,))
        return Report(
            title=str(verdict["id"]),
            headline=f"{accepted} numbers make {verdict['total']}",
            tone="decided",
            sections=(Section(title="What was added", blocks=(table, funnel)),),
        )


TOY = ToyLab()


def finish_run(lab: Lab[R], registration: R, run: Run, folder: Path) -> dict[str, Json]:
    """Does a lab's work in an open run, attaches the verdict, closes the run and returns the verdict.

    Args:
        lab: The lab.
        registration: What the run was sealed with.
        run: The open run.
        folder: Where the files the registration names lie.
    """
    lab.prepare(registration, folder).run(run, Unwatched())
    verdict = lab.derive(registration, run.evidence)
    run.attach(VERDICT, canonical.dumps(verdict) + b"\n")
    run.close()
    return verdict


def _record(registration: Toy, batch: int, run: OpenRun, progress: Progress) -> None:
    done = run.size(ROWS) - 1  # the kernel's opening entry comes first
    progress.advance(done)
    indices = range(done, len(registration.values))
    for some in (indices[start : start + batch] for start in range(0, len(indices), batch)):
        with run.transaction() as transaction:
            for index in some:
                transaction.append(ROWS, {"kind": "row.read", "index": index, "value": registration.values[index]})
                transaction.append(DECISIONS, partial(_judgement, registration, index))
        progress.advance(len(some))


def _judgement(registration: Toy, index: int, rows: Sequence[EntryRow]) -> dict[str, Json]:
    accepted = registration.values[index] <= registration.limit
    return {"kind": "row.judged", "index": index, "row": to_text(rows[-1].hash), "accepted": accepted}


def _of_kind(evidence: Evidence, log: str, kind: str) -> list[Record]:
    return [entry for entry in evidence.entries(log) if entry.get("kind") == kind]


def _check_judgements(registration: Toy, evidence: Evidence) -> None:
    rows = _of_kind(evidence, ROWS, "row.read")
    judged = _of_kind(evidence, DECISIONS, "row.judged")
    expected = [(row.get("entryHash"), _is_accepted(registration, row.get("value"))) for row in rows]
    if [(entry.get("row"), entry.get("accepted")) for entry in judged] != expected:
        msg = f"expected each of {len(rows)} rows to be judged once, in order and by the limit; {len(judged)} are"
        raise EvidenceInvalid(msg)


def _is_accepted(registration: Toy, value: Json) -> bool:
    return isinstance(value, int) and value <= registration.limit
