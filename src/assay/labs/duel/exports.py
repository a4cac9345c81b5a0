"""Our duels in the public network's artefact form, and single turns for a reader."""

from collections.abc import Mapping
from typing import Any, Final, cast

from assay.kernel.canonical import Json, dumps
from assay.labs.duel.artefact_rows import row_document
from assay.labs.duel.artefacts import pack
from assay.labs.duel.attached import read_index
from assay.labs.duel.drawing import draw_slice
from assay.labs.duel.evidence_log import DuelLog, read_log
from assay.labs.duel.records import CHALLENGER, KING, TurnRecord
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rescore import Stored
from assay.labs.duel.side_rows import rows_of
from assay.labs.duel.splitting import split_side, split_teacher
from assay.verifier.lab import Evidence

__all__ = ["export_artefact", "list_texts", "read_stored", "read_turns"]

_REJECTIONS: Final = {"thought-too-short": "thought_too_short", "causality-fail": "causality_fail"}


def read_turns(contract: DuelContract, evidence: Evidence) -> DuelLog:
    """The log of a duel.

    Raises:
        EvidenceInvalid: It is none that a duel under this contract writes.
    """
    return read_log(evidence, draw_slice(contract, read_index(contract, evidence).index))


def read_stored(contract: DuelContract, evidence: Evidence, verdict: Mapping[str, Json]) -> Stored:
    """A duel of ours as it is rescored.

    Raises:
        EvidenceInvalid: As :func:`read_turns`.
    """
    rows = [rows_of(record, contract) for record in read_turns(contract, evidence).turns]
    v = cast("Mapping[str, Any]", verdict)
    return Stored(
        name=contract.id,
        challenger=tuple(item.challenger for item in rows if item is not None),
        king=tuple(item.king for item in rows if item is not None),
        margin=v["margin"]["value"] if v["margin"] else None,
        crowned=v["decision"]["crowned"],
        held=_why_held(v),
    )


def _why_held(v: Mapping[str, Any]) -> str:
    """What decided the duel beside its rows, so that rows under other numbers would not say what would have been."""
    if v["margin"] is None:
        return f"a probe turned the challenger down ({v['decision']['reason']}), and no turn was played"
    if v["decision"]["verdict"] == "too-many-left-out":
        return "on too many turns nobody could be scored"
    if v["stopping"] is not None:
        return "a sequential rule decided it, which is no part of the numbers that are changed here"
    return ""


def export_artefact(contract: DuelContract, evidence: Evidence, verdict: Mapping[str, Json]) -> bytes:
    """The duel as one ``.json.gz`` in the public form, which :func:`assay.labs.duel.replay.replay` takes.

    Raises:
        EvidenceInvalid: As :func:`read_turns`.
    """
    log = read_turns(contract, evidence)
    stored = read_stored(contract, evidence, verdict)
    document: dict[str, Json] = {
        "job_id": contract.id,
        "request": {
            "king_repo": contract.king.model,
            "king_revision": log.models[KING].weights,
            "challenger_repo": contract.challenger.model,
            "challenger_revision": log.models[CHALLENGER].weights,
            "challenger_hotkey": contract.challenger.key,
            "block_hash": contract.slice.beacon,
        },
        "verdict": _verdict(contract, verdict),
        "slice": _slice(verdict),
        "turn_ids": list(draw_slice(contract, read_index(contract, evidence).index).turns),
        "teacher_refs": {record.turn: _references(record, contract) for record in log.turns},
        "king_rows": [row_document(row) for row in stored.king],
        "challenger_rows": [row_document(row) for row in stored.challenger],
    }
    return pack(dumps(document))


def _slice(verdict: Mapping[str, Json]) -> dict[str, Json]:
    v = cast("Mapping[str, Any]", verdict)["slice"]
    return {
        "seed": v["seed"],  # text: beyond what JSON numbers hold everywhere
        "n": v["turns"],
        "digest": v["digest"],
        "block_hash": v["beacon"],
        "corpus_epoch": v["corpus"]["epoch"],
        "manifest_sha256": v["corpus"]["manifest"],
        "dialects": v["dialects"],
    }


