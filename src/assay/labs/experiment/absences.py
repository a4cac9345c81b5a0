"""Units that could have been compared and were not: counted by arm and by cluster, so that nobody overlooks them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.experiment.registration import Experiment
from assay.rules.names import show

__all__ = ["Absences", "count_absences", "list_absence_notes"]

MANY: Final = 20
"""One in so many units of an arm may be unpaired before the verdict warns of it."""

_MOST_NAMED: Final = 3
_BIAS: Final = "if outcomes are missing for a reason, such as runs that failed, the result is biased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Absences:
    """Admitted units that are in no pair.

    Args:
        treatment: Units that the treatment arm has.
        control: Units that the control arm has.
        pairs: Units that are compared in the end.
        no_treatment: Pairs left out because the treatment alone has no outcome.
        no_control: Pairs left out because the control alone has no outcome.
        neither: Pairs left out because neither arm has an outcome.
        clusters: By cluster, its units that are in no pair; clusters without such a unit are left out.
    """

    treatment: int
    control: int
    pairs: int
    no_treatment: int
    no_control: int
    neither: int
    clusters: Mapping[str, int]

    @property
    def excluded(self) -> int:
        """Pairs left out for a missing outcome."""
        return self.no_treatment + self.no_control + self.neither


def count_absences(
    treatment: Mapping[str, str], control: Mapping[str, str], excluded: Iterable[tuple[str, bool, bool]], pairs: int
) -> Absences:
    """The absences among the admitted units.

    Args:
        treatment: The cluster of each unit of the treatment arm.
        control: The same of the control arm.
        excluded: Of each pair left out, its cluster, and whether treatment and control have no outcome.
        pairs: How many pairs stay.
    """
    left = list(excluded)
    clusters = Counter(cluster for cluster, _, _ in left)
    clusters.update(cluster for unit, cluster in treatment.items() if unit not in control)
    clusters.update(cluster for unit, cluster in control.items() if unit not in treatment)
    sides = Counter((ours, theirs) for _, ours, theirs in left)
    return Absences(
        treatment=len(treatment),
        control=len(control),
        pairs=pairs,
        no_treatment=sides[True, False],
        no_control=sides[False, True],
        neither=sides[True, True],
        clusters=clusters,
    )


def list_absence_notes(absences: Absences, experiment: Experiment) -> Iterator[dict[str, Json]]:
    """The notes that a verdict carries for what is missing."""
    arms = experiment.arms
    if absences.excluded:
        yield {
            "code": "missing-excluded",
            "message": (
                f"{absences.excluded:,} pairs are left out for a missing outcome, as registered: in "
                f"{absences.no_treatment:,} {show(arms.treatment)} has none, in {absences.no_control:,} "
                f"{show(arms.control)} has none, and in {absences.neither:,} neither has one; {_BIAS}"
            ),
        }
    unpaired = (absences.treatment - absences.pairs, absences.control - absences.pairs)
    if unpaired[0] * MANY > absences.treatment or unpaired[1] * MANY > absences.control:
        yield {
            "code": "many-missing",
            "message": (
                f"more than 5% of an arm's units are not compared: {unpaired[0]:,} of {absences.treatment:,} of "
                f"{show(arms.treatment)} and {unpaired[1]:,} of {absences.control:,} of {show(arms.control)}; "
                f"most of them in {_name_worst(absences.clusters)}; {_BIAS}"
            ),
        }


def _name_worst(clusters: Mapping[str, int]) -> str:
    ranked = sorted(clusters.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NAMED]
    return ", ".join(f"the cluster {show(cluster)} ({count:,})" for cluster, count in ranked)
