"""Bundles: everything a run leaves, as a folder or one zip, from a store and back into one.

The bytes of a bundle follow from the committed evidence alone: exporting twice gives the same bytes, and so does
exporting after an import. A manifest with the digest of every file comes first.
"""

import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import cast

from assay.kernel import canonical
from assay.kernel.archive import Member, write_archive
from assay.kernel.canonical import Json
from assay.kernel.checkpoint import Checkpoint, read_checkpoint
from assay.kernel.digests import to_text
from assay.kernel.durability import sync_folder
from assay.kernel.errors import BadInput, StoreFault
from assay.kernel.keys import PublicKey
from assay.kernel.layout import Layout, LogSpec
from assay.kernel.manifest import MANIFEST, FileEntry, Manifest
from assay.kernel.merkle import Tree
from assay.kernel.store.protocol import CheckpointRow, Store

__all__ = ["checkpoint_path", "consistency_pairs", "consistency_path", "export_bundle", "inclusion_path", "note_path"]

_PAGE = 512


def checkpoint_path(number: int) -> str:
    """Where a checkpoint lies in a bundle."""
    return f"checkpoints/{number:06d}.json"


def consistency_path(log: str, first: int, second: int) -> str:
    """Where the proof lies that a log at one checkpoint is a prefix of the log at another."""
    return f"proofs/consistency/{log}-{first}-{second}.json"


def inclusion_path(log: str, sequence: int, checkpoint: int) -> str:
    """Where the proof lies that an entry is covered by a checkpoint."""
    return f"proofs/inclusion/{log}-{sequence}-at-{checkpoint}.json"


def note_path(log: str) -> str:
    """Where a log's last head lies as a signed note."""
    return f"notes/{log}.note"


