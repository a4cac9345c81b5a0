"""A side's figures by the dialect of its turns: told beside the verdict, never part of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.kernel.errors import BadInput
from assay.labs.duel.faults import mend
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.legs import TurnScores
from assay.labs.duel.rows import Row
from assay.labs.duel.sides import Side, describe

__all__ = ["DialectFigures", "by_dialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectFigures:
    """The turns of one dialect.

    Args:
        n_turns: Rows of the dialect.
        n_valid: Those with an action that could be read.
        parse_rate: Their share.
        side: The summary of these rows alone.
    """

    n_turns: int
    n_valid: int
    parse_rate: float
    side: Side


def by_dialect(
    rows: Sequence[Row], kinds: Mapping[str, str], knobs: Knobs, scores: TurnScores | None = None
) -> dict[str, DialectFigures]:
    """The figures of each dialect that the rows have, in order of the dialects' names; a forfeit is no action read.

    Args:
        rows: One side's rows; under the safe era they are mended first.
        kinds: Dialect of each turn by its id.
        knobs: The contract's numbers.
        scores: Scores under the same knobs that were computed before.

    Raises:
        BadInput: A row's turn has no dialect.
        EchoMissing: As :func:`assay.labs.duel.sides.summarise`.
        NonFinite: As :func:`assay.labs.duel.sides.summarise`.
    """
    scores = scores or TurnScores(knobs)
    groups: dict[str, list[Row]] = {}
    for row in mend(rows, (), knobs).challenger:
        if row.turn not in kinds:
            msg = f"expected the dialect of every turn, got none for turn {row.turn}"
            raise BadInput(msg, turn=row.turn)
        groups.setdefault(kinds[row.turn], []).append(row)
    return {kind: _figure(groups[kind], scores) for kind in sorted(groups)}


def _figure(rows: Sequence[Row], scores: TurnScores) -> DialectFigures:
    valid = sum(not row.forfeit for row in rows)
    return DialectFigures(n_turns=len(rows), n_valid=valid, parse_rate=valid / len(rows), side=describe(rows, scores))
