"""McNemar's exact test of matched pairs with a yes-or-no outcome.

It takes every pair as independent, so it is for pairs without clusters, or beside a cluster-aware test.

Source: McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12 (1947);
the exact form is the sign test of the pairs that differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

from assay.kernel.errors import BadInput

__all__ = ["MOST_EXACT", "McNemar", "mcnemar", "mcnemar_exact"]

MOST_EXACT: Final = 20_000
"""Pairs that differ, up to which the p-value is exact."""

_PRECISION: Final = 256  # bits that are kept of each step above that


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """The outcome of McNemar's test.

    ``statistic`` is the chi-squared statistic with Edwards's correction, for display; ``p`` is exact and two-sided.
    """

    pairs: int
    won: int
    lost: int
    statistic: Fraction
    p: Fraction


def mcnemar_exact(won: int, lost: int) -> Fraction:
    """The two-sided p-value ``min(1, 2 P(X <= min(won, lost)))``, X binomial over ``won + lost`` fair trials.

    It is exact up to :data:`MOST_EXACT` pairs that differ. Above that it is an upper bound, the same on any machine:
    every step is rounded up at 256 bits, so it is never below the exact value and exceeds it by less than one part in
    10^60 (for fewer than 10^9 pairs).

    Args:
        won: Pairs in which only the treatment succeeded.
        lost: Pairs in which only the control succeeded.

    Raises:
        BadInput: One of them is negative.

    Complexity: Quadratic in the pairs that differ up to :data:`MOST_EXACT`, linear above.

    >>> mcnemar_exact(6, 0)
    Fraction(1, 32)
    """
    if min(won, lost) < 0:
        msg = f"numbers of pairs are not negative, as {won} won and {lost} lost are"
        raise BadInput(msg)
    trials, most = won + lost, min(won, lost)
    tail = _tail if trials <= MOST_EXACT else _bound_tail
    return min(Fraction(1), 2 * tail(trials, most))


def mcnemar(control: Sequence[bool], treatment: Sequence[bool]) -> McNemar:
    """McNemar's test of pairs.

    Args:
        control: Whether the control arm succeeded, for each pair (true or false, or 1 or 0).
        treatment: The same for the treatment arm.

    Raises:
        BadInput: The lengths differ, or an outcome is neither true nor false.

    >>> mcnemar([False, True, False], [True, True, True])
    McNemar(pairs=3, won=2, lost=0, statistic=Fraction(1, 2), p=Fraction(1, 2))
    """
    if len(control) != len(treatment):
        msg = f"{len(control)} outcomes of the control came with {len(treatment)} of the treatment; they go in pairs"
        raise BadInput(msg)
    if any(outcome not in (0, 1) for outcome in (*control, *treatment)):
        msg = "McNemar's test is for outcomes that are true or false (1 or 0); compare others by their means"
        raise BadInput(msg)
    won = sum(1 for before, after in zip(control, treatment, strict=True) if after and not before)
    lost = sum(1 for before, after in zip(control, treatment, strict=True) if before and not after)
    return McNemar(
        pairs=len(control),
        won=won,
        lost=lost,
        statistic=Fraction((abs(won - lost) - 1) ** 2, won + lost) if won + lost else Fraction(0),
        p=mcnemar_exact(won, lost),
    )


def _tail(trials: int, most: int) -> Fraction:
    """The probability of at most *most* successes in so many fair trials."""
    steps = range(1, most + 1)
    ways = accumulate(steps, lambda ways, k: ways * (trials - k + 1) // k, initial=1)
    return Fraction(sum(ways), 2**trials)


def _bound_tail(trials: int, most: int) -> Fraction:
    """A probability that is not below that one, and hardly above it."""
    ways, power = _bound_ways(trials, most)
    total = term = 1 << _PRECISION  # what all terms sum to, with the last, which is the largest, as 1
    for k in range(most, 0, -1):
        term = -(-term * k // (trials - k + 1))
        if term <= 1:
            total += k  # as many are left, and none is larger
            break
        total += term
    return Fraction(ways * total, 2 ** (trials + _PRECISION - power))


def _bound_ways(trials: int, chosen: int) -> tuple[int, int]:
    """Not below the ways to choose so many of the trials: a number, and the power of two it is multiplied by."""
    ways, power = 1 << _PRECISION, -_PRECISION
    for k in range(1, chosen + 1):
        ways = -(-ways * (trials - k + 1) // k)
        excess = ways.bit_length() - 2 * _PRECISION
        if excess > 0:
            ways = -(-ways >> excess)
            power += excess
    return ways, power
