"""A corpus, opened: its turns by row of the index, every chunk checked before a record of it is used."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

from assay.kernel.canonical import loads
from assay.kernel.errors import BadInput, EvidenceInvalid, MissingMaterial
from assay.labs.duel.corpus.chunks import LARGEST_PACKED, unpack_chunk
from assay.labs.duel.corpus.index import LARGEST_INDEX, Index, read_index
from assay.labs.duel.corpus.manifests import LARGEST_MANIFEST, POINTER, Manifest, Shard, get_manifest
from assay.labs.duel.corpus.materialise import materialise
from assay.labs.duel.corpus.views import ViewRecord, read_view_record
from assay.labs.duel.dialects import NO_KIND
from assay.models.protocol import Message
from assay.objects.errors import NoSuchObject
from assay.objects.protocol import ObjectStore

__all__ = ["Corpus", "Turn", "check_rows", "open_corpus", "read_pointer"]

_CHUNKS_HELD: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn: what a model is shown, and what the policy went on with.

    Args:
        turn_id: Its id.
        prefix: The conversation so far, which ends on the user.
        reference: The policy's reply.
        kind: The dialect of the reply's action.
        stratum: Its stratum.
        source: Where its task comes from.
        language: The programming language of its task, or nothing.
    """

    turn_id: str
    prefix: tuple[Message, ...]
    reference: str
    kind: str
    stratum: str
    source: str
    language: str


class Corpus:
    """One revision of a corpus in an object store; :func:`open_corpus` opens it.

    Args:
        store: Where it lies.
        manifest: Its manifest.
        manifest_bytes: The manifest's own bytes.
        index_bytes: The file of its index, checked against the manifest.
    """

    def __init__(self, store: ObjectStore, manifest: Manifest, manifest_bytes: bytes, index_bytes: bytes) -> None:
        """Takes what was checked; chunks are read when a turn of theirs is asked for."""
        self._store = store
        self._shards = {shard.key: shard for shard in manifest.active}
        self._chunks: OrderedDict[str, list[bytes]] = OrderedDict()
        self.manifest = manifest
        self.manifest_bytes = manifest_bytes
        self.index_bytes = index_bytes

    @cached_property
    def manifest_sha256(self) -> str:
        """The digest that names the revision, in hex."""
        return sha256(self.manifest_bytes).hexdigest()

    @cached_property
    def index(self) -> Index:
        """Its index: one row a turn.

        Raises:
            EvidenceInvalid: The index is not what the manifest says of it.
        """
        index = read_index(self.index_bytes)
        check_rows(self.manifest, index)
        return index

    def turn(self, row: int) -> Turn:
        """The turn of a row of the index, from 0.

        Raises:
            BadInput: The index has no such row.
            NoSuchObject: Its chunk is missing.
            EvidenceInvalid: Its chunk is not the manifest's, or its record is not what the index says of it.
        """
        return self.turns((row,))[0]

    def turns(self, rows: Sequence[int]) -> tuple[Turn, ...]:
        """The turns of some rows, in their order; each chunk is read once.

        Raises:
            BadInput: As :meth:`turn`.
            NoSuchObject: As :meth:`turn`.
            EvidenceInvalid: As :meth:`turn`.
        """
        count = len(self.index)
        by_chunk: dict[str, list[int]] = {}
        for row in rows:
            if not 0 <= row < count:
                msg = f"the corpus has the rows 0 to {count - 1}, got {row}"
                raise BadInput(msg)
            by_chunk.setdefault(self.index.chunk_keys[row], []).append(row)
        found: dict[int, Turn] = {}
        for key, of_chunk in by_chunk.items():
            lines = self._lines(key)
            for row in of_chunk:
                found[row] = self._read(row, lines)
        return tuple(found[row] for row in rows)

    def records(self) -> Iterator[tuple[str, int, ViewRecord]]:
        """Every view record of the active chunks, with its chunk's key and its line, chunk by chunk.

        Raises:
            NoSuchObject: A chunk is missing.
            EvidenceInvalid: A chunk is not the manifest's, or holds something else.
        """
        for key in self._shards:
            for line, data in enumerate(self._lines(key)):
                yield key, line, read_view_record(loads(data))

    def _lines(self, key: str) -> list[bytes]:
        if key in self._chunks:
            self._chunks.move_to_end(key)
            return self._chunks[key]
        lines = read_lines(self._store, self._shards[key])
        self._chunks[key] = lines
        if len(self._chunks) > _CHUNKS_HELD:
            self._chunks.popitem(last=False)
        return lines

    def _read(self, row: int, lines: Sequence[bytes]) -> Turn:
        index = self.index
        record = read_view_record(loads(lines[index.lines[row]]))
        self._check_record(row, record)
        prefix, reference = materialise(record, index.node_ids[row])
        return Turn(
            turn_id=index.turn_ids[row],
            prefix=tuple(prefix),
            reference=reference,
            kind=index.kinds[row],
            stratum=index.strata[row],
            source=index.sources[row],
            language=index.languages[row],
        )

    def _check_record(self, row: int, record: ViewRecord) -> None:
        index = self.index
        stated = (index.turn_numbers[row], index.node_ids[row], index.kinds[row])
        held = [
            (turn.turn_idx, turn.node_id, turn.action_kind or record.action_kind or NO_KIND) for turn in record.turns
        ]
        if record.traj_id != index.traj_ids[row] or stated not in held:
            msg = (
                f"row {row} of the index is reply {stated[0]} ({stated[2]}, node {stated[1]}) of "
                f"{index.traj_ids[row]!r:.100}; line {index.lines[row]} of {index.chunk_keys[row]} holds no such turn"
            )
            raise EvidenceInvalid(msg, row=row)


