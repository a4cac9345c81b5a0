"""The verdict of a duel: a pure function of its contract and what was logged.

The texts are split again, the slice drawn again, every row scored again; nothing that was computed while the duel ran
is believed. A duel whose challenger was turned down by a probe was not scored, and its verdict holds no score.
"""

from math import isfinite
from typing import Final, cast

from assay.kernel.canonical import Json, dumps, loads
from assay.kernel.errors import BadInput, EvidenceInvalid
from assay.kernel.seal import registration_digest
from assay.labs.duel.attached import read_index
from assay.labs.duel.crown import Duel, decide
from assay.labs.duel.drawing import DrawnSlice, draw_slice
from assay.labs.duel.evidence_log import DuelLog, read_log
from assay.labs.duel.probing import judge_probes
from assay.labs.duel.records import CHALLENGER, KING
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.sections import Side
from assay.labs.duel.side_rows import rows_of
from assay.labs.duel.stopping import Stop, watch_turns
from assay.labs.duel.tallies import Tally, tally_turns
from assay.labs.duel.told import Scored, tell_deciding, tell_side, tell_teacher, tell_turns
from assay.verifier.lab import Evidence

__all__ = ["KIND", "VERSION", "derive"]

KIND: Final = "assay.duel.verdict"
VERSION: Final = 1
_SAYS: Final = {
    "challenger-crowned": "The challenger takes the crown: its margin is above the bar and it passed both gates.",
    "king-stays": "The king stays: the challenger's margin is not above the bar.",
    "thought-too-short": "The king stays: the challenger's thoughts are shorter than the contract asks for.",
    "causality-fail": "The king stays: too few of the challenger's actions follow from its thoughts.",
    "rejected": "The challenger was turned down before it was scored.",
    "too-many-left-out": "No crown is decided: on more turns than the contract allows, nobody could be scored.",
}
_SAYS_SEQUENTIAL: Final = {
    "crown": "The challenger takes the crown: the registered sequence decided for it, and it passed both gates.",
    "king-stays": "The king stays: the registered sequence decided that the challenger's margin is not above the bar.",
    "undecided": "The king stays: the registered sequence did not decide within the slice.",
}
_SCORED: Final = ("margin", "scores", "funnel", "stopping", "turns", "deciding")


def derive(contract: DuelContract, evidence: Evidence) -> dict[str, Json]:
    """The verdict, the same bytes on any machine.

    Raises:
        EvidenceInvalid: The evidence cannot be what a duel under this contract writes.
    """
    return cast(dict[str, Json], loads(dumps(_derive(contract, evidence))))


def _derive(contract: DuelContract, evidence: Evidence) -> dict[str, Json]:
    index = read_index(contract, evidence)
    try:
        drawn = draw_slice(contract, index.index)
    except BadInput as problem:
        msg = f"the attached corpus cannot be that of the contract: {problem.message}"
        raise EvidenceInvalid(msg) from problem
    log = read_log(evidence, drawn)
    probes = judge_probes(contract, log, drawn)
    verdict = _head(contract)
    verdict |= {"models": _models(log), "slice": _slice(contract, drawn, index.told)}
    verdict |= {"probes": probes.told, "notes": _notes(contract, log)}
    if probes.rejection is None:
        return verdict | _score(contract, log, drawn)
    if log.turns:
        msg = "the challenger was turned down by a probe, but turns were played"
        raise EvidenceInvalid(msg)
    nothing: dict[str, Json] = dict.fromkeys(_SCORED)
    return {**verdict, **nothing, "decision": _decision("rejected", probes.rejection)}


def _head(contract: DuelContract) -> dict[str, Json]:
    document = contract.to_document()
    return {
        "kind": KIND,
        "version": VERSION,
        "id": contract.id,
        "question": contract.question,
        "registration": registration_digest(document),
        "label": "prospective",
        "seenBefore": document["seenBefore"],
        "contract": contract.contract.version,
        "knobs": document["duel"],
        "registered": {
            "probes": document["probes"],
            "architecture": document["architecture"],
            "recipes": {"king": _recipe(contract.king), "challenger": _recipe(contract.challenger)},
        },
        "dialects": list(contract.dialects),
        "sequential": document["sequential"],
        "sides": {
            "king": contract.king.name,
            "challenger": contract.challenger.name,
            "challengerKey": contract.challenger.key,
        },
    }


def _recipe(side: Side) -> dict[str, Json] | None:
    return None if side.recipe is None else cast("dict[str, Json]", side.recipe.model_dump(mode="json", by_alias=True))


