"""Steps 16 to 20: what the evidence is evidence of: the registration, the end of the run, its files, its verdict."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.container import read_whole
from assay.kernel.digests import digest
from assay.kernel.errors import EvidenceInvalid, InvariantBroken, KeyRefused, MalformedDocument, UsageInvalid
from assay.kernel.paths import RESERVED
from assay.kernel.seal import in_force_at, layout_digest, open_seal
from assay.kernel.shape import read_object
from assay.verifier.entries import closing_mark
from assay.verifier.examination import Examination
from assay.verifier.lab import Lab, Record
from assay.verifier.reading import lines_of

__all__ = ["VERDICT", "BundleEvidence", "check_attachments", "check_completeness", "check_lab", "check_registration"]

VERDICT = "verdict.json"
_FILE_LIMIT = 1 << 30
_EXPLAINED_LIMIT = 1 << 22


class BundleEvidence:
    """The evidence of a bundle, as a lab's pure functions read it."""

    def __init__(self, exam: Examination) -> None:
        """Reads from the bundle under examination."""
        self._exam = exam

    def entries(self, log: str) -> Iterator[Record]:
        """The entries of one log in order, whole."""
        spec = self._exam.manifest.layout.log(log)
        for line in lines_of(self._exam.readings[spec.file].blocks):
            yield cast("dict[str, Json]", canonical.loads_canonical(line))  # the integrity steps passed

    def file(self, path: str) -> bytes:
        """The bytes of an attached file.

        Raises:
            EvidenceInvalid: No entry attaches such a file.
        """
        if path not in self._exam.attached:
            msg = f"no entry attaches a file {path!r}"
            raise EvidenceInvalid(msg, path=path)
        return read_whole(self._exam.container[path], _FILE_LIMIT)


def check_registration(exam: Examination) -> None:
    """Step 16: the registration is as sealed, its signers are the manifest's, checkpoints name the one in force."""
    step = exam.step("registration")
    place = exam.manifest.layout.registration
    try:
        if place is not None:
            exam.structural.add(place.file)
            data = read_whole(exam.container[place.file]) if place.file in exam.container else b""
            document = canonical.loads_canonical(data.removesuffix(b"\n"))
            digests = {0: digest(place.domain, document)}
            exam.document = document if isinstance(document, dict) else {}
        else:
            digests = _open_seal(exam)
    except (EvidenceInvalid, KeyRefused) as error:
        step.fail("registration", error.message)
        return
    for point in exam.points:
        size = 0 if place is not None else point.heads[exam.manifest.layout.logs[0].name].size
        in_force = in_force_at(digests, size)
        if point.registration != in_force:
            step.fail(f"checkpoint {point.sequence}", f"expected registration {in_force}, got {point.registration}")
    exam.result.facts["registration"] = digests[max(digests)]


def _open_seal(exam: Examination) -> Mapping[int, str]:
    log = exam.logs[exam.manifest.layout.logs[0].name]
    entries = [canonical.loads_canonical(line) for _, line in log.picked]
    sealed = open_seal([entry for entry in entries if isinstance(entry, dict)])
    exam.sealed, exam.document = sealed, sealed.document
    step = exam.step("registration")
    if sealed.lab != exam.manifest.lab:
        step.fail("manifest.json", f"expected lab {sealed.lab}, as sealed, got {exam.manifest.lab}")
    if sealed.layout != layout_digest(exam.manifest.layout):
        step.fail("manifest.json", "its layout is not the one that the registration's author sealed")
    if set(sealed.signers) != set(exam.manifest.signers):
        step.fail("manifest.json", "its signers are not those that the registration's author sealed")
    exam.result.facts["amendments"] = [
        {"at": item.at, "why": item.why, "seen": item.seen, "registration": item.registration}
        for item in sealed.amendments
    ]
    return sealed.digests


def check_completeness(exam: Examination) -> None:
    """Step 17: the last checkpoint covers an entry that closes every log, and nothing comes after it.

    Evidence that ends before it is closed is *incomplete*; evidence that goes on after it was closed is invalid.
    """
    step = exam.step("completeness")
    layout = exam.manifest.layout
    if not exam.points:
        step.leave("incomplete", "there is no checkpoint")
        return
    last = exam.points[-1]
    open_logs: list[str] = []
    tails: list[str] = []
    for spec in layout.logs:
        size = exam.logs[spec.name].size
        covered = last.heads[spec.name].size
        closed_at = _closed_at(exam, spec.name)
        if closed_at and closed_at < size:
            step.fail(spec.name, f"closed by entry {closed_at}, and goes on to entry {size}")
        elif spec.name in layout.closings and closed_at != covered:
            open_logs.append(spec.name)
        if size > covered:
            tails.append(f"{spec.name} entries {covered + 1} to {size}")
    if not open_logs:
        for tail in tails:
            step.fail(tail, "come after the last checkpoint of a closed run")
    elif step.status == "passed":
        parts = [f"not closed: {', '.join(open_logs)}"]
        parts += [f"not covered by any checkpoint: {'; '.join(tails)}"] if tails else []
        step.leave("incomplete", "; ".join(parts))