def consistency_pairs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of checkpoints between which a log has a consistency proof: neighbours between which it grew."""
    return [(k - 1, k) for k in range(1, len(sizes)) if 0 < sizes[k - 1] < sizes[k]]


def proven_sequences(size: int) -> list[int]:
    """The entries of a log that have an inclusion proof at the last checkpoint: the first and the last."""
    return sorted({1, size}) if size else []


def export_bundle(store: Store, layout: Layout, *, lab: str, signers: Sequence[PublicKey], to: Path) -> Manifest:
    """Writes a run's bundle: a zip where ``to`` ends in ``.zip``, else a folder. Returns its manifest.

    The bundle appears whole or not at all. A zip replaces the one that is there; a folder must not be there yet.

    Raises:
        BadInput: The folder exists, or the bundle is too large for a zip.
        StoreFault: It cannot be written.
    """
    members = [_measure(path, chunks) for path, chunks in _contents(store, layout)]
    files = {member.path: FileEntry(member.size, member.digest) for member in members}
    manifest = Manifest(lab=lab, layout=layout, signers=tuple(signers), files=files)
    head = _measure(MANIFEST, _fixed(manifest.dumps()))
    if to.suffix != ".zip" and to.exists():
        msg = f"{to} exists; choose a folder that does not"
        raise BadInput(msg, path=str(to))
    draft = to.with_name(f".{to.name}.partial")
    try:
        _remove(draft)
        draft.parent.mkdir(parents=True, exist_ok=True)
        write = _write_zip if to.suffix == ".zip" else _write_folder
        write(draft, [head, *members])
        draft.replace(to)
        sync_folder(to.parent)
    except OSError as error:
        _discard(draft)
        msg = f"cannot write the bundle {to}: {error.strerror}; nothing of it was kept"
        raise StoreFault(msg, path=str(to)) from error
    except BaseException:
        _discard(draft)
        raise
    return manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Member):
    """A member and its plain SHA-256 in hex."""

    digest: str


Chunks = Callable[[], Iterable[bytes]]


def _fixed(data: bytes) -> Chunks:
    return lambda: (data,)


def _measure(path: str, chunks: Chunks) -> Measured:
    digest, crc, size = sha256(), 0, 0
    for chunk in chunks():
        digest.update(chunk)
        crc = zlib.crc32(chunk, crc)
        size += len(chunk)
    return Measured(path=path, size=size, crc=crc, chunks=chunks, digest=digest.hexdigest())


def _contents(store: Store, layout: Layout) -> Iterator[tuple[str, Chunks]]:
    rows = list(store.checkpoints())
    points = [read_checkpoint(layout, row.line, f"checkpoint {row.sequence}") for row in rows]
    sizes, paths = _settle(store, layout)
    for spec in layout.logs:
        yield spec.file, lambda spec=spec: _lines(store, spec, sizes[spec.name])
    for row in rows:
        yield checkpoint_path(row.sequence), _fixed(row.line + b"\n")
    for spec in layout.logs:
        for path, document in _proofs(store, layout, spec, points):
            yield path, _fixed(canonical.dumps(document) + b"\n")
    if rows:
        yield from _notes(rows[-1])
    for path in paths:
        yield path, lambda path=path: (store.file(path) or b"",)


def _settle(store: Store, layout: Layout) -> tuple[dict[str, int], list[str]]:
    # A run may go on while it is exported. Everything only grows, so what reads the same twice stood still in between:
    # no transaction is cut in half, and what comes later stays out of both readings of a member.
    before = None
    while (now := ({spec.name: store.size(spec.name) for spec in layout.logs}, list(store.paths()))) != before:
        before = now
    return now


def _lines(store: Store, spec: LogSpec, size: int) -> Iterator[bytes]:
    page: list[bytes] = []
    for row in islice(store.entries(spec.name), size):
        page += (row.line, b"\n")
        if len(page) >= 2 * _PAGE:
            yield b"".join(page)
            page.clear()
    yield b"".join(page)


def _notes(row: CheckpointRow) -> Iterator[tuple[str, Chunks]]:
    notes = cast("dict[str, str]", canonical.loads_canonical(row.notes))  # the writer writes one text a log
    for log, note in notes.items():
        yield note_path(log), _fixed(note.encode("utf-8"))


def _proofs(
    store: Store, layout: Layout, spec: LogSpec, points: Sequence[Checkpoint]
) -> Iterator[tuple[str, Mapping[str, Json]]]:
    if not points:
        return
    tree = Tree(layout.tree)
    for row in store.entries(spec.name):
        tree.append(layout.tree.leaf(row.sequence, row.hash))
    heads = [point.heads[spec.name] for point in points]
    for first, second in consistency_pairs([head.size for head in heads]):
        yield (
            consistency_path(spec.name, first, second),
            {
                "log": spec.name,
                "fromCheckpoint": first,
                "toCheckpoint": second,
                "path": [to_text(step) for step in tree.consistency(heads[first].size, heads[second].size)],
            },
        )
    last = len(points) - 1
    for sequence in proven_sequences(heads[last].size):
        yield (
            inclusion_path(spec.name, sequence, last),
            {
                "log": spec.name,
                "sequence": sequence,
                "checkpoint": last,
                "path": [to_text(step) for step in tree.inclusion(sequence - 1, heads[last].size)],
            },
        )


def _write_zip(draft: Path, members: Iterable[Member]) -> None:
    with draft.open("xb") as file:
        write_archive(file, members)
        file.flush()
        os.fsync(file.fileno())


def _write_folder(draft: Path, members: Iterable[Member]) -> None:
    folders = {draft}
    for member in members:
        path = draft / member.path
        path.parent.mkdir(parents=True, exist_ok=True)
        folders.update(parent for parent in path.parents if parent.is_relative_to(draft))
        with path.open("xb") as file:
            for chunk in member.chunks():
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    for folder in sorted(folders):
        sync_folder(folder)


def _discard(draft: Path) -> None:
    # What made the export fail is told, not what then stood in the way of clearing up.
    with suppress(OSError):
        _remove(draft)


def _remove(draft: Path) -> None:
    if draft.is_dir() and not draft.is_symlink():
        shutil.rmtree(draft)
    else:
        draft.unlink(missing_ok=True)
