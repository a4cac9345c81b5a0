"""The keys of a run: one role each, and the name under which a log's head is published."""

from collections.abc import Iterable
from hashlib import sha256

from assay.kernel.keys import PublicKey
from assay.kernel.layout import Layout, note_role

__all__ = ["AUTHOR", "NOTE_DOMAIN", "note_origin", "note_role", "roles_of", "run_id"]

AUTHOR = "author"
NOTE_DOMAIN = "c2sp-signed-note"


def roles_of(layout: Layout) -> dict[str, str]:
    """Every signing role of a layout and the one domain its key signs: logs, witness, and a note key for each log."""
    roles = {spec.signer: spec.domain for spec in layout.logs}
    roles[layout.checkpoint.signer] = layout.checkpoint.domain
    roles.update({note_role(spec.name): NOTE_DOMAIN for spec in layout.logs})
    return roles


def run_id(signers: Iterable[PublicKey], witness_role: str = "witness") -> str:
    """A run's name: 16 hex digits of the SHA-256 of its witness key, which is the run's own."""
    return next(sha256(key.raw).hexdigest()[:16] for key in signers if key.role == witness_role)


def note_origin(lab: str, witness: PublicKey, log: str) -> str:
    """The name under which a log's head is published as a signed note."""
    return f"assay/{lab}/{run_id([witness], witness.role)}/{log}"
