"""Ed25519 keys: each with a role and one domain that it signs, and nothing else.

Signatures are over the 32 raw bytes of a digest, which already carries its domain (RFC 8032; PureEdDSA). libsodium
refuses small-order keys, non-canonical points and malleable signatures; keys are also checked when they are read.
"""

import base64
import binascii
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NoReturn, cast

from nacl import bindings
from nacl.exceptions import BadSignatureError

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.durability import sync_folder
from assay.kernel.errors import BadInput, BadSignature, KeyRefused, MalformedDocument
from assay.kernel.shape import read_object

__all__ = [
    "PublicKey",
    "Signer",
    "check_public_key",
    "decode_public",
    "decode_signature",
    "encode_public",
    "encode_signature",
    "key_id",
    "read_signer",
    "verify",
    "write_signer",
]

_PUBLIC_PREFIX = "ed25519-pub:"
_SIGNATURE_PREFIX = "ed25519:"
_MAX_FILE_BYTES = 65536
_FILE_MEMBERS = {"kind": str, "version": int, "role": str, "keyId": str, "domain": str, "publicKey": str, "seed": str}


def check_public_key(raw: bytes) -> None:
    """Returns if ``raw`` is a point of the main subgroup in canonical form.

    Raises:
        KeyRefused: It is of small order, off the curve or not 32 bytes; such a key "verifies" signatures nobody made.
    """
    if len(raw) != bindings.crypto_sign_PUBLICKEYBYTES or not bindings.crypto_core_ed25519_is_valid_point(raw):
        msg = f"not a usable Ed25519 public key (small order, off the curve, or not 32 bytes): {raw.hex()}"
        raise KeyRefused(msg)


def _decode(text: str, prefix: str, size: int, what: str) -> bytes:
    raw = _decode_base64(text.removeprefix(prefix), size)
    if not text.startswith(prefix) or raw is None:
        msg = f"expected {what} as {prefix}<padded base64 of {size} bytes>, got {text!r:.120}"
        raise MalformedDocument(msg, reason="encoding")
    return raw


def _decode_base64(text: str, size: int) -> bytes | None:
    # One spelling only: unused bits of the last digit must be zero.
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == size and base64.b64encode(raw).decode("ascii") == text else None


def encode_public(raw: bytes) -> str:
    """The text form of a public key, ``ed25519-pub:`` and padded base64."""
    return _PUBLIC_PREFIX + base64.b64encode(raw).decode("ascii")


def decode_public(text: str) -> bytes:
    """The 32 bytes of a public key, checked for use.

    Raises:
        MalformedDocument: Not the text form.
        KeyRefused: A key that must not be used.
    """
    raw = _decode(text, _PUBLIC_PREFIX, bindings.crypto_sign_PUBLICKEYBYTES, "a public key")
    check_public_key(raw)
    return raw


def encode_signature(raw: bytes) -> str:
    """The text form of a signature, ``ed25519:`` and padded base64."""
    return _SIGNATURE_PREFIX + base64.b64encode(raw).decode("ascii")


def decode_signature(text: str) -> bytes:
    """The 64 bytes of a signature.

    Raises:
        MalformedDocument: Not the text form.
    """
    return _decode(text, _SIGNATURE_PREFIX, bindings.crypto_sign_BYTES, "a signature")


def verify(public: bytes, message: bytes, signature: bytes) -> None:
    """Returns if the signature is right.

    Args:
        public: 32 bytes, already checked.
        message: What was signed: the 32 raw bytes of a digest.
        signature: 64 bytes.

    Raises:
        BadSignature: It is not.
    """
    try:
        bindings.crypto_sign_open(signature + message, public)
    except BadSignatureError as error:
        msg = f"signature does not verify under {encode_public(public)}"
        raise BadSignature(msg) from error