def _verdict(contract: DuelContract, verdict: Mapping[str, Json]) -> dict[str, Json]:
    v = cast("Mapping[str, Any]", verdict)
    margin: Mapping[str, Any] = v["margin"] or {}
    knobs = contract.duel
    funnel: Mapping[str, Any] = v["funnel"] or {}
    return {
        "challenger_wins": v["decision"]["crowned"],
        "rejection_reason": v["decision"]["reason"] or _REJECTIONS.get(v["decision"]["verdict"]),
        "margin": margin.get("value"),
        "se": margin.get("standardError"),
        "z": margin.get("z"),
        "n_paired_turns": margin.get("turns"),
        "n_forfeit_turns": margin.get("forfeitTurns"),
        "contract_version": contract.contract.version,
        "n_played_turns": funnel.get("played"),
        "n_left_out_turns": _count_lost(funnel),
        "duel_params": {
            "n_turns": contract.slice.turns,
            "k_sigma": knobs.k_sigma,
            "min_margin": knobs.min_margin,
            "min_thought_chars": knobs.min_thought_chars,
            "causality_gate": knobs.causality_gamma > 0,
            "causality_gamma": knobs.causality_gamma,
            "causality_tau": knobs.causality_tau,
            "leak_share": knobs.leak_share,
            "tau": knobs.tau or None,
            "n_teacher_samples": knobs.teacher_samples,
            "n_miner_samples": 1,
            "score_mode": knobs.score_mode,
            "band_c": knobs.band_c,
            "band_floor": knobs.band_floor,
            "forfeit_turn_score": knobs.forfeit_turn_score,
            "require_think_close": knobs.require_think_close,
            "allowed_action_kinds": list(contract.dialects),
            "max_thought_tokens": knobs.max_thought_tokens,
            "max_action_tokens": knobs.max_action_tokens,
            "max_tokens_by_kind": {
                name: {"thought": own.thought, "action": own.action}
                for name, own in knobs.max_tokens_by_dialect.items()
            },
            "max_left_out_share": knobs.max_left_out_share,
            "sequential": contract.to_document()["sequential"],
        },
    }


def _count_lost(funnel: Mapping[str, Any]) -> int | None:
    return funnel["noReference"] + sum(funnel["leftOut"].values()) if funnel else None


def _references(record: TurnRecord, contract: DuelContract) -> list[Json]:
    found: list[Json] = []
    for reference in record.references:
        rollout = split_teacher(reference.sample, record.dialect, contract)
        if not rollout.forfeit and reference.own and reference.empty:
            told: dict[str, Json] = {"z": rollout.thought, "y": rollout.action}
            told |= {"lp_own": _finite(reference.own.per_byte), "lp_empty": _finite(reference.empty.per_byte)}
            if reference.thought:
                told["lp_thought"] = _finite(reference.thought.per_byte)
            found.append(told)
    return found


def _finite(number: float) -> Json:
    return number if number == number else "nan"


def list_texts(record: TurnRecord, contract: DuelContract) -> list[tuple[str, str, str]]:
    """Everything that was said on a turn: who, the thought and the action; the whole reply where it holds no action."""
    found: list[tuple[str, str, str]] = []
    for at, reference in enumerate(record.references):
        rollout = split_teacher(reference.sample, record.dialect, contract)
        found.append((f"teacher {at + 1}", rollout.thought or reference.sample.text, rollout.action))
    for name, side in ((KING, record.played.king), (CHALLENGER, record.played.challenger)) if record.played else ():
        rollout = split_side(side.sample, record.dialect, contract)
        found.append((name, rollout.thought or side.sample.text, rollout.action))
    return found
