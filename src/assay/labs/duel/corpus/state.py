"""What the fold remembers between its cycles: it is written with a revision, and true from then on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, cast

from assay.kernel.canonical import Json, dumps, loads, loads_canonical
from assay.kernel.errors import MalformedDocument
from assay.kernel.shape import read_object, read_texts
from assay.labs.duel.corpus.chunks import LARGEST_PACKED, pack, unpack_chunk
from assay.labs.duel.corpus.publish import companion_key
from assay.labs.duel.corpus.routing import Record
from assay.objects.protocol import ObjectStore

__all__ = ["FoldState", "dump_state", "read_state"]

_STATE: Final = "state.json"
_DEFERRED: Final = "deferred.jsonl.gz"
_LARGEST_STATE: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState:
    """What was folded already, what each share of the mix holds, and what waits.

    Args:
        folded: The chunks of traces that need not be looked at again.
        groups: The strata that each group holds.
        languages: The strata that each bucket of languages holds inside coding.
        deferred: The rollouts that wait for room in the mix.
    """

    folded: frozenset[str] = frozenset()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    languages: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    deferred: tuple[Record, ...] = ()


def dump_state(state: FoldState) -> dict[str, bytes]:
    """The files that hold a state, by name."""
    lines = b"".join(dumps(cast("dict[str, Json]", record)) + b"\n" for record in state.deferred)
    document: dict[str, Json] = {
        "kind": "assay.fold-state",
        "version": 1,
        "folded": _list(state.folded),
        "groups": {name: _list(strata) for name, strata in state.groups.items()},
        "languages": {name: _list(strata) for name, strata in state.languages.items()},
        "deferred": {"sha256": sha256(lines).hexdigest(), "records": len(state.deferred)},
    }
    return {_DEFERRED: pack(lines), _STATE: dumps(document)}


def _list(texts: frozenset[str]) -> list[Json]:
    return [*sorted(texts)]


def read_state(store: ObjectStore, digest: str | None) -> FoldState:
    """The state that went with the revision of a manifest; an empty one where there is no revision yet.

    Raises:
        NoSuchObject: The revision was not published by a fold.
        EvidenceInvalid: The state is not what was written.
    """
    if digest is None:
        return FoldState()
    value = loads_canonical(store.get(companion_key(digest, _STATE), limit=_LARGEST_STATE))
    members = {"kind": str, "version": int, "folded": list, "groups": dict, "languages": dict, "deferred": dict}
    body = read_object(value, _STATE, members)
    if (body["kind"], body["version"]) != ("assay.fold-state", 1):
        msg = f"expected a state of the fold of version 1, got {body['kind']!r:.80} of version {body['version']}"
        raise MalformedDocument(msg, reason="fold-state")
    return FoldState(
        folded=frozenset(read_texts(body["folded"], "folded")),
        groups=_read_strata(body["groups"], "groups"),
        languages=_read_strata(body["languages"], "languages"),
        deferred=_read_deferred(store, digest, body["deferred"]),
    )


def _read_strata(value: Json, where: str) -> dict[str, frozenset[str]]:
    named = cast("dict[str, Json]", value)  # read_object saw to it
    return {name: frozenset(read_texts(strata, f"{where}.{name}")) for name, strata in named.items()}


def _read_deferred(store: ObjectStore, digest: str, value: Json) -> tuple[Record, ...]:
    body = read_object(value, "deferred", {"sha256": str, "records": int})
    packed = store.get(companion_key(digest, _DEFERRED), limit=LARGEST_PACKED)
    records = [loads(line) for line in unpack_chunk(packed, cast(str, body["sha256"]))]
    if len(records) != body["records"] or not all(isinstance(record, dict) for record in records):
        msg = f"expected {body['records']} deferred records, got {len(records)}"
        raise MalformedDocument(msg, reason="fold-state")
    return tuple(cast("list[Record]", records))
