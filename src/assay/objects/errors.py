"""What can go wrong with an object store."""

from assay.kernel.errors import EvidenceInvalid, MissingMaterial, Refused, Unavailable

__all__ = ["NoSuchObject", "ObjectConflict", "ObjectTooLarge", "StorageFault"]


class NoSuchObject(MissingMaterial):
    """No object lies under the key."""

    code = "no-such-object"


class ObjectConflict(Refused):
    """The key holds other bytes than those that were to be put, or than those that were expected there."""

    code = "object-conflict"


class ObjectTooLarge(EvidenceInvalid):
    """An object is larger than its reader allows."""

    code = "object-too-large"


class StorageFault(Unavailable):
    """The storage failed; nothing was half-written."""

    code = "storage-fault"
