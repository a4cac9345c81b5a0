"""Attacks by what is handed in: a model of an architecture that the contract does not admit."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Final, cast

from assay.kernel.canonical import Json
from assay.labs.duel.architecture import accepts_architecture, find_architecture_fault
from assay.labs.duel.eras import Era
from assay.labs.duel.redteam.attacks import Attack, Finding, conclude, not_applicable
from assay.labs.duel.redteam.ground import Ground

__all__ = ["ATTACKS"]

_DENSE: Final[Mapping[str, Json]] = {
    "architectures": ["DenseForCausalLM"],
    "model_type": "dense",
    "hidden_size": 5120,
    "num_hidden_layers": 64,
    "vocab_size": 248_320,
}
"""What the configuration of a dense teacher of some 27 billion weights looks like."""


def _run_upload(ground: Ground) -> Finding:
    pins, era = ground.architecture, ground.knobs.era
    if not pins or not all(pins):
        return not_applicable(
            "the contract registers no architecture, so that any is admitted; the teacher's own weights are refused by "
            "their digest"
        )
    tried: dict[str, Json] = {"a dense model": dict(_DENSE), **dict(_near_misses(pins, era))}
    taken = [name for name, config in tried.items() if accepts_architecture(config, pins, era)]
    own = [accepts_architecture(dict(pin), pins, era) for pin in pins]
    said = f"a dense model and {len(tried) - 1} near misses, against admitted profiles: {len(pins)}"
    if taken:
        said += f"; taken: {', '.join(taken)}"
    musts = {
        "each is rejected by its config.json alone": not taken,
        "the admitted profiles are admitted": all(own),
    }
    return conclude(None, said, musts)


def _near_misses(pins: tuple[Mapping[str, Json], ...], era: Era) -> Iterator[tuple[str, Json]]:
    """Each profile with one member changed or left out, and each pair of profiles mixed."""
    for at, pin in enumerate(pins):
        for path in _leaves(pin):
            yield f"profile {at + 1} with another {'.'.join(path)}", _with(pin, path, "another")
        yield f"profile {at + 1} without its {next(iter(pin))}", {name: pin[name] for name in list(pin)[1:]}
        for other_at, other in enumerate(pins):
            mixed = _mix(pin, other)
            if other_at != at and mixed is not None and find_architecture_fault(mixed, other, era) is not None:
                yield f"profile {at + 1} mixed with {other_at + 1}", mixed


def _leaves(pin: Mapping[str, Json]) -> Iterator[tuple[str, ...]]:
    for name, value in pin.items():
        if isinstance(value, dict) and value:
            yield from ((name, *rest) for rest in _leaves(value))
        else:
            yield (name,)


def _with(pin: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    changed = deepcopy(dict(pin))
    place = changed
    for name in path[:-1]:
        place = cast("dict[str, Json]", place[name])
    place[path[-1]] = value
    return changed


def _mix(pin: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json] | None:
    """The profile with the last member that the other has otherwise; None where they differ in none."""
    differing = [name for name in pin if name in other and pin[name] != other[name]]
    return {**pin, differing[-1]: other[differing[-1]]} if differing else None


ATTACKS: Final = (Attack(id="teacher-upload", name="teacher upload", run=_run_upload),)
