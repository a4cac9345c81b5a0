"""The numbers of an experiment: computed exactly from the pairs, by the registered rules and nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast

from assay.labs.experiment.pairing import Pair
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.rows import Score
from assay.stats.bootstrap import BootstrapInterval, bootstrap_mean
from assay.stats.clusters import ClusterSums, sum_clusters, sum_paired_clusters
from assay.stats.paired import mcnemar_exact
from assay.stats.power import sign_flip_floor
from assay.stats.sign_flip import FlipPlan, SignFlip, SignFlipInterval, sign_flip_interval, sign_flip_test

__all__ = ["Analysis", "Tally", "analyse", "complete_pairs", "least_p", "tally"]

STREAMS: Final = ("bootstrap", "sign-flip")
"""The names of the random streams of interval and test; the registered seeds key them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Pairs by what happened in them: where the outcome is real, ``won`` and ``lost`` only."""

    won: int
    lost: int
    both: int
    neither: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Everything that was computed, exactly.

    Args:
        differences: The differences, treatment less control, summed by cluster.
        treatment: The treatment's outcomes summed by cluster.
        control: The control's outcomes summed by cluster.
        interval: The registered bootstrap interval.
        inverted: The interval that inverts the registered test.
        test: The registered test.
        total: All pairs by what happened in them.
        tallies: The same of each cluster, in the order of the clusters.
    """

    differences: ClusterSums
    treatment: ClusterSums
    control: ClusterSums
    interval: BootstrapInterval
    inverted: SignFlipInterval
    test: SignFlip
    total: Tally
    tallies: tuple[Tally, ...]

    @property
    def contrast(self) -> Fraction:
        """The p-value of the test that takes every unit for independent: McNemar's, which is the sign test of units."""
        return mcnemar_exact(self.total.won, self.total.lost)


def complete_pairs(pairs: Sequence[Pair], experiment: Experiment) -> tuple[tuple[Pair, ...], int]:
    """The pairs with every missing outcome read as registered, and how many outcomes that was."""
    if experiment.outcome.missing != "failure":
        return tuple(pairs), 0
    filled = tuple(
        Pair(
            unit=pair.unit,
            cluster=pair.cluster,
            treatment=False if pair.treatment is None else pair.treatment,
            control=False if pair.control is None else pair.control,
        )
        for pair in pairs
    )
    return filled, sum((pair.treatment is None) + (pair.control is None) for pair in pairs)


def least_p(clusters: int, experiment: Experiment) -> Fraction:
    """The least p-value that the registered test can give with so many clusters."""
    exact = sign_flip_floor(clusters)
    return exact if clusters <= experiment.test.exact_up_to else max(exact, Fraction(1, experiment.test.draws + 1))


def analyse(pairs: Sequence[Pair], experiment: Experiment) -> Analysis:
    """The analysis of pairs without a missing outcome, in at least two clusters."""
    ids = [pair.cluster for pair in pairs]
    treatment = [cast(Score, pair.treatment) for pair in pairs]  # none is missing
    control = [cast(Score, pair.control) for pair in pairs]
    differences = sum_paired_clusters(ids, treatment, control)
    interval, test = experiment.interval, experiment.test
    bootstrap, flips = STREAMS
    plan = FlipPlan(seed=test.seed, name=flips, exact_up_to=test.exact_up_to, replicates=test.draws)
    by_cluster: dict[str, list[tuple[Score, Score]]] = defaultdict(list)
    for cluster, ours, theirs in zip(ids, treatment, control, strict=True):
        by_cluster[cluster].append((ours, theirs))
    return Analysis(
        differences=differences,
        treatment=sum_clusters(ids, treatment),
        control=sum_clusters(ids, control),
        interval=bootstrap_mean(
            differences, level=interval.level, resamples=interval.draws, seed=interval.seed, name=bootstrap
        ),
        inverted=sign_flip_interval(differences, plan, level=interval.level),
        test=sign_flip_test(differences, plan, alternative=test.alternative),
        total=tally(list(zip(treatment, control, strict=True))),
        tallies=tuple(tally(by_cluster[cluster]) for cluster in differences.ids),
    )


def tally(pairs: Sequence[tuple[Score, Score]]) -> Tally:
    """Pairs of treatment and control outcomes, counted by what happened in them."""
    won = sum(ours > theirs for ours, theirs in pairs)
    lost = sum(ours < theirs for ours, theirs in pairs)
    both = sum(ours is True and theirs is True for ours, theirs in pairs)
    return Tally(won=won, lost=lost, both=both, neither=len(pairs) - won - lost - both)
