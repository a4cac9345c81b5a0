"""What the tests of the red team share: contracts as attacks meet them, each attacked once, and a scripted stage."""

import asyncio
from dataclasses import replace

import pytest

from assay.labs.duel.eras import Era
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.stage import PRACTICE, StageRule, set_stage
from assay.labs.duel.redteam.table import run_table
from assay.models.scripted import PROFILES, ScriptedModel

PINS = (
    {
        "architectures": ["MixtureForConditionalGeneration"],
        "model_type": "mixture",
        "text_config": {"hidden_size": 2048, "num_experts": 256},
    },
    {"architectures": ["MixtureForCausalLM"], "model_type": "mixture_text", "hidden_size": 2048, "num_experts": 256},
)
VARIANTS = {
    "v5": {},
    "v4": {"score_mode": "reason"},
    "v3": {"score_mode": "reason", "tau": None},
    "v6": {"score_mode": "min_rga"},
    "v5-network": {"era": Era.NETWORK},
    "v5-network-without-floor": {"era": Era.NETWORK, "forfeit_turn_score": None},
    "no-margin": {"min_margin": 0.0},
    "wide-band": {"band_floor": 10.0},
    "no-licence": {"causality_gamma": 0.0},
    "strict-licence": {"causality_gamma": 1.5},
    "no-thought-floor": {"min_thought_chars": 0},
    "soft-forfeit": {"forfeit_turn_score": -0.02},
}


@pytest.fixture(scope="session")
def make_ground(make_knobs):
    """A contract as attacks meet it: a variant by name, with changes."""

    def make(variant="v5", **changes):
        ground = Ground(
            knobs=make_knobs(**VARIANTS[variant]), references=3, require_think_close=True, architecture=PINS, turns=24
        )
        return replace(ground, **changes)

    return make


@pytest.fixture(scope="session")
def attacked(make_ground):
    """The findings of a variant by the attacks' ids; each variant is attacked once."""
    known = {}

    def attack(variant):
        if variant not in known:
            known[variant] = {result.id: result.finding for result in run_table(make_ground(variant))}
        return known[variant]

    return attack


@pytest.fixture(scope="session")
def make_stage(make_knobs):
    """A stage of practice turns under the scripted teacher, whose thoughts are short."""

    def make(variant="v5", seed=0, turns=8, tasks=PRACTICE, **changes):
        knobs = make_knobs(**{"min_thought_chars": 20, **VARIANTS[variant], **changes})
        rule = StageRule(knobs=knobs, references=3, temperature=1.0, token_limit=lambda _: 400, seed=seed, turns=turns)
        return asyncio.run(set_stage(ScriptedModel("scripted:teacher", PROFILES["teacher"]), tasks, rule))

    return make
