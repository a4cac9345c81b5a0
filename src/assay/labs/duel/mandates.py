"""Which dialect a conversation asks for, and whether a reference turn keeps to it (facts 3.3)."""

from collections.abc import Iterable, Mapping, Sequence

from assay.kernel.errors import BadInput
from assay.labs.duel.dialects import DIALECTS, NO_KIND, Dialect, find_dialect
from assay.labs.duel.eras import Era
from assay.models.protocol import Message

__all__ = ["check_admission", "check_mandate", "check_reference", "check_slice"]


def check_mandate(
    messages: Sequence[Message], kind: str | None, dialects: Mapping[str, Dialect] | None = None
) -> str | None:
    """Why a conversation does not ask for the dialect, or None where it does.

    Of each role that may hold the dialect's marker only the first message is looked at. A dialect without a marker
    still needs a message of the role.

    Raises:
        UnknownName: No such dialect.
    """
    dialect = find_dialect(kind, dialects)
    for role in dialect.marker_roles:
        first = next((message for message in messages if message.role == role), None)
        if first is not None and dialect.marker in first.content.lower():
            return None
    return f"system_msg_no_{dialect.name}_mandate"


def check_reference(
    prefix: Sequence[Message],
    reference: str,
    kind: str | None,
    era: Era = Era.SAFE,
    dialects: Mapping[str, Dialect] | None = None,
) -> tuple[str | None, str]:
    """Why a reference turn is dropped, or None, and its action; no action where it is dropped.

    Raises:
        UnknownName: No such dialect.
    """
    dialect = find_dialect(kind, dialects)
    reason = check_mandate(prefix, kind, dialects)
    if reason is not None:
        return reason, ""
    spans = dialect.find(reference, era)
    if len(spans) != 1:
        return f"ref_{dialect.name}_actions={len(spans)}", ""
    return None, reference[spans[0].start : spans[0].end]


def check_admission(
    kind: str | None, allowed: Iterable[str] | None, dialects: Mapping[str, Dialect] | None = None
) -> str | None:
    """Why a turn of this dialect is not admitted, or None; without a list every registered dialect is."""
    name = kind or NO_KIND
    if name not in (DIALECTS if dialects is None else dialects):
        return f"action_kind_unregistered:{name}"
    if allowed is not None and name not in set(allowed):
        return f"action_kind_not_admitted:{name}"
    return None


def check_slice(
    kinds: Iterable[str | None], allowed: Iterable[str], dialects: Mapping[str, Dialect] | None = None
) -> None:
    """Refuses a slice that holds a turn in a dialect that is unknown or not admitted.

    Raises:
        BadInput: It holds one; the message names each.
    """
    admitted = tuple(allowed)
    found = {check_admission(kind, admitted, dialects) for kind in kinds} - {None}
    if found:
        msg = f"the slice holds turns that the contract does not admit: {', '.join(sorted(map(str, found)))}"
        raise BadInput(msg, reasons=sorted(map(str, found)))
