"""Sealing a registration, amending it, and opening it again.

The registration log, signed by its author, begins with the sealed document, the public keys that will sign the run's
evidence and the digest of its layout, so that nobody else can declare away what closes a log or commits its files. An
amendment is a further entry that says why, and what its author had already seen; nothing is ever edited, and every
digest that was in force stays in the log.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.digests import digest
from assay.kernel.errors import BadInput, MalformedDocument, Refused, SealBroken
from assay.kernel.keys import PublicKey
from assay.kernel.layout import ENVELOPE, REGISTRATION_DOMAIN, REGISTRATION_LOG, Layout
from assay.kernel.shape import read_list, read_object

__all__ = [
    "REGISTRATION_DOMAIN",
    "Amendment",
    "Sealed",
    "amendment_body",
    "differing_members",
    "in_force_at",
    "layout_digest",
    "open_seal",
    "registration_digest",
    "seal_body",
]

# Each is held and compared; nobody reads more, and a hostile log could hold millions.
MOST_AMENDMENTS = 1000
_LAYOUT_DOMAIN = "assay-layout-v1"
_ENVELOPE = {**dict.fromkeys((*ENVELOPE, REGISTRATION_LOG.link), str), "sequence": int}
_SEALED = {
    "kind": str,
    "version": int,
    "lab": str,
    "layout": str,
    "document": dict,
    "registration": str,
    "signers": list,
}
_AMENDED = {"kind": str, "document": dict, "registration": str, "replaces": str, "why": str, "seen": str}


def registration_digest(document: Json) -> str:
    """The digest of a registration document."""
    return digest(REGISTRATION_DOMAIN, document)


def layout_digest(layout: Layout) -> str:
    """The digest of a layout, as seals carry it."""
    return digest(_LAYOUT_DOMAIN, layout.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """One change of a sealed registration: when, why, what its author had seen by then, and the digests."""

    at: str
    why: str
    seen: str
    replaces: str
    registration: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A registration as it stands in its log.

    Args:
        lab: The lab it is for.
        layout: The digest of the layout of the run's evidence.
        document: The document in force.
        registration: Its digest.
        signers: Every key that may sign this run's evidence.
        sealed_at: When it was sealed.
        amendments: What was changed since, oldest first.
        digests: The digest in force after each entry of the registration log, by sequence.
    """

    lab: str
    layout: str
    document: Mapping[str, Json]
    registration: str
    signers: tuple[PublicKey, ...]
    sealed_at: str
    amendments: tuple[Amendment, ...]
    digests: Mapping[int, str]


def seal_body(lab: str, layout: Layout, document: Mapping[str, Json], signers: Sequence[PublicKey]) -> dict[str, Json]:
    """The body of the entry that seals a registration."""
    return {
        "kind": "registration.sealed",
        "version": 1,
        "lab": lab,
        "layout": layout_digest(layout),
        "document": dict(document),
        "registration": registration_digest(dict(document)),
        "signers": [key.to_json() for key in signers],
    }


def amendment_body(sealed: Sealed, document: Mapping[str, Json], *, why: str, seen: str) -> dict[str, Json]:
    """The body of the entry that replaces the document in force.

    Args:
        sealed: The registration as it stands.
        document: The new document.
        why: The reason, in words.
        seen: What the author had already seen of the data or the results.

    Raises:
        BadInput: A blank reason or a blank account of what was seen.
        Refused: The document is the one in force already, or there are too many amendments.
    """
    if not (why.strip() and seen.strip()):
        msg = "an amendment must say why it is made and what its author had already seen; neither may be blank"
        raise BadInput(msg)
    if len(sealed.amendments) >= MOST_AMENDMENTS:
        msg = f"a registration takes at most {MOST_AMENDMENTS} amendments; begin another run"
        raise Refused(msg)
    new = registration_digest(dict(document))
    if new == sealed.registration:
        msg = f"the amendment changes nothing: the document in force is {new} already"
        raise Refused(msg)
    return {
        "kind": "registration.amended",
        "document": dict(document),
        "registration": new,
        "replaces": sealed.registration,
        "why": why,
        "seen": seen,
    }


