"""Attacks by the form of a text: what counts as a thought, as an action and as given away."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from assay.kernel.errors import BadInput
from assay.labs.duel.crown import Decision, decide
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.leakage import NameNotText, leaks
from assay.labs.duel.mandates import check_slice
from assay.labs.duel.records import Sample
from assay.labs.duel.redteam.attacks import TOLERANCE, Attack, Finding, conclude, signed
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.phrases import FILLER
from assay.labs.duel.redteam.synthetic import (
    CHALLENGER,
    KING,
    change_pairs,
    honest_rows,
    lengthen,
    on_grid,
    plain_rows,
    write_action,
)
from assay.labs.duel.redteam.thoughts import BOILERPLATE_STANDS
from assay.labs.duel.rollouts import Rollout, split_completion
from assay.labs.duel.rows import Pair, Row
from assay.labs.duel.splitting import split_side, split_teacher
from assay.labs.duel.telemetry import by_dialect

__all__ = ["ATTACKS"]

_CUE: Final = "grep the test"  # 13 characters
_BATCH: Final = '{"analysis": "a", "plan": "b", "commands": ["ls"]}'


def _read_side(text: str, dialect: str, ground: Ground) -> Rollout:
    """What a side's completion holds under the contract."""
    if ground.contract is not None:
        return split_side(Sample(text=text, finish="stop", tokens=1), dialect, ground.contract)
    return split_completion(text, dialect, require_think_close=ground.require_think_close, era=ground.knobs.era)


def _read_teacher(text: str, dialect: str, ground: Ground) -> Rollout:
    """What a sample of the teacher's holds under the contract."""
    if ground.contract is not None:
        return split_teacher(Sample(text=text, finish="stop", tokens=1), dialect, ground.contract)
    return split_completion(text, dialect, require_think_close=False, era=ground.knobs.era)


def _duel(rows: Sequence[Row], ground: Ground) -> Decision:
    return decide(rows, honest_rows(ground, KING), ground.knobs)


def _run_paste(ground: Ground) -> Finding:
    def paste(_: Row, __: int, pair: Pair) -> Pair:
        return replace(pair, z_a=f"{pair.z_a} {pair.y_a}", c_ya_za=0.0)

    honest = honest_rows(ground, CHALLENGER)
    found = decide(change_pairs(honest, paste), honest, ground.knobs)
    hidden = [name for name in DIALECTS if not _leaks_whole(name, ground)]
    rate = found.challenger.figures.b_gate_pass_rate
    said = f"each thought holds the side's own action: B is {signed(found.challenger.figures.mean_b, 3)} and passes on "
    said += f"{rate or 0.0:.0%} of pairs"
    if hidden:
        said += f"; in {', '.join(hidden)} the action is not found"
    musts = {
        "no pair passes the licence B": rate == 0.0,
        "the licence blocks the crown": found.duel.causality_blocked and not found.duel.challenger_wins,
        "the action is found in the thought, in every dialect": not hidden,
    }
    return conclude(found.duel.margin, said, musts)


def _leaks_whole(dialect: str, ground: Ground) -> bool:
    action = write_action(dialect, "parser")
    return leaks(
        f"Now I am going to write {action} and nothing else.", action, ground.knobs.leak_share, era=ground.knobs.era
    )


def _run_silence(ground: Ground) -> Finding:
    honest = honest_rows(ground, CHALLENGER)

    def hush(text: str) -> tuple[Row, ...]:
        # The echo of an empty span has no tokens and comes back as 0.0.
        return change_pairs(honest, lambda _, __, p: replace(p, z_a=text, c_yc_za=p.c_yc_e, c_za_x=0.0))

    def cue(_: Row, __: int, pair: Pair) -> Pair:
        return replace(pair, z_a=_CUE, c_yc_za=pair.c_yc_za + on_grid(0.02))

    silent, spaces, short = (
        decide(rows, honest, ground.knobs) for rows in (hush(""), hush(" " * 80), change_pairs(honest, cue))
    )
    said = f"nothing, {len(_CUE)} characters, or 80 spaces in place of a thought: medians "
    said += ", ".join(f"{found.challenger.figures.median_len_z:g}" for found in (silent, short, spaces))
    musts = {
        "no thought at all is below the floor": silent.duel.thought_floor_blocked,
        f"a cue of {len(_CUE)} characters is below the floor": short.duel.thought_floor_blocked,
        "spaces are no characters": spaces.duel.thought_floor_blocked,
        "none is crowned": not any(found.duel.challenger_wins for found in (silent, short, spaces)),
    }
    if ground.grounded:
        stands = silent.challenger.mean_g_leg
        said += f"; G of silence {signed(stands, 3)}"
        musts["G of silence is far below 0"] = stands is not None and stands < -0.05
    return conclude(max(found.duel.margin for found in (silent, short, spaces)), said, musts)


def _run_wrapper(ground: Ground) -> Finding:
    wrapped = _read_side(f"{lengthen(FILLER, ground.knobs)}\n</think>\n\\boxed{{1}}", "boxed", ground)
    empty = _read_side("junk\n</think>\n\\boxed{}", "boxed", ground)
    plain = plain_rows(
        honest_rows(ground, CHALLENGER), lift=0.0, offset=BOILERPLATE_STANDS, thought=lambda _: wrapped.thought
    )
    rows = change_pairs(plain, lambda _, __, pair: replace(pair, y_a=wrapped.action))
    found = _duel(rows if not wrapped.forfeit else [replace(row, pairs=None) for row in rows], ground)
    figures = by_dialect(rows, {row.turn: "boxed" for row in rows}, ground.knobs, found.scores)["boxed"]
    said = f"the same box on every turn: {figures.parse_rate:.0%} of turns have an action"
    musts = {
        "every turn has an action": not wrapped.forfeit and figures.parse_rate == 1.0,
        "an empty box is none": empty.forfeit,
        "nothing is paid for it": found.challenger.reason <= TOLERANCE,
        "it loses to an honest king": found.duel.margin < 0 and not found.duel.challenger_wins,
    }
    if ground.grounded:
        r, g = figures.side.mean_r_leg, figures.side.mean_g_leg
        musts |= {"R is about 0": r is not None and abs(r) <= TOLERANCE, "G is below 0": g is not None and g < 0}
    return conclude(found.challenger.reason, said, musts)


def _run_runaway(ground: Ground) -> Finding:
    text = f"I keep on thinking and never come to an end\n{write_action('bash', 'parser')}"
    side, teacher = _read_side(text, "bash", ground), _read_teacher(text, "bash", ground)
    musts = {
        "a side that never closes its thought forfeits": side.forfeit,
        "the teacher's sample is read all the same": not teacher.forfeit,
    }
    return conclude(None, "a completion without </think> that holds an action", musts)


def _run_crash(ground: Ground) -> Finding:
    honest = honest_rows(ground, CHALLENGER)
    broken = change_pairs(honest[:1], lambda _, __, p: replace(p, y_a=f'{_BATCH[:-1]}, "name": 5}}'))
    said = "one action whose name is a number"
    try:
        found = _duel((*broken, *honest[1:]), ground)
    except NameNotText as error:
        return conclude(None, f"{said}: {error.message}", {"the scorer goes on": False})
    musts = {"the scorer goes on": True, "every turn is scored": found.duel.paired == ground.turns}
    return conclude(None, said, musts)


def _run_bypass(ground: Ground) -> Finding:
    action = f'{_BATCH[:-1]}, "name": "nowhere"}}'
    thought = f"So I answer with analysis a, plan b and commands ls: {_BATCH}"

    def leak(_: Row, __: int, pair: Pair) -> Pair:
        return replace(pair, z_a=thought, y_a=action, c_ya_za=0.0)

    found = _duel(change_pairs(honest_rows(ground, CHALLENGER), leak), ground)
    rate = found.challenger.figures.b_gate_pass_rate
    said = f"an action with a name that the thought avoids: B passes on {rate or 0.0:.0%} of pairs"
    return conclude(None, said, {"its words are counted all the same": rate == 0.0})


def _run_stray(ground: Ground) -> Finding:
    reference = _read_teacher("So.</think>\nI open a brace { here.\n" + _BATCH, "terminus_json", ground)
    said = "prose with a brace that never closes, before a good action"
    return conclude(None, said, {"the reference is read": reference.action == _BATCH})


def _run_smuggling(ground: Ground) -> Finding:
    smuggled = ["tool", *(name for name in DIALECTS if name not in ground.dialects)]
    passed: list[str] = []
    for kind in smuggled:
        try:
            check_slice([ground.dialects[0], kind], ground.dialects)
        except BadInput:
            continue
        passed.append(kind)
    said = f"a turn in {', '.join(smuggled)} among admitted ones"
    if passed:
        said += f"; {', '.join(passed)} passed"
    return conclude(None, said, {"the slice is refused": not passed})


ATTACKS: Final = (
    Attack(id="RT-2/A2", name="own action pasted in the thought", run=_run_paste),
    Attack(id="A9", name="silence, or a cue", run=_run_silence),
    Attack(id="RT-14", name="format-only wrapper", run=_run_wrapper),
    Attack(id="runaway-thinking", name="runaway thinking", run=_run_runaway),
    Attack(id="scorer-crash", name="scorer crash", run=_run_crash),
    Attack(id="leak-bypass", name="leak bypass", run=_run_bypass),
    Attack(id="stray-brace", name="stray brace", run=_run_stray),
    Attack(id="dialect-smuggling", name="dialect smuggling", run=_run_smuggling),
)
