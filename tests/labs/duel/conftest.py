"""What the tests of the duel's scoring share: vectors, knobs, pairs and rows."""

import json
from dataclasses import fields

import pytest

from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.rows import Pair, Row

KNOBS = Knobs(
    era=Era.SAFE,
    score_mode="min_rg",
    tau=0.03,
    band_c=2.0,
    band_floor=0.002,
    forfeit_turn_score=-0.1,
    k_sigma=2.0,
    min_margin=0.002,
    min_thought_chars=80,
    causality_gamma=0.3,
)
THOUGHT = "I will look at the failing test first, then open the module it imports to see the cause of it."
ACTION = "```bash\npytest -x tests/test_core.py\n```"


def read_floats(value):
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        return {name: read_floats(item) for name, item in value.items()}
    return [read_floats(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="session")
def read_cases(vectors):
    """The cases of a vector file of the duel, its non-finite numbers as floats."""

    def read(name):
        return read_floats(json.loads((vectors / "duel" / f"{name}.json").read_text(encoding="utf-8")))["cases"]

    return read


@pytest.fixture(scope="session")
def make_knobs():
    """Knobs of the last public contract under the safe era, with changes; members that are no knob are passed over."""

    def make(**changes):
        known = {field.name: getattr(KNOBS, field.name) for field in fields(KNOBS)}
        return Knobs(**{name: changes.get(name, value) for name, value in known.items()})

    return make


@pytest.fixture(scope="session")
def make_pair():
    """A pair in the middle of a narrow band, whose thought lifts the reference action by ``lift``."""

    def make(lift=0.0, **changes):
        numbers = {
            "c_yc_za": lift,
            "c_yc_e": 0.0,
            "c_ya_za": -0.05,
            "c_ya_e": -0.1,
            "c_ya_zc": -0.05,
            "c_za_x": -0.17,
            "c_zc_x": -0.17,
        }
        return Pair(**{"z_a": THOUGHT, "y_a": ACTION, **numbers, **changes})

    return make


@pytest.fixture(scope="session")
def make_side(make_pair):
    """A side's rows: one turn for each list of lifts, whose pairs all have the same changes; none is a forfeit."""

    def make(turns, miner="m", **changes):
        return tuple(
            Row(
                turn=f"t{at:02}",
                miner=miner,
                pairs=None if lifts is None else tuple(make_pair(lift, **changes) for lift in lifts),
            )
            for at, lifts in enumerate(turns)
        )

    return make
