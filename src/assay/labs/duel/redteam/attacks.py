"""What an attack is, and what it found: the row of a table that says whether a contract stands it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from assay.labs.duel.redteam.ground import Ground

__all__ = ["TOLERANCE", "Attack", "Finding", "Result", "Verdict", "conclude", "not_applicable", "signed"]

TOLERANCE: Final = 1e-12
"""Scores this far above nothing are the rounding of sums, in nats a byte."""

Verdict: TypeAlias = Literal["held", "lost", "not-applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of an attack.

    Args:
        gained: What it was paid, in nats a byte and turn; none where it is not after a score. ``said`` says over what.
        verdict: ``held`` where everything that must hold does, ``lost`` where something does not, ``not-applicable``
            where the contract has nothing that could be attacked so.
        said: What was found, in a sentence or two.
        kept: What must hold and does.
        broken: What must hold and does not.
    """

    gained: float | None
    verdict: Verdict
    said: str
    kept: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack.

    Args:
        id: Its id in the table of facts 16, such as ``RT-11``; its name with hyphens where it has none there.
        name: Its name there.
        run: Runs it; raises nothing that an attacker's text could cause.
    """

    id: str
    name: str
    run: Callable[[Ground], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An attack that was run: its id and name, and what came of it."""

    id: str
    name: str
    finding: Finding


def conclude(gained: float | None, said: str, musts: Mapping[str, bool]) -> Finding:
    """The finding of an attack: held where every must is.

    Args:
        gained: As :class:`Finding` has it.
        said: What was found where it is held; it stands behind what is broken, too.
        musts: What must hold, each with whether it does.
    """
    kept = tuple(must for must, holds in musts.items() if holds)
    broken = tuple(must for must, holds in musts.items() if not holds)
    if broken:
        said = f"broken: {'; '.join(broken)}. {said}"
    return Finding(gained=gained, verdict="lost" if broken else "held", said=said, kept=kept, broken=broken)


def not_applicable(said: str) -> Finding:
    """The finding where a contract has nothing to attack."""
    return Finding(gained=None, verdict="not-applicable", said=said)


def signed(value: float | None, places: int = 4) -> str:
    """A number with its sign; none for one that rounds to nothing, and a dash for one that is not known.

    >>> signed(0.25), signed(-1e-9)
    ('+0.2500', '0')
    """
    if value is None:
        return "–"
    shown = f"{value:+.{places}f}"
    return "0" if float(shown) == 0 else shown.replace("-", "−")
