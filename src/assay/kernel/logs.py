"""Entries of a log: how one is made, and how a block of them is read back and checked.

An entry is one flat JSON object: the body's members, and the envelope that the writer fills in. Its hash is taken over
the canonical bytes without ``entryHash`` and ``writerSignature``; its signature is over the 32 raw bytes of that hash.
"""

import binascii
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple, TypeAlias, cast

from nacl import bindings
from nacl.exceptions import BadSignatureError

from assay.kernel import canonical
from assay.kernel.canonical import Frozen, Json
from assay.kernel.digests import ZERO, domain_prefix, hash_bytes, to_raw, to_text
from assay.kernel.errors import BadInput, MalformedDocument
from assay.kernel.keys import PublicKey, Signer, encode_signature
from assay.kernel.layout import LogSpec
from assay.kernel.store.protocol import EntryRow

__all__ = [
    "ATTACHED",
    "BEFORE_FIRST",
    "MAX_LINE_BYTES",
    "Block",
    "Body",
    "Fault",
    "Place",
    "follows",
    "freeze_body",
    "make_entry",
    "scan",
]

# The members of an entry, or what gives them once the entries before it in its transaction are made.
Body: TypeAlias = Json | Callable[[Sequence[EntryRow]], Json]

# What every entry that attaches a file holds, as canonical JSON writes it.
ATTACHED = b'"kind":"file.attached"'

# An entry is held in memory whole; what is larger is attached as a file.
MAX_LINE_BYTES = 8 << 20
_SIGNATURE_TEXT = len("ed25519:") + 88
_UNREADABLE = bytes(32)


class Place(NamedTuple):
    """Where a log stands: the number of its entries and the raw hash of the last one (zeros before the first)."""

    sequence: int
    hash: bytes


def freeze_body(spec: LogSpec, body: Json) -> Frozen:
    """A private, checked copy of a body, ready to be written.

    Raises:
        BadInput: It is no object, or holds a member that belongs to the envelope.
        MalformedDocument: It holds something that canonical JSON cannot carry.
    """
    if type(body) is not dict:
        msg = f"log {spec.name}: an entry's body must be an object, got {type(body).__name__}"
        raise BadInput(msg)
    taken = [name for name in spec.envelope if name in body]
    if taken:
        msg = f"log {spec.name}: a body must not hold {', '.join(taken)}; the writer fills these in"
        raise BadInput(msg)
    return canonical.freeze(body)


def make_entry(spec: LogSpec, body: Frozen, *, after: Place, recorded_at: str, signer: Signer) -> EntryRow:
    """The entry that follows ``after``: hashed, linked and signed.

    Raises:
        KeyRefused: The signer is another domain's.
        BadInput: The entry is too large.
    """
    entry = dict(cast("dict[str, Json]", body.value))  # freeze_body vouches for the object
    entry["sequence"] = after.sequence + 1
    entry[spec.link] = to_text(after.hash)
    entry["recordedAt"] = recorded_at
    entry["writerKeyId"] = signer.public.key_id
    digest = hash_bytes(spec.domain, canonical.dumps_frozen(entry, plain=body.plain))
    entry["entryHash"] = to_text(digest)
    entry["writerSignature"] = encode_signature(signer.sign(spec.domain, digest))
    line = canonical.dumps_frozen(entry, plain=body.plain)
    if len(line) > MAX_LINE_BYTES:
        msg = f"log {spec.name}: an entry of {len(line)} bytes; at most {MAX_LINE_BYTES} fit, attach the rest as a file"
        raise BadInput(msg)
    return EntryRow(spec.name, after.sequence + 1, digest, line)


class Fault(NamedTuple):
    """One thing found wrong: which check, at which line of the log (from 1), and what was expected."""

    check: str
    line: int
    message: str


@dataclass(slots=True)
class Block:
    """What a scan of consecutive lines found.

    Args:
        lines: How many lines there were.
        hashes: The entry hashes as stated, 32 bytes each (zeros where a line states none).
        faults: Everything found wrong, in order.
        first: The sequence, the link and the entry hash that the first line states.
        last: The sequence and entry hash that the last line states.
        picked: The lines whose member the caller asked for, with their line number.
    """

    lines: int = 0
    hashes: bytearray = field(default_factory=bytearray)
    faults: list[Fault] = field(default_factory=list[Fault])
    first: tuple[Json, Json, Json] = (None, None, None)
    last: tuple[Json, Json] = (None, None)
    picked: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])


