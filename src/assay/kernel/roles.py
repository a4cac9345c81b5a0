"""The keys of a run: one role each, and the name under which a log's head is published."""

from hashlib import sha256

from assay.kernel.keys import PublicKey
from assay.kernel.layout import Layout

__all__ = ["AUTHOR", "NOTE_DOMAIN", "note_origin", "note_role", "roles_of"]

AUTHOR = "author"
NOTE_DOMAIN = "c2sp-signed-note"


def note_role(log: str) -> str:
    """The role of the key that signs a log's published head."""
    return f"note-{log}"


def roles_of(layout: Layout) -> dict[str, str]:
    """Every signing role of a layout and the one domain its key signs: logs, witness, and a note key for each log."""
    roles = {spec.signer: spec.domain for spec in layout.logs}
    roles[layout.checkpoint.signer] = layout.checkpoint.domain
    roles.update({note_role(spec.name): NOTE_DOMAIN for spec in layout.logs})
    return roles


def note_origin(lab: str, witness: PublicKey, log: str) -> str:
    """The name under which a log's head is published as a signed note; the witness key is a run's own."""
    return f"assay/{lab}/{sha256(witness.raw).hexdigest()[:16]}/{log}"
