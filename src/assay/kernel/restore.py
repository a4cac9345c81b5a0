"""A bundle back into a store: the same evidence, from which the same bundle can be exported again.

Where a store of the run is there already, the two are held against one another: where they part, the run is forked, and
both sides are kept.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import cast

from assay.kernel import canonical
from assay.kernel.archive import Span, read_span
from assay.kernel.bundle import checkpoint_path, note_path
from assay.kernel.canonical import Json
from assay.kernel.checkpoint import read_checkpoint
from assay.kernel.container import read_whole
from assay.kernel.digests import to_raw, to_text
from assay.kernel.durability import sync_folder
from assay.kernel.errors import BadInput, BrokenChain, EvidenceInvalid, ForkDetected, MalformedDocument, StoreFault
from assay.kernel.keys import PublicKey
from assay.kernel.layout import Layout, LogSpec
from assay.kernel.logs import MAX_LINE_BYTES, scan
from assay.kernel.manifest import MANIFEST, Manifest, read_manifest
from assay.kernel.recovery import recover
from assay.kernel.seal import open_seal
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, FileRow, ForkRow, Store
from assay.kernel.store.sqlite import SqliteStore

__all__ = ["compare_bundle", "restore_bundle"]

_BATCH = 4096


def restore_bundle(container: Mapping[str, Span], to: Path) -> Manifest:
    """Makes a store from a bundle; it appears only after all of its evidence was verified. Returns the manifest.

    Raises:
        BadInput: There is a store at ``to``.
        EvidenceInvalid: The bundle's evidence does not verify.
        StoreFault: The disk failed.
    """
    if to.exists():
        msg = f"{to} exists; a bundle is never restored over a store"
        raise BadInput(msg, path=str(to))
    manifest = read_manifest(_whole(container, MANIFEST))
    _check_files(container, manifest)
    draft = to.with_name(f".{to.name}.partial")
    _remove(draft)
    store = SqliteStore(draft, manifest.layout)
    try:
        _fill(store, container, manifest)
        keys: dict[str, PublicKey] = {key.role: key for key in manifest.signers}
        recover(store, manifest.layout, keys, _digests(store, manifest))
    except BaseException:
        store.close()
        _remove(draft)
        raise
    store.close()
    try:
        draft.replace(to)
        sync_folder(to.parent)
    except OSError as error:
        msg = f"cannot put the restored store at {to}: {error.strerror}"
        raise StoreFault(msg, path=str(to)) from error
    finally:
        _remove(draft)
    return manifest


def compare_bundle(
    store: Store, container: Mapping[str, Span], *, layout: Layout, keys: Mapping[str, PublicKey]
) -> None:
    """Returns if a store and a bundle of the same run agree as far as both reach.

    Args:
        store: The run's store.
        container: The bundle.
        layout: The run's layout.
        keys: The run's public keys by role; the bundle's own word for them is not taken.

    Raises:
        ForkDetected: They hold two entries of one sequence, both signed by the run's own key; the bundle's is kept in
            the store beside the first.
        BrokenChain: They differ, and the bundle's entry is not one that the run's key signed: another run, or forged.
        MalformedDocument: The bundle is not laid out as the store is.
    """
    manifest = read_manifest(_whole(container, MANIFEST))
    if manifest.layout.to_json() != layout.to_json():
        msg = "the bundle is not laid out as this run is; it is another run's, or another release's"
        raise MalformedDocument(msg, reason="layout")
    for spec in layout.logs:
        for mine, theirs in zip(store.entries(spec.name), _rows(container, spec), strict=False):
            if mine.hash != theirs.hash:
                _refuse_forged(spec, keys[spec.signer], theirs)
                store.keep_fork(ForkRow(spec.name, mine.sequence, theirs.hash, theirs.line))
                msg = (
                    f"log {spec.name} is forked at entry {mine.sequence}: the store holds {to_text(mine.hash)}, the "
                    f"bundle {to_text(theirs.hash)}; both are kept, and the run cannot go on"
                )
                raise ForkDetected(msg, log=spec.name, sequence=mine.sequence)


def _refuse_forged(spec: LogSpec, key: PublicKey, row: EntryRow) -> None:
    # Anybody can write an entry that differs; only the holder of the run's key can fork the run.
    block = scan(spec, key, [row.line], first_line=row.sequence)
    if block.faults or block.first[0] != row.sequence:
        msg = f"log {spec.name}: the bundle's entry {row.sequence} differs, and is none that {key.key_id} signed there"
        raise BrokenChain(msg, log=spec.name, sequence=row.sequence)


def _check_files(container: Mapping[str, Span], manifest: Manifest) -> None:
    if set(container) != {MANIFEST, *manifest.files}:
        msg = f"the bundle's files are not those its {MANIFEST} lists"
        raise MalformedDocument(msg, reason="files")
    for path, entry in manifest.files.items():
        digest = sha256()
        for chunk in read_span(container[path]):
            digest.update(chunk)
        if (container[path].size, digest.hexdigest()) != (entry.size, entry.sha256):
            msg = f"{path} is not the file that {MANIFEST} lists, SHA-256 {entry.sha256}"
            raise EvidenceInvalid(msg, path=path)


def _whole(container: Mapping[str, Span], path: str) -> bytes:
    if path not in container:
        msg = f"the bundle holds no {path}"
        raise MalformedDocument(msg, reason="container", path=path)
    return read_whole(container[path], 1 << 30)


def _rows(container: Mapping[str, Span], spec: LogSpec) -> Iterator[EntryRow]:
    rest = b""
    number = 0
    for chunk in read_span(container[spec.file]) if spec.file in container else ():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            entry = canonical.loads_canonical(line)
            stated = entry.get("entryHash") if isinstance(entry, dict) else None
            if not isinstance(stated, str):
                msg = f"{spec.file} line {number} is no entry"
                raise MalformedDocument(msg, reason="shape")
            yield EntryRow(spec.name, number, to_raw(stated), line)
        if len(rest) > MAX_LINE_BYTES:
            msg = f"{spec.file} line {number + 1} is longer than {MAX_LINE_BYTES} bytes"
            raise MalformedDocument(msg, reason="size")
    if rest:
        msg = f"{spec.file} does not end with a line feed"
        raise MalformedDocument(msg, reason="not-canonical")


def _fill(store: Store, container: Mapping[str, Span], manifest: Manifest) -> None:
    own = {spec.file for spec in manifest.layout.logs}
    for spec in manifest.layout.logs:
        batch = Batch()
        for row in _rows(container, spec):
            batch.entries.append(row)
            if len(batch.entries) == _BATCH:
                store.commit(batch)
                batch = Batch()
        store.commit(batch)
    points = sorted(path for path in manifest.files if path.startswith("checkpoints/"))
    notes = {
        spec.name: _read_note(container, note_path(spec.name))
        for spec in manifest.layout.logs
        if note_path(spec.name) in manifest.files
    }
    batch = Batch()
    for number in range(len(points)):
        line = _whole(container, checkpoint_path(number)).removesuffix(b"\n")
        point = read_checkpoint(manifest.layout, line, checkpoint_path(number))
        # A bundle holds the published heads of the last checkpoint only.
        published = cast("dict[str, Json]", notes if number == len(points) - 1 else {})
        batch.checkpoints.append(CheckpointRow(number, point.hash, line, canonical.dumps(published)))
    for path in manifest.files:
        if path not in own and not path.startswith(("checkpoints/", "proofs/", "notes/")):
            batch.files.append(FileRow(path, _whole(container, path)))
    store.commit(batch)


def _read_note(container: Mapping[str, Span], path: str) -> str:
    try:
        return _whole(container, path).decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text"
        raise MalformedDocument(msg, reason="not-utf8", path=path) from error


def _digests(store: Store, manifest: Manifest) -> Mapping[int, str]:
    if manifest.layout.registration is not None:
        return {}
    entries = (canonical.loads_canonical(row.line) for row in store.entries(manifest.layout.logs[0].name))
    return open_seal(entry for entry in entries if isinstance(entry, dict)).digests


def _remove(draft: Path) -> None:
    for suffix in ("", "-wal", "-shm", ".lock"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
