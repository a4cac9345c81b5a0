"""Two real runs of SWE-bench Pro, compared pair by pair with the repository as the cluster."""

import csv
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.stats.bootstrap import bootstrap_mean
from assay.stats.clusters import ClusterSums, sum_paired_clusters
from assay.stats.paired import mcnemar
from assay.stats.sign_flip import FlipPlan, sign_flip_interval, sign_flip_test

TREATMENT = "Claude 4.5 Sonnet - 10132025"
CONTROL = "GPT-5 - 10132025"


class Comparison(NamedTuple):
    repositories: list[str]
    treatment: list[bool]
    control: list[bool]

    def sum_clusters(self) -> ClusterSums:
        return sum_paired_clusters(self.repositories, self.treatment, self.control)


@pytest.fixture(scope="module")
def comparison(shared: Callable[[str], Path]) -> Comparison:
    with shared("data/swebench-pro/runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    repository = {row["instance_id"]: row["repository"] for row in rows}
    treated = {row["instance_id"]: row["resolved"] == "true" for row in rows if row["model"] == TREATMENT}
    control = {row["instance_id"]: row["resolved"] == "true" for row in rows if row["model"] == CONTROL}
    items = [item for item in treated if item in control]
    return Comparison(
        [repository[item] for item in items], [treated[item] for item in items], [control[item] for item in items]
    )


def test_pairs_and_difference(comparison: Comparison) -> None:
    clusters = comparison.sum_clusters()
    result = mcnemar(comparison.control, comparison.treatment)
    assert (clusters.rows, len(clusters)) == (729, 11)
    assert (result.pairs, result.won, result.lost) == (729, 113, 59)
    assert clusters.estimate == Fraction(113 - 59, 729)
    assert result.p < Fraction(1, 10_000)


def test_exact_sign_flip(comparison: Comparison) -> None:
    result = sign_flip_test(comparison.sum_clusters(), FlipPlan(seed=7))
    assert (result.method, result.at_least_as_extreme, result.assignments) == ("exact", 84, 2048)
    assert result.p == Fraction(84, 2048)


def test_interval_of_the_sign_flip_test(comparison: Comparison) -> None:
    interval = sign_flip_interval(comparison.sum_clusters(), FlipPlan(seed=7), level=0.95)
    assert (interval.lower_exact, interval.upper_exact) == (Fraction(1, 148), Fraction(43, 336))
    at_p = sign_flip_interval(comparison.sum_clusters(), FlipPlan(seed=7), level=0.96)
    assert at_p.lower is not None
    assert at_p.lower <= 0, "p is 0.041, so zero is among the means that are not rejected at 0.04"


@pytest.mark.parametrize("seed", [0, 7, 20260810])
def test_bootstrap(comparison: Comparison, seed: int) -> None:
    interval = bootstrap_mean(comparison.sum_clusters(), level=0.95, resamples=20_000, seed=seed)
    assert interval.lower == pytest.approx(0.0213, abs=0.004)
    assert interval.upper == pytest.approx(0.1183, abs=0.004)
