"""Checkpoints: signed manifests of where every log stands, chained to one another.

A checkpoint holds, for every log, its size, its Merkle root and its last entry hash; the digest of the registration in
force; and the hash of the checkpoint before it. The witness key signs its hash. What fixes a checkpoint in time, an
anchor, fixes that hash. Checkpoints count from 0.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.digests import hash_bytes, to_raw, to_text
from assay.kernel.errors import MalformedDocument
from assay.kernel.keys import Signer, encode_signature
from assay.kernel.layout import CHECKPOINT_MEMBERS, HEAD_MEMBERS, CheckpointSpec, Layout
from assay.kernel.shape import Members, read_object

__all__ = ["Checkpoint", "Head", "make_checkpoint", "read_checkpoint", "rebuild_hash"]

_SEALED = ("checkpointHash", "witnessSignature")


@dataclass(frozen=True, slots=True)
class Head:
    """Where one log stands: its size, its Merkle root and its last entry hash, both 32 raw bytes."""

    size: int
    root: bytes
    last: bytes

    def to_json(self) -> dict[str, Json]:
        """The head as a checkpoint carries it."""
        return dict(zip(HEAD_MEMBERS, (self.size, to_text(self.root), to_text(self.last)), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One checkpoint: what it says, its hash (32 raw bytes) and its canonical bytes."""

    sequence: int
    previous: bytes
    registration: str
    heads: Mapping[str, Head]
    key_id: str
    signature: str
    hash: bytes
    line: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a new checkpoint is to say beside its place in the chain."""

    registration: str
    heads: Mapping[str, Head]
    created_at: str
    extra: Mapping[str, Json]


def make_checkpoint(
    spec: CheckpointSpec, claim: Claim, *, sequence: int, previous: bytes, signer: Signer
) -> Checkpoint:
    """The checkpoint with number ``sequence``, hashed and signed by the witness.

    Raises:
        KeyRefused: The signer is no witness of this layout.
    """
    body: dict[str, Json] = {
        **copy.deepcopy(dict(claim.extra)),
        "version": 1,
        "checkpointSequence": sequence,
        "previousCheckpointHash": to_text(previous),
        spec.registration: claim.registration,
        "createdAt": claim.created_at,
        "witnessKeyId": signer.public.key_id,
    }
    for log, head in claim.heads.items():
        _put(body, spec.head_path(log), head.to_json())
    digest = hash_bytes(spec.domain, canonical.dumps_evidence(body))
    signature = encode_signature(signer.sign(spec.domain, digest))
    line = canonical.dumps_evidence({**body, "checkpointHash": to_text(digest), "witnessSignature": signature})
    return Checkpoint(
        sequence=sequence,
        previous=previous,
        registration=claim.registration,
        heads=dict(claim.heads),
        key_id=signer.public.key_id,
        signature=signature,
        hash=digest,
        line=line,
    )


def read_checkpoint(layout: Layout, line: bytes, where: str) -> Checkpoint:
    """The checkpoint that canonical bytes state; neither its hash nor its signature is checked here.

    Raises:
        MalformedDocument: Not canonical, or not laid out as declared.
    """
    spec = layout.checkpoint
    value = canonical.loads_canonical(line)
    paths = [spec.head_path(log.name) for log in layout.logs]
    tops: Members = {path[0]: dict for path in paths}
    known = {**CHECKPOINT_MEMBERS, **dict.fromkeys(spec.extra, (str, int, float, bool, list, dict, type(None))), **tops}
    fields = read_object(value, where, {**known, spec.registration: str})
    if fields["version"] != 1:
        msg = f"{where}: expected version 1, got {fields['version']!r}"
        raise MalformedDocument(msg, reason="version")
    _refuse_strangers(fields, paths, where)
    texts = cast("dict[str, str]", fields)  # read_object vouches for the types of the members used as text
    return Checkpoint(
        sequence=cast("int", fields["checkpointSequence"]),
        previous=to_raw(texts["previousCheckpointHash"]),
        registration=texts[spec.registration],
        heads={
            log.name: _read_head(fields, path, f"{where} {log.name}")
            for log, path in zip(layout.logs, paths, strict=True)
        },
        key_id=texts["witnessKeyId"],
        signature=texts["witnessSignature"],
        hash=to_raw(texts["checkpointHash"]),
        line=line,
    )


def rebuild_hash(spec: CheckpointSpec, line: bytes) -> bytes:
    """The hash of a checkpoint's canonical bytes without its own hash and signature (32 raw bytes)."""
    value = cast("dict[str, Json]", canonical.loads_canonical(line))  # read_checkpoint has vouched for the object
    return hash_bytes(spec.domain, canonical.dumps({k: v for k, v in value.items() if k not in _SEALED}))


def _put(body: dict[str, Json], path: tuple[str, ...], value: Json) -> None:
    for name in path[:-1]:
        inner = body.setdefault(name, {})
        if type(inner) is not dict:
            msg = f"checkpoint member {name} must be an object to hold tree heads"
            raise MalformedDocument(msg, reason="layout")
        body = inner
    body[path[-1]] = value


def _refuse_strangers(fields: Mapping[str, Json], paths: list[tuple[str, ...]], where: str) -> None:
    # A tree that no log is declared for would be signed for and never checked.
    for depth in range(1, max(map(len, paths), default=0)):
        for prefix in {path[:depth] for path in paths if len(path) > depth}:
            inner = _at(fields, prefix, where)
            declared = {path[depth] for path in paths if path[:depth] == prefix}
            if type(inner) is not dict or set(inner) != declared:
                msg = f"{where}: expected exactly the trees {sorted(declared)} under {'.'.join(prefix)}"
                raise MalformedDocument(msg, reason="shape", where=where)


def _at(fields: Mapping[str, Json], path: tuple[str, ...], where: str) -> Json:
    value: Json = dict(fields)
    for name in path:
        if type(value) is not dict or name not in value:
            msg = f"{where}: nothing at {'.'.join(path)}"
            raise MalformedDocument(msg, reason="shape", where=where)
        value = value[name]
    return value


def _read_head(fields: Mapping[str, Json], path: tuple[str, ...], where: str) -> Head:
    value = _at(fields, path, where)
    size, root, last = HEAD_MEMBERS
    head = read_object(value, where, {size: int, root: str, last: str})
    count = cast("int", head[size])
    if count < 0:
        msg = f"{where}: a tree size cannot be {count}"
        raise MalformedDocument(msg, reason="shape", where=where)
    return Head(count, to_raw(cast("str", head[root])), to_raw(cast("str", head[last])))
