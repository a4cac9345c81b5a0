"""Domain-separated SHA-256: two kinds of record never share a digest, whatever they hold."""

import hashlib
from typing import Final

from assay.kernel.canonical import Writable, dumps
from assay.kernel.errors import InvariantBroken, MalformedDocument

__all__ = ["ZERO", "digest", "domain_prefix", "hash_bytes", "to_raw", "to_text"]

_PREFIX: Final = "sha256:"
_HEX: Final = frozenset("0123456789abcdef")
ZERO: Final = _PREFIX + "0" * 64


def hash_bytes(domain: str, payload: bytes) -> bytes:
    """The 32 raw bytes of SHA-256 over ``domain``, one zero byte and ``payload``.

    Raises:
        InvariantBroken: The domain itself holds a zero byte, so that it would not end where it ends.
    """
    return hashlib.sha256(domain_prefix(domain) + payload).digest()


def domain_prefix(domain: str) -> bytes:
    """What is hashed before the payload: the domain and one zero byte.

    Raises:
        InvariantBroken: The domain itself holds a zero byte, so that it would not end where it ends.
    """
    if "\0" in domain:
        msg = f"a digest's domain must not hold a zero byte: {domain!r}"
        raise InvariantBroken(msg)
    return domain.encode() + b"\0"


def digest(domain: str, value: Writable) -> str:
    """The digest text of a value: ``sha256:`` and the hex of :func:`hash_bytes` over its canonical bytes.

    Raises:
        MalformedDocument: The value has no canonical bytes.
    """
    return to_text(hash_bytes(domain, dumps(value)))


def to_text(raw: bytes) -> str:
    """The text of a raw digest: ``sha256:`` and 64 lower-case hex digits."""
    return _PREFIX + raw.hex()


def to_raw(text: str) -> bytes:
    """The 32 raw bytes of a digest text.

    Raises:
        MalformedDocument: Anything but ``sha256:`` and 64 lower-case hex digits.
    """
    digits = text.removeprefix(_PREFIX)
    if len(text) != len(ZERO) or len(digits) != 64 or not _HEX.issuperset(digits):
        shown = ascii(text if len(text) <= 80 else text[:77] + "...")
        msg = f"expected sha256: and 64 lower-case hex digits, got {shown}"
        raise MalformedDocument(msg, reason="digest")
    return bytes.fromhex(digits)
