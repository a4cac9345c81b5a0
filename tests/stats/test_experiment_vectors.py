"""The shared vectors of the sealed experiments, as far as they concern what is here.

Not ours, or not yet, in these files:

- ``clustered_and_paired_arms.json``: ``pair-*``, ``compare-*`` and the two ``cpb-bad-*`` cases pair rows of arms, which
  is the work of the layer that reads rows; here pairs come in already made. Medians and Wilcoxon's test are not built.
- ``statistics_closed_form.json``: all but ``mcnemar`` (Wilson, Tango, Wilcoxon, sample sizes and the rest).
- ``power.json``: all but the floors; simulated power is not built.

Where the vectors leave clusters of zero out of the assignments of an exact test, ours keep them: each doubles both
the assignments and the extreme ones, and the p-value is the same.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.errors import BadInput
from assay.stats.bootstrap import bootstrap_mean
from assay.stats.clusters import ClusterSums, TooFewClusters, sum_paired_clusters
from assay.stats.paired import mcnemar
from assay.stats.power import least_clusters, sign_flip_floor
from assay.stats.sign_flip import FlipPlan, sign_flip_test

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "experiment"


def read_cases(file: str, prefix: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((VECTORS / file).read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case["id"].startswith(prefix)]


CLUSTERED = [
    case
    for case in read_cases("clustered_and_paired_arms.json", "cpb-")
    if case["id"] not in {"cpb-bad-pair-crosses-clusters", "cpb-bad-unknown-arm"}
]
MCNEMAR = read_cases("statistics_closed_form.json", "mcnemar-")
FLOORS = read_cases("power.json", "floor-")

Pairs = tuple[list[str], list[bool], list[bool]]


def name_of(case: dict[str, Any]) -> str:
    return case["id"]


def make_pairs(rows: list[dict[str, Any]]) -> Pairs:
    treated = {row["item"]: row["pass"] for row in rows if row["arm"] == "T"}
    control = {row["item"]: row["pass"] for row in rows if row["arm"] == "B"}
    cluster = {row["item"]: row["cluster"] for row in rows}
    items = [item for item in treated if item in control]
    return [cluster[item] for item in items], [treated[item] for item in items], [control[item] for item in items]


def test_the_cases_are_here() -> None:
    assert (len(CLUSTERED), len(MCNEMAR), len(FLOORS)) == (7, 8, 8)


@pytest.mark.parametrize("case", CLUSTERED, ids=name_of)
def test_cluster_counts_and_estimates(case: dict[str, Any]) -> None:
    expected = case["expected"]["value"]["statistics"]
    ids, treated, control = make_pairs(case["input"]["rows"])
    clusters = sum_paired_clusters(ids, treated, control)
    result = mcnemar(control, treated)
    assert (clusters.rows, len(clusters)) == (expected["nPairs"], expected["nClusters"])
    assert (result.won, result.lost) == (expected["b10"], expected["b01"])
    assert float(clusters.estimate) == expected["taskWeightedRiskDifference"]
    assert list(zip(clusters.ids, clusters.sums, clusters.sizes, strict=True)) == [
        (cluster["clusterKey"], cluster["b10"] - cluster["b01"], cluster["nPairs"]) for cluster in expected["clusters"]
    ]


@pytest.mark.parametrize("case", CLUSTERED, ids=name_of)
def test_sign_flip_p_values(case: dict[str, Any]) -> None:
    expected = case["expected"]["value"]["statistics"]["signFlip"]
    clusters = sum_paired_clusters(*make_pairs(case["input"]["rows"]))
    result = sign_flip_test(clusters, FlipPlan(seed=7), alternative=expected["alternative"])
    nonzero = sum(total != 0 for total in clusters.sums)
    assert result.method == expected["method"]
    assert float(result.p) == expected["pValue"]
    assert nonzero == expected["nNonZeroClusters"]
    # The vectors count both assignments of a single cluster, and one where there is none that is not zero.
    assert result.assignments == expected["assignments"] * 2 ** (len(clusters) - nonzero)


@pytest.mark.parametrize("case", CLUSTERED, ids=name_of)
def test_bootstrap_ends_within_monte_carlo_error(case: dict[str, Any]) -> None:
    expected = case["expected"]["value"]["statistics"]["bootstrap"]
    clusters = sum_paired_clusters(*make_pairs(case["input"]["rows"]))
    if expected is None:
        with pytest.raises(TooFewClusters):
            run_bootstrap(clusters, 0.95, 100)
        return
    lower, upper = run_bootstrap(clusters, expected["confidence"], expected["resamples"])
    assert lower == pytest.approx(expected["lower"], abs=case["tolerance"]["abs"] if "tolerance" in case else 0.05)
    assert upper == pytest.approx(expected["upper"], abs=case["tolerance"]["abs"] if "tolerance" in case else 0.05)


def run_bootstrap(clusters: ClusterSums, level: float, resamples: int) -> tuple[float, float]:
    interval = bootstrap_mean(clusters, level=level, resamples=resamples, seed=20260810)
    return interval.lower, interval.upper


@pytest.mark.parametrize("case", MCNEMAR, ids=name_of)
def test_mcnemar(case: dict[str, Any]) -> None:
    control, treated = case["input"]["args"]
    if "refused" in case["expected"]:
        with pytest.raises(BadInput):
            mcnemar(control, treated)
        return
    expected = case["expected"]["value"]
    result = mcnemar(control, treated)
    assert result.pairs == expected["n"]
    assert result.won + result.lost == expected["nDiscordant"]
    assert (result.won, result.lost) == (expected["b"], expected["c"])
    assert float(result.statistic) == pytest.approx(expected["statistic"], abs=1e-12)
    assert float(result.p) == expected["pValue"]


@pytest.mark.parametrize("case", FLOORS, ids=name_of)
def test_floors(case: dict[str, Any]) -> None:
    clusters, alpha, expected = case["input"]["clusters"], case["input"]["alpha"], case["expected"]["value"]
    assert float(sign_flip_floor(clusters)) == expected["twoSidedP"]
    assert float(sign_flip_floor(clusters) / 2) == expected["oneSidedP"]
    assert least_clusters(alpha) == expected["minClustersForAlpha"]
    assert (clusters >= least_clusters(alpha)) == expected["certifiableAtAlpha"]
