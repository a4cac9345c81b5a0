"""The architecture pin, as the network compared and as it is compared safely."""

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.architecture import accepts_architecture, find_architecture_fault
from assay.labs.duel.eras import Era

PIN = {"architectures": ["A"], "tie_word_embeddings": False, "text_config": {"hidden_size": 2048, "theta": 10000000}}
ALTERNATIVE = {"architectures": ["B"], "hidden_size": 2048}
GOOD = {**PIN, "text_config": {**PIN["text_config"], "more": 1}, "dtype": "bfloat16"}


def test_pins_accept_what_the_network_accepted(read_cases):
    cases = read_cases("arch_pin")
    assert len(cases) == 6
    for case in cases:
        given, expected = case["input"], case["expected"]
        pins = [given["pinned"], *given["alternatives"]]
        for era in Era:
            assert accepts_architecture(given["config"], pins, era) is expected["accepted"], case["id"]
            fault = find_architecture_fault(given["config"], given["pinned"], era)
            assert fault == expected["primary_fault_key"], case["id"]


@pytest.mark.parametrize(
    ("change", "network", "safe"),
    [
        ({}, None, None),
        ({"tie_word_embeddings": 0}, None, "tie_word_embeddings"),
        ({"text_config": {"hidden_size": 2048.0, "theta": 1e7}}, None, None),
        ({"text_config": {"hidden_size": True, "theta": 1e7}}, "text_config.hidden_size", "text_config.hidden_size"),
        ({"text_config": {"hidden_size": "2048", "theta": 1e7}}, "text_config.hidden_size", "text_config.hidden_size"),
        ({"text_config": None}, "text_config", "text_config"),
        ({"architectures": ["A", "B"]}, "architectures", "architectures"),
        ({"architectures": "A"}, "architectures", "architectures"),
    ],
)
def test_numbers_are_no_truth_values_in_the_safe_reading(change, network, safe):
    assert find_architecture_fault({**GOOD, **change}, PIN, Era.NETWORK) == network
    assert find_architecture_fault({**GOOD, **change}, PIN, Era.SAFE) == safe


@pytest.mark.parametrize("found", [[[1, True]], [{"a": 1}]])
def test_lists_and_objects_within_lists_are_compared_to_the_bottom(found):
    pin = {"a": [[1, 1]]} if isinstance(found[0], list) else {"a": [{"a": True}]}
    assert find_architecture_fault({"a": found}, pin, Era.NETWORK) is None
    assert find_architecture_fault({"a": found}, pin, Era.SAFE) == "a"


@pytest.mark.parametrize("config", [None, [], "x", 1])
def test_a_configuration_that_is_no_object_holds_no_pin(config):
    assert find_architecture_fault(config, PIN, Era.SAFE) == "config"


@pytest.mark.parametrize("era", list(Era))
def test_a_mixture_of_two_profiles_holds_neither(era):
    mixture = {**GOOD, "architectures": ["B"]}
    assert not accepts_architecture(mixture, [PIN, ALTERNATIVE], era)
    assert accepts_architecture({**ALTERNATIVE}, [PIN, ALTERNATIVE], era)


def test_without_a_pin_nothing_is_asked_and_an_empty_one_is_refused_safely():
    assert accepts_architecture({}, [], Era.SAFE)
    assert accepts_architecture({}, [{}], Era.NETWORK)
    assert accepts_architecture({}, [PIN, {}], Era.NETWORK)
    for pins in ([{}], [PIN, {}]):
        with pytest.raises(BadInput, match="every model"):
            accepts_architecture({}, pins, Era.SAFE)
