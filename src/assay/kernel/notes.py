"""Signed notes (C2SP signed-note) and the tree heads that they carry (C2SP tlog-checkpoint).

A note is a text, a blank line, and one signature line a key. Public witnesses and log tools read this form, so each
log's head is exported in it besides our own checkpoints.

Source: https://c2sp.org/signed-note and https://c2sp.org/tlog-checkpoint, Ed25519 keys (signature type 1) only.
"""

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import NoReturn

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from assay.kernel.errors import BadInput, BadSignature, KeyRefused, MalformedDocument, UnknownVersion
from assay.kernel.keys import check_public_key

__all__ = [
    "MAX_NOTE_BYTES",
    "MAX_SIGNATURES",
    "NoteSigner",
    "TreeHead",
    "note_key",
    "parse_tree_head",
    "tree_head",
    "verify_note",
]

# The format asks for some limit and for at least 16 signatures; both numbers are those of Go's x/mod/sumdb/note.
MAX_NOTE_BYTES = 1_000_000
MAX_SIGNATURES = 100

_ED25519 = b"\x01"
_KEY_BYTES = 32
_ID_BYTES = 4
_SIGNATURE_BYTES = 64
_ROOT_BYTES = 32
_MAX_TREE_SIZE = 2**64 - 1
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_ID_HEX = re.compile(r"[0-9a-f]{8}")
# Twenty digits hold every unsigned 64-bit number; a longer run is refused before it is turned into an integer.
_SIZE = re.compile(r"0|[1-9][0-9]{0,19}")


def note_key(name: str, public: bytes) -> str:
    """The text of a verifying key (C2SP signed-note): name, key id in hex and public key, joined by ``+``."""
    return f"{name}+{_key_id(name, public).hex()}+{b64encode(_ED25519 + public).decode()}"


