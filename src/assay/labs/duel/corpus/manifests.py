"""Manifests: what a revision of the corpus holds, by digest, each naming the one before it (facts 5.6).

A manifest is named by the SHA-256 of its bytes. The immutable copy lies under that name; the pointer holds the same
bytes, and is all that is ever replaced. Nothing is deleted: a chunk leaves the corpus by being inactive.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NoReturn, cast

from assay.kernel.canonical import Json, loads
from assay.kernel.errors import EvidenceInvalid, MalformedDocument
from assay.kernel.shape import read_list, read_object, read_texts
from assay.objects.protocol import ObjectStore, is_key

__all__ = [
    "LARGEST_MANIFEST",
    "POINTER",
    "IndexFile",
    "Manifest",
    "Shard",
    "get_manifest",
    "manifest_key",
    "read_manifest",
    "walk_back",
]

POINTER: Final = "corpus/manifest.json"
"""The key of the pointer."""

LARGEST_MANIFEST: Final = 64 << 20
"""Bytes a manifest may have."""

SCHEMA_VERSION: Final = 3
SHARD_FORMAT: Final = "view_v4"
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_OPTIONAL_TEXT: Final = (str, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """The index of a revision: its key, the SHA-256 of the file and the number of its rows."""

    key: str
    sha256: str
    n_turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A chunk of a revision.

    Args:
        key: Where it lies.
        sha256: The SHA-256 of its unpacked lines.
        n_trajectories: How many lines it has.
        n_turns: How many turns of them entered the index.
        active: Whether it is still part of the corpus.
    """

    key: str
    sha256: str
    n_trajectories: int
    n_turns: int
    active: bool = True

    def to_json(self) -> dict[str, Json]:
        """The shard as a manifest holds it."""
        return {
            "key": self.key,
            "sha256": self.sha256,
            "n_trajectories": self.n_trajectories,
            "n_turns": self.n_turns,
            "format": SHARD_FORMAT,
            "active": self.active,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One revision of the corpus.

    Args:
        corpus_epoch: Its number; each revision's is above that of the one before it.
        view_spec: How its records were made, such as ``duel_turns@v4``.
        created_at: When, as text.
        index: Its index.
        shards: Its chunks, inactive ones among them.
        prev_manifest: The digest of the manifest before it; None for the first.
        traces_manifest_sha256: The digest of the manifest of the traces it was made from; None where there is none.
        allowed_action_kinds: The dialects it admits.
        legacy_turns_manifest_sha256: The digest of a manifest of an older schema that it began with.
    """

    corpus_epoch: int
    view_spec: str
    created_at: str
    index: IndexFile
    shards: tuple[Shard, ...]
    prev_manifest: str | None
    traces_manifest_sha256: str | None
    allowed_action_kinds: tuple[str, ...]
    legacy_turns_manifest_sha256: str | None = None

    @property
    def active(self) -> tuple[Shard, ...]:
        """The chunks that are part of the corpus."""
        return tuple(shard for shard in self.shards if shard.active)

    def to_bytes(self) -> bytes:
        """The manifest's own bytes: JSON with sorted names, two spaces a level and nothing after it."""
        document: dict[str, Json] = {
            "schema_version": SCHEMA_VERSION,
            "corpus_epoch": self.corpus_epoch,
            "view_spec": self.view_spec,
            "created_at": self.created_at,
            "index": {"key": self.index.key, "sha256": self.index.sha256, "n_turns": self.index.n_turns},
            "shards": [shard.to_json() for shard in self.shards],
            "prev_manifest": self.prev_manifest,
            "traces_manifest_sha256": self.traces_manifest_sha256,
            "allowed_action_kinds": list(self.allowed_action_kinds),
        }
        if self.legacy_turns_manifest_sha256 is not None:
            document["legacy_turns_manifest_sha256"] = self.legacy_turns_manifest_sha256
        return json.dumps(document, indent=2, sort_keys=True, allow_nan=False).encode()


def manifest_key(digest: str) -> str:
    """Where the immutable copy of a manifest lies."""
    return f"corpus/manifests/{digest}.json"


def read_manifest(data: bytes) -> Manifest:
    """The manifest that its bytes state.

    Raises:
        MalformedDocument: They state none of this schema: a member is missing, unknown or of another type, a digest or
            key is none, a key comes twice, a count is negative, or no chunk is active.
    """
    members = {
        "schema_version": int,
        "corpus_epoch": int,
        "view_spec": str,
        "created_at": str,
        "index": dict,
        "shards": list,
        "prev_manifest": _OPTIONAL_TEXT,
        "traces_manifest_sha256": _OPTIONAL_TEXT,
        "allowed_action_kinds": list,
    }
    body = read_object(loads(data), "manifest", members, {"legacy_turns_manifest_sha256": _OPTIONAL_TEXT})
    if body["schema_version"] != SCHEMA_VERSION:
        _refuse(f"expected schema_version {SCHEMA_VERSION}, got {body['schema_version']}")
    shards = tuple(_read_shard(item, f"shards[{at}]") for at, item in enumerate(read_list(body["shards"], "shards")))
    manifest = Manifest(
        corpus_epoch=_count(body, "manifest", "corpus_epoch"),
        view_spec=cast(str, body["view_spec"]),
        created_at=cast(str, body["created_at"]),
        index=_read_index(body["index"]),
        shards=shards,
        prev_manifest=_digest_or_none(body, "prev_manifest"),
        traces_manifest_sha256=_digest_or_none(body, "traces_manifest_sha256"),
        allowed_action_kinds=read_texts(body["allowed_action_kinds"], "allowed_action_kinds"),
        legacy_turns_manifest_sha256=_digest_or_none(body, "legacy_turns_manifest_sha256"),
    )
    if len({shard.key for shard in shards}) != len(shards):
        _refuse("a chunk's key comes more than once")
    if not manifest.active:
        _refuse("no chunk is active, so there is no corpus")
    return manifest


def _refuse(problem: str) -> NoReturn:
    msg = f"manifest: {problem}"
    raise MalformedDocument(msg, reason="manifest")


def _read_shard(value: Json, where: str) -> Shard:
    members = {"key": str, "sha256": str, "n_trajectories": int, "n_turns": int, "format": str, "active": bool}
    body = read_object(value, where, members)
    if body["format"] != SHARD_FORMAT:
        _refuse(f"{where}.format: expected {SHARD_FORMAT}, got {body['format']!r:.80}")
    return Shard(
        key=_key(body, where),
        sha256=_digest(body["sha256"], f"{where}.sha256"),
        n_trajectories=_count(body, where, "n_trajectories"),
        n_turns=_count(body, where, "n_turns"),
        active=cast(bool, body["active"]),
    )


def _read_index(value: Json) -> IndexFile:
    body = read_object(value, "index", {"key": str, "sha256": str, "n_turns": int})
    sha = _digest(body["sha256"], "index.sha256")
    return IndexFile(key=_key(body, "index"), sha256=sha, n_turns=_count(body, "index", "n_turns"))


def _key(body: dict[str, Json], where: str) -> str:
    key = cast(str, body["key"])
    if not is_key(key):
        _refuse(f"{where}.key: expected the key of an object, got {key!a:.80}")
    return key


def _count(body: dict[str, Json], where: str, name: str) -> int:
    count = cast(int, body[name])
    if count < 0:
        _refuse(f"{where}.{name}: expected a number from 0 on, got {count}")
    return count


def _digest(value: Json, where: str) -> str:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        _refuse(f"{where}: expected a SHA-256 in 64 small hex digits, got {value!a:.80}")
    return value


def _digest_or_none(body: dict[str, Json], name: str) -> str | None:
    value = body.get(name)
    return None if value is None else _digest(value, name)


def get_manifest(store: ObjectStore, digest: str) -> tuple[Manifest, bytes]:
    """The manifest of a digest, from its immutable copy, and its bytes.

    Raises:
        NoSuchObject: There is no copy.
        EvidenceInvalid: The copy's bytes have another digest, or state no manifest.
    """
    data = store.get(manifest_key(digest), limit=LARGEST_MANIFEST)
    found = sha256(data).hexdigest()
    if found != digest:
        msg = f"the manifest {digest} has the SHA-256 {found}: somebody changed it"
        raise EvidenceInvalid(msg, found=found, stated=digest)
    return read_manifest(data), data


def walk_back(store: ObjectStore, manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """The manifests before one, newest first, each with its digest; an older schema's is the end of the chain.

    Raises:
        NoSuchObject: One of them is missing.
        EvidenceInvalid: One of them is not what its digest says, or its number does not fall.
    """
    while (digest := manifest.prev_manifest) is not None and digest != manifest.legacy_turns_manifest_sha256:
        before, _ = get_manifest(store, digest)
        if before.corpus_epoch >= manifest.corpus_epoch:
            msg = (
                f"the manifest {digest} comes before revision {manifest.corpus_epoch}, "
                f"and states the number {before.corpus_epoch}"
            )
            raise EvidenceInvalid(msg)
        yield digest, before
        manifest = before
