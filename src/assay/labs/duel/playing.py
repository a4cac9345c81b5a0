"""Playing one turn: the teacher's references, one sample of each side, and the teacher's echoes of all of it.

Nothing is decided here. A fault of a model is never a side's: where trying again cannot help, the turn is left out for
both sides and says why; where it may, the duel stops and goes on from this turn when it is run again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite

from assay.kernel.errors import BadInput
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.records import (
    CHALLENGER,
    KING,
    REFUSED,
    TEACHER,
    TEMPLATE_REFUSES,
    Forced,
    Played,
    Reference,
    Sample,
    SideName,
    SideRecord,
    TurnRecord,
)
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.labs.duel.rollouts import Rollout
from assay.labs.duel.splitting import split_side, split_teacher
from assay.models.errors import BadAnswer, ContextTooLong
from assay.models.protocol import Completion, Echo, Model, Sampling, TeacherForcing

__all__ = ["Models", "force", "play_turn", "sample_seed"]

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
    references: tuple[Reference, ...] = ()
    played: Played | None = None
    fault: _Fault | None = None
    try:
        references = await table.play_references()
        if any(reference.own for reference in references):
            played = await table.play_sides(references)
    except _Fault as found:
        fault = found
    return TurnRecord(
        index=index,
        turn=turn.turn_id,
        dialect=turn.kind,
        references=references,
        played=played,
        left_out=fault.reason if fault else None,
        fault_of=fault.role if fault else None,
        prompts=table.prompts,
    )


class _Fault(Exception):
    """A model did not do its part, and trying again would not help: the turn is left out for both sides."""

    def __init__(self, reason: str, role: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.role = role


class _Table:
    """One turn under way."""

    def __init__(self, contract: DuelContract, models: Models, turn: Turn, slice_seed: int) -> None:
        self._contract = contract
        self._models = models
        self._turn = turn
        self._slice_seed = slice_seed
        self._prompt = ""
        self.prompts: dict[str, str] = {}

    async def play_references(self) -> tuple[Reference, ...]:
        """The teacher's samples, with echoes of those that hold an action."""
        try:
            self._prompt = self._render(TEACHER, self._models.teacher)
        except BadInput as refused:
            raise _Fault(TEMPLATE_REFUSES, TEACHER) from refused
        numbers = range(self._contract.duel.teacher_samples)
        samples = await self._sample(self._models.teacher, TEACHER, self._prompt, numbers)
        return tuple([await self._echo_reference(sample) for sample in samples])

    async def play_sides(self, references: Sequence[Reference]) -> Played:
        """Both sides' samples, with the teacher's echoes of those that hold an action."""
        models: dict[SideName, Model] = {KING: self._models.king, CHALLENGER: self._models.challenger}
        asked = [self._sample_side(side, model) for side, model in models.items()]
        found = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in found:  # in a fixed order, so that it does not show which of two faults came first
            if isinstance(outcome, BaseException):
                raise outcome
        samples = [outcome for outcome in found if isinstance(outcome, Sample)]
        rollouts = [split_teacher(reference.sample, self._turn.kind, self._contract) for reference in references]
        parsed = [rollout for rollout in rollouts if not rollout.forfeit]
        king, challenger = [await self._echo_side(sample, parsed) for sample in samples]
        return Played(king=king, challenger=challenger)

    def _render(self, role: str, model: Model) -> str:
        prompt = think_prompt(model.render(self._turn.prefix))
        self.prompts[role] = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
        return prompt

    async def _sample_side(self, side: SideName, model: Model) -> Sample:
        try:
            prompt = self._render(side, model)
        except BadInput:  # its own template: no side may choose its turns by what it refuses
            return Sample(text="", finish=REFUSED, tokens=0)
        return (await self._sample(model, side, prompt, range(1)))[0]

    async def _sample(self, model: Model, role: str, prompt: str, numbers: range) -> list[Sample]:
        limit = self._contract.token_limit(self._turn.kind)
        asked = [
            model.complete(
                prompt,
                Sampling(
                    max_tokens=limit,
                    temperature=self._contract.duel.temperature,
                    seed=sample_seed(self._slice_seed, self._turn.turn_id, role, number),
                ),
            )
            for number in numbers
        ]
        found = await asyncio.gather(*asked, return_exceptions=True)
        for outcome in found:
            if isinstance(outcome, BadAnswer | ContextTooLong):
                raise _Fault(outcome.code, role) from outcome
            if isinstance(outcome, BaseException):
                raise outcome
        completions = [outcome for outcome in found if isinstance(outcome, Completion)]
        if any(completion.tokens > limit for completion in completions):
            raise _Fault(BadAnswer.code, role)
        return [Sample.of(completion) for completion in completions]

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
            references=tuple([await self._force_action(rollout.thought, item.action, own=True) for item in parsed]),
            own=await self._force_action(rollout.thought, rollout.action, own=True),
            empty=await self._force_action("", rollout.action, own=True),
            thought=await self._force_thought(rollout.thought, own=True),
            licences=tuple(
                [await self._force_action(item.thought, rollout.action, own=True) for item in parsed if licensed]
            ),
        )

    async def _force_action(self, thought: str, action: str, *, own: bool = False) -> Forced:
        return await self._force(*action_echo(self._prompt, thought, action), own=own)

    async def _force_thought(self, thought: str, *, own: bool = False) -> Forced | None:
        if self._contract.duel.score_mode == "reason":
            return None
        return await self._force(*thought_echo(self._prompt, thought), own=own)

    async def _force(self, text: str, start: int, *, own: bool) -> Forced:
        """The teacher's echo; ``own`` says that a side's own text is in it, which answers for its length."""
        try:
            return await force(self._models.teacher, text, start)
        except ContextTooLong as fault:
            if not own:
                raise _Fault(fault.code, TEACHER) from fault
            return Forced(total=None, tokens=0, size=len(text[start:].encode("utf-8", "surrogatepass")))
        except BadAnswer as fault:
            raise _Fault(fault.code, TEACHER) from fault


async def force(teacher: TeacherForcing, text: str, start: int) -> Forced:
    """The teacher's echo of ``text[start:]``; asked once more where the answer was not finite."""
    echo: Echo | None = None
    for _ in range(_TRIES):
        echo = await teacher.echo(text, start)
        if isfinite(echo.total):
            break
    assert echo is not None  # noqa: S101 - there is at least one try
    return Forced.of(echo)
