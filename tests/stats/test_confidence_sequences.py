"""A confidence sequence is right as often as it says at all looks together, and comes out the same on any machine."""

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import Stream
from assay.stats.confidence_sequences import Bounds, MeanWatch
from assay.stats.draws import Draws

ALPHA = 0.05
TURNS = 150
DUELS = 200
MOST_ERRORS = DUELS * ALPHA + 3 * math.sqrt(DUELS * ALPHA * (1 - ALPHA))
"""Three standard deviations above what alpha allows."""

Noise = Callable[[Draws], Iterator[int]]


def fair(draws: Draws) -> Iterator[int]:
    """Plus or minus 20."""
    yield from (40 * int(coin) - 20 for coin in draws.below(2, TURNS))


def skewed(draws: Draws) -> Iterator[int]:
    """Nine times out of ten -5, else 45."""
    yield from (45 if face == 0 else -5 for face in draws.below(10, TURNS))


def wilder_when_losing(draws: Draws) -> Iterator[int]:
    """Fair at every turn, but five times as large once more has been lost than won."""
    total = 0
    for coin in draws.below(2, TURNS):
        step = (2 * int(coin) - 1) * (50 if total < 0 else 10)
        total += step
        yield step


def watch_null(noise: Noise, name: str, bar: int) -> int:
    """In how many of the simulated nulls the sequence ever left the bar, in thousandths."""
    errors = 0
    for number in range(DUELS):
        watch = MeanWatch(ALPHA, 0.1, bar=bar / 1000, planned=TURNS)
        for step in noise(Draws(Stream(number, name).key)):
            watch.add((bar + step) / 1000)
            if watch.above or watch.below:
                errors += 1
                break
    return errors


@pytest.mark.parametrize("noise", [fair, skewed, wilder_when_losing])
def test_a_true_mean_at_the_bar_is_left_no_more_often_than_alpha_allows(noise):
    assert watch_null(noise, noise.__name__, bar=2) <= MOST_ERRORS


@pytest.mark.parametrize("noise", [fair, skewed, wilder_when_losing])
def test_a_test_of_fixed_size_that_is_repeated_fails_the_same_check(noise):
    errors = 0
    for number in range(DUELS):
        values = np.fromiter(noise(Draws(Stream(number, noise.__name__).key)), dtype=np.float64)
        looks = np.arange(1, TURNS + 1)
        means = np.cumsum(values) / looks
        spread = np.sqrt(np.maximum(np.cumsum(values**2) / looks - means**2, 0) / looks)
        errors += bool(np.any(np.abs(means[10:]) > 2 * spread[10:]))
    assert errors > 1.5 * MOST_ERRORS


def exact_capital(values: list[float], bar: float, clip: float, stakes: list[Fraction]) -> Fraction:
    capital = Fraction(1)
    for value, stake in zip(values, stakes, strict=True):
        inside = min(max(Fraction(repr(value)), -Fraction(repr(clip))), Fraction(repr(clip)))
        capital *= 1 + stake * (inside - Fraction(repr(bar)))
    return capital


def stakes_of(values: list[float], clip: float, planned: int, alpha: float) -> list[float]:
    """The stakes by the paper's formula, in floats."""
    stakes, seen, squares = [], [], clip * clip / 4
    for value in values:
        tuned = 4 * math.log(2 / alpha) / planned
        stakes.append(min(1 / (2 * clip), math.sqrt(tuned / (squares / (len(seen) + 1)))))
        seen.append(min(max(value, -clip), clip))
        squares += (seen[-1] - sum(seen) / (len(seen) + 1)) ** 2
    return stakes


@settings(max_examples=25)
@given(st.lists(st.floats(-0.15, 0.15).map(lambda value: round(value, 4)), min_size=1, max_size=40))
def test_the_rejections_are_those_of_the_formula(values):
    watch = MeanWatch(0.2, 0.1, bar=0.01, planned=20)
    stakes = [Fraction(stake) for stake in stakes_of(values, 0.1, 20, 0.2)]
    for value in values:
        watch.add(value)
    up = exact_capital(values, 0.01, 0.1, stakes)
    down = exact_capital([-value for value in values], -0.01, 0.1, stakes)
    assert watch.clipped == sum(abs(value) > 0.1 for value in values)
    for capital, rejected in ((up, watch.above), (down, watch.below)):
        if abs(capital - 10) > Fraction(1, 10**6):  # floats and decimals may differ where the capital is at the limit
            assert rejected == (capital >= 10)