def open_seal(entries: Iterable[Mapping[str, Json]]) -> Sealed:
    """The registration that the entries of a registration log state, in order.

    The caller has checked the entries as entries (hashes, links, signatures); here it is checked that they are a seal
    and its amendments.

    Raises:
        MalformedDocument: An entry is neither.
        SealBroken: A digest does not fit its document, an amendment does not replace the document in force, or
            something comes after the entry that closes the log.
    """
    sealed: Sealed | None = None
    closed = False
    for entry in entries:
        if sealed is not None and len(sealed.amendments) > MOST_AMENDMENTS:
            msg = f"more than {MOST_AMENDMENTS} amendments of one registration"
            raise SealBroken(msg)
        if closed:
            msg = "the registration log goes on after the entry that closes it"
            raise SealBroken(msg)
        closed = entry.get("kind") == "run.closed"
        if closed:
            continue
        sealed = _read_seal(dict(entry)) if sealed is None else _read_amendment(sealed, dict(entry))
    if sealed is None:
        msg = "the registration log holds no sealed registration"
        raise SealBroken(msg)
    return sealed


def _read_seal(entry: dict[str, Json]) -> Sealed:
    read_object(entry, "registration entry 1", {**_SEALED, **_ENVELOPE})
    if (entry["kind"], entry["version"]) != ("registration.sealed", 1):
        msg = f"expected registration.sealed version 1, got {entry['kind']!r} version {entry['version']!r}"
        raise MalformedDocument(msg, reason="kind")
    signers = [PublicKey.from_json(item, "signer") for item in read_list(entry["signers"], "signers")]
    for attribute in ("role", "key_id", "raw"):
        if len({getattr(key, attribute) for key in signers}) != len(signers):
            msg = f"the sealed signers share a {attribute}; every role has a key of its own"
            raise SealBroken(msg)
    registration = _check_digest(entry)
    return Sealed(
        lab=cast("str", entry["lab"]),
        layout=cast("str", entry["layout"]),
        document=cast("dict[str, Json]", entry["document"]),
        registration=registration,
        signers=tuple(signers),
        sealed_at=cast("str", entry["recordedAt"]),
        amendments=(),
        digests={1: registration},
    )


def _read_amendment(sealed: Sealed, entry: dict[str, Json]) -> Sealed:
    where = f"registration entry {entry.get('sequence')}"
    read_object(entry, where, {**_AMENDED, **_ENVELOPE})
    texts = cast("dict[str, str]", entry)  # read_object vouches for the types of the members used as text
    if texts["kind"] != "registration.amended":
        msg = f"{where}: expected registration.amended, got {texts['kind']!r}"
        raise MalformedDocument(msg, reason="kind")
    registration = _check_digest(entry)
    if texts["replaces"] != sealed.registration or registration == sealed.registration:
        msg = f"{where}: expected to replace {sealed.registration} by another document, got {texts['replaces']}"
        raise SealBroken(msg)
    if not (texts["why"].strip() and texts["seen"].strip()):
        msg = f"{where}: an amendment must say why it was made and what its author had seen"
        raise SealBroken(msg)
    sequence = cast("int", entry["sequence"])
    amendment = Amendment(
        at=texts["recordedAt"],
        why=texts["why"],
        seen=texts["seen"],
        replaces=texts["replaces"],
        registration=registration,
        sequence=sequence,
    )
    return replace(
        sealed,
        document=cast("dict[str, Json]", entry["document"]),
        registration=registration,
        amendments=(*sealed.amendments, amendment),
        digests={**sealed.digests, sequence: registration},
    )


def _check_digest(entry: Mapping[str, Json]) -> str:
    stated, rebuilt = entry["registration"], registration_digest(entry["document"])
    if stated != rebuilt:
        msg = f"the registration was edited after it was sealed: sealed as {stated}, the document gives {rebuilt}"
        raise SealBroken(msg)
    return rebuilt


def in_force_at(digests: Mapping[int, str], size: int) -> str | None:
    """The registration digest in force when the registration log had ``size`` entries (closing entries change none)."""
    return next((digests[sequence] for sequence in sorted(digests, reverse=True) if sequence <= size), None)


def differing_members(first: Mapping[str, Json], second: Mapping[str, Json], prefix: str = "") -> list[str]:
    """The dotted names of the members in which two documents differ, for messages."""
    names: list[str] = []
    for name in sorted({*first, *second}):
        one, other = first.get(name), second.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            names.extend(differing_members(one, other, f"{prefix}{name}."))
        elif name not in first or name not in second or canonical.dumps(one) != canonical.dumps(other):
            names.append(prefix + name)
    return names
