"""The `ObjectStore` protocol: bytes by key. Objects are immutable but for the few that are swapped, as pointers are."""

import re
from collections.abc import Sequence
from typing import Final, Protocol

from assay.kernel.errors import BadInput

__all__ = ["LONGEST_KEY", "ObjectStore", "check_key", "is_key"]

LONGEST_KEY: Final = 512
"""Characters a key may have."""

# A segment never starts with a dot, so that none is `.` or `..` and drivers have names of their own.
_KEY: Final = re.compile(r"[A-Za-z0-9_@+=-][A-Za-z0-9._@+=-]*(?:/[A-Za-z0-9_@+=-][A-Za-z0-9._@+=-]*)*")
_LONGEST_SEGMENT: Final = 200


def is_key(text: str) -> bool:
    """Whether a text is a plain relative path.

    No segment may be empty, start with a dot, be longer than 200 characters or hold other characters than ASCII
    letters, digits and ``._@+=-``, and the whole has at most :data:`LONGEST_KEY` characters.
    """
    fits = len(text) <= LONGEST_KEY and _KEY.fullmatch(text)
    return bool(fits) and all(len(segment) <= _LONGEST_SEGMENT for segment in text.split("/"))


def check_key(key: str) -> str:
    """The key itself, if :func:`is_key` takes it.

    Raises:
        BadInput: It does not.
    """
    if not is_key(key):
        shown = ascii(key if len(key) <= 80 else key[:77] + "...")
        msg = f"expected the key of an object, a relative path of plain names such as corpus/manifest.json, got {shown}"
        raise BadInput(msg, key=shown)
    return key


class ObjectStore(Protocol):
    """Durable bytes by key; several processes and threads may use one store at a time.

    Every method raises ``BadInput`` for a key that :func:`check_key` refuses, and ``StorageFault`` where the storage
    fails. A write is there whole or not at all, also after the process is killed at any moment, and a reader never sees
    part of one. Objects are never deleted. No key may be a folder of another: a driver may refuse such keys.
    """

    def get(self, key: str, *, limit: int | None = None) -> bytes:
        """The bytes of an object.

        Args:
            key: Its key.
            limit: The most bytes that are taken; none takes any number.

        Raises:
            NoSuchObject: There is none.
            ObjectTooLarge: It has more bytes than the limit.
        """
        ...

    def exists(self, key: str) -> bool:
        """Whether an object lies under a key."""
        ...

    def list(self, prefix: str = "") -> Sequence[str]:
        """The keys that start with a prefix, in code point order."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Creates an object; once more with the same bytes changes nothing.

        Raises:
            ObjectConflict: Other bytes lie under the key; they stay.
        """
        ...

    def swap(self, key: str, data: bytes, *, expected: bytes | None) -> None:
        """Puts an object in the place of the one that was there, in one step: for pointers.

        Args:
            key: Its key.
            data: What lies there afterwards.
            expected: What has to lie there before; None where nothing may.

        Raises:
            ObjectConflict: Something else lies there; it stays.
        """
        ...
