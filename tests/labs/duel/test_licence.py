"""The licence B: the reference's figures, and what fails it."""

import math

import pytest

from assay.labs.duel.eras import Era
from assay.labs.duel.leakage import NameNotText
from assay.labs.duel.licence import Licence, licence

ERAS = pytest.mark.parametrize("era", Era)


@pytest.fixture
def license_pair(make_pair):
    def run(z_a="I look at it", y_a="```bash\nls -la source\n```", era=Era.SAFE, **numbers):
        return licence(make_pair(z_a=z_a, y_a=y_a, **numbers), threshold=0.02, era=era)

    return run


def test_vectors(read_cases, make_pair):
    for case in read_cases("b_gate"):
        told, pair = case["input"], case["input"]["pair"]
        found = licence(
            make_pair(
                z_a=pair.get("z_a") or "",
                y_a=pair.get("y_a") or "",
                c_ya_za=pair.get("lpC_ya_za"),
                c_ya_e=pair.get("lpC_ya_e"),
            ),
            threshold=told["tau"],
            share=told["fuzzy"],
            era=Era.NETWORK,
        )
        assert found.b == pytest.approx(case["expected"]["b"], abs=1e-9), case["id"]
        assert found.passes == case["expected"]["pass"], case["id"]


@ERAS
@pytest.mark.parametrize(
    ("after_thought", "after_nothing", "passes"),
    [
        (-0.08, -0.1, True),
        (0.0199, 0.0, False),
        (math.inf, 0.0, True),
        (math.nan, 0.0, False),
        (-math.inf, -math.inf, False),
    ],
)
def test_the_lift_is_subtracted_as_it_is(license_pair, era, after_thought, after_nothing, passes):
    found = license_pair(era=era, c_ya_za=after_thought, c_ya_e=after_nothing)
    assert found.b == pytest.approx(after_thought - after_nothing, nan_ok=True)
    assert found.passes is passes


@ERAS
def test_a_lift_that_was_not_measured_is_left_out_even_where_the_action_leaks(license_pair, era):
    for missing in ("c_ya_za", "c_ya_e"):
        assert license_pair(z_a="ls -la source", era=era, **{missing: None}) == Licence(b=None, passes=None)


@ERAS
def test_an_action_in_its_own_thought_fails_however_large_the_lift(license_pair, era):
    numbers = {"era": era, "c_ya_za": -0.01, "c_ya_e": -9.0}
    assert license_pair(**numbers).passes is True
    assert license_pair(z_a="now ls -la source", **numbers).passes is False


def test_a_name_that_is_no_text_ends_the_network_where_the_lift_would_pass(license_pair):
    action = '{"name": 5, "analysis": "look", "plan": "list", "commands": []}'
    with pytest.raises(NameNotText):
        license_pair(y_a=action, era=Era.NETWORK)
    assert license_pair(y_a=action, era=Era.NETWORK, c_ya_za=-1.0, c_ya_e=0.0).passes is False
    assert license_pair(y_a=action).passes is True
