"""What attacks are made on: the numbers and rules of one contract, and how many turns of what seed are made up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from assay.kernel.canonical import Json
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.registration import DuelContract, load, load_scoring

__all__ = ["Ground", "read_ground"]

_SEED: Final = 20_260_916
_TURNS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One contract as attacks meet it.

    Args:
        knobs: Its numbers.
        references: Samples of the teacher's a turn.
        require_think_close: Whether a side whose thought is never closed forfeits.
        dialects: The dialects it admits.
        architecture: The architectures it admits; none where it admits any.
        contract: The whole contract; none where only its numbers are known.
        turns: Turns that are made up.
        seed: What they are made up by.
    """

    knobs: Knobs
    references: int
    require_think_close: bool
    dialects: tuple[str, ...] = tuple(DIALECTS)
    architecture: tuple[Mapping[str, Json], ...] = ()
    contract: DuelContract | None = None
    turns: int = _TURNS
    seed: int = _SEED

    @property
    def grounded(self) -> bool:
        """Whether the score mode asks how a thought reads."""
        return self.knobs.score_mode != "reason"


def read_ground(document: Mapping[str, Json]) -> Ground:
    """The ground that a contract gives: a whole one, or no more than its sections ``contract`` and ``duel``.

    The versions of the public network are taken as well, of which nothing but the numbers is read.

    Raises:
        BadInput: The document states neither; the message lists every problem found.
    """
    knobs = load_scoring(document)
    if knobs.era is Era.NETWORK or "lab" not in document:
        scoring = cast("Mapping[str, Json]", document["duel"])  # load_scoring has read it
        return Ground(
            knobs=knobs,
            references=cast(int, scoring["teacherSamples"]),
            require_think_close=cast(bool, scoring["requireThinkClose"]),
        )
    contract = load(document)
    return Ground(
        knobs=knobs,
        references=contract.duel.teacher_samples,
        require_think_close=contract.duel.require_think_close,
        dialects=contract.dialects,
        architecture=contract.architecture,
        contract=contract,
    )
