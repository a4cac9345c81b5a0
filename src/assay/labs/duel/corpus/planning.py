"""Planning a revision: every object that it writes, by key, before anything of it is written.

What an abandoned revision left behind stays, and takes up its number: objects are never replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, count
from typing import Final, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput, EvidenceInvalid
from assay.labs.duel.corpus.chunks import CHUNK_RECORDS, LARGEST_PACKED, Chunk, pack_chunks, unpack_chunk
from assay.labs.duel.corpus.corpus import Corpus, open_corpus
from assay.labs.duel.corpus.index import LARGEST_INDEX, IndexRow, write_index
from assay.labs.duel.corpus.manifests import IndexFile, Manifest, Shard
from assay.labs.duel.corpus.routing import Record
from assay.labs.duel.dialects import NO_KIND
from assay.labs.duel.slices import stratum_of
from assay.objects.protocol import ObjectStore

__all__ = ["VIEW_SPEC", "Plan", "Revision", "plan_revision"]

VIEW_SPEC: Final = "duel_turns@v4"
"""How the records of our own corpora are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a revision adds to the one before it.

    Args:
        base: The digest of the manifest before it, in hex; None for the first.
        records: The view records it adds, at least one, in order; each holds just the turns that enter the index.
        created_at: When it was made, as text.
        allowed_action_kinds: The dialects it admits.
        traces_manifest_sha256: The digest of the manifest of the traces that it was made from.
        companions: Further files that go with it, by name, such as the state of the fold; no reader of the corpus
            needs them.
    """

    base: str | None
    records: Sequence[Record]
    created_at: str
    allowed_action_kinds: tuple[str, ...]
    traces_manifest_sha256: str | None = None
    companions: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a revision writes before its manifest, by key and in the order of writing, and the manifest's own bytes."""

    objects: Mapping[str, bytes]
    manifest: bytes

    @property
    def digest(self) -> str:
        """The digest of the manifest, in hex."""
        return sha256(self.manifest).hexdigest()


def plan_revision(store: ObjectStore, revision: Revision) -> Plan:
    """The plan of a revision: the same for the same revision, also where a part of it was written already.

    Raises:
        BadInput: It adds nothing, adds a turn that is already there, or holds what cannot be written.
        MissingMaterial: The base is not there.
        EvidenceInvalid: The base is not what its digest says.
    """
    if not revision.records:
        msg = "a revision adds at least one record"
        raise BadInput(msg)
    base = open_corpus(store, revision.base) if revision.base else None
    chunks = list(pack_chunks(cast("Sequence[dict[str, Json]]", revision.records)))
    planning = _Planning(store, revision, base, chunks)
    first = base.manifest.corpus_epoch + 1 if base else 1
    return next(plan for epoch in count(first) if (plan := planning.try_epoch(epoch)))


class _Planning:
    def __init__(self, store: ObjectStore, revision: Revision, base: Corpus | None, chunks: Sequence[Chunk]) -> None:
        self._store = store
        self._revision = revision
        self._base = base
        self._chunks = chunks

    def try_epoch(self, epoch: int) -> Plan | None:
        """The plan under a number, or None where another revision has left something else under it."""
        folder = f"views/{VIEW_SPEC}"
        keys = [f"{folder}/chunks/view_{epoch:04}_{number:04}.jsonl.gz" for number in range(len(self._chunks))]
        packed: dict[str, bytes] = {}
        for key, chunk in zip(keys, self._chunks, strict=True):
            held = self._held_chunk(key, chunk)
            if held is None:
                return None
            packed[key] = held
        rows = [row for number, record in enumerate(self._revision.records) for row in _rows_of(record, number, keys)]
        index = write_index(self._all_rows(rows))
        index_key = f"{folder}/index/turns_{epoch:04}.parquet"
        if self._store.exists(index_key) and self._store.get(index_key, limit=LARGEST_INDEX) != index:
            return None
        manifest = self._manifest(epoch, rows, keys, (index_key, index))
        return Plan(objects={**packed, index_key: index}, manifest=manifest.to_bytes())

    def _held_chunk(self, key: str, chunk: Chunk) -> bytes | None:
        """What has to lie under a chunk's key: what does, where it has the same lines; None where it has others."""
        if not self._store.exists(key):
            return chunk.packed
        held = self._store.get(key, limit=LARGEST_PACKED)
        try:
            unpack_chunk(held, chunk.sha256)
        except EvidenceInvalid:
            return None
        return held

    def _all_rows(self, rows: Sequence[IndexRow]) -> Iterator[IndexRow]:
        old = self._base.index if self._base else None
        known = set(old.turn_ids if old else ())
        for row in rows:
            if row.turn_id in known:
                msg = f"the turn {row.turn_id!r:.200} is already part of the corpus"
                raise BadInput(msg, turn=row.turn_id)
            known.add(row.turn_id)
        return chain(old.rows() if old else (), rows)

    def _manifest(
        self, epoch: int, rows: Sequence[IndexRow], keys: Sequence[str], index: tuple[str, bytes]
    ) -> Manifest:
        old = self._base.manifest if self._base else None
        shards = [
            Shard(
                key=key,
                sha256=chunk.sha256,
                n_trajectories=chunk.records,
                n_turns=sum(row.chunk_key == key for row in rows),
            )
            for key, chunk in zip(keys, self._chunks, strict=True)
        ]
        n_turns = len(rows) + (old.index.n_turns if old else 0)
        return Manifest(
            corpus_epoch=epoch,
            view_spec=VIEW_SPEC,
            created_at=self._revision.created_at,
            index=IndexFile(key=index[0], sha256=sha256(index[1]).hexdigest(), n_turns=n_turns),
            shards=(*(old.shards if old else ()), *shards),
            prev_manifest=self._revision.base,
            traces_manifest_sha256=self._revision.traces_manifest_sha256,
            allowed_action_kinds=self._revision.allowed_action_kinds,
            legacy_turns_manifest_sha256=old.legacy_turns_manifest_sha256 if old else None,
        )


def _rows_of(record: Record, number: int, keys: Sequence[str]) -> Iterator[IndexRow]:
    """The index rows of a record, which is the revision's ``number``-th."""
    chunk, line = divmod(number, CHUNK_RECORDS)
    for turn in cast("Sequence[Record]", record["turns"]):  # a view record's turns are objects
        yield IndexRow(
            turn_id=f"{record['traj_id']}:{turn['turn_idx']}",
            traj_id=str(record["traj_id"]),
            rollout_id=str(record["rollout_id"]),
            turn_idx=cast(int, turn["turn_idx"]),
            node_id=cast(int, turn["node_id"]),
            stratum=stratum_of(record),
            phase=str(turn["phase"]),
            source=str(record["source"]),
            language=str(record.get("language") or ""),
            action_kind=str(turn.get("action_kind") or record.get("action_kind") or NO_KIND),
            chunk_key=keys[chunk],
            traj_line=line,
            n_prefix_chars=cast(int, turn["n_prefix_chars"]),
        )