def _models(log: DuelLog) -> dict[str, Json]:
    return {
        role: {"name": model.name, "weights": model.weights, "checked": model.checked}
        for role, model in log.models.items()
    }


def _slice(contract: DuelContract, drawn: DrawnSlice, corpus: dict[str, Json]) -> dict[str, Json]:
    return {
        "seed": str(drawn.seed),
        "digest": drawn.digest,
        "turns": len(drawn.turns),
        "dialects": cast(Json, dict(drawn.count_dialects())),
        "beacon": contract.slice.beacon,
        "beaconFrom": contract.slice.beacon_from,
        "corpus": corpus,
    }


def _score(contract: DuelContract, log: DuelLog, drawn: DrawnSlice) -> dict[str, Json]:
    rows = [rows_of(record, contract) for record in log.turns]
    stop = watch_turns(contract, rows)
    if len(log.turns) != stop.expected(len(drawn.turns)):
        msg = f"expected {stop.expected(len(drawn.turns))} turns in the log of a finished duel, got {len(log.turns)}"
        raise EvidenceInvalid(msg)
    played = [item for item in rows if item is not None]
    decision = decide([item.challenger for item in played], [item.king for item in played], contract.knobs)
    scored = Scored(records=log.turns, rows=rows, decision=decision)
    tally = tally_turns(log.turns, decision.duel)
    return {
        "decision": _decide(_name_decision(contract, decision.duel, stop, tally), stop),
        "margin": _margin(contract, decision.duel),
        "scores": {
            KING: tell_side(scored, KING),
            CHALLENGER: tell_side(scored, CHALLENGER),
            "teacher": tell_teacher(scored, contract),
        },
        "funnel": tally.told,
        "stopping": stop.told,
        "turns": tell_turns(scored),
        "deciding": tell_deciding(scored, contract),
    }


def _name_decision(contract: DuelContract, duel: Duel, stop: Stop, tally: Tally) -> str:
    if tally.left_out_share > contract.duel.max_left_out_share:
        return "too-many-left-out"
    if duel.thought_floor_blocked:
        return "thought-too-short"
    if duel.causality_blocked:
        return "causality-fail"
    crowned = duel.challenger_wins if stop.decision is None else stop.decision.crowned
    return "challenger-crowned" if crowned else "king-stays"


def _decide(name: str, stop: Stop) -> dict[str, Json]:
    decision = _decision(name)
    if stop.decision is not None and name in ("challenger-crowned", "king-stays"):
        decision["says"] = _SAYS_SEQUENTIAL[stop.decision.outcome]
    return decision


def _decision(name: str, reason: str | None = None) -> dict[str, Json]:
    return {"verdict": name, "crowned": name == "challenger-crowned", "says": _SAYS[name], "reason": reason}


def _margin(contract: DuelContract, duel: Duel) -> dict[str, Json]:
    """The margin against the bar; its interval is as wide as the rule's own number of standard errors."""
    known, sigmas = isfinite(duel.se), contract.duel.k_sigma
    return {
        "value": duel.margin,
        "standardError": duel.se if known else None,
        "z": duel.z if isfinite(duel.z) else None,
        "bar": max(sigmas * duel.se, contract.duel.min_margin) if known else None,
        "sigmas": sigmas,
        "lower": duel.margin - sigmas * duel.se if known else None,
        "upper": duel.margin + sigmas * duel.se if known else None,
        "turns": duel.paired,
        "forfeitTurns": duel.forfeit_turns,
    }


def _notes(contract: DuelContract, log: DuelLog) -> list[Json]:
    notes = [
        _note(
            "meter",
            "the score says how well a side's thoughts predict the teacher's actions on these turns: a meter of "
            "distillation, from which no capability follows",
        ),
        _note("beacon", f"the slice hangs on the beacon, and the contract says of it: {contract.slice.beacon_from}"),
    ]
    late = [name for name, side in ((KING, contract.king), (CHALLENGER, contract.challenger)) if side.weights is None]
    if late:
        notes.append(
            _note(
                "weights-not-registered",
                f"the contract registers no digest of the weights of {' and '.join(late)}: which they are was fixed "
                f"when the duel began, after the beacon was known",
            )
        )
    unchecked = [role for role, model in log.models.items() if not model.checked]
    if unchecked:
        notes.append(
            _note(
                "weights-declared",
                f"the weights behind {', '.join(unchecked)} were declared by who serves them, not computed from what "
                "answered",
            )
        )
    return notes


def _note(code: str, message: str) -> Json:
    return {"code": code, "message": message}
