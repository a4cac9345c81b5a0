"""A search for what nobody has listed: a hill-climb over suffixes and lengths, for what pays without predicting.

A proposal changes how much is kept of the honest thought and what is put behind it. It is climbed on every second turn
and judged on the others, so that what pays there is no accident of the turns that were climbed on. Whoever searches
knows the gates, and passes by what they block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.labs.duel.crown import Decision, decide
from assay.labs.duel.redteam.phrases import PHRASES
from assay.labs.duel.redteam.stage import Advance, Stage, Staged, ignore

__all__ = ["HONEST", "LEAST_TURNS", "SILENT", "Proposal", "SearchResult", "search", "write_thought"]

LEAST_TURNS: Final = 4
"""Turns that a search needs: both halves have to be tested."""

_KEPT: Final = (None, 0, 40, 80, 160)
_MOST_PHRASES: Final = 12
_MOST_COPIED: Final = 320
_COPIED: Final = 80
_STALE: Final = 25  # proposals in a row without a gain, after which the climb begins anew elsewhere
_KICKS: Final = 3  # moves from where it began, where a climb begins anew
_BLOCKED: Final = 10.0  # nats a byte by which a side that a gate blocks is worth less
_REPEATS: Final = 50  # draws of proposals that were known, after which there is nothing left to try


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """How a thought is written from the honest one.

    Args:
        kept: Characters that are kept of the honest thought; None keeps all.
        phrases: What is put behind it.
        copied: Characters of the conversation's last message that are put behind that.
    """

    kept: int | None = None
    phrases: tuple[str, ...] = ()
    copied: int = 0

    @property
    def suffix(self) -> str:
        """What is put behind, in words."""
        parts = [*self.phrases]
        if self.copied:
            parts.append(f"[{self.copied} characters of the last message]")
        return " ".join(parts)


HONEST: Final = Proposal()
"""The honest thought itself."""

SILENT: Final = Proposal(kept=0)
"""The empty thought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found.

    Args:
        best: The proposal that scored highest on the turns that were climbed on.
        scores: Scores that were asked for: means over those turns.
        climbed: Its gain there over the honest thought, in nats a byte and turn.
        over_honest: Its gain over the honest thought on the other turns.
        over_empty: Its gain over the empty thought there.
        without_honest: What its suffix alone gains there over the empty thought.
        crowned: Whether it would take the crown from the honest side there.
        pays: Whether it is crowned, or its suffix alone is paid more than the contract's least margin.
        turns: Turns that it was judged on.
    """

    best: Proposal
    scores: int
    climbed: float
    over_honest: float
    over_empty: float
    without_honest: float
    crowned: bool
    pays: bool
    turns: int


async def search(stage: Stage, budget: int, seed: int, advance: Advance = ignore) -> SearchResult:
    """What pays most among so many proposals, and whether it pays on turns that the search did not see.

    Args:
        stage: The turns, and the teacher that scores on them; at least :data:`LEAST_TURNS`.
        budget: Scores that may be asked for while climbing, at least those of the honest and the empty thought.
        seed: What the proposals are drawn by.
        advance: Called after each score.

    Raises:
        BadInput: The stage has fewer turns.
        ContextTooLong: A thought does not fit the teacher's window.
        ModelUnavailable: The teacher cannot be reached.
    """
    if len(stage.turns) < LEAST_TURNS:
        msg = f"a search needs at least {LEAST_TURNS} turns, and the stage has {len(stage.turns)}"
        raise BadInput(msg)
    climb = _Climb(stage, stage.turns[::2], max(budget, 2), Stream(seed, "duel/redteam/search"), advance)
    best = await climb.go()
    judged = _Judged(stage, stage.turns[1::2])
    against = await judged.duel(best, HONEST)
    empty = await judged.duel(best, SILENT)
    alone = await judged.duel(replace(best, kept=0), SILENT)
    crowned = against.duel.challenger_wins
    return SearchResult(
        best=best,
        scores=climb.scores,
        climbed=climb.paid(best) - climb.paid(HONEST),
        over_honest=against.duel.margin,
        over_empty=empty.duel.margin,
        without_honest=alone.duel.margin,
        crowned=crowned,
        pays=crowned or alone.challenger.reason > stage.knobs.min_margin,
        turns=against.duel.paired,
    )


def write_thought(proposal: Proposal, staged: Staged) -> str:
    """The thought that a proposal makes on a turn."""
    kept = staged.honest.thought if proposal.kept is None else staged.honest.thought[: proposal.kept]
    parts = (kept, *proposal.phrases, staged.said[: proposal.copied])
    return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    """What a proposal was paid, and what it is worth to whoever climbs: much less where a gate blocks it."""

    paid: float
    worth: float


class _Climb:
    """A climb under way."""

    def __init__(self, stage: Stage, turns: Sequence[Staged], budget: int, stream: Stream, advance: Advance) -> None:
        self._stage = stage
        self._turns = turns
        self._budget = budget
        self._stream = stream
        self._advance = advance
        self._known: dict[Proposal, _Score] = {}

    @property
    def scores(self) -> int:
        """Scores that were asked for."""
        return len(self._known)

    def paid(self, proposal: Proposal) -> float:
        """The mean score of the turns of a proposal that was tried."""
        return self._known[proposal].paid

    async def go(self) -> Proposal:
        """The best proposal; the earliest of several that are worth as much."""
        for start in (HONEST, SILENT):
            await self._try(start)
        at, stale, begun = HONEST, 0, 0
        while self.scores < self._budget:
            proposal = self._draw(at) if stale < _STALE else None
            if proposal is None:
                at, stale, begun = await self._begin(begun), 0, begun + 1
                if begun > self._budget:
                    break
                continue
            before = self._known[at].worth
            at, stale = (proposal, 0) if await self._try(proposal) > before else (at, stale + 1)
        return max(self._known, key=lambda known: self._known[known].worth)

    async def _begin(self, begun: int) -> Proposal:
        """Where the climb begins anew: some way from the honest thought or the empty one, in turn."""
        at = SILENT if begun % 2 else HONEST
        for _ in range(_KICKS):
            at = _MOVES[self._stream.below(len(_MOVES))](at, self._stream)
        if at not in self._known:
            await self._try(at)
        return at

    async def _try(self, proposal: Proposal) -> float:
        """What a proposal is worth."""
        knobs = self._stage.knobs
        rows = await self._stage.play(lambda staged: write_thought(proposal, staged), self._turns)
        duel = decide(rows, rows, knobs)
        blocked = duel.duel.thought_floor_blocked or duel.duel.causality_blocked
        paid = duel.challenger.reason
        self._known[proposal] = _Score(paid=paid, worth=paid - _BLOCKED if blocked else paid)
        self._advance()
        return self._known[proposal].worth

    def _draw(self, at: Proposal) -> Proposal | None:
        """A neighbour whose score is not known yet; None where none was found."""
        for _ in range(_REPEATS):
            proposal = _MOVES[self._stream.below(len(_MOVES))](at, self._stream)
            if proposal not in self._known:
                return proposal
        return None


def _append(at: Proposal, stream: Stream) -> Proposal:
    phrase = PHRASES[stream.below(len(PHRASES))]
    return replace(at, phrases=(*at.phrases, phrase)[:_MOST_PHRASES])


def _drop(at: Proposal, stream: Stream) -> Proposal:
    if not at.phrases:
        return at
    gone = stream.below(len(at.phrases))
    return replace(at, phrases=(*at.phrases[:gone], *at.phrases[gone + 1 :]))


def _exchange(at: Proposal, stream: Stream) -> Proposal:
    return _append(_drop(at, stream), stream)


def _repeat(at: Proposal, _: Stream) -> Proposal:
    return replace(at, phrases=(at.phrases * 2)[:_MOST_PHRASES])


def _cut(at: Proposal, stream: Stream) -> Proposal:
    return replace(at, kept=_KEPT[stream.below(len(_KEPT))])


def _copy(at: Proposal, stream: Stream) -> Proposal:
    return replace(at, copied=_COPIED * stream.below(_MOST_COPIED // _COPIED + 1))


_MOVES: Final[tuple[Callable[[Proposal, Stream], Proposal], ...]] = (
    _append,
    _append,
    _drop,
    _exchange,
    _repeat,
    _cut,
    _copy,
)


class _Judged:
    """The turns that the climb did not see."""

    def __init__(self, stage: Stage, turns: Sequence[Staged]) -> None:
        self._stage = stage
        self._turns = turns

    async def duel(self, one: Proposal, other: Proposal) -> Decision:
        """The duel of two proposals."""
        own, against = [
            await self._stage.play(lambda staged, each=each: write_thought(each, staged), self._turns)
            for each in (one, other)
        ]
        return decide(own, against, self._stage.knobs)
