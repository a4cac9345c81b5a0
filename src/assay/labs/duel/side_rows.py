"""From what was logged of a turn to the rows that are scored: texts are split, echoes held against their spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.records import CHALLENGER, KING, REFUSED, TEACHER, Forced, Reference, SideRecord, TurnRecord
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rollouts import Rollout
from assay.labs.duel.rows import Pair, Row
from assay.labs.duel.splitting import split_side, split_teacher

__all__ = ["TurnRows", "rows_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRows:
    """One turn as it is scored.

    Args:
        king: The king's row.
        challenger: The challenger's row.
        closed: Whether each side's sample closed its thought, by side.
    """

    king: Row
    challenger: Row
    closed: dict[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parsed:
    rollout: Rollout
    own: float
    empty: float
    thought: float | None


def rows_of(record: TurnRecord, contract: DuelContract) -> TurnRows | None:
    """The rows of both sides; None for a turn without a reference, or one that is left out.

    Raises:
        EvidenceInvalid: Echoes are missing or too many for what the texts hold, or are of spans of another length.
    """
    where = f"turn {record.index}"
    _check_samples(record, contract, where)
    _check_prompts(record, where)
    references = [
        _parse(item, record, contract, f"{where}, reference {at}") for at, item in enumerate(record.references)
    ]
    parsed = [item for item in references if item is not None]
    if record.played is None:
        if parsed and record.left_out is None:
            _refuse(f"{where}: the teacher's references hold an action, but no side was asked and no reason is given")
        if record.fault_of in (KING, CHALLENGER) and not parsed:
            _refuse(
                f"{where}: is left out by the {record.fault_of}, who is not asked before a reference holds an action"
            )
        return None
    if not parsed:
        _refuse(f"{where}: no reference of the teacher's holds an action, but the sides were scored")
    king, challenger = record.played.king, record.played.challenger
    rows = {name: _row(side, parsed, record, contract, name) for name, side in ((KING, king), (CHALLENGER, challenger))}
    closed = {
        name: split_side(side.sample, record.dialect, contract).closed
        for name, side in ((KING, king), (CHALLENGER, challenger))
    }
    return TurnRows(king=rows[KING], challenger=rows[CHALLENGER], closed=closed)


def _check_samples(record: TurnRecord, contract: DuelContract, where: str) -> None:
    """Holds the samples against what the contract asks for: as many references, and no more tokens than are allowed."""
    count, wanted = len(record.references), contract.duel.teacher_samples
    if count != wanted and not (record.left_out and not count):
        _refuse(f"{where}: the contract asks the teacher {wanted} times, and {count} of its samples are logged")
    samples = [reference.sample for reference in record.references]
    samples += [side.sample for side in (record.played.king, record.played.challenger)] if record.played else []
    limit = contract.token_limit(record.dialect)
    if any(sample.tokens > limit for sample in samples):
        _refuse(f"{where}: a sample has more than the {limit} tokens that the contract allows")


def _check_prompts(record: TurnRecord, where: str) -> None:
    """Every model that left a sample was asked something, and one whose template refused was not."""
    asked = {TEACHER: True} if record.references else {}
    if record.played:
        asked |= {KING: record.played.king.sample.finish != REFUSED}
        asked |= {CHALLENGER: record.played.challenger.sample.finish != REFUSED}
    for role, was in asked.items():
        if (role in record.prompts) != was:
            _refuse(f"{where}: expected {'the digest of the' if was else 'no'} prompt of the {role}")


def _refuse(msg: str) -> NoReturn:
    raise EvidenceInvalid(msg)


def _parse(reference: Reference, record: TurnRecord, contract: DuelContract, where: str) -> _Parsed | None:
    rollout = split_teacher(reference.sample, record.dialect, contract)
    echoes = (reference.own, reference.empty, reference.thought)
    if rollout.forfeit:
        if any(echoes):
            _refuse(f"{where}: holds no action, but echoes of one")
        return None
    return _Parsed(
        rollout=rollout,
        own=_measure(reference.own, rollout.action, f"{where}.own"),
        empty=_measure(reference.empty, rollout.action, f"{where}.empty"),
        thought=_measure_thought(reference.thought, rollout.thought, contract, f"{where}.thought"),
    )


def _measure(echo: Forced | None, span: str, where: str) -> float:
    if echo is None:
        _refuse(f"{where}: the echo is missing")
    size = len(span.encode("utf-8", "surrogatepass"))
    if echo.size != size:
        _refuse(f"{where}: the echo is of {echo.size} bytes, and the text has {size}")
    # A span of which no token begins inside it was not scored at all; the original takes it for certain (0.0).
    return float("nan") if size and not echo.tokens else echo.per_byte


def _measure_thought(echo: Forced | None, span: str, contract: DuelContract, where: str) -> float | None:
    if contract.duel.score_mode == "reason":
        if echo is not None:
            _refuse(f"{where}: the score mode reads no such echo")
        return None
    return _measure(echo, span, where)


def _row(side: SideRecord, parsed: Sequence[_Parsed], record: TurnRecord, contract: DuelContract, name: str) -> Row:
    where = f"turn {record.index}, {name}"
    rollout = split_side(side.sample, record.dialect, contract)
    echoes = (side.own, side.empty, side.thought, *side.references, *side.licences)
    if rollout.forfeit:
        if any(echoes):
            _refuse(f"{where}: holds no action, but echoes of one")
        return Row(turn=record.turn, miner=name, pairs=None)
    licensed = contract.duel.score_mode == "min_rga"
    if len(side.references) != len(parsed) or len(side.licences) != len(parsed) * licensed:
        _refuse(f"{where}: expected one echo for each of {len(parsed)} references")
    own, empty = (
        _measure(side.own, rollout.action, f"{where}.own"),
        _measure(side.empty, rollout.action, f"{where}.empty"),
    )
    thought = _measure_thought(side.thought, rollout.thought, contract, f"{where}.thought")
    pairs = [
        Pair(
            z_a=rollout.thought,
            y_a=rollout.action,
            c_yc_za=_measure(side.references[at], item.rollout.action, f"{where}.references[{at}]"),
            c_yc_e=item.empty,
            c_yc_zc=item.own,
            c_ya_za=own,
            c_ya_e=empty,
            c_ya_zc=_measure(side.licences[at], rollout.action, f"{where}.licences[{at}]") if licensed else None,
            c_za_x=thought,
            c_zc_x=item.thought,
        )
        for at, item in enumerate(parsed)
    ]
    return Row(turn=record.turn, miner=name, pairs=tuple(pairs))
