"""The recorded outcomes of SWE-bench Pro runs give the known comparison, to its numbers.

Source of the rows: public trajectories of SWE-bench Pro runs, by way of the repository
nilenso/swe-bench-pro-cost-token-time-analysis at adde7ee.
"""

import time

import pytest

from assay.kernel.canonical import dumps, loads
from assay.labs.experiment.data import read_rows
from assay.labs.experiment.registration import load
from assay.labs.experiment.report import report
from assay.labs.experiment.template import new_registration
from assay.labs.experiment.verdict import derive
from assay.rules.yaml_documents import read_yaml

SONNET, GPT5 = "Claude 4.5 Sonnet - 10132025", "GPT-5 - 10132025"
GPT4O = "GPT-4o - paper"


@pytest.fixture(scope="module")
def source(shared):
    return shared("data/swebench-pro/runs.csv")


@pytest.fixture
def compare(source, make_evidence):
    """The registration, rows and evidence of a comparison of two arms."""

    def read(treatment, control):
        document = read_yaml(new_registration(source, treatment=treatment, control=control))
        document["data"]["more"] = {"turns": "number"}
        experiment = load(document)
        return experiment, make_evidence(experiment, read_rows(source, experiment))

    return read


def exclusions(verdict):
    return {stage["id"]: stage["excluded"] for stage in verdict["funnel"]["stages"]}


def test_the_registration_is_guessed_from_the_file(source):
    experiment = load(read_yaml(new_registration(source, treatment=SONNET, control=GPT5)))
    columns = experiment.data.columns
    assert (columns.arm, columns.unit, columns.cluster, columns.outcome) == (
        "model",
        "instance_id",
        "repository",
        "resolved",
    )


def test_sonnet_against_gpt5(compare):
    verdict = derive(*compare(SONNET, GPT5))
    assert verdict["funnel"]["input"] == 7001
    assert exclusions(verdict) == {
        "another-arm": 5542,
        "unit-missing-in-treatment": 0,
        "unit-missing-in-control": 1,
    }
    assert verdict["funnel"]["pairs"] == verdict["counts"]["pairs"] == 729
    assert (verdict["counts"]["treatmentOnly"], verdict["counts"]["controlOnly"]) == (113, 59)
    assert verdict["estimate"]["value"] == 54 / 729
    assert round(verdict["estimate"]["value"], 4) == 0.0741
    assert verdict["estimate"]["clusters"] == len(verdict["clusters"]) == 11
    assert verdict["test"]["method"] == "exact"
    assert verdict["test"]["p"] == {"numerator": 84, "denominator": 2048, "value": 84 / 2048}
    assert verdict["interval"]["lower"] == pytest.approx(0.0213, abs=0.004)
    assert verdict["interval"]["upper"] == pytest.approx(0.1183, abs=0.004)
    assert verdict["signFlipInterval"]["lower"] > 0
    assert verdict["contrast"]["p"] < 0.0001
    assert verdict["contrast"]["discordant"] == 172
    assert verdict["decision"]["verdict"] == "treatment-better"
    assert [note["code"] for note in verdict["notes"]] == ["retrospective", "few-clusters"]
    facts = dict(report(loads(dumps(verdict))).facts)
    assert facts["p"] == "0.0410 (84 of 2,048, exact), alpha 0.05"
    assert facts["difference"].startswith("+0.0741 ")


def test_runs_that_lack_instances_show_them_in_the_funnel(compare):
    verdict = derive(*compare(GPT5, GPT4O))
    left = exclusions(verdict)
    assert left["unit-missing-in-control"] > 0
    assert (
        729 + 619 - left["unit-missing-in-control"] - left["unit-missing-in-treatment"]
        == 2 * verdict["funnel"]["pairs"]
    )
    swapped = exclusions(derive(*compare(GPT4O, GPT5)))
    assert swapped["unit-missing-in-treatment"] == left["unit-missing-in-control"]
    assert swapped["unit-missing-in-control"] == left["unit-missing-in-treatment"]


def test_the_verdict_is_the_same_bytes_again_and_in_any_order_of_rows(compare):
    experiment, evidence = compare(SONNET, GPT5)
    first = dumps(derive(experiment, evidence))
    assert dumps(derive(experiment, evidence)) == first
    opened, source, *rows, closed = evidence.rows
    turned = [{**dict(reversed(row.items())), "index": index} for index, row in enumerate(reversed(rows))]
    evidence.rows = [opened, source, *turned, closed]
    assert dumps(derive(experiment, evidence)) == first


def test_twenty_thousand_draws_over_seven_thousand_entries_are_quick(compare):
    experiment, evidence = compare(SONNET, GPT5)
    assert experiment.interval.draws == 20_000
    derive(experiment, evidence)
    start = time.perf_counter()
    derive(experiment, evidence)
    assert time.perf_counter() - start < 0.3
