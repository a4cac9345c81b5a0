"""Numbers that cannot be used, and whose turn they cost: the safe era's answer to missing and non-finite echoes.

A number of an echo that holds a side's own text is that side's to answer for: it forfeits the turn, king or challenger
alike, so that no text is worth writing for the number it breaks. A number of the teacher's texts alone is nobody's
fault: the turn is left out for both, and told. A number that came has to be finite; one that the rule reads has to have
come. The network's era mends nothing (facts 1.2, 16 A7).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.rows import Pair, Row

__all__ = ["Fault", "Found", "Mended", "Owner", "keep_last", "mend"]

Owner: TypeAlias = Literal["challenger", "king", "teacher"]
Found: TypeAlias = Literal["missing", "not-finite", "no-pairs"]

_OWN: Final = ("c_yc_za", "c_za_x", "c_ya_za", "c_ya_e", "c_ya_zc")
_TEACHERS: Final = ("c_yc_e", "c_zc_x", "c_yc_zc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One turn that was mended.

    Args:
        turn: The turn's id.
        owner: Whose text broke the number: a side, which forfeits the turn, or the teacher, which leaves it out.
        member: The number's name in public rows, or ``pairs``.
        found: What was wrong with it.
    """

    turn: str
    owner: Owner
    member: str
    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Rows fit for scoring, and what was done to make them so.

    Args:
        challenger: The challenger's rows.
        king: The king's rows.
        faults: The first fault of each owner on each turn, in order of turns.
        challenger_duplicates: Rows of the challenger's that came beyond one a turn.
        king_duplicates: The same of the king's.
    """

    challenger: tuple[Row, ...]
    king: tuple[Row, ...]
    challenger_duplicates: int
    king_duplicates: int
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Which numbers the rule reads of a pair; ``thoughts`` says that it reads at least one ``c_zc_x`` of a turn."""

    own: frozenset[str]
    thoughts: bool


def mend(challenger: Sequence[Row], king: Sequence[Row], knobs: Knobs) -> Mended:
    """The rows as the era scores them; mending twice changes nothing more.

    In the safe era only the last row of a turn stays, a turn with a fault of the teacher's leaves both sides, and a row
    with a fault of the side's becomes a forfeit, which a row with an empty tuple of pairs is, too. In the network's era
    every row stays as it is.
    """
    own, other = _count_duplicates(challenger), _count_duplicates(king)
    if knobs.era is Era.NETWORK:
        return Mended(challenger=tuple(challenger), king=tuple(king), challenger_duplicates=own, king_duplicates=other)
    kept = keep_last(challenger), keep_last(king)
    reading = _reading_of(knobs)
    teachers = {fault.turn: fault for rows in kept for row in rows if (fault := _find_teachers(row, reading))}
    scored = [[row for row in rows if row.turn not in teachers] for rows in kept]
    owns = [
        {fault.turn: fault for row in rows if (fault := _find_own(row, reading, owner))}
        for rows, owner in zip(scored, ("challenger", "king"), strict=True)
    ]
    faults = [fault for found in (teachers, *owns) for fault in found.values()]
    return Mended(
        challenger=_forfeit(scored[0], owns[0]),
        king=_forfeit(scored[1], owns[1]),
        challenger_duplicates=own,
        king_duplicates=other,
        faults=tuple(sorted(faults, key=lambda fault: (fault.turn, fault.owner))),
    )


def keep_last(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The last row of each turn, in order of the turns' ids."""
    last = {row.turn: row for row in rows}
    return tuple(last[turn] for turn in sorted(last))


def _forfeit(rows: Iterable[Row], found: Mapping[str, Fault]) -> tuple[Row, ...]:
    return tuple(replace(row, pairs=None) if row.turn in found else row for row in rows)


def _count_duplicates(rows: Sequence[Row]) -> int:
    return len(rows) - len({row.turn for row in rows})


def _reading_of(knobs: Knobs) -> _Reading:
    grounded = knobs.score_mode != "reason"
    licensed = knobs.causality_gamma > 0
    acted = knobs.score_mode == "min_rga"
    names = {
        "c_yc_za": True,
        "c_za_x": grounded,
        "c_ya_za": licensed,
        "c_ya_e": licensed or acted,
        "c_ya_zc": acted,
    }
    return _Reading(own=frozenset(name for name, read in names.items() if read), thoughts=grounded)


def _find_own(row: Row, reading: _Reading, owner: Owner) -> Fault | None:
    """The first number that the side itself broke."""
    if row.pairs is None:
        return None
    if not row.pairs:
        return Fault(turn=row.turn, owner=owner, member="pairs", found="no-pairs")
    return next(_find_broken(row, row.pairs, _OWN, reading.own, owner), None)


def _find_teachers(row: Row, reading: _Reading) -> Fault | None:
    """The first number that is broken by the teacher's texts alone."""
    if not row.pairs:
        return None
    broken = next(_find_broken(row, row.pairs, _TEACHERS, frozenset(), "teacher"), None)
    if broken is None and reading.thoughts and all(pair.c_zc_x is None for pair in row.pairs):
        return Fault(turn=row.turn, owner="teacher", member=_public("c_zc_x"), found="missing")
    return broken


def _find_broken(
    row: Row, pairs: Iterable[Pair], names: Iterable[str], read: frozenset[str], owner: Owner
) -> Iterator[Fault]:
    for pair in pairs:
        for name in names:
            number: float | None = getattr(pair, name)
            if number is None:
                if name in read:
                    yield Fault(turn=row.turn, owner=owner, member=_public(name), found="missing")
            elif not math.isfinite(number):
                yield Fault(turn=row.turn, owner=owner, member=_public(name), found="not-finite")


def _public(name: str) -> str:
    """The name of a number in public rows."""
    return f"lpC{name[1:]}"
