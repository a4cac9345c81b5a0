"""A few turns under a teacher that answers: its references, an honest side, and what any other thought would be paid.

The honest side is one more sample of the teacher's own: nothing reads more like the teacher. Every echo is asked for
once, so that trying many thoughts costs no more than what is new in each.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from assay.kernel.errors import BadInput, MissingMaterial
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.playing import force, sample_seed
from assay.labs.duel.records import Sample
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.labs.duel.rollouts import Rollout, split_completion
from assay.labs.duel.rows import Pair, Row
from assay.models.errors import ContextTooLong
from assay.models.protocol import Message, Model, Sampling, TeacherForcing

__all__ = ["PRACTICE", "Advance", "Reference", "Stage", "StageRule", "Staged", "ignore", "set_stage"]

Advance: TypeAlias = Callable[[], object]
"""Told that one more piece of the work is done."""

_TRIES: Final = 4  # samples among which one with an action is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRule:
    """What a stage depends on.

    Args:
        knobs: The contract's numbers.
        references: Samples of the teacher's a turn.
        temperature: Of the samples.
        token_limit: Tokens that a completion in a dialect may have.
        seed: The slice's seed.
        turns: Turns that are put up at most.
    """

    knobs: Knobs
    references: int
    temperature: float
    token_limit: Callable[[str], int]
    seed: int
    turns: int = 8

    @classmethod
    def of(cls, contract: DuelContract, seed: int) -> "StageRule":
        """The rule of a contract, on the slice with this seed."""
        return cls(
            knobs=contract.knobs,
            references=contract.duel.teacher_samples,
            temperature=contract.duel.temperature,
            token_limit=contract.token_limit,
            seed=seed,
        )


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
        dialect: The dialect of its action.
        prompt: What the teacher is asked.
        said: The conversation's last message, which a side may say again.
        references: The teacher's references.
        honest: The honest side's rollout.
    """

    turn: str
    dialect: str
    prompt: str
    said: str
    references: tuple[Reference, ...]
    honest: Rollout


class Stage:
    """The turns, and the teacher that scores on them; :func:`set_stage` puts them up.

    Args:
        teacher: Who scores.
        knobs: The contract's numbers.
        turns: The turns.
    """

    def __init__(self, teacher: TeacherForcing, knobs: Knobs, turns: Sequence[Staged]) -> None:
        """Asks nothing yet."""
        self._prompter = _Prompter(teacher)
        self.knobs = knobs
        self.turns = tuple(turns)

    async def play(
        self, think: Callable[[Staged], str], turns: Sequence[Staged] | None = None, miner: str = "side"
    ) -> tuple[Row, ...]:
        """The rows of a side that takes the honest actions after thoughts of its own; of all turns by default.

        Raises:
            ContextTooLong: A thought does not fit the teacher's window.
            ModelUnavailable: The teacher cannot be reached.
        """
        chosen = self.turns if turns is None else turns
        return tuple([await self._row(staged, think(staged).strip(), miner) for staged in chosen])

    async def play_honest(self, turns: Sequence[Staged] | None = None) -> tuple[Row, ...]:
        """The rows of the honest side."""
        return await self.play(lambda staged: staged.honest.thought, turns, "honest")

    async def _row(self, staged: Staged, thought: str, miner: str) -> Row:
        action, ask = staged.honest.action, self._prompter
        acted = self.knobs.score_mode == "min_rga"
        pair = Pair(
            z_a=thought,
            y_a=action,
            c_yc_za=0.0,
            c_yc_e=0.0,
            c_ya_za=await ask.action(staged.prompt, thought, action),
            c_ya_e=await ask.action(staged.prompt, "", action),
            c_za_x=await ask.thought(staged.prompt, thought),
        )
        pairs: list[Pair] = []
        for reference in staged.references:
            after = await ask.action(staged.prompt, thought, reference.rollout.action)
            licence = await ask.action(staged.prompt, reference.rollout.thought, action) if acted else None
            pairs.append(_meet(pair, reference, after, licence))
        return Row(turn=staged.turn, miner=miner, pairs=tuple(pairs))


def _meet(pair: Pair, reference: Reference, after: float, licence: float | None) -> Pair:
    return Pair(
        z_a=pair.z_a,
        y_a=pair.y_a,
        c_yc_za=after,
        c_yc_e=reference.empty,
        c_yc_zc=reference.own,
        c_ya_za=pair.c_ya_za,
        c_ya_e=pair.c_ya_e,
        c_ya_zc=licence,
        c_za_x=pair.c_za_x,
        c_zc_x=reference.stands,
    )


