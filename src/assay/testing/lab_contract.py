"""The contract of the `Lab` port: what every lab must keep so that running, verifying and reporting can rely on it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypeVar

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.errors import AssayError, EvidenceInvalid, UsageInvalid
from assay.kernel.layout import Layout
from assay.kernel.manifest import read_layout
from assay.verifier.figures import Forest, Funnel, Report, Table
from assay.verifier.lab import Evidence, Lab, Record

__all__ = ["LabBroken", "LabCase", "MemoryEvidence", "check_lab", "copy_evidence"]

R = TypeVar("R")
_JUNK: tuple[Json, ...] = (None, True, -1, 2**53 - 1, "", "\x1b[31m", [], [None], {}, {"": []})


class LabBroken(AssertionError):
    """A lab that does not keep the contract; the message says what it broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence:
    """Evidence held in memory, so that a test can take some away or put some in.

    Args:
        logs: The entries of every log.
        files: The attached files by their path.
    """

    logs: Mapping[str, Sequence[Record]]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def entries(self, log: str) -> Iterator[Record]:
        """The entries of one log in order."""
        return iter(self.logs[log])

    def file(self, path: str) -> bytes:
        """The bytes of an attached file.

        Raises:
            EvidenceInvalid: No such file is attached.
        """
        if path not in self.files:
            msg = f"no file {path!r} is attached"
            raise EvidenceInvalid(msg)
        return self.files[path]

    def with_log(self, log: str, entries: Sequence[Record]) -> "MemoryEvidence":
        """The same evidence with other entries in one log."""
        return replace(self, logs={**self.logs, log: entries})


def copy_evidence(evidence: Evidence, layout: Layout, paths: Sequence[str] = ()) -> MemoryEvidence:
    """A copy in memory of every log and of the attached files that are named."""
    logs = {spec.name: [*evidence.entries(spec.name)] for spec in layout.logs}
    return MemoryEvidence(logs=logs, files={path: evidence.file(path) for path in paths})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCase:
    """What a lab's author gives the contract.

    Args:
        document: A registration document as a user may write it.
        evidence: What a run under it left.
        tampered: Evidence that the lab's checks or its derivation must refuse, by what is wrong with it.
    """

    document: Record
    evidence: MemoryEvidence
    tampered: Mapping[str, Evidence]


def check_lab(lab: Lab[R], case: LabCase) -> None:
    """Returns if a lab keeps the contract.

    Raises:
        LabBroken: It does not.
    """
    _check_layout(lab)
    registration = lab.load(case.document)
    _check_document(lab, registration)
    _check_hostile_documents(lab, case.document)
    verdict = _check_verdict(lab, registration, case.evidence)
    _check_report(lab.report(verdict))
    for what, evidence in case.tampered.items():
        _check_refused(lab, registration, evidence, what)
    _check_hostile_evidence(lab, registration, case.evidence)


def _break(message: str) -> NoReturn:
    raise LabBroken(message)


def _check_layout(lab: Lab[R]) -> None:
    if lab.layout != lab.layout:
        _break("layout: two readings give two layouts")
    if read_layout(lab.layout.to_json()).to_json() != lab.layout.to_json() or _tree_of(lab.layout) != lab.layout.tree:
        _break("layout: what a manifest would carry of it reads back as another one")
    names = [check.name for check in lab.checks()]
    if len(set(names)) != len(names) or not all(names):
        _break(f"checks: expected a name of its own for each, got {names}")


def _tree_of(layout: Layout) -> object:
    return read_layout(layout.to_json()).tree


def _check_document(lab: Lab[R], registration: R) -> None:
    document = lab.document(registration)
    data = canonical.dumps(document)
    if document.get("lab") != lab.name:
        _break(f"document: expected the member lab to be {lab.name!r}, got {document.get('lab')!r}")
    again = lab.document(lab.load(_reread(data)))
    if canonical.dumps(again) != data:
        _break("document: loading what was sealed gives another document")


def _reread(data: bytes) -> dict[str, Json]:
    value = canonical.loads(data)
    return value if isinstance(value, dict) else _break("expected an object")


