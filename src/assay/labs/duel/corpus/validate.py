"""Which turns a fold admits: each check in the order of facts 5.7, the first that fails being the reason told."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.labs.duel.mandates import check_admission, check_reference
from assay.models.protocol import Message

__all__ = ["MOST_PREFIX_CHARS", "Admission", "Candidate", "Panel", "Validated", "is_leaked", "validate_turns"]

MOST_PREFIX_CHARS: Final = 300_000
"""Characters a prefix may have."""

_SHORTEST_LEAK: Final = 40  # a normalised action no longer than this may well be said twice


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A turn that asks to be admitted; ids come as the record states them, of whatever type.

    Args:
        traj_id: The trajectory's id.
        turn_idx: The number of the reply.
        repo: The repository of the task.
        instance_id: The id of the task.
        action_kind: The dialect of the reference's action; none means bash.
        prefix: The conversation before the reference.
        reference: The policy's reply.
    """

    traj_id: object
    turn_idx: object
    repo: str
    instance_id: str
    action_kind: str | None
    prefix: Sequence[Message]
    reference: str

    @property
    def turn_id(self) -> str:
        """The id of the turn."""
        return f"{self.traj_id}:{self.turn_idx}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The tasks of the benchmarks that models are shown on, none of which may enter. Case does not matter.

    Args:
        ids: Ids of tasks.
        repos: Repositories, with their owner.
        names: Repositories without their owner.
    """

    ids: frozenset[str] = frozenset()
    repos: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ids: Iterable[str], repos: Iterable[str], names: Iterable[str]) -> "Panel":
        """The panel of some tasks, repositories and bare names."""
        return cls(ids=_lowered(ids), repos=_lowered(repos), names=_lowered(names))

    def holds(self, turn: Candidate) -> bool:
        """Whether the turn is of one of its tasks."""
        repo = turn.repo.lower()
        return turn.instance_id.lower() in self.ids or repo in self.repos or repo.rpartition("/")[2] in self.names


def _lowered(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(text.lower() for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """The turns that were admitted, in order, and how many were turned away for each reason."""

    kept: tuple[Candidate, ...]
    drops: Mapping[str, int]


class Admission:
    """Looks at one turn after another; of two with one id, the first is looked at.

    Args:
        allowed_kinds: The dialects that are admitted; None admits every registered one.
        panel: Tasks that are not admitted.
    """

    def __init__(self, allowed_kinds: Collection[str] | None = None, panel: Panel | None = None) -> None:
        """Has seen no turn yet."""
        self._allowed_kinds = allowed_kinds
        self._panel = panel or Panel()
        self._seen: set[str] = set()

    def refuse(self, turn: Candidate) -> str | None:
        """Why a turn is turned away, or None where it is admitted."""
        reason = self._refuse_identity(turn) or check_admission(turn.action_kind, self._allowed_kinds)
        return reason or _refuse_content(turn)

    def _refuse_identity(self, turn: Candidate) -> str | None:
        if type(turn.traj_id) is not str or not turn.traj_id or type(turn.turn_idx) is not int:
            return "bad_ids"
        if turn.turn_id in self._seen:
            return "dup_turn_id"
        self._seen.add(turn.turn_id)
        return "bench_panel_overlap" if self._panel.holds(turn) else None


def validate_turns(
    turns: Iterable[Candidate], *, allowed_kinds: Collection[str] | None = None, panel: Panel | None = None
) -> Validated:
    """The turns that pass every check.

    Args:
        turns: The candidates, in order.
        allowed_kinds: As :class:`Admission` takes them.
        panel: As :class:`Admission` takes it.
    """
    admission = Admission(allowed_kinds, panel)
    kept: list[Candidate] = []
    drops: Counter[str] = Counter()
    for turn in turns:
        reason = admission.refuse(turn)
        if reason is None:
            kept.append(turn)
        else:
            drops[reason] += 1
    return Validated(kept=tuple(kept), drops=dict(drops))


def _refuse_content(turn: Candidate) -> str | None:
    if not turn.prefix or turn.prefix[-1].role != "user":
        return "prefix_shape"
    if sum(len(message.content) for message in turn.prefix) > MOST_PREFIX_CHARS:
        return "prefix_too_long"
    reason, action = check_reference(turn.prefix, turn.reference, turn.action_kind)
    return reason or ("reference_leaked_into_prefix" if is_leaked(action, turn.prefix) else None)


def is_leaked(action: str, prefix: Sequence[Message]) -> bool:
    """Whether an earlier message says the action already; one of 40 characters or fewer may be said twice."""
    wanted = _normalise(action)
    return len(wanted) > _SHORTEST_LEAK and any(wanted in _normalise(message.content) for message in prefix)


def _normalise(text: str) -> str:
    return " ".join(text.split()).lower()
