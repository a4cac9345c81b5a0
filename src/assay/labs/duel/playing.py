"""Playing one turn: the teacher's references, one sample of each side, and the teacher's echoes of all of it.

Nothing is decided here. A fault of a model is never a side's: where trying again cannot help, the turn is left out for
both sides and says why; where it may, the duel stops and goes on from this turn when it is run again.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite

from assay.kernel.errors import BadInput
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.records import Forced, Played, Reference, Sample, SideRecord, TurnRecord
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.labs.duel.rollouts import Rollout
from assay.labs.duel.splitting import split_side, split_teacher
from assay.models.errors import BadAnswer, ContextTooLong
from assay.models.protocol import Completion, Echo, Model, Sampling, TeacherForcing

__all__ = ["Models", "play_turn", "sample_seed"]

_TRIES = 2
_SEED_DOMAIN = b"assay-duel-sample-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The three models of a duel."""

    teacher: Model
    king: Model
    challenger: Model

    async def close(self) -> None:
        """Closes all three."""
        for model in (self.teacher, self.king, self.challenger):
            await model.close()


def sample_seed(slice_seed: int, turn: str, who: str, number: int) -> int:
    """The seed of one sample, from 0 to 2^63 − 1: nobody can choose it once the beacon is out."""
    parts = (str(slice_seed), turn, who, str(number))
    data = b"\0".join([_SEED_DOMAIN, *(part.encode("utf-8", "backslashreplace") for part in parts)])
    return int.from_bytes(sha256(data).digest()[:8], "big") >> 1


async def play_turn(contract: DuelContract, models: Models, turn: Turn, *, index: int, slice_seed: int) -> TurnRecord:
    """Everything that is measured on one turn.

    Raises:
        ModelUnavailable: A model cannot be reached; nothing of the turn is kept.
    """
    table = _Table(contract, models, turn, slice_seed)
    left_out = None
    references: tuple[Reference, ...] = ()
    played: Played | None = None
    try:
        references = await table.play_references()
        if any(reference.own for reference in references):
            played = await table.play_sides(references)
    except (BadAnswer, ContextTooLong) as fault:
        left_out = fault.code
    except BadInput:  # a chat template that refuses the turn's conversation
        left_out = "template-refuses"
    return TurnRecord(
        index=index, turn=turn.turn_id, dialect=turn.kind, references=references, played=played, left_out=left_out
    )


class _Table:
    """One turn under way."""

    def __init__(self, contract: DuelContract, models: Models, turn: Turn, slice_seed: int) -> None:
        self._contract = contract
        self._models = models
        self._turn = turn
        self._slice_seed = slice_seed
        self._prompt = ""

    async def play_references(self) -> tuple[Reference, ...]:
        """The teacher's samples, with echoes of those that hold an action."""
        self._prompt = think_prompt(self._models.teacher.render(self._turn.prefix))
        numbers = range(self._contract.duel.teacher_samples)
        samples = await self._sample(self._models.teacher, "teacher", self._prompt, numbers)
        return tuple([await self._echo_reference(sample) for sample in samples])

    async def play_sides(self, references: Sequence[Reference]) -> Played:
        """Both sides' samples, with the teacher's echoes of those that hold an action."""
        names = ("king", "challenger")
        models = (self._models.king, self._models.challenger)
        samples = await asyncio.gather(*(self._sample_side(name, m) for name, m in zip(names, models, strict=True)))
        rollouts = [split_teacher(reference.sample, self._turn.kind, self._contract) for reference in references]
        parsed = [rollout for rollout in rollouts if not rollout.forfeit]
        king, challenger = [await self._echo_side(sample, parsed) for sample in samples]
        return Played(king=king, challenger=challenger)

    async def _sample_side(self, name: str, model: Model) -> Sample:
        prompt = think_prompt(model.render(self._turn.prefix))
        return (await self._sample(model, name, prompt, range(1)))[0]

    async def _sample(self, model: Model, who: str, prompt: str, numbers: range) -> list[Sample]:
        limit = self._contract.token_limit(self._turn.kind)
        turn_id = self._turn.turn_id
        completions: list[Awaitable[Completion]] = [
            model.complete(
                prompt,
                Sampling(
                    max_tokens=limit,
                    temperature=self._contract.duel.temperature,
                    seed=sample_seed(self._slice_seed, turn_id, who, number),
                ),
            )
            for number in numbers
        ]
        return [Sample.of(completion) for completion in await asyncio.gather(*completions)]

    async def _echo_reference(self, sample: Sample) -> Reference:
        rollout = split_teacher(sample, self._turn.kind, self._contract)
        if rollout.forfeit:
            return Reference(sample=sample)
        own = await self._force_action(rollout.thought, rollout.action)
        empty = await self._force_action("", rollout.action)
        return Reference(sample=sample, own=own, empty=empty, thought=await self._force_thought(rollout.thought))

    async def _echo_side(self, sample: Sample, parsed: Sequence[Rollout]) -> SideRecord:
        rollout = split_side(sample, self._turn.kind, self._contract)
        if rollout.forfeit:
            return SideRecord(sample=sample)
        licensed = self._contract.duel.score_mode == "min_rga"
        return SideRecord(
            sample=sample,
            references=tuple([await self._force_action(rollout.thought, item.action) for item in parsed]),
            own=await self._force_action(rollout.thought, rollout.action),
            empty=await self._force_action("", rollout.action),
            thought=await self._force_thought(rollout.thought),
            licences=tuple([await self._force_action(item.thought, rollout.action) for item in parsed if licensed]),
        )

    async def _force_action(self, thought: str, action: str) -> Forced:
        return await force(self._models.teacher, *action_echo(self._prompt, thought, action))

    async def _force_thought(self, thought: str) -> Forced | None:
        if self._contract.duel.score_mode == "reason":
            return None
        return await force(self._models.teacher, *thought_echo(self._prompt, thought))


async def force(teacher: TeacherForcing, text: str, start: int) -> Forced:
    """The teacher's echo of ``text[start:]``; asked once more where the answer was not finite."""
    echo: Echo | None = None
    for _ in range(_TRIES):
        echo = await teacher.echo(text, start)
        if isfinite(echo.total):
            break
    assert echo is not None  # noqa: S101 - there is at least one try
    return Forced.of(echo)
