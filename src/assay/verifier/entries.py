"""Steps 4 to 8 and 11: every entry of every log, and what the checkpoints signed of the logs."""

from collections.abc import Sequence

from assay.kernel import canonical
from assay.kernel.bundle import proven_sequences
from assay.kernel.layout import Closing, LogSpec
from assay.kernel.logs import ATTACHED, Block, Fault
from assay.kernel.rebuild import Rebuild, marks_of
from assay.verifier.examination import Examination, LogReading
from assay.verifier.reading import Scanner

__all__ = ["check_entries"]

_STEP_OF = {
    "canonical": "canonical",
    "sequence": "sequences",
    "link": "links",
    "hash": "entry-hashes",
    "signature": "writer-signatures",
    "root": "merkle-roots",
}
# Registrations, closing entries and attachments are kept in memory; a hostile log may hold nothing else.
PICKED_LIMIT = 64 << 20


def check_entries(exam: Examination, scanner: Scanner) -> None:
    """Steps 4 to 8 and 11: entries are canonical, counted, linked, hashed and signed, and give the signed roots."""
    layout = exam.manifest.layout
    for spec in layout.logs:
        reading = exam.readings.get(spec.file)
        log = exam.logs[spec.name] = LogReading()
        if reading is None:
            exam.step("canonical").fail(spec.name, f"the log's file {spec.file} is missing")
            continue
        if reading.fault:
            exam.step("canonical").fail(spec.name, reading.fault)
        rebuild = Rebuild(spec, layout.tree, marks_of(spec, exam.points))
        key = exam.manifest.key(spec.signer)
        wanted = proven_sequences(exam.points[-1].heads[spec.name].size) if exam.points else []
        for block in scanner.scan(spec, key, reading.blocks, _marks(exam, spec)):
            if not _keep(log, block, rebuild.place.sequence, wanted):
                exam.step("canonical").fail(spec.name, f"more than {PICKED_LIMIT} bytes of entries that are kept whole")
                break
            _record(exam, spec, rebuild.feed(block))
        _record(exam, spec, rebuild.finish())
        log.size, log.last = rebuild.place


def _marks(exam: Examination, spec: LogSpec) -> Sequence[bytes]:
    layout = exam.manifest.layout
    if layout.registration is None and spec is layout.logs[0]:
        return (b"",)  # the registration log is read whole
    marks = [closing_mark(layout.closings[spec.name])] if spec.name in layout.closings else []
    return [*marks, ATTACHED] if spec.name == layout.attachments else marks


def closing_mark(closing: Closing) -> bytes:
    """The bytes that every closing entry holds, as canonical JSON writes them."""
    return canonical.dumps({closing.member: closing.value})[1:-1]


def _keep(log: LogReading, block: Block, before: int, wanted: Sequence[int]) -> bool:
    log.picked.extend(block.picked)
    log.picked_bytes += sum(len(line) for _, line in block.picked)
    for sequence in wanted:
        at = (sequence - before - 1) * 32
        if 0 <= at < len(block.hashes):
            log.hashes[sequence] = bytes(block.hashes[at : at + 32])
    return log.picked_bytes <= PICKED_LIMIT


def _record(exam: Examination, spec: LogSpec, faults: Sequence[Fault]) -> None:
    for fault in faults:
        exam.step(_STEP_OF[fault.check]).fail(f"{spec.name} entry {fault.line}", fault.message)
