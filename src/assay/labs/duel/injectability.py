"""The injection probe: whether a challenger's own texts can be forced through its own model at all.

On the first turns of the slice the challenger is sampled once, and the action it took is echoed by its own model after
its own thought. A model without a usable action in any of them, or with an echo that is no number or scores no token,
is turned down before the duel (facts 7.1).

On the network every fault but an unreachable server turned the challenger down, also a prefix that our own window was
too short for. In the safe reading a fault of a model is ours and is raised; a turn that can never be asked, because it
does not fit or the template refuses it, is left out of the probe, so that no duel waits for it for ever.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Final

from assay.kernel.errors import BadInput
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.eras import Era
from assay.labs.duel.playing import force, sample_seed
from assay.labs.duel.records import TEMPLATE_REFUSES, Forced, Sample
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rendering import action_echo, think_prompt
from assay.labs.duel.requests import ask_all
from assay.labs.duel.rollouts import Rollout, split_completion
from assay.models.errors import ContextTooLong, ModelFault, ModelUnavailable
from assay.models.protocol import Model, Sampling

__all__ = ["Injection", "InjectionResult", "InjectionRule", "judge_injections", "probe_injectability", "split_probe"]

_WHO: Final = "injectability"


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionRule:
    """What the probe depends on.

    Args:
        era: Whose reading of the rules applies.
        temperature: Of the samples.
        token_limit: Tokens that a completion in a dialect may have. The network gave every dialect the same here.
        require_think_close: Whether a thought that is never closed is a forfeit.
        seed: The slice's seed.
    """

    era: Era
    temperature: float
    token_limit: Callable[[str], int]
    require_think_close: bool
    seed: int

    @classmethod
    def of(cls, contract: DuelContract, seed: int) -> "InjectionRule":
        """The rule of a contract, on the slice with this seed."""
        return cls(
            era=contract.knobs.era,
            temperature=contract.duel.temperature,
            token_limit=contract.token_limit,
            require_think_close=contract.duel.require_think_close,
            seed=seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One turn of the probe.

    Args:
        turn: Its id.
        dialect: The dialect of its action.
        sample: The sample as it came; None where the turn is left out.
        echo: Of the sample's action; None where it holds none.
        left_out: Why the turn is left out, a fault of nobody's; None where it is not.
    """

    turn: str
    dialect: str
    sample: Sample | None = None
    echo: Forced | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionResult:
    """The turns of the probe, in order, and the text of the rejection; None where the challenger passed."""

    injections: tuple[Injection, ...]
    rejection: str | None


async def probe_injectability(model: Model, turns: Sequence[Turn], rule: InjectionRule) -> InjectionResult:
    """Samples the turns side by side, then echoes one after another, and says what is found.

    Args:
        model: The challenger's model.
        turns: The first turns of the slice; no turn asks nothing.
        rule: What the probe depends on.

    Raises:
        ModelUnavailable: The model cannot be reached; nothing is known of the challenger.
        ModelFault: In the safe era any other fault, but a turn that does not fit.
    """
    injections: list[Injection] = []
    try:
        samples = await ask_all([partial(_sample, model, turn, rule) for turn in turns], max(1, len(turns)))
    except ModelFault as fault:
        return InjectionResult(injections=(), rejection=_blame(fault, "probe_sample_failed", rule))
    for turn, (prompt, injection) in zip(turns, samples, strict=True):
        try:
            injections.append(await _force(model, turn, prompt, injection, rule))
        except ModelFault as fault:
            rejection = _blame(fault, "probe_force_failed", rule)
            return InjectionResult(injections=tuple(injections), rejection=rejection)
    return InjectionResult(injections=tuple(injections), rejection=judge_injections(injections))


def judge_injections(injections: Sequence[Injection]) -> str | None:
    """The network's text on the first thing that is wrong, or None.

    Turns that are left out count for nothing; a probe without any other turn finds nothing wrong.
    """
    asked = [injection for injection in injections if injection.left_out is None]
    for injection in asked:
        echo = injection.echo
        if echo is None:
            continue
        if not isfinite(echo.per_byte):
            return f"probe_nonfinite_logprob:{echo.per_byte}"
        if echo.tokens == 0:
            return "probe_empty_action_span"
    if asked and all(injection.echo is None for injection in asked):
        return f"probe_no_parsable_action_in_{len(asked)}_turns"
    return None


def split_probe(sample: Sample, dialect: str, rule: InjectionRule) -> Rollout:
    """What a sample of the probe holds, by the same rules as in the duel."""
    if sample.broken:
        return Rollout(thought="", action="", closed=False)
    return split_completion(sample.text, dialect, require_think_close=rule.require_think_close, era=rule.era)


async def _sample(model: Model, turn: Turn, rule: InjectionRule) -> tuple[str, Injection]:
    sampling = Sampling(
        max_tokens=rule.token_limit(turn.kind),
        temperature=rule.temperature,
        seed=sample_seed(rule.seed, turn.turn_id, _WHO, 0),
    )
    try:
        prompt = think_prompt(model.render(turn.prefix))
        completion = await model.complete(prompt, sampling)
    except BadInput:
        return "", _leave_out(turn, TEMPLATE_REFUSES)
    except ContextTooLong as fault:
        if rule.era is Era.NETWORK:
            raise
        return "", _leave_out(turn, fault.code)
    return prompt, Injection(turn=turn.turn_id, dialect=turn.kind, sample=Sample.of(completion))


async def _force(model: Model, turn: Turn, prompt: str, injection: Injection, rule: InjectionRule) -> Injection:
    """The injection with the echo of its action, where it holds one."""
    if injection.sample is None:
        return injection
    rollout = split_probe(injection.sample, turn.kind, rule)
    if rollout.forfeit:
        return injection
    try:
        echo = await force(model, *action_echo(prompt, rollout.thought, rollout.action))
    except ContextTooLong as fault:
        if rule.era is Era.NETWORK:
            raise
        return _leave_out(turn, fault.code)
    return replace(injection, echo=echo)


def _leave_out(turn: Turn, why: str) -> Injection:
    return Injection(turn=turn.turn_id, dialect=turn.kind, left_out=why)


def _blame(fault: ModelFault, what: str, rule: InjectionRule) -> str:
    """The network's text on a fault that it held against the challenger; raises the fault where it is ours."""
    if rule.era is Era.SAFE or isinstance(fault, ModelUnavailable):
        raise fault
    return f"{what}:{type(fault).__name__}:{fault.message}"