class _Prompter:
    """Echoes in nats a byte, each asked for once."""

    def __init__(self, teacher: TeacherForcing) -> None:
        self._teacher = teacher
        self._known: dict[tuple[str, str, str | None], float] = {}

    async def action(self, prompt: str, thought: str, action: str) -> float:
        """The action after a thought."""
        return await self._ask((prompt, thought, action), *action_echo(prompt, thought, action))

    async def thought(self, prompt: str, thought: str) -> float:
        """The thought after the prompt."""
        return await self._ask((prompt, thought, None), *thought_echo(prompt, thought))

    async def _ask(self, key: tuple[str, str, str | None], text: str, start: int) -> float:
        if key not in self._known:
            self._known[key] = (await force(self._teacher, text, start)).per_byte
        return self._known[key]


def ignore() -> None:
    """Tells nobody of what is done."""


async def set_stage(teacher: Model, turns: Sequence[Turn], rule: StageRule, *, least: int = 2) -> Stage:
    """The first turns on which the teacher gives references and an honest side, under a teacher that scores.

    Args:
        teacher: Who is asked, and scores.
        turns: Where turns are looked for, in order.
        rule: What the stage depends on.
        least: Turns that have to be found.

    Raises:
        MissingMaterial: There are fewer such turns.
        ModelUnavailable: The teacher cannot be reached.
    """
    found: list[Staged] = []
    for turn in turns:
        staged = await _stage(teacher, turn, rule)
        if staged is not None:
            found.append(staged)
        if len(found) == rule.turns:
            break
    if len(found) < least:
        msg = f"expected {least} turns on which the teacher writes actions, found {len(found)} among {len(turns)}"
        raise MissingMaterial(msg)
    return Stage(teacher, rule.knobs, found)


async def _stage(teacher: Model, turn: Turn, rule: StageRule) -> Staged | None:
    """The turn, or None where it does not fit the teacher or the teacher writes no action."""
    try:
        prompt = think_prompt(teacher.render(turn.prefix))
        # All at once, since a local model draws samples of one prompt together.
        numbers = range(rule.references + _TRIES)
        samples = await asyncio.gather(*(_sample(teacher, prompt, turn, rule, number) for number in numbers))
        parsed = [sample for sample in samples[: rule.references] if not sample.forfeit]
        honest = next((one for one in samples[rule.references :] if one.action and one.thought), None)
        if honest is None or not parsed:
            return None
        asked = _Prompter(teacher)
        references = [await _measure(asked, prompt, sample) for sample in parsed]
    except (BadInput, ContextTooLong):
        return None
    return Staged(
        turn=turn.turn_id,
        dialect=turn.kind,
        prompt=prompt,
        said=turn.prefix[-1].content,
        references=tuple(references),
        honest=honest,
    )


async def _sample(teacher: Model, prompt: str, turn: Turn, rule: StageRule, number: int) -> Rollout:
    seed = sample_seed(rule.seed, turn.turn_id, "teacher", number)
    limit = rule.token_limit(turn.kind)
    sampling = Sampling(max_tokens=limit, temperature=rule.temperature, seed=seed)
    sample = Sample.of(await teacher.complete(prompt, sampling))
    return split_completion(sample.text, turn.kind, require_think_close=False, era=rule.knobs.era)


async def _measure(asked: _Prompter, prompt: str, rollout: Rollout) -> Reference:
    return Reference(
        rollout=rollout,
        own=await asked.action(prompt, rollout.thought, rollout.action),
        empty=await asked.action(prompt, "", rollout.action),
        stands=await asked.thought(prompt, rollout.thought),
    )


_SYSTEM: Final = "Reply with exactly one bash block."
_TASKS: Final = (
    "The import of the settings module fails with a circular reference, find where it begins",
    "Users report that the download stalls after the second chunk, look at the retry logic",
    "The nightly report shows negative totals for refunds, check how amounts are summed",
    "Sorting by date puts empty entries first, which the customers find confusing",
    "The websocket closes without a reason when the server restarts, reproduce that",
    "Unicode names are cut in the middle of a letter when the table is narrow",
    "The cache returns stale prices for an hour after midnight in summer",
    "Deleting a folder leaves orphaned thumbnails behind in the storage bucket",
    "The parser accepts trailing commas although strict mode forbids them",
    "Logging in with an expired token gives a blank page instead of a message",
)
PRACTICE: Final = tuple(
    Turn(
        turn_id=f"practice:{at}",
        prefix=(Message(role="system", content=_SYSTEM), Message(role="user", content=task)),
        reference="",
        kind="bash",
        stratum="practice",
        source="practice",
        language="",
    )
    for at, task in enumerate(_TASKS)
)
"""Turns to practise on, where there is no corpus at hand."""
