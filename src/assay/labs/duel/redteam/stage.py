"""A few turns under a teacher that answers: its references, an honest side, and what any other thought would be paid.

The honest side is one more sample of the teacher's own: nothing reads more like the teacher. Every echo is asked for
once, so that trying many thoughts costs no more than what is new in each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from assay.kernel.errors import BadInput, MissingMaterial
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.playing import force, sample_seed
from assay.labs.duel.records import Forced
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.labs.duel.rollouts import Rollout, split_completion
from assay.labs.duel.rows import Pair, Row
from assay.models.errors import ContextTooLong
from assay.models.protocol import Model, Sampling

__all__ = ["Staged", "Stage", "Trick", "set_stage"]

_TRIES: Final = 4  # samples among which an honest one is looked for
_LEAST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One reference of the teacher's: what it holds, and its echoes in nats a byte."""

    rollout: Rollout
    own: float
    empty: float
    stands: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """One turn.

    Args:
        turn: Its id.
        prompt: What the teacher is asked.
        said: The conversation's last message, which a side may say again.
        references: The teacher's references.
        honest: The honest side's rollout.
    """

    turn: str
    prompt: str
    said: str
    references: tuple[Reference, ...]
    honest: Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Trick:
    """What a side writes on a turn; its action is the honest one."""

    thought: str


class Stage:
    """The turns, and the teacher that scores on them."""

    def __init__(self, teacher: Model, knobs: Knobs) -> None:
        """Has no turn yet; :func:`set_stage` puts them up."""
        self._teacher = teacher
        self._echoes: dict[tuple[str, int], Forced] = {}
        self.knobs = knobs
        self.turns: list[Staged] = []

    async def play(self, think: Callable[[Staged], str], turns: Sequence[Staged] | None = None) -> tuple[Row, ...]:
        """The rows of a side that takes the honest actions after thoughts of its own.

        Raises:
            ContextTooLong: A thought does not fit the teacher's window.
            ModelUnavailable: The teacher cannot be reached.
        """
        return tuple([await self._row(staged, think(staged).strip()) for staged in turns or self.turns])

    async def honest(self, turns: Sequence[Staged] | None = None) -> tuple[Row, ...]:
        """The rows of the honest side."""
        return await self.play(lambda staged: staged.honest.thought, turns)

    async def _row(self, staged: Staged, thought: str) -> Row:
        action = staged.honest.action
        own = await self._force(*action_echo(staged.prompt, thought, action))
        empty = await self._force(*action_echo(staged.prompt, "", action))
        stands = await self._force(*thought_echo(staged.prompt, thought))
        pairs = [
            Pair(
                z_a=thought,
                y_a=action,
                c_yc_za=await self._force(*action_echo(staged.prompt, thought, reference.rollout.action)),
                c_yc_e=reference.empty,
                c_yc_zc=reference.own,
                c_ya_za=own,
                c_ya_e=empty,
                c_ya_zc=await self._force(*action_echo(staged.prompt, reference.rollout.thought, action)),
                c_za_x=stands,
                c_zc_x=reference.stands,
            )
            for reference in staged.references
        ]
        return Row(turn=staged.turn, miner="side", pairs=tuple(pairs))

    async def _force(self, text: str, start: int) -> float:
        known = self._echoes.get((text, start))
        if known is None:
            known = await force(self._teacher, text, start)
            self._echoes[text, start] = known
        return known.per_byte
