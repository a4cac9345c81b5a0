"""Rows that are made up: an honest side and its teacher, in the sizes that real duels have (facts 1.8).

Every number is a multiple of 2^-20, so that lifts that are meant to be equal are equal, whatever they are added to.
An honest thought lifts the one reference that it names and stands within the band; everything else is made of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from assay.kernel.random import Stream
from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.means import deviation, mean
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.rows import Pair, Row
from assay.labs.duel.sides import NETWORK_CAUSALITY_TAU

__all__ = [
    "CHALLENGER",
    "KING",
    "change_pairs",
    "honest_rows",
    "lengthen",
    "level_rows",
    "middle_of",
    "on_grid",
    "plain_rows",
    "write_action",
]

KING: Final = "king"
CHALLENGER: Final = "challenger"

_GRID: Final = 2**20
_THINGS: Final = ("parser", "router", "ledger", "cache", "worker", "lexer", "socket", "layout", "schema", "timer")
_PLACES: Final = ("the last output", "the failing check", "the report above", "the second message", "the long trace")
_TEACHERS_LIFT: Final = 0.09375  # what the teacher's own thought lifts its action by
_ENOUGH: Final = 90  # characters of a thought, above the floor of every public contract


def on_grid(value: float) -> float:
    """The multiple of 2^-20 next to a number.

    >>> on_grid(0.25)
    0.25
    """
    return round(value * _GRID) / _GRID


def honest_rows(ground: Ground, miner: str) -> tuple[Row, ...]:
    """A side that predicts: on every turn its thought names one reference, and stands among the teacher's own.

    Two miners differ in what they name and where they stand, not in how good they are; the teacher's numbers are the
    same for both.
    """
    world = _World(knobs=ground.knobs, references=ground.references, dialects=ground.dialects, seed=ground.seed)
    return _make_rows(world, ground.turns, miner)


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What honest rows depend on."""

    knobs: Knobs
    references: int
    dialects: tuple[str, ...]
    seed: int


@lru_cache(maxsize=8)
def _make_rows(world: _World, turns: int, miner: str) -> tuple[Row, ...]:
    return tuple(_make_row(world, at, miner) for at in range(turns))


def _make_row(world: _World, at: int, miner: str) -> Row:
    shared, own = Stream(world.seed, f"turn/{at}"), Stream(world.seed, f"turn/{at}/{miner}")
    middle, count = _between(shared, -0.22, -0.12), world.references
    thoughts = [middle + _between(shared, -0.03, 0.03) for _ in range(count)]
    empties = [_between(shared, -0.1, -0.06) for _ in range(count)]
    named = _pick(own, count)
    lifts = [_between(own, 0.06, 0.1) if i == named else _between(own, -0.005, 0.005) for i in range(count)]
    pair = Pair(
        z_a=_write_thought(own, world.knobs),
        y_a=write_action(world.dialects[at % len(world.dialects)], _THINGS[own.below(len(_THINGS))]),
        c_yc_za=0.0,
        c_yc_e=0.0,
        c_za_x=on_grid((thoughts[named] + mean(thoughts)) / 2),
    )
    numbers = zip(empties, lifts, thoughts, strict=True)
    pairs = [
        replace(pair, c_yc_za=empty + lift, c_yc_e=empty, c_yc_zc=empty + _TEACHERS_LIFT, c_zc_x=thought)
        for empty, lift, thought in numbers
    ]
    return Row(turn=_name_turn(at), miner=miner, pairs=tuple(_license(pair, world.knobs) for pair in pairs))


def _name_turn(at: int) -> str:
    return f"turn-{at:04}"


def _write_thought(stream: Stream, knobs: Knobs) -> str:
    place, step = _PLACES[stream.below(len(_PLACES))], stream.below(900) + 100
    return lengthen(f"Before anything is changed I want to know why {place} speaks of step {step} first.", knobs)


def _license(pair: Pair, knobs: Knobs) -> Pair:
    """The pair with an action that its thought lifts enough for the licence, and the teacher's thoughts, too."""
    threshold = NETWORK_CAUSALITY_TAU if knobs.era is Era.NETWORK else knobs.causality_tau
    return replace(pair, c_ya_za=-0.125 + on_grid(threshold + 0.04), c_ya_e=-0.125, c_ya_zc=-0.0625)


def _between(stream: Stream, low: float, high: float) -> float:
    start = round(low * _GRID)
    return (start + stream.below(round(high * _GRID) - start)) / _GRID


