"""Which tokens of a text lie in a span, and what their log-probabilities sum to (facts 2.2)."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isfinite

__all__ = ["SpanScore", "count_prompt", "measure_span", "sum_exactly"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanScore:
    """What the tokens of a span were answered with.

    Args:
        prompt: Tokens before the span.
        total: Sum over the tokens that have a log-probability, in nats.
        tokens: How many of them there are.
        unusable: Whether a token has none, or a positive one: the mark of a position that was served from a cache.
    """

    prompt: int
    total: float
    tokens: int
    unusable: bool


def sum_exactly(values: Sequence[float]) -> float:
    """The sum, rounded once, the same in every release of Python; infinite or not a number where one of them is.

    Infinite too where it is beyond every float, as a hostile server may make it.
    """
    try:
        return fsum(values) if all(map(isfinite, values)) else sum(values)
    except OverflowError:
        return sum(values)


def count_prompt(offsets: Sequence[tuple[int, int]], start: int) -> int:
    """How many tokens begin before ``start``; one that straddles it belongs to the prompt."""
    return bisect_left([first for first, _ in offsets], start)


def measure_span(
    offsets: Sequence[tuple[int, int]], logprobs: Sequence[float | None], start: int, *, generated: int = 1
) -> SpanScore:
    """The sum over the tokens that begin at or after ``start``.

    Args:
        offsets: Where each token of the text begins and ends, in code points.
        logprobs: One for each token and, behind them, one for each generated token.
        start: Where the span begins.
        generated: Generated tokens at the end, which belong to nobody's text.
    """
    prompt = count_prompt(offsets, start)
    span = logprobs[prompt : len(logprobs) - generated]
    known = [value for value in span if value is not None]
    return SpanScore(
        prompt=prompt,
        total=sum_exactly(known),
        tokens=len(known),
        unusable=any(value is None or value > 0 for value in span),
    )
