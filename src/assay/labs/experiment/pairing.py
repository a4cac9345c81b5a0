"""From rows to pairs: every row is in a pair or counted where it left, with the reason it left by."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.kernel.errors import EvidenceInvalid
from assay.labs.experiment.absences import Absences, count_absences
from assay.labs.experiment.consistency import (
    ANOTHER_ARM,
    MISSING_IN_CONTROL,
    MISSING_IN_TREATMENT,
    NO_OUTCOME_IN_CONTROL,
    NO_OUTCOME_IN_TREATMENT,
)
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.rows import Row, Score
from assay.rules.admission import admit
from assay.rules.funnel import Funnel, StageCount, build_funnel
from assay.rules.names import show

__all__ = ["Pair", "Pairing", "pair_rows"]

POPULATION: Final = "rows of the source"
_ANOTHER_ARM: Final = "the row belongs to an arm that is not compared"
_MISSING: Final = "the unit has no admitted row in the {} arm, so there is nothing to compare it with"
_NO_OUTCOME: Final = "the unit has no outcome in the {} arm, and such pairs are registered to be left out"
_ROWS_OF_PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One unit with its outcome in both arms; None is a missing outcome."""

    unit: str
    cluster: str
    treatment: Score | None
    control: Score | None

    @property
    def complete(self) -> bool:
        """Whether both outcomes are there."""
        return self.treatment is not None and self.control is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The pairs, in the order of their units' code points, and the funnel of the rows that led to them.

    ``absences`` counts the admitted units that are in no pair.
    """

    funnel: Funnel
    pairs: tuple[Pair, ...]
    absences: Absences


def pair_rows(rows: Iterable[Row], experiment: Experiment) -> Pairing:
    """The pairs that the registered admission leaves.

    Raises:
        EvidenceInvalid: A unit has two admitted rows in one arm, or its two rows lie in different clusters;
            ``details`` names the unit and the indexes of both rows.
    """
    arms, columns = experiment.arms, experiment.data.columns
    others = 0
    compared: list[Row] = []
    for row in rows:
        if row.arm in (arms.treatment, arms.control):
            compared.append(row)
        else:
            others += 1
    admitted = admit(compared, experiment.stages(), lambda row: row.facts(columns))
    treatment = _index_units(admitted.survivors, arms.treatment)
    control = _index_units(admitted.survivors, arms.control)
    joined = tuple(_pair(treatment[unit], control[unit]) for unit in sorted(treatment.keys() & control.keys()))
    exclude = experiment.outcome.missing == "exclude"
    excluded = tuple(pair for pair in joined if exclude and not pair.complete)
    pairs = tuple(pair for pair in joined if pair.complete) if exclude else joined
    counts = [
        StageCount(id=ANOTHER_ARM, excluded=others, reason=_ANOTHER_ARM),
        *admitted.counts,
        StageCount(id=MISSING_IN_TREATMENT, excluded=len(control) - len(joined), reason=_MISSING.format("treatment")),
        StageCount(id=MISSING_IN_CONTROL, excluded=len(treatment) - len(joined), reason=_MISSING.format("control")),
        *(_count_excluded(excluded) if exclude else ()),
    ]
    return Pairing(
        funnel=build_funnel(POPULATION, len(compared) + others, counts),
        pairs=pairs,
        absences=count_absences(
            {unit: row.cluster for unit, row in treatment.items()},
            {unit: row.cluster for unit, row in control.items()},
            ((pair.cluster, pair.treatment is None, pair.control is None) for pair in excluded),
            len(pairs),
        ),
    )


def _count_excluded(pairs: Sequence[Pair]) -> Iterator[StageCount]:
    """The stages by which pairs leave for a missing outcome; where both are missing, by the treatment's."""
    treatment = sum(pair.treatment is None for pair in pairs)
    for arm, identity, count in (
        ("treatment", NO_OUTCOME_IN_TREATMENT, treatment),
        ("control", NO_OUTCOME_IN_CONTROL, len(pairs) - treatment),
    ):
        yield StageCount(id=identity, excluded=count * _ROWS_OF_PAIR, reason=_NO_OUTCOME.format(arm))


def _index_units(rows: Iterable[Row], arm: str) -> dict[str, Row]:
    units: dict[str, Row] = {}
    for row in rows:
        if row.arm == arm and units.setdefault(row.unit, row) is not row:
            msg = (
                f"unit {show(row.unit)} has two rows in the arm {show(arm)}; which of them counts is not registered; "
                "let an admission stage keep one of them by a column that tells them apart (such as the attempt), or "
                "average them into one row first"
            )
            raise EvidenceInvalid(msg, unit=row.unit, rows=[units[row.unit].index, row.index])
    return units


def _pair(treatment: Row, control: Row) -> Pair:
    if treatment.cluster != control.cluster:
        msg = (
            f"unit {show(treatment.unit)} lies in the cluster {show(treatment.cluster)} in one arm "
            f"and in {show(control.cluster)} in the other"
        )
        raise EvidenceInvalid(msg, unit=treatment.unit, rows=sorted([treatment.index, control.index]))
    return Pair(
        unit=treatment.unit,
        cluster=treatment.cluster,
        treatment=treatment.outcome,
        control=control.outcome,
    )