def _pick(stream: Stream, count: int) -> int:
    """The first reference in four of seven cases, the second in two, the third in one, as the teacher has its ways."""
    drawn = stream.below(7)
    return min(0 if drawn < 4 else 1 if drawn < 6 else 2, count - 1)


def lengthen(thought: str, knobs: Knobs) -> str:
    """The thought, said again until it is as long as the contract asks for."""
    wanted = max(_ENOUGH, knobs.min_thought_chars)
    return " ".join([thought] * (wanted // (len(thought) + 1) + 1))


def write_action(dialect: str, thing: str) -> str:
    """An action in a dialect, about a thing."""
    match dialect:
        case "tool_call":
            return f'<tool_call>\n{{"name": "run", "arguments": {{"command": "grep -rn {thing} src"}}}}\n</tool_call>'
        case "boxed":
            return f"\\boxed{{{thing}}}"
        case "terminus_json":
            return f'{{"analysis": "short", "plan": "look", "commands": [{{"keystrokes": "grep -rn {thing} src"}}]}}'
        case "text":
            return f"The answer comes down to {thing}."
        case _:
            return f"```bash\ngrep -rn {thing} src\n```"


def middle_of(row: Row) -> float:
    """The middle of the band: the mean of the teacher's own thoughts; 0 for a row without any."""
    thoughts = [pair.c_zc_x for pair in row.pairs or () if pair.c_zc_x is not None]
    return mean(thoughts) if thoughts else 0.0


def change_pairs(rows: Sequence[Row], change: Callable[[Row, int, Pair], Pair]) -> tuple[Row, ...]:
    """The rows with every pair changed, given its row and its place there; the challenger's from then on."""
    return tuple(
        replace(
            row,
            miner=CHALLENGER,
            pairs=tuple(change(row, at, pair) for at, pair in enumerate(row.pairs)) if row.pairs is not None else None,
        )
        for row in rows
    )


def plain_rows(
    rows: Sequence[Row], *, lift: float, offset: float, thought: Callable[[int], str] | None = None
) -> tuple[Row, ...]:
    """The rows of a side whose thought says nothing of this turn's action: it lifts every reference alike.

    Args:
        rows: An honest side's, whose actions it takes.
        lift: What every reference is lifted by, in nats a byte.
        offset: Where the thought stands from the middle of the band, in nats a byte.
        thought: The thought of each turn by its number; the honest one by default.
    """
    numbers = {row.turn: number for number, row in enumerate(rows)}

    def change(row: Row, _: int, pair: Pair) -> Pair:
        text = pair.z_a if thought is None else thought(numbers[row.turn])
        stands = on_grid(middle_of(row)) + on_grid(offset)
        return replace(pair, z_a=text, c_yc_za=pair.c_yc_e + on_grid(lift), c_za_x=stands)

    return change_pairs(rows, change)


def level_rows(ground: Ground, scores: Sequence[float | None], miner: str) -> tuple[Row, ...]:
    """A side with given scores, none above 0, turn by turn; none of a turn is a forfeit.

    Equal scores come of equal numbers, so that equal differences have no spread at all. Under a grounded mode it is G
    that makes them, else the lift.
    """
    return tuple(
        Row(turn=_name_turn(at), miner=miner, pairs=None if score is None else _level_pairs(ground, score))
        for at, score in enumerate(scores)
    )


def _level_pairs(ground: Ground, score: float) -> tuple[Pair, ...]:
    knobs, count = ground.knobs, ground.references
    thoughts = [on_grid(-0.17 + 0.01 * (at - (count - 1) / 2)) for at in range(count)]
    empty = -0.0625
    pair = Pair(
        z_a=lengthen("The order in which both messages arrive has to be understood before the rest.", knobs),
        y_a=write_action(ground.dialects[0], _THINGS[0]),
        c_yc_za=empty + (on_grid(0.02) if ground.grounded else score),
        c_yc_e=empty,
        c_yc_zc=empty + _TEACHERS_LIFT,
        c_za_x=mean(thoughts) + _width_of(thoughts, knobs) - score,
    )
    return tuple(replace(_license(pair, knobs), c_zc_x=thought) for thought in thoughts)


def _width_of(thoughts: Sequence[float], knobs: Knobs) -> float:
    """Half the band of the teacher's thoughts."""
    spread = deviation(thoughts) if len(thoughts) > 1 else 0.0
    return max(knobs.band_c * spread, knobs.band_floor)
