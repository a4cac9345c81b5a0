"""Trust as an input: which keys, which registration and which head a reader believes, from a source of his own."""

from dataclasses import dataclass, field
from typing import cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.digests import to_raw
from assay.kernel.errors import BadInput, KeyRefused, MalformedDocument
from assay.kernel.keys import decode_public, encode_public
from assay.kernel.shape import read_object, read_texts

__all__ = ["Policy", "read_policy"]

_KIND = "assay.policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a reader believes.

    Args:
        keys: Public keys in their text form. The registration's author vouches for the run's other keys by sealing
            them, so the author's key is enough; with more keys named, every signer that is not sealed by a believed
            author must be among them.
        registration: The digest of the registration that is believed, or ``None`` for any.
        head: The hash of the last checkpoint, got by another way than the bundle, or ``None`` for any.
    """

    keys: frozenset[str] = field(default_factory=frozenset[str])
    registration: str | None = None
    head: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The policy as its file carries it."""
        document: dict[str, Json] = {"kind": _KIND, "version": 1, "keys": [*sorted(self.keys)]}
        if self.registration is not None:
            document["registration"] = self.registration
        if self.head is not None:
            document["head"] = self.head
        return document


def read_policy(data: bytes, name: str) -> Policy:
    """The policy that a file states.

    Args:
        data: The file's bytes.
        name: The file's name, for messages.

    Raises:
        BadInput: It is not a policy, names no key, or names one that must not be used.
    """
    try:
        fields = read_object(
            canonical.loads(data),
            name,
            {"kind": str, "version": int, "keys": list},
            {"registration": str, "head": str},
        )
        if (fields["kind"], fields["version"]) != (_KIND, 1):
            msg = f"expected kind {_KIND} version 1, got {fields['kind']!r} version {fields['version']!r}"
            raise MalformedDocument(msg, reason="kind")
        keys = frozenset(encode_public(decode_public(text)) for text in read_texts(fields["keys"], f"{name} keys"))
        for member in ("registration", "head"):
            if member in fields:
                to_raw(cast("str", fields[member]))
    except (MalformedDocument, KeyRefused) as error:
        msg = f"{name} is not a trust policy: {error.message}"
        raise BadInput(msg, path=name) from error
    if not keys:
        msg = f"{name} believes no key; list at least the author's public key under keys"
        raise BadInput(msg, path=name)
    registration, head = fields.get("registration"), fields.get("head")
    return Policy(keys=keys, registration=cast("str | None", registration), head=cast("str | None", head))
