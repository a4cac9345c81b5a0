"""Which replies of a rollout are turns: one action, not said before, after something a user said (facts 5.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.duel.corpus.validate import MOST_PREFIX_CHARS, is_leaked
from assay.labs.duel.dialects import find_dialect
from assay.labs.duel.eras import Era
from assay.models.protocol import Message

__all__ = ["Sliced", "ended_on_purpose", "phase_of", "slice_reply"]

_ROLES: Final = ("system", "user", "assistant")
_FENCE: Final = "```mswea_bash_command\n"
_TEXT: Final = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliced:
    """A reply that is a turn: what came before it, the reply, and the dialect of its action."""

    prefix: tuple[Message, ...]
    reference: Message
    kind: str


def slice_reply(messages: Sequence[Message], kind: str, era: Era, *, deliberate: bool = False) -> Sliced | None:
    """The turn that the last of these messages is, or None where it is none.

    Args:
        messages: The conversation up to the reply.
        kind: The dialect of the policy.
        era: Whose reading of the rules applies.
        deliberate: Whether the reply ended the rollout on purpose; its prose may then be a turn of dialect ``text``.

    Raises:
        UnknownName: No such dialect.
    """
    kept = [_mend(message) for message in messages if message.role in _ROLES]
    if not kept:
        return None
    *prefix, reference = kept
    if not prefix or prefix[-1].role != "user" or reference.role != "assistant":
        return None
    if sum(len(message.content) for message in prefix) > MOST_PREFIX_CHARS:
        return None
    dialect = find_dialect(kind)
    spans = dialect.find(reference.content, era)
    name = dialect.name
    if not spans and deliberate and dialect.ends_in_text:
        name = _TEXT
        spans = find_dialect(_TEXT).find(reference.content, era)
    if len(spans) != 1 or is_leaked(reference.content[spans[0].start : spans[0].end], prefix):
        return None
    return Sliced(prefix=tuple(prefix), reference=reference, kind=name)


def phase_of(index: int, count: int) -> str:
    """Whether a reply comes in the first third of its rollout, the second or the last."""
    if 3 * index < count:
        return "early"
    return "mid" if 3 * index < 2 * count else "late"


def ended_on_purpose(trace: Mapping[str, Json], last: int) -> bool:
    """Whether the agent ended the rollout with its last reply, and was not cut off in it.

    Args:
        trace: The trace.
        last: The node of the last sampled reply.
    """
    if trace.get("stop_condition") != "agent_completed":
        return False
    calls = trace.get("calls")
    own = [
        call
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict) and call.get("node") == last
    ]
    return not own or own[-1].get("finish_reason") != "length"


def _mend(message: Message) -> Message:
    if _FENCE not in message.content:
        return message
    return Message(role=message.role, content=message.content.replace(_FENCE, "```bash\n"))
