"""Rows: what was measured of one side on one turn, as public records and our own evidence both hold it.

A pair is one teacher reference against one rollout of the side; a row is one turn of one side. Every ``lpC`` number is
the frozen teacher's log-probability of a text, in nats a UTF-8 byte; every ``lpA`` number is the side's own and is
told, never scored (facts 1.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Pair", "Row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One teacher reference against one rollout. The names of the numbers are those of public records without ``lp``.

    Args:
        z_a: The side's thought.
        y_a: The side's action.
        c_yc_za: The reference action after the side's thought.
        c_yc_e: The reference action after the empty thought.
        c_yc_zc: The reference action after the teacher's own thought; telemetry.
        c_ya_za: The side's action after its own thought.
        c_ya_e: The side's action after the empty thought.
        c_ya_zc: The side's action after the teacher's thought.
        c_za_x: The side's thought after the turn's prefix.
        c_zc_x: The teacher's thought after the turn's prefix.
        a: The side's own log-probabilities by their public name, such as ``lpA_yc_za``; only the v2 rule reads them.
        bank: Lift over the published priors (``L2_bank``); only the v2 rule's telemetry reads it.
    """

    z_a: str
    y_a: str
    c_yc_za: float
    c_yc_e: float
    c_yc_zc: float | None = None
    c_ya_za: float | None = None
    c_ya_e: float | None = None
    c_ya_zc: float | None = None
    c_za_x: float | None = None
    c_zc_x: float | None = None
    a: Mapping[str, float | None] | None = None
    bank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One turn of one side.

    Args:
        turn: The turn's id.
        miner: The side's name.
        pairs: Its pairs; none where the side forfeited the turn.
        bank_frac: Share of its pairs above every published prior; only the v2 rule reads it.
    """

    turn: str
    miner: str
    pairs: tuple[Pair, ...] | None
    bank_frac: float | None = None

    @property
    def forfeit(self) -> bool:
        """Whether the side produced no action; an empty tuple of pairs is no forfeit (facts 1.4)."""
        return self.pairs is None
