"""Times what a verdict computes, against the time it may take.

python benchmarks/verdict.py            one line a computation; exits 1 if one is over its budget
"""

import sys
import time
from collections.abc import Callable
from typing import Final

from assay.kernel.random import Stream
from assay.stats.bootstrap import bootstrap_mean
from assay.stats.clusters import ClusterSums, sum_clusters
from assay.stats.sign_flip import FlipPlan, sign_flip_interval, sign_flip_test

ROUNDS: Final = 3
PLAN: Final = FlipPlan(seed=7)
BUDGETS_S: Final = {11: (0.05, 0.05), 20: (0.1, 4.0), 500: (1.0, 4.0)}
"""Seconds for a bootstrap and for a sign flip, by the number of clusters, on one core."""


def make_clusters(count: int, *, real: bool) -> ClusterSums:
    """Clusters of 1 to 60 outcomes each: -1, 0 or 1, or real numbers of sixteen digits."""
    stream = Stream(count, "benchmark")
    ids = [f"{cluster:05}" for cluster in range(count) for _ in range(1 + stream.below(60))]
    return sum_clusters(ids, [stream.uniform() if real else stream.below(3) - 1 for _ in ids])


def main() -> int:
    """The exit status after timing everything."""
    ways = [(count, real, make_clusters(count, real=real)) for count in BUDGETS_S for real in (False, True)]
    met = [time_all(count, clusters, "real" if real else "whole") for count, real, clusters in ways]
    return 0 if all(met) else 1


def time_all(count: int, clusters: ClusterSums, kind: str) -> bool:
    """Whether every computation over these clusters met its budget."""
    drawn, flips = BUDGETS_S[count]
    label = f"{count} clusters, {kind} outcomes"
    return all(
        [
            report(f"bootstrap, 20,000 resamples, {label}", drawn, lambda: run_bootstrap(clusters)),
            report(f"sign-flip test, {label}", flips, lambda: sign_flip_test(clusters, PLAN)),
            report(f"sign-flip interval, {label}", flips, lambda: sign_flip_interval(clusters, PLAN, level=0.95)),
        ]
    )


def run_bootstrap(clusters: ClusterSums) -> object:
    """The bootstrap of the budget."""
    return bootstrap_mean(clusters, level=0.95, resamples=20_000, seed=7)


def report(what: str, budget_s: float, compute: Callable[[], object]) -> bool:
    """Whether the best of a few rounds met the budget, which is printed beside it."""
    best = min(time_once(compute) for _ in range(ROUNDS))
    print(f"{best * 1000:8.1f} ms of {budget_s * 1000:6.0f} ms  {what}")
    return best <= budget_s


def time_once(compute: Callable[[], object]) -> float:
    """Seconds that one computation takes."""
    start = time.perf_counter()
    compute()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