def scan(
    spec: LogSpec,
    key: PublicKey,
    lines: Iterable[bytes],
    *,
    first_line: int = 1,
    pick: Sequence[bytes] = (),
) -> Block:
    """Reads consecutive lines of a log and checks each, and each against the one before it.

    Checks are independent: a wrong hash does not hide a right signature. The caller joins blocks: whether the first
    line follows from what came before it is for :class:`assay.kernel.rebuild.Rebuild`.

    Args:
        spec: The log's declaration.
        key: The log's key.
        lines: Lines without their line feed.
        first_line: The number of the first line in its log, from 1.
        pick: Byte strings; a line that holds one of them is handed back whole.

    Complexity: One signature check (about 56 microseconds) and about ten microseconds of everything else a line.
    """
    block = Block()
    messages: list[bytes | None] = []
    prefix = domain_prefix(spec.domain)
    for number, line in enumerate(lines, start=first_line):
        entry, plain = canonical.read_plain_object(line), True
        if entry is None:
            entry, plain = _read(line, number, block)
        for mark in pick:
            if mark in line:
                block.picked.append((number, line))
                break
        sequence, link, digest_text = entry.get("sequence"), entry.get(spec.link), entry.get("entryHash")
        before, before_hash = block.last
        if not block.lines:
            block.first = (sequence, link, digest_text)
        elif link != before_hash or type(sequence) is not int or sequence - 1 != before:
            block.faults.extend(follows((sequence, link, digest_text), block.last, number))
        block.lines += 1
        block.last = (sequence, digest_text)
        digest, message = _check_entry(prefix, key, entry, number, block.faults, plain=plain)
        block.hashes += digest
        messages.append(message)
    # Apart from the rest: in turns with anything else the signature checks, and all else, are a tenth slower.
    _check_signatures(key, first_line, messages, block.faults)
    block.faults.sort(key=lambda fault: fault.line)
    return block


def _read(line: bytes, number: int, block: Block) -> tuple[dict[str, Json], bool]:
    try:
        entry, plain = canonical.read_canonical(line)
    except MalformedDocument as error:
        block.faults.append(Fault("canonical", number, error.message))
        try:
            entry, plain = canonical.loads(line), False
        except MalformedDocument:
            return {}, False
    if type(entry) is not dict:
        block.faults.append(Fault("canonical", number, "expected an object"))
        return {}, False
    return entry, plain


def follows(stated: tuple[Json, Json, Json], before: tuple[Json, Json], number: int) -> list[Fault]:
    """What is wrong between an entry and the one before it: nothing, or a gap, a fork, or a broken link.

    Args:
        stated: The sequence, the link and the entry hash that the entry states.
        before: The sequence and the entry hash of the entry before it.
        number: The entry's line number, from 1.
    """
    faults: list[Fault] = []
    sequence, link, own = stated
    earlier, digest = before
    if type(sequence) is int and sequence == earlier != 0 and own != digest:
        message = f"a fork: entry {sequence} is there twice, as {digest!r:.120} and as {own!r:.120}"
        faults.append(Fault("sequence", number, message))
    elif type(sequence) is not int or type(earlier) is not int or sequence != earlier + 1:
        faults.append(Fault("sequence", number, f"expected sequence after {earlier!r:.120}, got {sequence!r:.120}"))
    if link != digest:
        message = f"expected the hash of the entry before, {digest!r:.120}, got {link!r:.120}"
        faults.append(Fault("link", number, message))
    return faults


BEFORE_FIRST: tuple[Json, Json] = (0, ZERO)


def _check_entry(
    prefix: bytes, key: PublicKey, entry: dict[str, Json], number: int, faults: list[Fault], *, plain: bool
) -> tuple[bytes, bytes | None]:
    stated = entry.pop("entryHash", None)
    signature = entry.pop("writerSignature", None)
    if entry.get("writerKeyId") != key.key_id:
        faults.append(Fault("signature", number, f"expected key {key.key_id}, got {entry.get('writerKeyId')!r:.120}"))
    if type(entry.get("recordedAt")) is not str:
        faults.append(Fault("canonical", number, f"expected recordedAt as text, got {entry.get('recordedAt')!r:.120}"))
    # What is not plain is written by the rule for reading: a line may hold what no writer of ours would write.
    unsigned = canonical.dumps_frozen(entry, plain=True) if plain else canonical.dumps(entry)
    digest = sha256(prefix + unsigned).digest()
    rebuilt = "sha256:" + digest.hex()
    if stated != rebuilt:
        faults.append(Fault("hash", number, f"expected entryHash {rebuilt}, got {stated!r:.120}"))
        digest = _stated_digest(stated)
    return digest, _signature_message(digest, signature)


def _stated_digest(stated: Json) -> bytes:
    # What the entry states is what its signature and its leaf are of, also where its content says otherwise.
    try:
        return to_raw(stated) if type(stated) is str else _UNREADABLE
    except MalformedDocument:
        return _UNREADABLE


def _signature_message(digest: bytes, signature: Json) -> bytes | None:
    """What libsodium opens: the 64 raw bytes of the signature and the digest; ``None`` where the text is none."""
    # The last base64 digit carries two bits of the signature and four that must be zero: one spelling only.
    if (
        type(signature) is not str
        or len(signature) != _SIGNATURE_TEXT
        or signature[:8] != "ed25519:"
        or signature[-3] not in "AQgw"
    ):
        return None
    try:
        raw = binascii.a2b_base64(signature[8:], strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    return raw + digest if len(raw) == bindings.crypto_sign_BYTES else None


def _check_signatures(key: PublicKey, first_line: int, messages: Sequence[bytes | None], faults: list[Fault]) -> None:
    opens, public = bindings.crypto_sign_open, key.raw
    for number, message in enumerate(messages, start=first_line):
        try:
            if message is not None:
                opens(message, public)
                continue
        except BadSignatureError:
            pass
        faults.append(Fault("signature", number, f"writerSignature does not verify under {key.key_id}"))
