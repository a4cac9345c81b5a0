"""The exception families of Assay.

Every error raised on purpose is an :class:`AssayError`. Its *family* says whose turn it is, and the
application maps families to exit codes and HTTP statuses; nothing below the application knows either.

======================  ==========================================  =========
family                  meaning                                     exit code
======================  ==========================================  =========
:class:`EvidenceInvalid`  it was checked, and the answer is no       1
:class:`UsageInvalid`     the caller's request or input is wrong     2
:class:`Indeterminate`    cannot decide; says what is missing        3
:class:`Refused`          a valid request that the rules turn down   4
:class:`Unavailable`      the world failed; trying again may help    5
:class:`InvariantBroken`  a defect in Assay itself                   70
======================  ==========================================  =========
"""

from typing import Any, ClassVar

__all__ = [
    "AssayError",
    "BadInput",
    "BadProof",
    "BadSignature",
    "BrokenChain",
    "EvidenceInvalid",
    "ForkDetected",
    "Indeterminate",
    "InvariantBroken",
    "KeyRefused",
    "MalformedDocument",
    "MissingMaterial",
    "PolicyNotMet",
    "Refused",
    "RunClosed",
    "SealBroken",
    "StoreFault",
    "StoreLocked",
    "Unavailable",
    "UnknownName",
    "UnknownVersion",
    "UsageInvalid",
]


class AssayError(Exception):
    """An error with a stable ``code``, a message for people and details for machines.

    Args:
        message: What was expected, what came, and what to do next, in one or two sentences.
        details: JSON-safe facts a machine may want (a path, a sequence, two digests).
    """

    code: ClassVar[str] = "assay-error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class EvidenceInvalid(AssayError):
    """The evidence was checked and is not what it claims to be."""

    code = "evidence-invalid"


class MalformedDocument(EvidenceInvalid):
    """Bytes that the strict loader refuses: not JSON, not canonical, or outside what JSON can carry safely."""

    code = "malformed-document"


class BadSignature(EvidenceInvalid):
    """A signature that does not verify under the key it names."""

    code = "bad-signature"


class BadProof(EvidenceInvalid):
    """A Merkle proof that does not lead to the root it names."""

    code = "bad-proof"


class BrokenChain(EvidenceInvalid):
    """A sequence, previous-hash or entry-hash that does not follow from the entry before it."""

    code = "broken-chain"


class ForkDetected(EvidenceInvalid):
    """Two different entries claim one sequence of one log; both are kept and the run stops."""

    code = "fork-detected"


class SealBroken(EvidenceInvalid):
    """A registration that is not the one that was sealed."""

    code = "seal-broken"


class PolicyNotMet(EvidenceInvalid):
    """Sound evidence that the trust policy in force does not believe."""

    code = "policy-not-met"


class UsageInvalid(AssayError):
    """The caller's request is wrong."""

    code = "usage-invalid"


class BadInput(UsageInvalid):
    """An input file or value that cannot be used as it stands."""

    code = "bad-input"


class UnknownName(UsageInvalid):
    """A name that is not among the known ones (the message offers the nearest)."""

    code = "unknown-name"


class KeyRefused(UsageInvalid):
    """A key that must not be used: small order, wrong role or domain, or a file that others can read."""

    code = "key-refused"


class Indeterminate(AssayError):
    """The question cannot be decided with what is at hand; the message says what is missing."""

    code = "indeterminate"


class MissingMaterial(Indeterminate):
    """A file, key or package without which the check cannot be made."""

    code = "missing-material"


class UnknownVersion(Indeterminate):
    """A format version that this release does not know."""

    code = "unknown-version"


class Refused(AssayError):
    """A valid request that the rules turn down."""

    code = "refused"


class RunClosed(Refused):
    """A write to a run that has been closed."""

    code = "run-closed"


class StoreLocked(Refused):
    """A store that another process owns."""

    code = "store-locked"


class Unavailable(AssayError):
    """The world failed (disk, database, network); nothing was half-written."""

    code = "unavailable"


class StoreFault(Unavailable):
    """The store could not commit; the transaction left no trace."""

    code = "store-fault"


class InvariantBroken(AssayError):
    """A defect in Assay; never caught below the edge of the process."""

    code = "invariant-broken"
