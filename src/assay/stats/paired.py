"""McNemar's exact test of matched pairs with a yes-or-no outcome.

It takes every pair as independent, so it is for pairs without clusters, or beside a cluster-aware test.

Source: McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12 (1947);
the exact form is the sign test of the pairs that differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from assay.kernel.errors import BadInput

__all__ = ["McNemar", "mcnemar", "mcnemar_exact"]


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

    Args:
        won: Pairs in which only the treatment succeeded.
        lost: Pairs in which only the control succeeded.

    Raises:
        BadInput: One of them is negative.

    Complexity: The smaller of the two, times the length of ``2^(won + lost)``.

    >>> mcnemar_exact(6, 0)
    Fraction(1, 32)
    """
    if min(won, lost) < 0:
        msg = f"numbers of pairs are not negative, as {won} won and {lost} lost are"
        raise BadInput(msg)
    return min(Fraction(1), Fraction(2 * _count_up_to(won + lost, min(won, lost)), 2 ** (won + lost)))


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


def _count_up_to(trials: int, most: int) -> int:
    """In how many of the 2^trials outcomes there are at most *most* successes."""
    steps = range(1, most + 1)
    return sum(accumulate(steps, lambda ways, k: ways * (trials - k + 1) // k, initial=1))
