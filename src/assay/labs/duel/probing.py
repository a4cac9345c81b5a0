"""The probes of a challenger: asked and logged while a duel runs, judged again from the log by whoever verifies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.shape import read_list, read_object
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.drawing import DrawnSlice
from assay.labs.duel.evidence_log import INJECTABILITY, PROTOCOL, DuelLog
from assay.labs.duel.injectability import Injection, InjectionRule, judge_injections, probe_injectability, split_probe
from assay.labs.duel.probe_prompts import PROMPTS, Expects
from assay.labs.duel.protocol_probe import ProbeReply, Reply, Summary, probe, summarise_replies
from assay.labs.duel.records import TEMPLATE_REFUSES, read_forced, read_sample
from assay.labs.duel.registration import DuelContract
from assay.models.errors import BadAnswer, ContextTooLong
from assay.models.protocol import Model
from assay.verifier.lab import Record

__all__ = ["Probed", "ask_injectability", "ask_protocol", "find_probes", "judge_probes"]

_NOT_INJECTED: Final = (ContextTooLong.code, TEMPLATE_REFUSES)
_NOT_REPLIED: Final = (BadAnswer.code, ContextTooLong.code)
"""Why each probe leaves something out; any other fault ends it."""

_FORCED: Final = "an action was found and could be forced"
_UNASKED: Final = "could not be asked: every turn that was tried was left out"
_UNPROMPTABLE: Final = "unpromptable:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What the probes found.

    Args:
        told: Each probe's finding by its name, as a verdict holds it.
        rejection: Why the challenger is turned down, or None.
    """

    told: dict[str, Json]
    rejection: str | None


async def ask_injectability(model: Model, contract: DuelContract, turns: Sequence[Turn], seed: int) -> dict[str, Json]:
    """The entry of the injection probe, after the challenger was asked.

    Raises:
        ModelFault: The model could not be asked.
    """
    result = await probe_injectability(model, turns, InjectionRule.of(contract, seed))
    injections: list[Json] = [
        {
            "turn": item.turn,
            "dialect": item.dialect,
            "sample": item.sample.to_body() if item.sample else None,
            "echo": item.echo.to_body() if item.echo else None,
            "leftOut": item.left_out,
        }
        for item in result.injections
    ]
    return {"kind": INJECTABILITY, "injections": injections}


async def ask_protocol(model: Model, contract: DuelContract, seed: int) -> dict[str, Json]:
    """The entry of the chat probe, after the challenger was asked.

    Raises:
        ModelFault: The model could not be asked.
    """
    result = await probe(model, contract.probes.protocol, seed=seed, era=contract.knobs.era)
    replies: list[Json] = [
        {
            "prompt": reply.prompt,
            "number": reply.number,
            "sample": reply.sample.to_body() if reply.sample else None,
            "leftOut": reply.left_out,
        }
        for reply in result.replies
    ]
    return {"kind": PROTOCOL, "replies": replies}


def judge_probes(contract: DuelContract, log: DuelLog, drawn: DrawnSlice) -> Probed:
    """What the probes of a finished duel say of the challenger.

    Raises:
        EvidenceInvalid: A probe that the contract asks for is missing, one that it does not ask for is there, or its
            entry is not what asking leaves.
    """
    found = find_probes(contract, log, drawn)
    expected = {INJECTABILITY} if contract.probes.injectability.turns else set[str]()
    if contract.probes.protocol.mode != "off" and not (found.rejection or "").startswith(_UNPROMPTABLE):
        expected.add(PROTOCOL)
    if expected != set(log.probes):
        _refuse(f"expected the probes {sorted(expected)} in the log, got {sorted(log.probes)}")
    return found


def find_probes(contract: DuelContract, log: DuelLog, drawn: DrawnSlice) -> Probed:
    """What the probes say that are logged so far.

    Raises:
        EvidenceInvalid: An entry is not what asking leaves.
    """
    told: dict[str, Json] = {}
    rejection: str | None = None
    if INJECTABILITY in log.probes:
        asked, finding = _judge_injectability(contract, log.probes[INJECTABILITY], drawn)
        detail = finding or (_FORCED if asked else _UNASKED)
        told["injectability"] = {"passed": finding is None if asked else None, "enforced": True, "detail": detail}
        rejection = f"{_UNPROMPTABLE}{finding}" if finding else None
    if PROTOCOL in log.probes:
        summary = _judge_protocol(contract, log.probes[PROTOCOL])
        enforced = contract.probes.protocol.mode == "enforce"
        told["protocol"] = _tell_protocol(summary, enforced=enforced)
        if enforced and summary.n and not summary.passed and rejection is None:
            rejection = f"protocol:{summary.detail}"
    return Probed(told=told, rejection=rejection)


