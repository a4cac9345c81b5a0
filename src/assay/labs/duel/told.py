"""What a verdict tells of the sides, the teacher and every turn: summaries beside the decision, never part of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.duel.crown import Decision
from assay.labs.duel.legs import TurnScores
from assay.labs.duel.means import mean_known
from assay.labs.duel.records import CHALLENGER, KING, SIDES, SideName, TurnRecord
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rows import Row
from assay.labs.duel.side_rows import TurnRows
from assay.labs.duel.sides import Side
from assay.labs.duel.splitting import split_teacher
from assay.labs.duel.tallies import NO_REFERENCE, TEACHER_FAULT
from assay.labs.duel.telemetry import by_dialect

__all__ = ["Scored", "tell_deciding", "tell_side", "tell_teacher", "tell_turns"]

_DECIDING: Final = 3  # turns shown for each side
_LONGEST: Final = 2000  # code points of a text that is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The turns of a duel with what was made of them.

    Args:
        records: The turns as they were logged.
        rows: The rows of each, or None where it was not scored.
        decision: What was decided over all of them.
    """

    records: Sequence[TurnRecord]
    rows: Sequence[TurnRows | None]
    decision: Decision

    @property
    def dialects(self) -> Mapping[str, str]:
        """The dialect of each turn."""
        return {record.turn: record.dialect for record in self.records}

    @property
    def scores(self) -> TurnScores:
        """The scores of rows under the contract's numbers."""
        return self.decision.scores

    def of_side(self, side: SideName) -> Sequence[Row]:
        """One side's rows as they were scored: a text that broke a number is a forfeit by now."""
        return self.decision.rows.king if side == KING else self.decision.rows.challenger


def tell_side(scored: Scored, side: SideName) -> dict[str, Json]:
    """The summary of one side."""
    rows, knobs = scored.of_side(side), scored.scores.knobs
    whole = scored.decision.king if side == KING else scored.decision.challenger
    closed = [item.closed[side] for item in scored.rows if item is not None]
    dialects = by_dialect(rows, scored.dialects, knobs, scored.scores)
    return {
        **_summary(whole),
        "forfeits": whole.n_forfeits,
        "forfeitRate": whole.forfeit_rate,
        "thinkCloseRate": sum(closed) / len(closed) if closed else None,
        "byDialect": {
            name: {
                **_summary(found.side),
                "turns": found.n_turns,
                "parsed": found.n_valid,
                "parseRate": found.parse_rate,
            }
            for name, found in dialects.items()
        },
    }


def _summary(side: Side) -> dict[str, Json]:
    figures = side.figures
    return {
        "score": side.reason if isfinite(side.reason) else None,
        "turns": side.n_turns,
        "pairs": figures.n_pairs,
        "meanR": side.mean_r_leg,
        "meanG": side.mean_g_leg,
        "meanA": side.mean_a_leg,
        "gBinds": side.g_bind_frac,
        "aBinds": side.a_bind_frac,
        "meanSpread": side.mean_spread,
        "meanB": figures.mean_b,
        "licensed": figures.b_gate_pass_rate,
        "meanEta": figures.mean_eta,
        "medianThoughtChars": figures.median_len_z,
        "meanThoughtChars": figures.mean_len_z,
        "meanActionChars": figures.mean_len_y,
    }


def tell_teacher(scored: Scored, contract: DuelContract) -> dict[str, Json]:
    """What the teacher's samples were like."""
    samples = [
        split_teacher(reference.sample, record.dialect, contract)
        for record in scored.records
        for reference in record.references
    ]
    parsed = [rollout for rollout in samples if not rollout.forfeit]
    return {
        "samples": len(samples),
        "parsed": len(parsed),
        "thinkCloseRate": sum(rollout.closed for rollout in samples) / len(samples) if samples else None,
        "meanThoughtChars": mean_known(float(len(rollout.thought.strip())) for rollout in parsed),
        "meanActionChars": mean_known(float(len(rollout.action)) for rollout in parsed),
    }


def tell_turns(scored: Scored) -> list[Json]:
    """Every turn in a line: where it went, what each side scored on it and by which leg, and the difference."""
    differences = dict(scored.decision.duel.differences)
    sides: dict[SideName, dict[str, Row]] = {side: {row.turn: row for row in scored.of_side(side)} for side in SIDES}
    lines: list[Json] = []
    for record, rows in zip(scored.records, scored.rows, strict=True):
        line: dict[str, Json] = {"index": record.index, "turn": record.turn, "dialect": record.dialect}
        if rows is None:
            line |= {"outcome": record.left_out or NO_REFERENCE, "difference": None}
        elif record.turn not in differences:
            line |= {"outcome": TEACHER_FAULT, "difference": None}
        else:
            line |= {"outcome": "scored", "difference": differences[record.turn]}
            line |= {side: _tell_row(scored, sides[side][record.turn], side) for side in SIDES}
        lines.append(line)
    return lines


def _tell_row(scored: Scored, row: Row, side: SideName) -> dict[str, Json]:
    legs = scored.scores.score(row)
    if legs is None:
        faults = [fault for fault in scored.decision.duel.faults if (fault.turn, fault.owner) == (row.turn, side)]
        why = f"{faults[0].member} {faults[0].found}" if faults else "no action"
        return {"score": scored.scores.knobs.forfeit_turn_score, "forfeit": True, "why": why}
    return {"score": legs.turn, "forfeit": False, "binds": legs.binding, "r": legs.r, "g": legs.g, "a": legs.a}


def tell_deciding(scored: Scored, contract: DuelContract) -> list[Json]:
    """The turns that spoke loudest for each side, with their texts: the challenger's first."""
    differences = sorted(scored.decision.duel.differences, key=lambda item: (item[1], item[0]))
    chosen = [*reversed(differences[-_DECIDING:]), *differences[:_DECIDING]]
    places = {record.turn: at for at, record in enumerate(scored.records)}
    return [_tell_texts(scored, places[turn], difference, contract) for turn, difference in dict(chosen).items()]


def _tell_texts(scored: Scored, at: int, difference: float, contract: DuelContract) -> dict[str, Json]:
    record, rows = scored.records[at], scored.rows[at]
    splits = (split_teacher(item.sample, record.dialect, contract) for item in record.references)
    reference = next((rollout for rollout in splits if not rollout.forfeit), None)
    texts: dict[str, Json] = {
        "teacher": {"thought": _cut(reference.thought), "action": _cut(reference.action)} if reference else None
    }
    for side, row in ((KING, rows.king), (CHALLENGER, rows.challenger)) if rows else ():
        pair = row.pairs[0] if row.pairs else None
        texts[side] = {"thought": _cut(pair.z_a), "action": _cut(pair.y_a)} if pair else None
    return {"index": record.index, "turn": record.turn, "dialect": record.dialect, "difference": difference, **texts}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