@settings(max_examples=25)
@given(st.lists(st.sampled_from([-0.1, -0.02, 0.0, 0.01, 0.03, 0.1]), min_size=1, max_size=60))
def test_bounds_agree_with_what_is_rejected_at_the_bar(values):
    watch = MeanWatch(0.1, 0.1, bar=0.002, planned=60)
    for value in values:
        watch.add(value)
    bounds = watch.bounds()
    assert -0.1 <= bounds.lower < bounds.upper <= 0.1
    assert watch.above == (bounds.lower >= 0.002)
    assert watch.below == (bounds.upper <= 0.002)


def test_a_bound_is_where_a_watch_with_that_bar_begins_to_reject():
    values = [0.03, -0.01, 0.04, 0.02, 0.0, 0.05] * 20
    bounds = filled(values, 0.0).bounds()
    step = 0.1 / 2**27
    assert filled(values, bounds.lower - step).above
    assert not filled(values, bounds.lower + step).above
    assert filled(values, bounds.upper + step).below
    assert not filled(values, bounds.upper - step).below


def filled(values: list[float], bar: float) -> MeanWatch:
    watch = MeanWatch(0.05, 0.1, bar=bar, planned=120)
    for value in values:
        watch.add(value)
    return watch


def test_before_anything_is_seen_nothing_is_rejected():
    watch = MeanWatch(0.05, 0.1, bar=0.0, planned=10)
    assert watch.bounds() == Bounds(lower=-0.1, upper=0.1)
    assert (watch.above, watch.below, watch.turns, watch.clipped) == (False, False, 0, 0)


def test_equal_values_are_certain_after_a_while_and_no_stake_divides_by_nothing():
    watch = MeanWatch(0.05, 0.1, bar=0.0, planned=100)
    for _ in range(100):
        watch.add(0.0)
    assert not watch.above
    assert not watch.below
    assert watch.bounds().lower < 0 < watch.bounds().upper


def test_values_beyond_the_range_count_as_its_ends():
    wild, tame = MeanWatch(0.05, 0.1, bar=0.0, planned=60), MeanWatch(0.05, 0.1, bar=0.0, planned=60)
    for sign in (1, 1, -1) * 20:
        wild.add(sign * 1e6)
        tame.add(sign * 0.1)
    assert (wild.clipped, tame.clipped) == (60, 0)
    assert wild.bounds() == tame.bounds()


def test_the_program_s_own_decimal_settings_change_nothing():
    values = [0.0123456789012345, -0.03, 0.0444444444444444] * 30
    expected = filled(values, 0.001).bounds()
    with localcontext() as context:
        context.prec, context.rounding = 3, ROUND_UP
        assert filled(values, 0.001).bounds() == expected
        assert +Decimal("1.2345") == Decimal("1.24")


def test_frozen_numbers_come_out_to_the_last_digit():
    values = [(turn * 37 % 41 - 16) / 1000 for turn in range(120)]
    assert filled(values, 0.001).bounds() == Bounds(lower=-0.0022826524451375007, upper=0.010881509445607663)


@pytest.mark.parametrize(
    "arguments",
    [
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"alpha": math.nan},
        {"clip": 0.0},
        {"clip": -0.1},
        {"clip": math.inf},
        {"bar": 0.1},
        {"bar": -0.1},
        {"bar": math.nan},
        {"planned": 0},
        {"planned": True},
    ],
)
def test_what_cannot_be_watched_is_refused(arguments):
    arguments = {"alpha": 0.05, "clip": 0.1, "bar": 0.0, "planned": 10} | arguments
    with pytest.raises(BadInput):
        MeanWatch(arguments["alpha"], arguments["clip"], bar=arguments["bar"], planned=arguments["planned"])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_and_not_counted(value):
    watch = MeanWatch(0.05, 0.1, bar=0.0, planned=10)
    with pytest.raises(BadInput):
        watch.add(value)
    assert watch.turns == 0