def _refuse(msg: str) -> NoReturn:
    raise EvidenceInvalid(msg)


def _judge_injectability(contract: DuelContract, entry: Record, drawn: DrawnSlice) -> tuple[bool, str | None]:
    """Whether any turn could be asked, and what is wrong."""
    read_object(dict(entry), INJECTABILITY, {"kind": str, "injections": list})
    rule = InjectionRule.of(contract, drawn.seed)
    found = [
        _read_injection(item, f"{INJECTABILITY}[{at}]", rule) for at, item in enumerate(_list(entry, "injections"))
    ]
    count = contract.probes.injectability.turns
    asked = [*zip(drawn.turns[:count], drawn.dialects[:count], strict=True)]
    if [(item.turn, item.dialect) for item in found] != asked:
        _refuse(f"{INJECTABILITY}: expected the first {count} turns of the slice")
    return any(item.left_out is None for item in found), judge_injections(found)


def _list(entry: Record, name: str) -> list[Json]:
    return read_list(entry[name], name)


def _read_injection(value: Json, where: str, rule: InjectionRule) -> Injection:
    maybe = (dict, type(None))
    members = {"turn": str, "dialect": str, "sample": maybe, "echo": maybe, "leftOut": (str, type(None))}
    body = read_object(value, where, members)
    turn, dialect, left_out = cast(str, body["turn"]), cast(str, body["dialect"]), body["leftOut"]
    if left_out is not None:
        if left_out not in _NOT_INJECTED or (body["sample"], body["echo"]) != (None, None):
            _refuse(f"{where}: expected nothing but a reason of {', '.join(_NOT_INJECTED)} of a turn that is left out")
        return Injection(turn=turn, dialect=dialect, left_out=left_out)
    sample = read_sample(body["sample"], f"{where}.sample")
    echo = None if body["echo"] is None else read_forced(body["echo"], f"{where}.echo")
    rollout = split_probe(sample, dialect, rule)
    size = None if rollout.forfeit else len(rollout.action.encode("utf-8", "surrogatepass"))
    if (echo and echo.size) != size:
        _refuse(f"{where}: the echo is not of the action that the text holds")
    return Injection(turn=turn, dialect=dialect, sample=sample, echo=echo)


def _judge_protocol(contract: DuelContract, entry: Record) -> Summary:
    read_object(dict(entry), PROTOCOL, {"kind": str, "replies": list})
    settings = contract.probes.protocol
    expects: dict[str, Expects] = {prompt.name: prompt.expects for prompt in PROMPTS}
    found = [_read_reply(item, f"{PROTOCOL}[{at}]") for at, item in enumerate(_list(entry, "replies"))]
    asked = [(prompt.name, number) for prompt in PROMPTS for number in range(settings.samples)]
    if settings.mode == "enforce" and any(reply.left_out is not None for reply in found):
        _refuse(f"{PROTOCOL}: a probe that is enforced leaves no reply out")
    if [(reply.prompt, reply.number) for reply in found] != asked:
        _refuse(f"{PROTOCOL}: expected {settings.samples} replies to each of {len(PROMPTS)} prompts, in order")
    replies = [
        Reply(prompt=reply.prompt, expects=expects[reply.prompt], text=reply.sample and reply.sample.text)
        for reply in found
        if reply.left_out is None
    ]
    return summarise_replies(replies, settings.min_pass_rate, contract.knobs.era)


def _read_reply(value: Json, where: str) -> ProbeReply:
    members = {"prompt": str, "number": int, "sample": (dict, type(None)), "leftOut": (str, type(None))}
    body = read_object(value, where, members)
    sample = None if body["sample"] is None else read_sample(body["sample"], f"{where}.sample")
    left_out = cast("str | None", body["leftOut"])
    if left_out is not None and (left_out not in _NOT_REPLIED or sample is not None):
        _refuse(f"{where}: expected nothing but a reason of {', '.join(_NOT_REPLIED)} of a reply that is left out")
    prompt, number = cast(str, body["prompt"]), cast(int, body["number"])
    return ProbeReply(prompt=prompt, number=number, sample=sample, left_out=left_out)


def _tell_protocol(summary: Summary, *, enforced: bool) -> dict[str, Json]:
    by_prompt: Mapping[str, Sequence[str]] = summary.by_prompt
    return {
        "passed": summary.passed if summary.n else None,
        "enforced": enforced,
        "detail": summary.says,
        "replies": summary.n,
        "passRate": summary.pass_rate,
        "thinkCloseRate": summary.think_close_rate,
        "byReason": {str(reason): count for reason, count in summary.by_reason.items()},
        "byPrompt": {name: list(reasons) for name, reasons in by_prompt.items()},
    }
