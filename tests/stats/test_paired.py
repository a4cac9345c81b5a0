"""McNemar's exact test, against counting every outcome of fair coins."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.stats.paired import mcnemar, mcnemar_exact


@pytest.mark.parametrize(("won", "lost"), [(b, c) for b in range(7) for c in range(7)])
def test_p_counts_the_outcomes_of_fair_coins(won: int, lost: int) -> None:
    tosses = list(product([0, 1], repeat=won + lost))
    tail = Fraction(sum(sum(toss) <= min(won, lost) for toss in tosses), len(tosses))
    assert mcnemar_exact(won, lost) == min(1, 2 * tail)


@given(st.integers(0, 400), st.integers(0, 400))
def test_p_is_a_probability_and_does_not_take_sides(won: int, lost: int) -> None:
    assert mcnemar_exact(won, lost) == mcnemar_exact(lost, won)
    assert 0 < mcnemar_exact(won, lost) <= 1
    assert mcnemar_exact(won + 1, 0) == Fraction(1, 2**won)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_pairs_are_counted_by_who_won(pairs: list[tuple[bool, bool]]) -> None:
    result = mcnemar([control for control, _ in pairs], [treatment for _, treatment in pairs])
    assert result.won == pairs.count((False, True))
    assert result.lost == pairs.count((True, False))
    assert result.pairs == len(pairs)
    assert result.p == mcnemar_exact(result.won, result.lost)


@pytest.mark.parametrize("outcome", [2, 0.5, -1, None, "1"])
def test_refuses_outcomes_that_are_neither(outcome: Any) -> None:
    with pytest.raises(BadInput, match="true or false"):
        mcnemar([outcome], [True])


def test_refuses_what_are_no_pairs() -> None:
    with pytest.raises(BadInput, match="in pairs"):
        mcnemar([True], [])
    with pytest.raises(BadInput, match="negative"):
        mcnemar_exact(-1, 3)
