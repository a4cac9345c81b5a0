"""One cycle of the fold: it completes what was under way, folds new traces, and publishes what is worth a revision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from assay.kernel.clock import Clock
from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.corpus.corpus import Corpus, open_corpus, read_pointer
from assay.labs.duel.corpus.fold import Folded, FoldRules, fold
from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish, resume
from assay.labs.duel.corpus.routing import Record
from assay.labs.duel.corpus.state import FoldState, dump_state, read_state
from assay.objects.protocol import ObjectStore

__all__ = ["Cycle", "Traces", "run_cycle"]


class Traces(Protocol):
    """Where new rollouts come from, chunk by chunk; a chunk that was folded is never asked for again."""

    @property
    def manifest_sha256(self) -> str | None:
        """The digest of the manifest that names the chunks, in hex; None where there is none."""
        ...

    def chunk_ids(self) -> Sequence[str]:
        """The chunks there are, in order."""
        ...

    def records(self, chunk_id: str) -> Iterable[Record]:
        """The view records of a chunk, in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What came of a cycle.

    Args:
        manifest: The digest of the manifest that the pointer names afterwards; None where nothing was ever published.
        published: Whether this cycle made a revision.
        resumed: The digest of an earlier revision whose publishing it completed.
        turns: How many new turns there were.
        deferred: How many rollouts wait.
        drops: How many were dropped for each reason.
    """

    manifest: str | None
    published: bool
    resumed: str | None
    turns: int
    deferred: int
    drops: Mapping[str, int]


def run_cycle(store: ObjectStore, traces: Traces, rules: FoldRules, clock: Clock, *, force: bool = False) -> Cycle:
    """Folds what is new and publishes it, unless it is too little and the last revision is young.

    Args:
        store: Where the corpus lies.
        traces: Where new rollouts come from.
        rules: What the fold is done by.
        clock: Tells when the revision is made, and how old the last one is.
        force: Publishes any new turn.

    Raises:
        EvidenceInvalid: The published corpus, or the state of its fold, is not what its digests say.
        Refused: Somebody else published meanwhile.
        StorageFault: The storage failed; the next cycle goes on from there.
    """
    resumed = resume(store)
    pointer = read_pointer(store)
    digest = None if pointer is None else sha256(pointer).hexdigest()
    corpus = open_corpus(store, digest) if digest else None
    state = read_state(store, digest)
    fresh = [chunk for chunk in traces.chunk_ids() if chunk not in state.folded]
    published = frozenset(corpus.index.turn_ids) if corpus else frozenset[str]()
    folded = fold((record for chunk in fresh for record in traces.records(chunk)), state, published, rules)
    now = clock.now()
    wanted = folded.turns > 0 and (force or folded.turns >= rules.least_turns or _is_old(corpus, now, rules))
    if wanted:
        digest = publish(
            store, _revise(digest, folded, state.folded.union(fresh), rules, (now, traces.manifest_sha256))
        )
    return Cycle(
        manifest=digest,
        published=wanted,
        resumed=resumed,
        turns=folded.turns,
        deferred=len(folded.deferred),
        drops=folded.drops,
    )


def _is_old(corpus: Corpus | None, now: str, rules: FoldRules) -> bool:
    """Whether the last revision is so old that any new turn makes another; so it is where there is none."""
    if corpus is None:
        return True
    try:
        age = datetime.fromisoformat(now) - datetime.fromisoformat(corpus.manifest.created_at)
    except (ValueError, TypeError) as error:
        msg = f"expected the manifest to state a time with an offset, got {corpus.manifest.created_at!r:.80}"
        raise EvidenceInvalid(msg) from error
    return age > timedelta(hours=rules.oldest_hours)


def _revise(
    base: str | None, folded: Folded, done: frozenset[str], rules: FoldRules, made: tuple[str, str | None]
) -> Revision:
    created_at, traces = made
    state = FoldState(folded=done, groups=folded.groups, languages=folded.languages, deferred=folded.deferred)
    return Revision(
        base=base,
        records=folded.records,
        created_at=created_at,
        allowed_action_kinds=rules.allowed_kinds,
        traces_manifest_sha256=traces,
        companions=dump_state(state),
    )
