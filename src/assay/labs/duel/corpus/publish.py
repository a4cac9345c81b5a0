"""Publishing a revision: chunks, then the index, then the immutable manifest, and at last the pointer.

Whoever reads sees the revision before or this one, whenever the publisher is stopped. Publishing the same revision
again completes it; a record of what is under way lets the next cycle complete one whose records it no longer has.
"""

from hashlib import sha256
from typing import Final, cast

from assay.kernel.canonical import dumps, loads
from assay.kernel.errors import Refused
from assay.kernel.shape import read_object
from assay.labs.duel.corpus.corpus import open_corpus, read_pointer
from assay.labs.duel.corpus.manifests import POINTER, manifest_key
from assay.labs.duel.corpus.planning import Plan, Revision, plan_revision
from assay.labs.duel.corpus.sync import check_corpus
from assay.objects.errors import NoSuchObject
from assay.objects.protocol import ObjectStore

__all__ = ["PENDING", "companion_key", "publish", "resume"]

PENDING: Final = "fold/pending.json"
"""The key of the record of what is under way."""

_LARGEST_PENDING: Final = 10_000
_NOTHING: Final = b"{}"


def companion_key(digest: str, name: str) -> str:
    """Where a file lies that goes with the revision of a manifest."""
    return f"fold/{digest}/{name}"


def publish(store: ObjectStore, revision: Revision) -> str:
    """The digest of the manifest that the pointer names afterwards.

    Publishing a revision that is already published changes nothing.

    Raises:
        BadInput: The revision adds nothing, adds a turn that is already there, or holds what cannot be written.
        Refused: Another revision was published on the same base meanwhile; fold again on that one.
        EvidenceInvalid: The base is not what its digest says.
        StorageFault: The storage failed; publish again.
    """
    plan = plan_revision(store, revision)
    pointer = read_pointer(store)
    if pointer != plan.manifest:
        if _digest(pointer) != revision.base:
            msg = "another revision was published meanwhile; fold again on that one"
            raise Refused(msg)
        _write(store, plan, revision, pointer)
    _note(store, _NOTHING)
    return plan.digest


def _write(store: ObjectStore, plan: Plan, revision: Revision, pointer: bytes | None) -> None:
    _note(store, dumps({"base": revision.base, "manifest": plan.digest}))
    for key, data in plan.objects.items():
        store.put(key, data)
    for name, data in revision.companions.items():
        store.put(companion_key(plan.digest, name), data)
    store.put(manifest_key(plan.digest), plan.manifest)
    store.swap(POINTER, plan.manifest, expected=pointer)


def resume(store: ObjectStore) -> str | None:
    """The digest of the revision whose publishing was completed now; None where none was far enough under way.

    Raises:
        EvidenceInvalid: What was under way is not what its digests say.
        StorageFault: The storage failed.
    """
    pending = _read_pending(store)
    if pending is None:
        return None
    base, digest = pending
    pointer = read_pointer(store)
    done = None
    if _digest(pointer) == base and store.exists(manifest_key(digest)):
        # Its manifest was written after everything else; the pointer takes nobody's word for it.
        corpus = open_corpus(store, digest)
        check_corpus(store, corpus)
        store.swap(POINTER, corpus.manifest_bytes, expected=pointer)
        done = digest
    _note(store, _NOTHING)
    return done


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def _note(store: ObjectStore, data: bytes) -> None:
    held = _held_note(store)
    if held != data and not (held is None and data == _NOTHING):
        store.swap(PENDING, data, expected=held)


def _held_note(store: ObjectStore) -> bytes | None:
    try:
        return store.get(PENDING, limit=_LARGEST_PENDING)
    except NoSuchObject:
        return None


def _read_pending(store: ObjectStore) -> tuple[str | None, str] | None:
    held = _held_note(store)
    if held in (None, _NOTHING):
        return None
    members = {"base": (str, type(None)), "manifest": str}
    body = read_object(loads(held), PENDING, members)
    return cast("str | None", body["base"]), cast(str, body["manifest"])
