"""The fold: which of the new rollouts, and of those that wait, enter the next revision, and with which turns.

It follows from the rollouts, from what earlier folds left and from the rules alone: it reads no clock and no store.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from assay.kernel.canonical import Json, dumps
from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.corpus.materialise import materialise
from assay.labs.duel.corpus.mix import NETWORK_MIX, Mix, fill_mix
from assay.labs.duel.corpus.routing import Buckets, KingRule, Record, assign_buckets, group_of, route_king
from assay.labs.duel.corpus.state import FoldState
from assay.labs.duel.corpus.validate import Admission, Candidate, Panel
from assay.labs.duel.corpus.views import read_view_record

__all__ = ["FoldRules", "Folded", "fold"]

MOST_PREFIX_TOKENS: Final = 110_000
"""Tokens of the teacher that a prefix may have."""

UNCOUNTED_PREFIX_CHARS: Final = 120_000
"""Characters up to which the tokens of a prefix are not counted."""

_TOKENS_A_MESSAGE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldRules:
    """What a fold is done by.

    Args:
        allowed_kinds: The dialects that are admitted, in the order in which the manifest lists them.
        groups: The group of each source; a source in none counts as coding.
        mix: How strata are shared out.
        buckets: Over how many strata the tasks of some sources are spread.
        king: Where the king's failures go; None drops all of the king's rollouts.
        panel: Tasks that are not admitted.
        count_tokens: The teacher's tokens of a text; without it, prefixes long enough to be counted are dropped.
        least_turns: New turns below which no revision is made, unless the last is old.
        oldest_hours: Age of the last revision from which any new turn makes another.
    """

    allowed_kinds: tuple[str, ...]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    mix: Mix = field(default=NETWORK_MIX)
    buckets: Buckets = field(default_factory=dict[str, tuple[int, int]])
    king: KingRule | None = None
    panel: Panel | None = None
    count_tokens: Callable[[str], int] | None = None
    least_turns: int = 200
    oldest_hours: int = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What came of a fold.

    Args:
        records: The rollouts that enter, each with just the turns that do.
        deferred: Those that wait for a later cycle.
        drops: How many turns, and of the king how many rollouts, were dropped for each reason.
        groups: The strata that each group holds afterwards.
        languages: The strata that each bucket of languages holds afterwards, inside coding.
    """

    records: tuple[Record, ...]
    deferred: tuple[Record, ...]
    drops: Mapping[str, int]
    groups: Mapping[str, frozenset[str]]
    languages: Mapping[str, frozenset[str]]

    @property
    def turns(self) -> int:
        """How many turns enter."""
        return sum(len(cast("list[Json]", record["turns"])) for record in self.records)


def fold(incoming: Iterable[Record], state: FoldState, published: Collection[str], rules: FoldRules) -> Folded:
    """The next revision's rollouts: those that wait come first, so that none waits for ever.

    Args:
        incoming: View records of traces that were not folded yet, in the order of the traces.
        state: What earlier folds left.
        published: The ids of the turns that the corpus holds.
        rules: What the fold is done by.
    """
    drops: Counter[str] = Counter()
    admitted = _admit([*state.deferred, *incoming], published, rules, drops)
    routed = route_king(assign_buckets(admitted, rules.buckets, rules.groups), rules.king)
    drops.update(routed.drops)
    filled, languages = fill_mix(
        routed.kept,
        lambda record: group_of(record, rules.groups, rules.mix.groups),
        (state.groups, state.languages),
        rules.mix,
    )
    return Folded(
        records=filled.selected,
        deferred=filled.deferred,
        drops=dict(sorted(drops.items())),
        groups=_join(state.groups, filled.added),
        languages=_join(state.languages, languages),
    )


def _admit(
    records: Iterable[Record], published: Collection[str], rules: FoldRules, drops: Counter[str]
) -> list[Record]:
    """The rollouts with the turns that may enter; one without any is gone."""
    admission = Admission(rules.allowed_kinds, rules.panel)
    admitted: list[Record] = []
    for record in records:
        kept: list[Json] = []
        for turn, candidate in _candidates(record, drops):
            reason = (
                admission.refuse(candidate)
                or ("already_published" if candidate.turn_id in published else None)
                or _refuse_length(candidate, rules)
            )
            if reason is None:
                kept.append(turn)
            else:
                drops[reason] += 1
        if kept:
            admitted.append({**record, "turns": kept})
    return admitted


def _candidates(record: Record, drops: Counter[str]) -> Iterator[tuple[Json, Candidate]]:
    """The turns of a rollout, each as its record holds it and as it asks to be admitted."""
    try:
        dumps(cast("dict[str, Json]", record))  # a text that no file can hold would stop every fold that meets it
        view = read_view_record(cast("dict[str, Json]", record))
    except EvidenceInvalid:
        drops["record_unreadable"] += 1
        return
    for turn, meta in zip(cast("list[Json]", record["turns"]), view.turns, strict=True):
        try:
            prefix, reference = materialise(view, meta.node_id)
        except EvidenceInvalid:
            prefix, reference = (), ""  # turned away for the shape of its prefix, unless something comes before that
        yield (
            turn,
            Candidate(
                traj_id=view.traj_id,
                turn_idx=meta.turn_idx,
                repo=view.repo,
                instance_id=view.instance_id,
                action_kind=meta.action_kind or view.action_kind,
                prefix=prefix,
                reference=reference,
            ),
        )


def _refuse_length(turn: Candidate, rules: FoldRules) -> str | None:
    if sum(len(message.content) for message in turn.prefix) <= UNCOUNTED_PREFIX_CHARS:
        return None
    if rules.count_tokens is None:
        return "prefix_tokens_not_counted"
    tokens = sum(rules.count_tokens(message.content) + _TOKENS_A_MESSAGE for message in turn.prefix)
    return "prefix_too_many_tokens" if tokens > MOST_PREFIX_TOKENS else None


def _join(held: Mapping[str, Collection[str]], added: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    names = sorted({*held, *added})
    return {name: frozenset(held.get(name, ())) | frozenset(added.get(name, ())) for name in names}
