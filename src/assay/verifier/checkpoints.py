"""Steps 9, 10 and 12 to 15: the chain of checkpoints, its signatures, proofs, published heads and anchors."""

from assay.kernel import canonical
from assay.kernel.bundle import (
    checkpoint_path,
    consistency_pairs,
    consistency_path,
    inclusion_path,
    note_path,
    proven_sequences,
)
from assay.kernel.checkpoint import Checkpoint, read_checkpoint, rebuild_hash
from assay.kernel.container import read_whole
from assay.kernel.digests import to_raw, to_text
from assay.kernel.errors import EvidenceInvalid, MalformedDocument
from assay.kernel.keys import decode_signature, verify
from assay.kernel.merkle import verify_consistency, verify_inclusion
from assay.kernel.notes import note_key, tree_head, verify_note
from assay.kernel.roles import NOTE_DOMAIN, note_origin, note_role
from assay.kernel.shape import Members, read_object, read_texts
from assay.verifier.examination import Examination

__all__ = [
    "check_anchors",
    "check_checkpoints",
    "check_consistency",
    "check_inclusion",
    "check_notes",
    "check_witness",
]

# Three lines of head, an empty one, one signature.
_NOTE_LINES = 5


def check_checkpoints(exam: Examination) -> None:
    """Step 9: checkpoints are numbered from 0 without a gap, chained, hashed right and laid out as declared."""
    step = exam.step("checkpoint-hashes")
    paths = [path for path in exam.manifest.files if path.startswith("checkpoints/")]
    paths.sort(key=lambda path: (len(path), path))  # by number: beyond a million the names grow longer
    exam.structural.update(paths)
    if not paths:
        step.fail("checkpoints", "expected at least one checkpoint")
    previous = bytes(32)
    for number, path in enumerate(paths):
        where = f"checkpoint {number}"
        if path != checkpoint_path(number):
            step.fail(where, f"expected {checkpoint_path(number)}, got {path}")
        point = _read_checkpoint(exam, path)
        if point is None:
            continue
        rebuilt = rebuild_hash(exam.manifest.layout.checkpoint, point.line)
        if point.hash != rebuilt:
            step.fail(where, f"expected checkpointHash {to_text(rebuilt)}, got {to_text(point.hash)}")
        if point.sequence != number:
            step.fail(where, f"expected checkpointSequence {number}, got {point.sequence}")
        if point.previous != previous:
            step.fail(where, f"expected previousCheckpointHash {to_text(previous)}, got {to_text(point.previous)}")
        exam.points.append(point)
        previous = point.hash


def _read_checkpoint(exam: Examination, path: str) -> Checkpoint | None:
    if path not in exam.container:
        return None
    try:
        data = _line(exam, path)
        return read_checkpoint(exam.manifest.layout, data, path)
    except EvidenceInvalid as error:
        exam.step("checkpoint-hashes").fail(path, error.message)
        return None


def _line(exam: Examination, path: str) -> bytes:
    data = read_whole(exam.container[path])
    if not data.endswith(b"\n"):
        msg = f"{path}: expected canonical JSON and one line feed"
        raise MalformedDocument(msg, reason="not-canonical")
    return data[:-1]


def check_witness(exam: Examination) -> None:
    """Step 10: every checkpoint is signed by the witness key."""
    step = exam.step("witness-signatures")
    key = exam.manifest.key(exam.manifest.layout.checkpoint.signer)
    for point in exam.points:
        where = f"checkpoint {point.sequence}"
        if point.key_id != key.key_id:
            step.fail(where, f"expected witnessKeyId {key.key_id}, got {point.key_id!r}")
        try:
            verify(key.raw, point.hash, decode_signature(point.signature))
        except EvidenceInvalid as error:
            step.fail(where, error.message)


def _read_proof(exam: Examination, path: str, expected: dict[str, str | int]) -> list[bytes]:
    members: Members = {**{name: type(value) for name, value in expected.items()}, "path": list}
    fields = read_object(canonical.loads_canonical(_line(exam, path)), path, members)
    for name, value in expected.items():
        if fields[name] != value:
            msg = f"{path}: expected {name} {value!r}, got {fields[name]!r}"
            raise MalformedDocument(msg, reason="proof")
    return [to_raw(text) for text in read_texts(fields["path"], f"{path} path")]