class NoteSigner:
    """Signs notes under one name with one Ed25519 key; its ``repr`` shows the public half only.

    Args:
        name: The key name on signature lines: not empty, without spaces, ``+`` or control characters.
        seed: The private key, 32 bytes (RFC 8032 section 5.1.5).

    Raises:
        BadInput: A name that cannot stand on a signature line.
        KeyRefused: A seed that is not 32 bytes.
    """

    __slots__ = ("_key", "_key_id", "name", "vkey")

    def __init__(self, name: str, seed: bytes) -> None:
        if not _is_name(name):
            msg = f"a note key's name has no spaces, '+' or control characters and is not empty; got {name!r:.80}"
            raise BadInput(msg)
        if len(seed) != _KEY_BYTES:
            msg = f"an Ed25519 seed is {_KEY_BYTES} bytes; got {len(seed)} bytes"
            raise KeyRefused(msg)
        self._key = SigningKey(seed)
        public = bytes(self._key.verify_key)
        self._key_id = _key_id(name, public)
        self.name = name
        self.vkey = note_key(name, public)
        """What a verifier needs: the name, the key id in hex and the public key, joined by ``+``."""

    def __repr__(self) -> str:
        """The signer by its public half."""
        return f"NoteSigner({self.vkey})"

    def __reduce__(self) -> NoReturn:
        """A secret key leaves the process in its key file only.

        Raises:
            KeyRefused: Always.
        """
        msg = f"the note key {self.vkey} cannot be copied or pickled; read its key file where it is needed"
        raise KeyRefused(msg)

    def sign(self, text: str) -> str:
        """The note of ``text`` with this key's signature line.

        Raises:
            BadInput: A text that no note may carry; the message says which rule it breaks.
        """
        signature = b64encode(self._key_id + self._key.sign(_encode_text(text)).signature).decode()
        note = f"{text}\n\u2014 {self.name} {signature}\n"
        if len(note.encode()) > MAX_NOTE_BYTES:
            msg = f"a note is at most {MAX_NOTE_BYTES} bytes with its signature; shorten the text"
            raise BadInput(msg)
        return note


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """What a log's head says: which log, how many leaves, their root (32 bytes), and any opaque extension lines."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()


def verify_note(note: str | bytes, vkey: str) -> str:
    """The text of a note that the key ``vkey`` has signed; it ends in a newline.

    Signature lines of other keys are checked for form only. Every line of the known key must verify, and there must
    be one.

    Args:
        note: The whole note; bytes must be UTF-8.
        vkey: The key to believe, as :attr:`NoteSigner.vkey` writes it.

    Raises:
        MalformedDocument: The note or the key text breaks a rule of its form.
        BadSignature: No line of this key, or one that does not verify.
        UnknownVersion: A key of another signature type than Ed25519.
        KeyRefused: A public key that is not a safe Ed25519 point.
    """
    name, key_id, key = _parse_vkey(vkey)
    text, lines = _split_note(_decode_note(note))
    message = text.encode()
    known = [raw for line_name, raw in map(_parse_signature, lines) if (line_name, raw[:_ID_BYTES]) == (name, key_id)]
    if not known:
        msg = f"the note carries no signature of {name}+{key_id.hex()}; its {len(lines)} are of other keys"
        raise BadSignature(msg)
    for raw in known:
        _require_signature(key, message, raw[_ID_BYTES:], f"{name}+{key_id.hex()}")
    return text


def tree_head(origin: str, size: int, root: bytes) -> str:
    """The note text of a log's head: origin, decimal size and base64 root, a line each.

    Raises:
        BadInput: An origin that is empty or more than one line, a size outside unsigned 64 bits, or a root that is
            not 32 bytes.
    """
    if not origin or "\n" in origin or not 0 <= size <= _MAX_TREE_SIZE or len(root) != _ROOT_BYTES:
        msg = (
            f"a tree head needs a one-line origin, a size of 0 to 2^64-1 and a root of {_ROOT_BYTES} bytes; "
            f"got {origin!r:.80}, {size:#x} and {len(root)} bytes"
        )
        raise BadInput(msg)
    text = f"{origin}\n{size}\n{b64encode(root).decode()}\n"
    _encode_text(text)
    return text


def parse_tree_head(text: str) -> TreeHead:
    """The tree head that a note text holds; the only text accepted for a head is the one :func:`tree_head` writes.

    Opaque extension lines may follow and are kept as they are. Call it on the result of :func:`verify_note`.

    Raises:
        MalformedDocument: A text of another form; the message names the line.
    """
    fault = _fault_in_text(text)
    if fault is not None:
        msg = f"a tree head's text {fault}"
        raise MalformedDocument(msg)
    lines = text.split("\n")[:-1]
    if len(lines) < 3 or "" in lines:
        msg = f"a tree head is at least three lines, none of them empty; got {lines!r:.200}"
        raise MalformedDocument(msg)
    origin, size, root, *extensions = lines
    if _SIZE.fullmatch(size) is None or int(size) > _MAX_TREE_SIZE:
        msg = f"line 2 of a tree head is a size of 0 to 2^64-1 in decimal without leading zeros; got {size!r:.80}"
        raise MalformedDocument(msg)
    root_hash = _decode_base64(root)
    if root_hash is None or len(root_hash) != _ROOT_BYTES:
        msg = f"line 3 of a tree head is {_ROOT_BYTES} bytes in padded standard base64; got {root!r:.80}"
        raise MalformedDocument(msg)
    return TreeHead(origin=origin, size=int(size), root=root_hash, extensions=tuple(extensions))


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:_ID_BYTES]


def _parse_vkey(vkey: str) -> tuple[str, bytes, VerifyKey]:
    name, _, rest = vkey.partition("+")
    key_id, _, encoded = rest.partition("+")
    key = _decode_base64(encoded)
    if not _is_name(name) or _KEY_ID_HEX.fullmatch(key_id) is None or not key:
        msg = f"a note key reads name+8 hex digits+base64 of type and key; got {vkey!r:.200}"
        raise MalformedDocument(msg)
    if key[:1] != _ED25519:
        msg = f"the note key of {name} has signature type {key[0]}; only 1 (Ed25519) is known here"
        raise UnknownVersion(msg)
    public = key[1:]
    if len(public) != _KEY_BYTES:
        msg = f"the Ed25519 key of {name} must be {_KEY_BYTES} bytes; got {len(public)} bytes"
        raise MalformedDocument(msg)
    if _key_id(name, public).hex() != key_id:
        msg = f"the note key of {name} must have id {_key_id(name, public).hex()}; its text says {key_id}"
        raise MalformedDocument(msg)
    check_public_key(public)
    return name, bytes.fromhex(key_id), VerifyKey(public)


def _decode_note(note: str | bytes) -> str:
    try:
        raw = note.encode() if isinstance(note, str) else note
        if len(raw) > MAX_NOTE_BYTES:
            msg = f"a note is at most {MAX_NOTE_BYTES} bytes; got {len(raw)}"
            raise MalformedDocument(msg)
        return raw.decode()
    except UnicodeError as error:
        msg = f"a note is UTF-8 text; it is not at position {error.args[2]}"
        raise MalformedDocument(msg) from error


def _split_note(note: str) -> tuple[str, list[str]]:
    # The last blank line separates: a text may hold blank lines, and signature lines are never empty.
    head, separator, tail = note.rpartition("\n\n")
    text = head + "\n"
    fault = _fault_in_text(text) if separator else "has no blank line before its signatures"
    if fault is None and not tail.endswith("\n"):
        fault = "does not end in a newline"
    if fault is not None:
        msg = f"the note {fault}"
        raise MalformedDocument(msg)
    lines = tail.split("\n")[:-1]
    if len(lines) > MAX_SIGNATURES:
        msg = f"a note has at most {MAX_SIGNATURES} signatures; got {len(lines)}"
        raise MalformedDocument(msg)
    return text, lines


def _parse_signature(line: str) -> tuple[str, bytes]:
    """The key name, and the key id followed by the signature."""
    dash, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    raw = _decode_base64(encoded)
    if dash != "\u2014" or not _is_name(name) or raw is None or len(raw) <= _ID_BYTES:
        msg = f"a signature line reads: em dash, key name, base64 of key id and signature; got {line!r:.200}"
        raise MalformedDocument(msg)
    return name, raw


def _require_signature(key: VerifyKey, message: bytes, signature: bytes, who: str) -> None:
    if len(signature) != _SIGNATURE_BYTES:
        msg = f"the signature of {who} must be {_SIGNATURE_BYTES} bytes; got {len(signature)} bytes"
        raise BadSignature(msg)
    try:
        key.verify(message, signature)
    except BadSignatureError as error:
        msg = f"the note's text is not what {who} signed"
        raise BadSignature(msg) from error


def _encode_text(text: str) -> bytes:
    fault = _fault_in_text(text)
    if fault is not None:
        msg = f"a note's text {fault}"
        raise BadInput(msg)
    return text.encode()


def _fault_in_text(text: str) -> str | None:
    """What is wrong with a note's text, or nothing."""
    if not text.endswith("\n"):
        return "does not end in a newline"
    control = _CONTROL.search(text)
    if control is not None:
        return f"holds the control character U+{ord(control.group()):04X} at position {control.start()}"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "holds half of a surrogate pair, which UTF-8 cannot carry"
    return None


def _is_name(name: str) -> bool:
    return bool(name) and not any(
        character.isspace() or character in "+" or character < " " or "\ud800" <= character <= "\udfff"
        for character in name
    )


def _decode_base64(text: str) -> bytes | None:
    """The bytes of canonical, padded standard base64 (RFC 4648 section 4), or nothing for any other text."""
    try:
        raw = b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        return None
    # Stray bits in the last digit would give one signature several spellings.
    return raw if b64encode(raw).decode() == text else None
