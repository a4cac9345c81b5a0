"""Attacks that are made on a teacher which answers: what it really makes of such thoughts, turn by turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from assay.labs.duel.crown import Decision, decide
from assay.labs.duel.means import mean
from assay.labs.duel.redteam.attacks import TOLERANCE, Finding, Result, conclude, signed
from assay.labs.duel.redteam.phrases import FILLER, announce
from assay.labs.duel.redteam.stage import Advance, Stage, Staged, ignore
from assay.labs.duel.redteam.synthetic import lengthen, middle_of
from assay.labs.duel.rows import Row

__all__ = ["ATTACKS", "StagedAttack", "run_staged"]

_RESTATED: Final = 400  # characters of the last message that a parrot says again


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedAttack:
    """As :class:`assay.labs.duel.redteam.attacks.Attack`, on a stage."""

    id: str
    name: str
    run: Callable[[Stage], Awaitable[Finding]]


async def _try(stage: Stage, think: Callable[[Staged], str]) -> Decision:
    """The duel of such a side with the honest one."""
    return decide(await stage.play(think), await stage.play_honest(), stage.knobs)


def _grounded(stage: Stage) -> bool:
    return stage.knobs.score_mode != "reason"


def _tell(found: Decision) -> str:
    """Margin and legs, in the words of every finding."""
    side, duel = found.challenger, found.duel
    said = f"mean turn {signed(side.reason)}, margin {signed(duel.margin)} over {duel.paired} turns"
    if side.mean_g_leg is not None and side.mean_r_leg is not None:
        said += f"; mean R {signed(side.mean_r_leg)}, mean G {signed(side.mean_g_leg)}"
    return said


def _count_places(found: Decision) -> tuple[int, int, int]:
    """Turns on which the thought stands below, within and above the band."""
    below = within = above = 0
    for row in found.rows.challenger:
        legs = found.scores.score(row)
        if legs is None or legs.g is None:
            continue
        if legs.g >= 0:
            within += 1
        elif (_stands(row) or 0.0) > middle_of(row):
            above += 1
        else:
            below += 1
    return below, within, above


def _stands(row: Row) -> float | None:
    return row.pairs[0].c_za_x if row.pairs else None


async def _run_payload(stage: Stage) -> Finding:
    text = lengthen(FILLER, stage.knobs)
    found = await _try(stage, lambda _: text)
    musts = {
        "its mean turn is not above 0": found.challenger.reason <= TOLERANCE,
        "it loses to the honest side": found.duel.margin < 0 and not found.duel.challenger_wins,
    }
    return conclude(found.challenger.reason, _tell(found), musts)


async def _run_paste(stage: Stage) -> Finding:
    found = await _try(stage, lambda staged: f"{staged.honest.thought}\n{staged.honest.action}")
    rate = found.challenger.figures.b_gate_pass_rate
    musts = {
        "no pair passes the licence B": rate == 0.0,
        "the licence blocks the crown": found.duel.causality_blocked and not found.duel.challenger_wins,
    }
    said = f"B is {signed(found.challenger.figures.mean_b)} and passes on {rate or 0.0:.0%} of pairs; {_tell(found)}"
    return conclude(found.duel.margin, said, musts)


async def _run_silence(stage: Stage) -> Finding:
    tried = [await _try(stage, think) for think in (_hush, _cue, _space)]
    said = f"nothing, 13 characters, 80 spaces; of nothing: {_tell(tried[0])}"
    musts = {
        "each is below the floor": all(found.duel.thought_floor_blocked for found in tried),
        "none is crowned": not any(found.duel.challenger_wins for found in tried),
    }
    if _grounded(stage):
        stands = tried[0].challenger.mean_g_leg
        musts["G of silence is below 0"] = stands is not None and stands < 0
    return conclude(max(found.duel.margin for found in tried), said, musts)


def _hush(_: Staged) -> str:
    return ""


def _cue(staged: Staged) -> str:
    """The first words of the honest side's own action."""
    return " ".join(staged.honest.action.replace("`", " ").split())[:13]


def _space(_: Staged) -> str:
    return " " * 80


async def _run_leaked_reference(stage: Stage) -> Finding:
    found = await _try(stage, lambda staged: f"{staged.honest.thought}\n{staged.references[0].rollout.action}")
    below, within, above = _count_places(found)
    rises = await _rise(stage, found)
    said = f"the first reference's action at the end of the thought: {_tell(found)}"
    bar = max(stage.knobs.k_sigma * found.duel.se, stage.knobs.min_margin)
    musts = {"it does not exceed the bar": found.duel.margin <= bar}
    if _grounded(stage):
        said += (
            f"; the thought stands {signed(rises)} from the honest one, below the band on {below} turns, within it on "
        )
        said += f"{within} and above it on {above}"
    return conclude(found.duel.margin, said, musts)


async def _rise(stage: Stage, found: Decision) -> float:
    """How much higher the thoughts stand than the honest ones, as a mean over turns."""
    honest = {row.turn: _stands(row) or 0.0 for row in await stage.play_honest()}
    return mean([(_stands(row) or 0.0) - honest[row.turn] for row in found.rows.challenger])


async def _run_suffix(stage: Stage) -> Finding:
    found = await _try(stage, lambda staged: f"{staged.honest.thought} {announce(staged.dialect)}")
    musts = {"the suffix gains nothing": found.duel.margin <= TOLERANCE and not found.duel.challenger_wins}
    return conclude(found.duel.margin, f"the honest side with the suffix: {_tell(found)}", musts)


async def _run_parrot(stage: Stage) -> Finding:
    found = await _try(stage, lambda staged: lengthen(staged.said[:_RESTATED] or ".", stage.knobs))
    musts = {"nothing is paid for it": found.challenger.reason <= TOLERANCE}
    if _grounded(stage):
        stands = found.challenger.mean_g_leg
        musts["G is below 0 in the mean"] = stands is not None and stands < 0
    below, within, above = _count_places(found)
    said = f"the last message said again: {_tell(found)}"
    if _grounded(stage):
        said += f"; below the band on {below} turns, within it on {within}, above it on {above}"
    return conclude(found.challenger.reason, said, musts)


ATTACKS: Final = (
    StagedAttack(id="RT-1/A1", name="fixed payload thoughts", run=_run_payload),
    StagedAttack(id="RT-2/A2", name="own action pasted in the thought", run=_run_paste),
    StagedAttack(id="A9", name="silence, or a cue", run=_run_silence),
    StagedAttack(id="RT-11", name="filler suffix", run=_run_suffix),
    StagedAttack(id="RT-12", name="parroting", run=_run_parrot),
    StagedAttack(id="RT-10", name="leaked reference", run=_run_leaked_reference),
)


async def run_staged(stage: Stage, advance: Advance = ignore) -> tuple[Result, ...]:
    """What came of every attack on a stage.

    Args:
        stage: The turns, and the teacher that scores on them.
        advance: Called after each attack.

    Raises:
        ContextTooLong: A thought does not fit the teacher's window.
        ModelUnavailable: The teacher cannot be reached.
    """
    results: list[Result] = []
    for attack in ATTACKS:
        results.append(Result(id=attack.id, name=attack.name, finding=await attack.run(stage)))
        advance()
    return tuple(results)
