"""Objects in memory, for attacks that need a store to tamper with; see :class:`assay.objects.protocol.ObjectStore`."""

from collections.abc import Sequence

from assay.objects.errors import NoSuchObject, ObjectConflict, ObjectTooLarge
from assay.objects.protocol import check_key

__all__ = ["Shelf"]


class Shelf:
    """A store that is gone with the process."""

    def __init__(self) -> None:
        """Holds nothing."""
        self._objects: dict[str, bytes] = {}

    def get(self, key: str, *, limit: int | None = None) -> bytes:
        """The bytes of an object; see the protocol."""
        data = self._objects.get(check_key(key))
        if data is None:
            msg = f"there is no object {key}"
            raise NoSuchObject(msg, key=key)
        if limit is not None and len(data) > limit:
            msg = f"{key} has {len(data)} bytes, and at most {limit} are taken"
            raise ObjectTooLarge(msg, key=key)
        return data

    def exists(self, key: str) -> bool:
        """Whether an object lies under a key."""
        return check_key(key) in self._objects

    def list(self, prefix: str = "") -> Sequence[str]:
        """The keys that start with a prefix, in code point order."""
        return sorted(key for key in self._objects if key.startswith(prefix))

    def put(self, key: str, data: bytes) -> None:
        """Creates an object; see the protocol."""
        if self._objects.setdefault(check_key(key), data) != data:
            msg = f"{key} holds other bytes"
            raise ObjectConflict(msg, key=key)

    def swap(self, key: str, data: bytes, *, expected: bytes | None) -> None:
        """Puts an object in the place of another; see the protocol."""
        if self._objects.get(check_key(key)) != expected:
            msg = f"{key} does not hold what was expected"
            raise ObjectConflict(msg, key=key)
        self._objects[key] = data
