"""Whether a board's scores go with an outside benchmark, and what may be said of it.

A duel's score is measured by a teacher on turns of its own; that it means anything elsewhere is a claim about other
data. Here the claim is put to those data: the rank correlation of the board's scores with benchmark results over all
models that have both, and the pooled results of the crowned ones against a registered rate, such as that of the
untouched base model. One benchmark run of few tasks is no evidence on a single model, so none is judged alone.

The sentence that may be said follows from the data by a fixed rule: unless every obstacle is out of the way it denies
the claim, and names what stands in the way. An interval describes; the exact tests decide.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from assay.kernel.errors import BadInput
from assay.stats.binomials import BinomialTest, binomial_test
from assay.stats.exact import read_fraction, read_share
from assay.stats.rank_correlation import (
    PermutationPlan,
    RankCorrelation,
    RankInterval,
    approximate_p,
    rank_correlation,
    rank_interval,
)

__all__ = [
    "BoardEntry",
    "Comparison",
    "Isomorphism",
    "IsomorphismRule",
    "Kings",
    "Obstacle",
    "Panel",
    "Solved",
    "compare_board",
]

ObstacleCode: TypeAlias = Literal[
    "too-few-models",
    "no-order",
    "inverted",
    "no-positive-correlation",
    "sign-flip",
    "no-kings",
    "kings-not-above-null",
]

_LEAST_MODELS: Final = 5
"""With fewer, no pairing is rare enough for any usual level: 4 models give p = 1/12 at best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardEntry:
    """A model on the board: its score there, such as its margin in its duel, and whether it was crowned by one."""

    model: str
    score: float
    crowned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A model's result on the benchmark."""

    solved: int
    total: int

    @property
    def rate(self) -> Fraction:
        """Share of the tasks that were solved."""
        return Fraction(self.solved, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A published correlation of the same score and benchmark on other models."""

    name: str
    rho: float
    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IsomorphismRule:
    """What the sentence hangs on, registered before the results are looked at.

    Args:
        benchmark: The benchmark's name.
        null_rate: The share of tasks that crowned models have to exceed, strictly between 0 and 1.
        alpha: Level of every test.
        seed: Of the drawn pairings, where there are more than ten models.
        permutations: How many of them are drawn.
    """

    benchmark: str
    null_rate: float
    alpha: float = 0.05
    seed: int = 0
    permutations: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One model that has both a score and a result."""

    model: str
    score: float
    crowned: bool
    result: Solved


@dataclass(frozen=True, slots=True, kw_only=True)
class Kings:
    """The pooled results of the crowned models, against the registered rate from either side."""

    models: tuple[str, ...]
    pooled: Solved
    below: BinomialTest
    above: BinomialTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One thing that stands between the data and a claim of capability."""

    code: ObstacleCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Isomorphism:
    """What the comparison shows.

    Args:
        rule: The registered rule.
        compared: Models with both, in the order of the board.
        only_on_board: Models without a benchmark result.
        only_benched: Models with a result that are not on the board.
        correlation: None where there is no order to correlate, or fewer than two models.
        interval: Of the correlation, approximate; None where there is none.
        panel: The panel that the board is held against.
        panel_p: Two-sided p-value of the panel's coefficient by the t distribution.
        kings: None where no crowned model has a result.
        obstacles: What stands in the way of a claim, in a fixed order.
    """

    rule: IsomorphismRule
    compared: tuple[Comparison, ...]
    only_on_board: tuple[str, ...]
    only_benched: tuple[str, ...]
    correlation: RankCorrelation | None
    interval: RankInterval | None
    panel: Panel | None
    panel_p: float | None
    kings: Kings | None
    obstacles: tuple[Obstacle, ...]

    @property
    def allowed(self) -> bool:
        """Whether a claim of capability may be made at all, within the words of :attr:`claim`."""
        return not self.obstacles

    @property
    def alarms(self) -> tuple[Obstacle, ...]:
        """The obstacles that speak against the claim, and not only for want of evidence."""
        loud = ("inverted", "sign-flip")
        below = self.kings is not None and self.kings.below.p <= read_share(self.rule.alpha, "alpha")
        return tuple(
            item for item in self.obstacles if item.code in loud or (item.code == "kings-not-above-null" and below)
        )

    @property
    def claim(self) -> str:
        """The sentence that the data allow."""
        if self.obstacles:
            return f"Distillation meter; no capability claim: {'; '.join(item.message for item in self.obstacles)}."
        assert self.correlation is not None  # noqa: S101 - its absence is an obstacle
        return (
            f"On these {self.correlation.pairs} models a higher score goes with a better result on "
            f"{self.rule.benchmark} (rho {self.correlation.rho:+.3f}), and crowned models solve more than "
            f"{self.rule.null_rate:.1%} of it; nothing follows for other models or another benchmark."
        )


def compare_board(
    board: Sequence[BoardEntry],
    results: Mapping[str, Solved],
    rule: IsomorphismRule,
    *,
    panel: Panel | None = None,
) -> Isomorphism:
    """The board held against the benchmark, and against a reference panel where there is one.

    Args:
        board: Models and their scores.
        results: Benchmark results by the model's name.
        rule: The registered rule.
        panel: What was published of the same score and benchmark on other models.

    Raises:
        BadInput: A model stands on the board twice, a score is not finite, a result is no share of a positive number
            of tasks, or a number of the rule or the panel is out of range.
    """
    _check(board, results)
    alpha = read_share(rule.alpha, "alpha")
    compared = tuple(
        Comparison(model=entry.model, score=entry.score, crowned=entry.crowned, result=results[entry.model])
        for entry in board
        if entry.model in results
    )
    correlation = _correlate(compared, rule)
    panel_p = None if panel is None else approximate_p(panel.rho, panel.models)
    kings = _pool_kings(compared, rule)
    opposed = panel if panel is not None and panel_p is not None and Fraction(panel_p) <= alpha else None
    obstacles = (*_judge_order(len(compared), correlation, alpha, opposed), *_judge_kings(kings, alpha))
    names = {entry.model for entry in board}
    return Isomorphism(
        rule=rule,
        compared=compared,
        only_on_board=tuple(entry.model for entry in board if entry.model not in results),
        only_benched=tuple(sorted(set(results) - names)),
        correlation=correlation,
        interval=rank_interval(correlation.rho, correlation.pairs) if correlation else None,
        panel=panel,
        panel_p=panel_p,
        kings=kings,
        obstacles=obstacles,
    )


def _check(board: Sequence[BoardEntry], results: Mapping[str, Solved]) -> None:
    seen: set[str] = set()
    for entry in board:
        read_fraction(entry.score)
        if entry.model in seen:
            msg = f"the board names {entry.model!r} twice; give each model one score"
            raise BadInput(msg)
        seen.add(entry.model)
    for model, result in results.items():
        solved, total = result.solved, result.total
        if type(solved) is not int or type(total) is not int or not 0 <= solved <= total:
            msg = f"{model!r}: expected 0 <= solved <= total in whole numbers, got {solved!r} of {total!r}"
            raise BadInput(msg)
        if total == 0:
            msg = f"{model!r}: no task was run; leave the model out of the results"
            raise BadInput(msg)


def _correlate(compared: Sequence[Comparison], rule: IsomorphismRule) -> RankCorrelation | None:
    if len(compared) < 2:
        return None
    plan = PermutationPlan(seed=rule.seed, name="isomorphism", permutations=rule.permutations)
    return rank_correlation([item.score for item in compared], [item.result.rate for item in compared], plan)


def _pool_kings(compared: Sequence[Comparison], rule: IsomorphismRule) -> Kings | None:
    crowned = [item for item in compared if item.crowned]
    if not crowned:
        return None
    solved, total = sum(item.result.solved for item in crowned), sum(item.result.total for item in crowned)
    return Kings(
        models=tuple(item.model for item in crowned),
        pooled=Solved(solved=solved, total=total),
        below=binomial_test(solved, total, rule.null_rate, alternative="less"),
        above=binomial_test(solved, total, rule.null_rate, alternative="greater"),
    )


def _judge_order(
    models: int, correlation: RankCorrelation | None, alpha: Fraction, opposed: Panel | None
) -> Iterator[Obstacle]:
    """What the correlation leaves standing; *opposed* is a panel whose own sign is beyond doubt."""
    if models < _LEAST_MODELS:
        message = f"only {models} models have both a score and a result, where {_LEAST_MODELS} are needed"
        yield Obstacle(code="too-few-models", message=message)
    if correlation is None:
        yield Obstacle(code="no-order", message="all scores or all results are equal, so there is no order to compare")
        return
    sure, shown = correlation.p <= alpha, f"rho {correlation.rho:+.3f}, p {float(correlation.p):.2g}"
    if sure and correlation.rho < 0:
        yield Obstacle(code="inverted", message=f"a higher score goes with a worse result here ({shown})")
    elif not sure or correlation.rho <= 0:
        yield Obstacle(
            code="no-positive-correlation", message=f"scores are not shown to go with better results ({shown})"
        )
    if opposed is not None and sure and correlation.rho * opposed.rho < 0:
        yield Obstacle(
            code="sign-flip",
            message=f"the sign is the opposite of the panel {opposed.name!r} (rho {opposed.rho:+.3f}), and neither is "
            "chance, so the panel's correlation does not carry over",
        )


def _judge_kings(kings: Kings | None, alpha: Fraction) -> Iterator[Obstacle]:
    if kings is None:
        yield Obstacle(code="no-kings", message="no crowned model has a result")
        return
    if kings.above.p > alpha:
        pooled, null = kings.pooled, float(kings.above.null)
        shown = f"not shown to exceed {null:.1%}"
        if kings.below.p <= alpha:
            shown = f"below {null:.1%} (p {float(kings.below.p):.2g})"
        message = f"crowned models solve {pooled.solved} of {pooled.total} tasks, {shown}"
        yield Obstacle(code="kings-not-above-null", message=message)
