"""The table of attacks, in the order of facts 16, and the rows of it that are no matter of a contract."""

from typing import Final

from assay.labs.duel.redteam import crowns, slicing, texts, thoughts, uploads
from assay.labs.duel.redteam.attacks import Attack, Result
from assay.labs.duel.redteam.ground import Ground

__all__ = ["ATTACKS", "ELSEWHERE", "run_table"]

_ORDER: Final = (
    "RT-1/A1",
    "RT-2/A2",
    "RT-2c",
    "A9",
    "A13",
    "RT-11",
    "RT-12",
    "RT-13",
    "RT-9",
    "RT-10",
    "RT-4/A4",
    "A11",
    "A7",
    "RT-3",
    "RT-6/A6",
    "RT-14",
    "forfeit-selection",
    "runaway-thinking",
    "teacher-upload",
    "scorer-crash",
    "leak-bypass",
    "stray-brace",
    "duplicate-rows",
    "covariate-trap",
    "corpus-tamper",
    "dialect-smuggling",
)
_BY_ID: Final = {
    attack.id: attack for module in (thoughts, texts, crowns, slicing, uploads) for attack in module.ATTACKS
}

ATTACKS: Final[tuple[Attack, ...]] = tuple(_BY_ID[name] for name in _ORDER)
"""Every attack that a contract and what runs under it can be tried with."""

ELSEWHERE: Final = (
    ("manifest tricks", "a store of submissions"),
    ("payload tricks", "the chain's payloads"),
    ("stale credential", "a store of submissions"),
    ("stale pod", "a validator"),
    ("king gone", "a validator"),
    ("double judging", "a validator"),
    ("dispatch storm", "a validator"),
    ("dead king box", "a king seat"),
)
"""Attacks that are not run here, each with what it needs."""


def run_table(ground: Ground) -> tuple[Result, ...]:
    """What came of every attack on a contract, in the order of the table; the same on any machine."""
    return tuple(Result(id=attack.id, name=attack.name, finding=attack.run(ground)) for attack in ATTACKS)
