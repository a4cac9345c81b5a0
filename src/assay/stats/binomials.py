"""Exact binomial tests: how surprising a number of successes is, had every trial the same chance.

All probabilities are fractions, so a p-value is compared with a level without rounding.

Source: Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 26 (1934), for the one-sided tails;
the two-sided p-value adds up every outcome that is no likelier than the observed one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final, Literal, TypeAlias

from assay.kernel.errors import BadInput
from assay.stats.exact import read_share

__all__ = ["MOST_TRIALS", "BinomialTest", "Tail", "binomial_test"]

Tail: TypeAlias = Literal["two-sided", "greater", "less"]

MOST_TRIALS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BinomialTest:
    """The outcome of a binomial test.

    Args:
        successes: Trials that succeeded, pooled.
        trials: All trials, pooled.
        null: The chance that each trial has under the hypothesis.
        alternative: What counts as extreme: few successes, many, or unlikely numbers of them.
        p: Probability under the hypothesis of what is at least as extreme as the observed number.
    """

    successes: int
    trials: int
    null: Fraction
    alternative: Tail
    p: Fraction


def binomial_test(successes: int, trials: int, null: float, *, alternative: Tail = "two-sided") -> BinomialTest:
    """The exact test of *successes* out of *trials*, each with the chance *null*.

    Raises:
        BadInput: The counts are not ``0 <= successes <= trials`` with 1 to 20,000 trials, or the chance does not lie
            strictly between 0 and 1.

    Complexity: *trials* products of integers of up to *trials* digits.

    >>> result = binomial_test(0, 75, 0.1, alternative="less")
    >>> result.p == Fraction(9, 10) ** 75, f"{float(result.p):.1e}"
    (True, '3.7e-04')
    """
    if type(trials) is not int or not 1 <= trials <= MOST_TRIALS:
        msg = f"a number of trials is a whole number from 1 to {MOST_TRIALS:,}, not {trials!r}"
        raise BadInput(msg)
    if type(successes) is not int or not 0 <= successes <= trials:
        msg = f"of {trials} trials, 0 to {trials} can succeed, not {successes!r}"
        raise BadInput(msg)
    chance = read_share(null, "the chance of a trial under the hypothesis")
    weights = _weigh(trials, chance)
    if alternative == "less":
        extreme = sum(islice(weights, successes + 1))
    elif alternative == "greater":
        extreme = sum(islice(weights, successes, None))
    else:
        observed = next(islice(_weigh(trials, chance), successes, None))
        extreme = sum(weight for weight in weights if weight <= observed)
    p = Fraction(extreme, chance.denominator**trials)
    return BinomialTest(successes=successes, trials=trials, null=chance, alternative=alternative, p=p)


def _weigh(trials: int, chance: Fraction) -> Iterator[int]:
    """The probability of each number of successes, times the *trials*-th power of the chance's denominator."""
    win, lose = chance.numerator, chance.denominator - chance.numerator
    weight = lose**trials
    for successes in range(trials + 1):
        yield weight
        weight = weight * (trials - successes) * win // ((successes + 1) * lose)