def read_lines(store: ObjectStore, shard: Shard) -> list[bytes]:
    """The lines of a chunk, checked against what a manifest says of it.

    Raises:
        NoSuchObject: It is missing.
        EvidenceInvalid: It is another one.
    """
    try:
        lines = unpack_chunk(store.get(shard.key, limit=LARGEST_PACKED), shard.sha256)
    except EvidenceInvalid as error:
        msg = f"{shard.key}: {error.message}"
        raise EvidenceInvalid(msg, **{**error.details, "key": shard.key}) from error
    if len(lines) != shard.n_trajectories:
        msg = f"{shard.key}: the manifest states {shard.n_trajectories} records, and there are {len(lines)}"
        raise EvidenceInvalid(msg, key=shard.key)
    return lines


def check_rows(manifest: Manifest, index: Index) -> None:
    """Holds an index against its manifest.

    Raises:
        EvidenceInvalid: It has another number of rows, a row of a chunk that is not active, or one of a line that its
            chunk does not have.
    """
    if len(index) != manifest.index.n_turns:
        msg = f"the manifest states {manifest.index.n_turns} turns, and the index has {len(index)} rows"
        raise EvidenceInvalid(msg)
    sizes = {shard.key: shard.n_trajectories for shard in manifest.active}
    for row, (key, line) in enumerate(zip(index.chunk_keys, index.lines, strict=True)):
        if line >= sizes.get(key, 0):
            where = f"line {line} of it" if key in sizes else "which is no active chunk"
            msg = f"row {row} of the index lies in {key!r:.200}, {where}, and the manifest has none such"
            raise EvidenceInvalid(msg, row=row)


def read_pointer(store: ObjectStore) -> bytes | None:
    """The bytes of the pointer, or None where nothing was ever published.

    Raises:
        ObjectTooLarge: They are more than a manifest may have.
    """
    try:
        return store.get(POINTER, limit=LARGEST_MANIFEST)
    except NoSuchObject:
        return None


def open_corpus(store: ObjectStore, manifest_sha256: str | None = None) -> Corpus:
    """The corpus of a manifest, or the one that the pointer names.

    The manifest, its immutable copy and the index are checked now; each chunk is checked when it is first read.

    Args:
        store: Where it lies.
        manifest_sha256: The digest of the manifest in hex; None takes the pointer's.

    Raises:
        MissingMaterial: There is no pointer, no immutable copy of the manifest, or no index.
        EvidenceInvalid: One of them is not what its digest says.
    """
    if manifest_sha256 is None:
        pointer = read_pointer(store)
        if pointer is None:
            msg = f"there is no {POINTER}: nothing was published here, or this is no corpus"
            raise MissingMaterial(msg)
        manifest_sha256 = sha256(pointer).hexdigest()
    manifest, manifest_bytes = get_manifest(store, manifest_sha256)
    corpus = Corpus(store, manifest, manifest_bytes, _read_index_file(store, manifest))
    len(corpus.index)
    return corpus


def _read_index_file(store: ObjectStore, manifest: Manifest) -> bytes:
    data = store.get(manifest.index.key, limit=LARGEST_INDEX)
    found = sha256(data).hexdigest()
    if found != manifest.index.sha256:
        msg = (
            f"{manifest.index.key}: the index has the SHA-256 {found}, and the manifest states {manifest.index.sha256}"
        )
        raise EvidenceInvalid(msg, found=found, stated=manifest.index.sha256)
    return data
