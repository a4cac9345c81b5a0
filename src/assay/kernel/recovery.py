"""Taking a run up again: the committed prefix is verified before anything is added to it."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain, islice

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.checkpoint import Checkpoint, read_checkpoint, rebuild_hash
from assay.kernel.digests import to_text
from assay.kernel.errors import BrokenChain, ForkDetected, MalformedDocument, SealBroken
from assay.kernel.keys import PublicKey, decode_signature, verify
from assay.kernel.layout import Layout, LogSpec, note_role
from assay.kernel.logs import ATTACHED, Fault, Place, scan
from assay.kernel.notes import note_key, tree_head, verify_note
from assay.kernel.rebuild import Rebuild, marks_of
from assay.kernel.seal import in_force_at
from assay.kernel.store.protocol import EntryRow, Store
from assay.kernel.writer import State

__all__ = ["recover"]

_BLOCK = 1024


def recover(store: Store, layout: Layout, keys: Mapping[str, PublicKey], digests: Mapping[int, str]) -> State:
    """Where the committed evidence stands, after all of it was verified.

    Args:
        store: The store to verify.
        layout: What the lab declared.
        keys: The public keys by role.
        digests: The registration digest in force after each entry of the registration log; empty where the layout
            has none.

    Raises:
        ForkDetected: Two entries claim one sequence.
        MalformedDocument: A checkpoint is not laid out as declared, or a key is missing.
        BrokenChain: An entry or a checkpoint does not follow from those before it, or does not lie where it says.
        BadSignature: A checkpoint's signature does not verify.
        SealBroken: A checkpoint names another registration than the one in force.
    """
    absent = {layout.checkpoint.signer, *(spec.signer for spec in layout.logs)} - set(keys)
    if absent:
        msg = f"the evidence names no key for {', '.join(sorted(absent))}"
        raise MalformedDocument(msg, reason="keys")
    _refuse_fork(store)
    points = _read_checkpoints(store, layout, keys, digests)
    state = State.empty(layout)
    for spec in layout.logs:
        rebuilt = _rebuild(store, layout, spec, keys[spec.signer], points)
        state.frontiers[spec.name], state.places[spec.name] = rebuilt.frontier, rebuilt.place
    _check_files(store, layout)
    _check_notes(store, layout, keys, points)
    if points:
        last = points[-1]
        state.checkpoints = Place(last.sequence + 1, last.hash)
        state.covered = {log: head.size for log, head in last.heads.items()}
        state.registration = last.registration
    if digests:
        state.registration = digests[max(digests)]
    return state


def _refuse_fork(store: Store) -> None:
    for fork in store.forks():
        kept = next((row.hash for row in store.entries(fork.log, fork.sequence)), bytes(32))
        msg = (
            f"the run is forked: log {fork.log} has two entries {fork.sequence}, {to_text(kept)} and "
            f"{to_text(fork.hash)}; both are kept, and the run cannot go on"
        )
        raise ForkDetected(msg, log=fork.log, sequence=fork.sequence)


def _read_checkpoints(
    store: Store, layout: Layout, keys: Mapping[str, PublicKey], digests: Mapping[int, str]
) -> list[Checkpoint]:
    witness = keys[layout.checkpoint.signer]
    points: list[Checkpoint] = []
    previous = bytes(32)
    for number, row in enumerate(store.checkpoints()):
        point = read_checkpoint(layout, row.line, f"checkpoint {number}")
        rebuilt = rebuild_hash(layout.checkpoint, row.line)
        stated = (point.sequence, point.previous, point.hash)
        if stated != (number, previous, rebuilt) or stated != (row.sequence, previous, row.hash):
            msg = f"checkpoint {number} does not follow: it states number {point.sequence}, hash {to_text(point.hash)}"
            raise BrokenChain(msg, checkpoint=number)
        verify(witness.raw, point.hash, decode_signature(point.signature))
        if digests and point.registration != (in_force := in_force_at(digests, point.heads[layout.logs[0].name].size)):
            msg = f"checkpoint {number} names registration {point.registration}, in force was {in_force}"
            raise SealBroken(msg, checkpoint=number)
        points.append(point)
        previous = point.hash
    return points


def _check_files(store: Store, layout: Layout) -> None:
    # That the entries themselves are sound is found by rebuilding their log.
    stated: dict[str, Json] = {layout.registration.file: None} if layout.registration else {}
    for row in store.entries(layout.attachments) if layout.attachments else ():
        entry = canonical.loads_canonical(row.line) if ATTACHED in row.line else None
        if isinstance(entry, dict) and entry.get("kind") == "file.attached":
            stated[str(entry.get("path"))] = entry.get("sha256")
    for path in sorted({*stated, *store.paths()}):
        data = store.file(path)
        found = sha256(data).hexdigest() if data is not None else None
        if path not in stated or (stated[path] is not None and found != stated[path]):
            msg = f"the store holds {path} with SHA-256 {found}, its entry commits {stated.get(path)}"
            raise BrokenChain(msg, path=path)


def _check_notes(store: Store, layout: Layout, keys: Mapping[str, PublicKey], points: list[Checkpoint]) -> None:
    last = next((row for row in reversed(list(store.checkpoints()))), None)
    notes = canonical.loads_canonical(last.notes) if last else {}
    for log, note in notes.items() if isinstance(notes, dict) else ():
        head = points[-1].heads[layout.log(log).name]
        text = verify_note(str(note), note_key(str(note).partition("\n")[0], keys[note_role(log)].raw))
        if text.split("\n")[1:] != tree_head("log", head.size, head.root).split("\n")[1:]:
            msg = f"the store holds a published head of log {log} that is not the last checkpoint's"
            raise BrokenChain(msg, log=log)


def _rebuild(store: Store, layout: Layout, spec: LogSpec, key: PublicKey, points: list[Checkpoint]) -> Rebuild:
    rebuild = Rebuild(spec, layout.tree, marks_of(spec, points))
    rows = store.entries(spec.name)
    while block := list(islice(rows, _BLOCK)):
        first = rebuild.place.sequence + 1
        scanned = scan(spec, key, (row.line for row in block), first_line=first)
        _raise_first(spec, chain(rebuild.feed(scanned), _misplaced(block, first, scanned.hashes)))
    _raise_first(spec, iter(rebuild.finish()))
    return rebuild


def _misplaced(rows: Iterable[EntryRow], first: int, hashes: bytearray) -> Iterator[Fault]:
    # The store finds entries by their columns, exports prove them by their hash column: both must be the entry's own.
    for at, row in enumerate(rows):
        if row.sequence != first + at or row.hash != bytes(hashes[32 * at : 32 * at + 32]):
            message = f"lies in the store as entry {row.sequence} with hash {to_text(row.hash)}"
            yield Fault("sequence", first + at, message)


def _raise_first(spec: LogSpec, faults: Iterator[Fault]) -> None:
    fault = next(faults, None)
    if fault is not None:
        msg = f"log {spec.name}, entry {fault.line}: {fault.message}"
        raise BrokenChain(msg, log=spec.name, sequence=fault.line, check=fault.check)
