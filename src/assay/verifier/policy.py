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
        authors: Public keys, in their text form, of those whose registrations are believed. An author vouches for a
            run's other keys by sealing them, so this is all that most readers need.
        keys: Public keys that are believed for what they sign themselves and vouch for nobody: where no author is
            believed, every signer must be among them.
        registration: The digest of the registration that is believed, or ``None`` for any.
        head: The hash of the last checkpoint, got by another way than the bundle, or ``None`` for any.
    """

    authors: frozenset[str] = field(default_factory=frozenset[str])
    keys: frozenset[str] = field(default_factory=frozenset[str])
    registration: str | None = None
    head: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The policy as its file carries it."""
        document: dict[str, Json] = {"kind": _KIND, "version": 1}
        for member, keys in (("authors", self.authors), ("keys", self.keys)):
            if keys:
                document[member] = [*sorted(keys)]
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
            {"kind": str, "version": int},
            {"authors": list, "keys": list, "registration": str, "head": str},
        )
        if (fields["kind"], fields["version"]) != (_KIND, 1):
            msg = f"expected kind {_KIND} version 1, got {fields['kind']!r} version {fields['version']!r}"
            raise MalformedDocument(msg, reason="kind")
        authors, keys = (_read_keys(fields.get(member, []), f"{name} {member}") for member in ("authors", "keys"))
        for member in ("registration", "head"):
            if member in fields:
                to_raw(cast("str", fields[member]))
    except (MalformedDocument, KeyRefused) as error:
        msg = f"{name} is not a trust policy: {error.message}"
        raise BadInput(msg, path=name) from error
    if not authors | keys:
        msg = f"{name} believes no key; list at least one author's public key under authors"
        raise BadInput(msg, path=name)
    registration, head = fields.get("registration"), fields.get("head")
    return Policy(
        authors=authors, keys=keys, registration=cast("str | None", registration), head=cast("str | None", head)
    )


def _read_keys(value: Json, where: str) -> frozenset[str]:
    return frozenset(encode_public(decode_public(text)) for text in read_texts(value, where))
