"""The architecture pin: which members a model's ``config.json`` must have, and with which values.

A pin is a nested part of the configuration; what it does not name is free. A configuration is accepted if it holds any
of the registered pins as a whole, so a mixture of two profiles is not.

The network compared as Python does, where false is 0. The safe reading compares JSON values: a truth value is no
number, while 2048 and 2048.0 are one number, which a contract in canonical form cannot even tell apart. It also refuses
a pin that names nothing, since it would accept every model.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.labs.duel.eras import Era

__all__ = ["accepts_architecture", "find_architecture_fault"]


def accepts_architecture(config: Json, pins: Sequence[Mapping[str, Json]], era: Era) -> bool:
    """Whether a configuration holds one of the pins; without any pin every configuration is accepted.

    The network also accepted everything where the first pin was empty.

    Raises:
        BadInput: In the safe era, a pin names nothing.
    """
    if era is Era.SAFE and not all(pins):
        msg = "an architecture pin that names no member would accept every model; name one, or register no pin at all"
        raise BadInput(msg)
    if not pins or not pins[0]:
        return True
    return any(find_architecture_fault(config, pin, era) is None for pin in pins)


def find_architecture_fault(config: Json, pin: Mapping[str, Json], era: Era) -> str | None:
    """The dotted name of the first member of *pin*, in its order, that a configuration lacks or has otherwise."""
    return _find(config, pin, era, "")


def _find(config: Json, pin: Mapping[str, Json], era: Era, place: str) -> str | None:
    if not isinstance(config, dict):
        return place or "config"
    for name, wanted in pin.items():
        inner = f"{place}.{name}" if place else name
        if name not in config:
            return inner
        found = config[name]
        if isinstance(wanted, dict):
            fault = _find(found, cast(Mapping[str, Json], wanted), era, inner)
            if fault is not None:
                return fault
        elif not _equal(found, wanted, era):
            return inner
    return None


def _equal(found: Json, wanted: Json, era: Era) -> bool:
    if era is Era.NETWORK:
        return found == wanted
    if isinstance(found, list) and isinstance(wanted, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(_equal(one, other, era) for one, other in pairs)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_equal(found[name], wanted[name], era) for name in wanted)
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted
