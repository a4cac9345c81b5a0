"""Attacks on the paired test: copies, tiny and even edges, broken numbers, skipped and repeated turns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from assay.labs.duel.copies import Published, find_copy
from assay.labs.duel.crown import Decision, decide
from assay.labs.duel.eras import Era
from assay.labs.duel.faults import keep_last
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.legs import NonFinite
from assay.labs.duel.redteam.attacks import TOLERANCE, Attack, Finding, conclude, signed
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.synthetic import CHALLENGER, KING, change_pairs, honest_rows, level_rows, on_grid
from assay.labs.duel.rows import Row

__all__ = ["ATTACKS", "Deciding", "inflate"]

_LEVEL: Final = -0.03
_HARD: Final = -0.041  # what the worst in twenty of valid turns score (facts 1.4)
_BROKEN: Final = (math.nan, math.inf, -math.inf)
_OWN_NUMBERS: Final = ("lpA_yc_za", "lpA_yc_e", "lpA_ya_za", "lpA_ya_e")


def _duel(own: Sequence[float | None], king: Sequence[float | None], ground: Ground) -> Decision:
    return decide(level_rows(ground, own, CHALLENGER), level_rows(ground, king, KING), ground.knobs)


def _run_copy(ground: Ground) -> Finding:
    king = Published(repository="org/king", revision="1", weights=_WEIGHTS, published="2026-09-01T00:00:00Z")
    padded = {f"renamed-{name}": digest for name, digest in _WEIGHTS.items()} | {"pad.bin": "f" * 64}
    copy = Published(repository="org/copy", revision="1", weights=padded, published="2026-09-02T00:00:00Z")
    copied = find_copy(copy, king, ground.knobs.era)
    # A mean of 0.0006 with a standard error just below 0.0003: above two of them, below any least margin.
    reach = 0.00029 * math.sqrt(ground.turns - 1)
    own = [_LEVEL + 0.0006 + (reach if at % 2 else -reach) for at in range(ground.turns)]
    level = [_LEVEL] * ground.turns
    noisy = _duel(own, level, ground).duel
    unfloored = _duel(own, level, replace(ground, knobs=replace(ground.knobs, min_margin=0.0))).duel
    said = f"the king's files renamed and padded: {copied}; nearly the king, margin {noisy.margin:.4f} and standard "
    said += f"error {noisy.se:.4f}: {_crowned(noisy.challenger_wins)}, without a least margin "
    said += _crowned(unfloored.challenger_wins)
    musts = {"the copy is turned down": copied == "reject", "a near copy is not crowned": not noisy.challenger_wins}
    return conclude(noisy.margin, said, musts)


_WEIGHTS: Final = {f"model-{at:05}.safetensors": f"{at:064x}" for at in range(1, 4)}


def _crowned(wins: bool) -> str:  # noqa: FBT001 - a word for a truth value
    return "crowned" if wins else "not crowned"


def _run_even_edge(ground: Ground) -> Finding:
    king = [_LEVEL] * ground.turns
    tiny = _duel([_LEVEL + 0.0019] * ground.turns, king, ground).duel
    edge = max(0.0021, 1.05 * ground.knobs.min_margin)
    above = _duel([_LEVEL + edge] * ground.turns, king, ground).duel
    said = f"0.0019 more on every turn, without any spread: {_crowned(tiny.challenger_wins)}; {edge:.4f} more: "
    said += f"{_crowned(above.challenger_wins)}, z {above.z:g}"
    musts = {
        "an edge of 0.0019 is not crowned": not tiny.challenger_wins,
        "an edge above the floor is crowned, at z infinite": above.challenger_wins and above.z == math.inf,
    }
    return conclude(tiny.margin, said, musts)


def _run_broken_numbers(ground: Ground) -> Finding:
    honest, king = honest_rows(ground, CHALLENGER)[:_TRIED], honest_rows(ground, KING)[:_TRIED]
    # Far outside the band, so that a G that drops out of the minimum would pay.
    far = change_pairs(honest, lambda _, __, p: replace(p, c_za_x=(p.c_za_x or 0.0) - on_grid(0.24)))
    problems = dict.fromkeys(_KEPT, 0)
    gains: list[float] = []
    without = {turns: _best_without(far, king, turns, ground) for turns in (1, _TRIED)}
    tries = [(name, value, turns) for name in _ECHOES for value in _BROKEN for turns in without]
    for name, value, turns in tries:
        broken = change_pairs(far[:turns], lambda _, __, p, name=name, value=value: replace(p, **{name: value}))
        try:
            found = decide((*broken, *far[turns:]), king, ground.knobs)
        except NonFinite:
            # On the network the named error is the answer; ours goes on without the turn.
            problems["the duel goes on"] += ground.knobs.era is Era.SAFE
            continue
        gains.append(found.duel.margin - without[turns])
        problems["nothing is crowned"] += found.duel.challenger_wins
        problems["no leg drops out unsaid"] += _hides_leg(found, turns)
    best = max(gains, default=None)
    problems["it pays no more than a forfeit"] = best is not None and best > TOLERANCE
    said = f"{len(tries)} ways to make an echo of the side's own text no number, on one turn or on all"
    return conclude(best, said, {must: not count for must, count in problems.items()})


_KEPT: Final = (
    "nothing is crowned",
    "the duel goes on",
    "no leg drops out unsaid",
    "it pays no more than a forfeit",
)
_ECHOES: Final = ("c_yc_za", "c_za_x", "c_ya_za", "c_ya_e")
_TRIED: Final = 12  # turns


def _best_without(rows: Sequence[Row], king: Sequence[Row], turns: int, ground: Ground) -> float:
    """The margin of the rows as they are, or with the first turns forfeited, whichever is larger."""
    skipped = [replace(row, pairs=None) for row in rows[:turns]]
    tried = (rows, [*skipped, *rows[turns:]])
    return max(decide(own, king, ground.knobs).duel.margin for own in tried)


def _hides_leg(found: Decision, turns: int) -> bool:
    """Whether a broken turn was scored on what is left of its legs, or forfeited without a word."""
    scored = [legs for row in found.rows.challenger if (legs := found.scores.score(row)) is not None]
    told = {fault.turn for fault in found.duel.faults if fault.owner == "challenger"}
    silent = found.rows.challenger and sum(row.forfeit for row in found.rows.challenger) != len(told)
    return any(not legs.finite for legs in scored) or bool(silent) or len(told) > turns


Deciding: TypeAlias = Callable[[Sequence[Row], Sequence[Row], Knobs], Decision]


def inflate(ground: Ground, deciding: Deciding = decide) -> Finding:
    """Whether what a side tells of itself moves a score, as ``deciding`` decides."""

    def claim(value: float) -> tuple[Row, ...]:
        numbers = dict.fromkeys(_OWN_NUMBERS, value) | {"lpA_yc_za": 2 * value, "lpA_ya_za": value + 9}
        return change_pairs(honest_rows(ground, CHALLENGER), lambda _, __, pair: replace(pair, a=numbers))

    king = honest_rows(ground, KING)
    modest, boastful = (deciding(claim(value), king, ground.knobs) for value in (-0.1, 50.0))
    said = "every log-probability that the side tells of itself, made as large as it likes"
    musts = {
        "no field of the verdict moves": modest.duel == boastful.duel,
        "no score moves": _scores_of(modest) == _scores_of(boastful),
    }
    return conclude(boastful.duel.margin - modest.duel.margin, said, musts)


def _scores_of(found: Decision) -> tuple[object, ...]:
    """Everything of a side that is made of the teacher's numbers."""
    side, figures = found.challenger, found.challenger.figures
    legs = (side.mean_r_leg, side.mean_g_leg, side.mean_a_leg, side.g_bind_frac, side.a_bind_frac)
    return (side.reason, *legs, figures.mean_b, figures.b_gate_pass_rate, figures.mean_eta)


def _run_selection(ground: Ground) -> Finding:
    edge = max(0.02, 1.5 * ground.knobs.min_margin)
    own: list[float | None] = [-0.01] * 3 + [None] * 9
    found = _duel(own, [-0.01 - edge] * 3 + [_HARD] * 9, ground).duel
    said = f"3 of 12 turns answered, {edge:.2f} better there; the king scores {signed(_HARD, 3)} on the 9 others: "
    said += f"{found.paired} turns are compared, margin {signed(found.margin)}"
    musts = {"it is not crowned": not found.challenger_wins, "every turn is compared": found.paired == len(own)}
    return conclude(found.margin, said, musts)


def _run_duplicates(ground: Ground) -> Finding:
    """One licensed, good turn among unlicensed, poor ones, sent again and again."""
    honest = honest_rows(ground, CHALLENGER)[:_TRIED]
    poor = change_pairs(honest, lambda _, __, p: replace(p, c_yc_za=p.c_yc_e, c_ya_za=p.c_ya_e))
    rows, king = (honest[0], *poor[1:]), honest_rows(ground, KING)[:_TRIED]
    again = (*rows, *[honest[0]] * (9 * len(rows)))
    once, often = decide(rows, king, ground.knobs), decide(again, king, ground.knobs)
    said = f"a good turn sent {9 * len(rows) + 1} times: margin {signed(often.duel.margin)}, "
    said += f"{often.duel.challenger_duplicates} rows too many are told"
    musts = {
        "each turn counts once": often.duel.differences == once.duel.differences,
        "the licence counts each turn once": once.challenger.figures == often.challenger.figures,
        "the last row of a turn stands": keep_last(again) == keep_last(rows),
        "the rows too many are told": often.duel.challenger_duplicates == len(again) - len(rows),
        "it is not crowned": not often.duel.challenger_wins,
    }
    return conclude(often.duel.margin - once.duel.margin, said, musts)


ATTACKS: Final = (
    Attack(id="RT-4/A4", name="king copy", run=_run_copy),
    Attack(id="A11", name="variance compression", run=_run_even_edge),
    Attack(id="A7", name="NaN and inf games", run=_run_broken_numbers),
    Attack(id="RT-3", name="lpA inflation", run=inflate),
    Attack(id="forfeit-selection", name="forfeit selection", run=_run_selection),
    Attack(id="duplicate-rows", name="duplicate turn rows", run=_run_duplicates),
)
