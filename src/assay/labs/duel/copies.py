"""Whether a challenger is a copy of the king, by the digests of its weight files.

A copy is a model whose weight files include all of the king's, however they are named and whatever lies beside them.
Files that were cut or saved anew have other digests and are not found here: what such a copy meets is the margin that
it has to win by.

Where the files of either cannot be read, the network took the challenger for no copy. The safe reading says
``unknown``, whose turn it is not to decide: nobody is turned down and nobody is crowned, and the check is made again.
The same holds for a copy of which it cannot be told who was first, which the network turned down.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from assay.kernel.errors import BadInput
from assay.labs.duel.eras import Era

__all__ = ["CopyFinding", "Published", "find_copy"]

CopyFinding: TypeAlias = Literal["no-copy", "reject", "crown-earlier", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A model where it was published.

    Args:
        repository: Where it lies.
        revision: Which state of it.
        weights: The SHA-256 of each weight file by its name; None where they could not be read.
        published: When, in ISO 8601; None where it is not known.
    """

    repository: str
    revision: str
    weights: Mapping[str, str] | None
    published: str | None = None


def find_copy(challenger: Published, king: Published, era: Era) -> CopyFinding:
    """What the comparison says.

    ``reject`` for a copy that came later, or is the king itself; ``crown-earlier`` for the model that the king is a
    copy of; ``unknown``, in the safe era alone, where it cannot be told.

    Raises:
        BadInput: A time is not in ISO 8601 (the network's era; the safe one finds ``unknown``).
    """
    unsure: CopyFinding = "unknown" if era is Era.SAFE else "no-copy"
    if (challenger.repository, challenger.revision) == (king.repository, king.revision):
        return "reject"
    if not challenger.weights or not king.weights:
        return unsure
    if not Counter(king.weights.values()) <= Counter(challenger.weights.values()):
        return "no-copy"
    return _find_first(challenger, king, era)


def _find_first(challenger: Published, king: Published, era: Era) -> CopyFinding:
    if era is Era.NETWORK:
        if challenger.published is None or king.published is None:
            return "reject"
        ours, theirs = _read_time(challenger.published), _read_time(king.published)
        if (ours.tzinfo is None) != (theirs.tzinfo is None):
            msg = f"times with and without a zone cannot be compared: {challenger.published!r}, {king.published!r}"
            raise BadInput(msg)
        return "crown-earlier" if ours < theirs else "reject"
    ours, theirs = _read_instant(challenger.published), _read_instant(king.published)
    if ours is None or theirs is None:
        return "unknown"
    return "crown-earlier" if ours < theirs else "reject"


def _read_instant(text: str | None) -> datetime | None:
    """A time with its zone, or None where the text is none."""
    if text is None:
        return None
    try:
        instant = _read_time(text)
    except BadInput:
        return None
    return instant if instant.tzinfo is not None else None


def _read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"expected a time in ISO 8601, got {text!r}"
        raise BadInput(msg) from error