def _closed_at(exam: Examination, log: str) -> int:
    closing = exam.manifest.layout.closings.get(log)
    if closing is None:
        return 0
    mark = closing_mark(closing)
    for number, line in exam.logs[log].picked:
        if mark in line and _members_of(line).get(closing.member) == closing.value:
            return number
    return 0


def _members_of(line: bytes) -> Mapping[str, Json]:
    # Step 4 has said what is wrong with a line that is no object.
    try:
        entry = canonical.loads(line)
    except MalformedDocument:
        return {}
    return entry if isinstance(entry, dict) else {}


def check_attachments(exam: Examination) -> None:
    """Step 18: every file that is not the format's own is committed by exactly one entry, and none is missing."""
    step = exam.step("attachments")
    log = exam.manifest.layout.attachments
    for number, line in exam.logs[log].picked if log else ():
        entry = _members_of(line)
        if entry.get("kind") != "file.attached":
            continue
        where = f"{log} entry {number}"
        try:
            _read_attachment(exam, entry, where)
        except MalformedDocument as error:
            step.fail(where, error.message)
    own = exam.structural | {spec.file for spec in exam.manifest.layout.logs}
    for path in sorted(set(exam.manifest.files) - own - set(exam.attached)):
        step.fail(path, "no entry of the evidence commits this file")


def _read_attachment(exam: Examination, entry: Mapping[str, Json], where: str) -> None:
    step = exam.step("attachments")
    members = {name: entry.get(name) for name in ("path", "sha256", "size")}
    read_object(dict(members), where, {"path": str, "sha256": str, "size": int})
    path, sha256, size = cast("tuple[str, str, int]", tuple(members.values()))
    stated = exam.manifest.files.get(path)
    if path.split("/")[0] in RESERVED:
        step.fail(where, f"{path} lies where the format keeps files of its own")
    elif path in exam.attached:
        step.fail(where, f"{path} is attached twice")
    elif stated is None:
        step.fail(where, f"{path} is attached, and the bundle does not hold it")
    elif (stated.sha256, stated.size) != (sha256, size):
        step.fail(where, f"expected {path} with SHA-256 {sha256} and {size} bytes, got {stated.sha256}, {stated.size}")
    exam.attached[path] = sha256


def check_lab(exam: Examination, lab: Lab[Any] | None) -> None:
    """Steps 19 and 20: the lab's own checks hold, and the verdict it derives is the one in the bundle.

    A defect of the lab is no verdict on the evidence: it leaves the steps undecided.
    """
    structure, verdict = exam.step("structure"), exam.step("verdict")
    if lab is None:
        note = f"lab {exam.manifest.lab!r} is not installed here; install it to derive the verdict again"
        structure.leave("unchecked", note)
        verdict.leave("unchecked", note)
        return
    if lab.layout.to_json() != exam.manifest.layout.to_json():
        structure.fail("manifest.json", f"its layout is not the one lab {lab.name} declares")
        verdict.leave("skipped", "the layout is another one")
        return
    try:
        _derive(exam, lab)
    except (EvidenceInvalid, UsageInvalid) as error:
        (structure if structure.status == "failed" else verdict).fail(lab.name, error.message)
    except Exception as error:  # noqa: BLE001 - a lab's defect on hostile evidence must not pass for an answer
        note = f"lab {lab.name} could not decide on this evidence ({type(error).__name__}: {error})"
        structure.leave("unchecked", note)
        verdict.leave("unchecked", note)


def _derive(exam: Examination, lab: Lab[Any]) -> None:
    structure, verdict = exam.step("structure"), exam.step("verdict")
    evidence = BundleEvidence(exam)
    registration = lab.load(exam.document)
    for check in lab.checks():
        try:
            check.run(registration, evidence)
        except EvidenceInvalid as error:
            structure.fail(check.name, error.message)
    if structure.status != "passed":
        verdict.leave("skipped", "the lab's own checks failed")
        return
    if VERDICT not in exam.attached:
        verdict.leave("incomplete", f"the run holds no {VERDICT}")
        return
    stated = evidence.file(VERDICT)
    derived = lab.derive(registration, evidence)
    try:
        rebuilt = canonical.dumps(derived) + b"\n"
    except MalformedDocument as error:
        msg = f"its verdict cannot be written: {error.message}"
        raise InvariantBroken(msg) from error
    exam.result.facts["verdict"] = derived
    if stated != rebuilt:
        verdict.fail(VERDICT, f"the evidence gives another verdict: {_first_difference(stated, derived)}")


def _first_difference(stated: bytes, derived: Mapping[str, Json]) -> str:
    if len(stated) > _EXPLAINED_LIMIT:
        return f"it has {len(stated)} bytes"
    try:
        value = canonical.loads(stated)
    except MalformedDocument as error:
        return f"{VERDICT} is not canonical JSON ({error.message})"
    if not isinstance(value, dict):
        return "it is no object"
    names = [n for n in sorted({*value, *derived}) if n not in value or n not in derived or value[n] != derived[n]]
    return f"differs in {', '.join(names) or 'its bytes'}"