def check_inclusion(exam: Examination) -> None:
    """Step 12: the first and last entry of every log are proven to be under the last checkpoint's root."""
    step = exam.step("inclusion-proofs")
    layout = exam.manifest.layout
    expected: set[str] = set()
    for spec in layout.logs if exam.points else ():
        last = exam.points[-1]
        head = last.heads[spec.name]
        for sequence in proven_sequences(head.size):
            path = inclusion_path(spec.name, sequence, len(exam.points) - 1)
            expected.add(path)
            if path not in exam.container:
                step.fail(path, "expected this proof, the bundle does not hold it")
                continue
            digest = exam.logs[spec.name].hashes.get(sequence, bytes(32))
            names: dict[str, str | int] = {
                "log": spec.name,
                "sequence": sequence,
                "checkpoint": len(exam.points) - 1,
            }
            try:
                steps = _read_proof(exam, path, names)
                leaf = layout.tree.leaf(sequence, digest)
                verify_inclusion(layout.tree, leaf, sequence - 1, head.size, steps, head.root)
            except EvidenceInvalid as error:
                step.fail(path, error.message)
    _refuse_others(exam, "inclusion-proofs", "proofs/inclusion/", expected)


def check_consistency(exam: Examination) -> None:
    """Step 13: from checkpoint to checkpoint no log shrinks, and each that grew is proven to extend the older one."""
    step = exam.step("consistency-proofs")
    layout = exam.manifest.layout
    expected: set[str] = set()
    for spec in layout.logs:
        heads = [point.heads[spec.name] for point in exam.points]
        for number in range(1, len(heads)):
            older, newer = heads[number - 1], heads[number]
            if newer.size < older.size:
                step.fail(f"checkpoint {number}", f"log {spec.name} shrank from {older.size} to {newer.size} entries")
            elif newer.size == older.size and newer.root != older.root:
                step.fail(f"checkpoint {number}", f"log {spec.name} has another root at the same size {newer.size}")
        for first, second in consistency_pairs([head.size for head in heads]):
            path = consistency_path(spec.name, first, second)
            expected.add(path)
            if path not in exam.container:
                step.fail(path, "expected this proof, the bundle does not hold it")
                continue
            older, newer = heads[first], heads[second]
            names: dict[str, str | int] = {"log": spec.name, "fromCheckpoint": first, "toCheckpoint": second}
            try:
                steps = _read_proof(exam, path, names)
                verify_consistency(layout.tree, older.size, newer.size, older.root, newer.root, steps)
            except EvidenceInvalid as error:
                step.fail(path, error.message)
    _refuse_others(exam, "consistency-proofs", "proofs/consistency/", expected)


def _refuse_others(exam: Examination, name: str, prefix: str, expected: set[str]) -> None:
    exam.structural.update(expected)
    for path in exam.manifest.files:
        if path.startswith(prefix) and path not in expected:
            exam.structural.add(path)
            exam.step(name).fail(path, "no checkpoint calls for this proof")


def check_notes(exam: Examination) -> None:
    """Step 14: every log's head is published as a signed note that says what the last checkpoint says."""
    step = exam.step("notes")
    manifest = exam.manifest
    expected: set[str] = set()
    signs = any(key.domain == NOTE_DOMAIN for key in manifest.signers)
    for spec in manifest.layout.logs if signs and exam.points else ():
        path = note_path(spec.name)
        expected.add(path)
        if path not in exam.container:
            step.fail(path, "expected this note, the bundle does not hold it")
            continue
        origin = note_origin(manifest.lab, manifest.key(manifest.layout.checkpoint.signer), spec.name)
        vkey = note_key(origin, manifest.key(note_role(spec.name)).raw)
        head = exam.points[-1].heads[spec.name]
        try:
            note = read_whole(exam.container[path])
            text = verify_note(note, vkey)
        except EvidenceInvalid as error:
            step.fail(path, error.message)
            continue
        if text != tree_head(origin, head.size, head.root):
            step.fail(path, f"expected {origin} at {head.size} entries with the last checkpoint's root, got {text!r}")
        if note.count(b"\n") != _NOTE_LINES:
            step.fail(path, "expected the head and one signature, got more")
    _refuse_others(exam, "notes", "notes/", expected)


def check_anchors(exam: Examination) -> None:
    """Step 15: this format carries no anchors; a bundle that claims one is refused rather than believed."""
    step = exam.step("anchors")
    for path in exam.manifest.files:
        if path.startswith("anchors/"):
            exam.structural.add(path)
            step.fail(path, "this release cannot check anchors")
    step.note = "none claimed" if step.status == "passed" else ""
