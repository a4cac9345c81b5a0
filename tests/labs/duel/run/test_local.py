"""A duel of real models: the one that was hardly touched beats the one that was spoilt; and the whole local example."""

import importlib.util
import os
import tomllib
from pathlib import Path

import pytest

from assay.kernel.errors import MissingMaterial
from assay.kernel.run import Plan, open_run
from assay.labs.duel.lab import LAB
from assay.labs.duel.registration import load
from assay.testing.labs import finish_run

EXAMPLE = Path(__file__).parents[4] / "examples" / "duel"
LONG = "ASSAY_WHOLE_DUEL"


@pytest.fixture(scope="module")
def weights():
    """Skips by name where local models cannot run."""
    for package in ("torch", "transformers", "gguf"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs the package {package}, which is not installed (make setup installs it)")
    from assay.models.weights import find_packaged  # noqa: PLC0415 - it imports torch

    try:
        return find_packaged("smollm2-135m-instruct")
    except MissingMaterial as missing:
        pytest.skip(missing.message)


def play(folder, **changes):
    document = tomllib.loads((EXAMPLE / "duel.toml").read_text(encoding="utf-8"))
    contract = load({**document, **changes})
    plan = Plan(lab=LAB.name, layout=LAB.layout, document=LAB.document(contract))
    with open_run(folder / "run", plan) as run:
        return finish_run(LAB, contract, run, EXAMPLE)


@pytest.mark.timeout(900)
def test_a_model_that_was_hardly_touched_beats_one_that_was_spoilt(weights, tmp_path):
    local = "local:smollm2-135m-instruct"
    verdict = play(
        tmp_path,
        king={"name": "spoilt", "model": local, "recipe": {"kind": "noise", "scale": 0.2, "seed": 1}},
        challenger={"name": "near", "key": "k", "model": local, "recipe": {"kind": "noise", "scale": 0.01, "seed": 1}},
        slice={"beacon": "0x01", "beaconFrom": "this test", "turns": 2},
        probes={"injectability": {"turns": 1}, "protocol": {"mode": "off"}},
    )
    assert all(model["checked"] for model in verdict["models"].values())
    scored = [turn for turn in verdict["turns"] if turn["outcome"] == "scored"]
    assert scored
    assert sum(turn["difference"] for turn in scored) > 0


@pytest.mark.timeout(3600)
def test_the_local_example_gives_the_order_that_was_built_in(weights, tmp_path):
    if not os.environ.get(LONG):
        pytest.skip(f"takes some minutes; set {LONG}=1, or run `make duel`")
    verdict = play(tmp_path)
    assert verdict["decision"]["verdict"] == "challenger-crowned"