def key_id(role: str, public: bytes) -> str:
    """A key's name: its role and the first 16 hex digits of the SHA-256 of the public key."""
    return f"{role}-{sha256(public).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """What the world may know of a key: its role, its id, the one domain it signs, and the 32 public bytes."""

    role: str
    key_id: str
    domain: str
    raw: bytes

    def to_json(self) -> dict[str, Json]:
        """The key as seals and manifests carry it."""
        return {
            "role": self.role,
            "keyId": self.key_id,
            "domain": self.domain,
            "publicKey": encode_public(self.raw),
        }

    @classmethod
    def from_json(cls, value: Json, where: str) -> "PublicKey":
        """The key an object states.

        Raises:
            MalformedDocument: Not such an object.
            KeyRefused: A key that must not be used.
        """
        fields = read_object(value, where, {"role": str, "keyId": str, "domain": str, "publicKey": str})
        texts = cast("dict[str, str]", fields)  # read_object vouches for the types
        return cls(
            role=texts["role"],
            key_id=texts["keyId"],
            domain=texts["domain"],
            raw=decode_public(texts["publicKey"]),
        )


class Signer:
    """A secret key that signs digests of one domain. Its ``repr`` shows the public part only."""

    __slots__ = ("_secret", "public")

    def __init__(self, *, role: str, domain: str, seed: bytes, name: str | None = None) -> None:
        """Derives the key pair of a 32-byte seed.

        Args:
            role: What the key is for (``witness``, ``rows-log``).
            domain: The one domain of digests it signs.
            seed: The secret, 32 bytes.
            name: Its key id, where another system has already given it one.
        """
        raw, self._secret = bindings.crypto_sign_seed_keypair(seed)
        self.public = PublicKey(role=role, key_id=name or key_id(role, raw), domain=domain, raw=raw)

    @classmethod
    def new(cls, *, role: str, domain: str, entropy: Callable[[int], bytes] = secrets.token_bytes) -> "Signer":
        """A fresh key; ``entropy`` gives its 32 secret bytes."""
        return cls(role=role, domain=domain, seed=entropy(bindings.crypto_sign_SEEDBYTES))

    def sign(self, domain: str, digest: bytes) -> bytes:
        """The 64-byte signature over the 32 raw bytes of a digest.

        Raises:
            KeyRefused: The digest belongs to another domain than this key's.
        """
        if domain != self.public.domain:
            msg = f"key {self.public.key_id} signs {self.public.domain} only, not {domain}"
            raise KeyRefused(msg)
        return bindings.crypto_sign(digest, self._secret)[: bindings.crypto_sign_BYTES]

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes, for the key file alone."""
        return self._secret[: bindings.crypto_sign_SEEDBYTES]

    def __repr__(self) -> str:
        """Names the key without its secret."""
        return f"Signer({self.public.key_id}, domain={self.public.domain!r}, seed=<secret>)"

    def __reduce__(self) -> NoReturn:
        """A secret key leaves the process in its key file only.

        Raises:
            KeyRefused: Always.
        """
        msg = f"key {self.public.key_id} cannot be copied or pickled; read its key file where it is needed"
        raise KeyRefused(msg)


def write_signer(signer: Signer, path: Path) -> None:
    """Writes a key file that its owner alone can read; an existing file is never replaced.

    Raises:
        BadInput: The file exists or cannot be written.
    """
    document: dict[str, Json] = {
        "kind": "assay.key",
        "version": 1,
        **signer.public.to_json(),
        "seed": base64.b64encode(signer.seed).decode("ascii"),
    }
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(canonical.dumps(document) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            # A link appears whole or not at all, and never in place of a file that is there.
            os.link(draft, path)
        finally:
            draft.unlink()
        sync_folder(path.parent)
    except FileExistsError as error:
        msg = f"{path} exists; a key file is never overwritten, choose another name"
        raise BadInput(msg, path=str(path)) from error
    except OSError as error:
        msg = f"cannot write the key file {path}: {error.strerror}"
        raise BadInput(msg, path=str(path)) from error


def read_signer(path: Path) -> Signer:
    """The key of a key file.

    Raises:
        BadInput: The file is missing or cannot be read.
        KeyRefused: Others can read it, it is no plain file, or its parts do not belong together.
        MalformedDocument: It is not a key file.
    """
    try:
        # Without O_NONBLOCK a pipe put there would hold the reader for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            msg = f"{path} is a link, not a plain file"
            raise KeyRefused(msg, path=str(path)) from error
        msg = f"cannot read the key file {path}: {error.strerror}"
        raise BadInput(msg, path=str(path)) from error
    try:
        _check_key_file(path, os.fstat(descriptor).st_mode)
        data = os.read(descriptor, _MAX_FILE_BYTES)
    finally:
        os.close(descriptor)
    return _parse_signer(data, path)


def _check_key_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        msg = f"{path} is not a plain file"
        raise KeyRefused(msg, path=str(path))
    if mode & 0o077:
        msg = (
            f"{path} can be read by others (mode {stat.S_IMODE(mode):04o}); "
            f"if nobody else has seen it, `chmod 600 {path}`, otherwise make a new key"
        )
        raise KeyRefused(msg, path=str(path))


def _parse_signer(data: bytes, path: Path) -> Signer:
    fields = read_object(canonical.loads(data), f"key file {path.name}", _FILE_MEMBERS)
    texts = cast("dict[str, str]", fields)  # read_object vouches for the types; version is compared as it came
    if (fields["kind"], fields["version"]) != ("assay.key", 1):
        msg = f"{path.name}: expected kind assay.key version 1, got {fields['kind']!r} version {fields['version']!r}"
        raise MalformedDocument(msg, reason="kind")
    seed = _decode_base64(texts["seed"], bindings.crypto_sign_SEEDBYTES)
    if seed is None:  # what came is a secret, and stays out of the message
        msg = f"{path.name}: expected a seed as padded base64 of {bindings.crypto_sign_SEEDBYTES} bytes"
        raise MalformedDocument(msg, reason="encoding")
    signer = Signer(role=texts["role"], domain=texts["domain"], seed=seed, name=texts["keyId"])
    if encode_public(signer.public.raw) != texts["publicKey"]:
        msg = f"{path.name}: the public key does not belong to the secret; restore the file or make a new key"
        raise KeyRefused(msg, path=str(path))
    return signer


def public_keys(signers: Iterable[Signer]) -> list[Json]:
    """The public parts of some keys, as seals and manifests carry them."""
    return [signer.public.to_json() for signer in signers]