def _check_hostile_documents(lab: Lab[R], document: Record) -> None:
    variants: list[dict[str, Json]] = [{}, {**document, "no-such-member": 1}]
    for name in document:
        variants.append({other: value for other, value in document.items() if other != name})
        variants += [{**document, name: junk} for junk in _JUNK]
    for variant in variants:
        try:
            lab.load(variant)
        except UsageInvalid:
            continue
        except Exception as error:
            msg = f"load: expected BadInput or a registration, got {type(error).__name__} for {variant!r:.300}"
            raise LabBroken(msg) from error
    try:
        lab.load(variants[1])
    except UsageInvalid:
        return
    _break("load: a member that it does not know is taken in silence")


def _check_verdict(lab: Lab[R], registration: R, evidence: Evidence) -> dict[str, Json]:
    for check in lab.checks():
        check.run(registration, evidence)
    try:
        first = canonical.dumps(lab.derive(registration, evidence))
    except AssayError as error:
        msg = f"derive: expected a verdict that JSON can carry, got {error.message}"
        raise LabBroken(msg) from error
    if canonical.dumps(lab.derive(registration, evidence)) != first:
        _break("derive: the same evidence gives two verdicts")
    return _reread(first)


def _check_report(report: Report) -> None:
    if not (report.title and report.headline):
        _break("report: expected a title and a headline")
    for block in (block for section in report.sections for block in section.blocks):
        if isinstance(block, Table) and any(len(row) != len(block.columns) for row in block.rows):
            _break(f"report: the rows of the table {block.title!r} do not fit its columns")
        if isinstance(block, Funnel) and not _reconciles(block):
            _break(f"report: the funnel {block.title!r} does not account for every {block.unit}")
        if isinstance(block, Forest) and not all(map(math.isfinite, _numbers(block))):
            _break(f"report: the forest {block.title!r} holds a number that is not finite")


def _reconciles(funnel: Funnel) -> bool:
    left = funnel.input
    for stage in funnel.stages:
        if stage.entering != left or stage.excluded < 0 or stage.remaining != left - stage.excluded:
            return False
        left = stage.remaining
    return left == funnel.surviving


def _numbers(forest: Forest) -> Iterator[float]:
    for row in (*forest.rows, *forest.pooled):
        yield from (number for number in (row.value, row.lower, row.upper) if number is not None)


def _is_refused(lab: Lab[R], registration: R, evidence: Evidence, what: str) -> bool:
    try:
        for check in lab.checks():
            check.run(registration, evidence)
        canonical.dumps(lab.derive(registration, evidence))
    except EvidenceInvalid:
        return True
    except Exception as error:
        msg = f"evidence with {what}: expected EvidenceInvalid or a verdict, got {type(error).__name__}: {error}"
        raise LabBroken(msg) from error
    return False


def _check_refused(lab: Lab[R], registration: R, evidence: Evidence, what: str) -> None:
    if not _is_refused(lab, registration, evidence, what):
        _break(f"evidence with {what}: expected a refusal, got a verdict")


def _check_hostile_evidence(lab: Lab[R], registration: R, evidence: MemoryEvidence) -> None:
    for log, entries in evidence.logs.items():
        _is_refused(lab, registration, evidence.with_log(log, []), f"nothing in {log}")
        for number in _telling(entries):
            before, entry, after = entries[:number], entries[number], entries[number + 1 :]
            for what, variant in _variants(entry):
                other = evidence.with_log(log, [*before, *variant, *after])
                _is_refused(lab, registration, other, f"{what} in {log} entry {number + 1}")


def _telling(entries: Sequence[Record]) -> list[int]:
    # The first and the last entry of each kind stand for those between them.
    kinds = [str(entry.get("kind")) for entry in entries]
    first = {kind: number for number, kind in reversed([*enumerate(kinds)])}
    last = {kind: number for number, kind in enumerate(kinds)}
    return sorted({*first.values(), *last.values()})


def _variants(entry: Record) -> Iterator[tuple[str, Sequence[Record]]]:
    yield "nothing", ()
    yield "everything twice", (entry, entry)
    for name in entry:
        yield f"no {name}", ({other: value for other, value in entry.items() if other != name},)
        for junk in _JUNK:
            yield f"{name} as {junk!r}", ({**entry, name: junk},)
