"""The numbers of an analysis as members of the verdict; each is rounded once, from its exact value."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.experiment.analysis import Analysis, Tally, least_p
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.sections import Binary

__all__ = ["CONTRAST_LABEL", "NO_NUMBERS", "number_members"]

CONTRAST_LABEL: Final = "not registered: for contrast only"
NO_NUMBERS: Final[dict[str, Json]] = dict.fromkeys(
    ("counts", "estimate", "interval", "signFlipInterval", "test", "clusters", "contrast")
)
"""The members of a refused verdict, in which nothing was computed."""

_INVERTED: Final = (
    "the means that the registered test does not reject at this level; it holds its level at any number of clusters "
    "as long as cluster totals are symmetric about the mean"
)
_OPEN: Final = "; an end that is null is open, because so few clusters reject nothing there"


def number_members(analysis: Analysis, experiment: Experiment, missing: Mapping[str, int]) -> dict[str, Json]:
    """The members of the verdict that hold numbers; *missing* counts the units of each cluster that are in no pair."""
    return {
        "counts": _counts(analysis) if isinstance(experiment.outcome, Binary) else None,
        "estimate": _estimate(analysis, experiment),
        "interval": _interval(analysis, experiment),
        "signFlipInterval": _inverted(analysis),
        "test": _test(analysis, experiment),
        "clusters": [*_clusters(analysis, experiment, missing)],
        "contrast": _contrast(analysis, experiment),
    }


def _counts(analysis: Analysis) -> dict[str, Json]:
    total = analysis.total
    return {
        "pairs": analysis.differences.rows,
        "treatmentOnly": total.won,
        "controlOnly": total.lost,
        "both": total.both,
        "neither": total.neither,
    }


def _estimate(analysis: Analysis, experiment: Experiment) -> dict[str, Json]:
    return {
        "kind": experiment.estimand.kind,
        "value": float(analysis.differences.estimate),
        "treatmentMean": float(analysis.treatment.estimate),
        "controlMean": float(analysis.control.estimate),
        "pairs": analysis.differences.rows,
        "clusters": len(analysis.differences),
    }


def _interval(analysis: Analysis, experiment: Experiment) -> dict[str, Json]:
    registered, found = experiment.interval, analysis.interval
    return {
        "kind": registered.kind,
        "method": registered.method,
        "level": registered.level,
        "lower": found.lower,
        "upper": found.upper,
        "draws": registered.draws,
        "seed": registered.seed,
    }


def _inverted(analysis: Analysis) -> dict[str, Json]:
    found = analysis.inverted
    return {
        "level": found.level,
        "lower": found.lower,
        "upper": found.upper,
        "note": _INVERTED + (_OPEN if None in (found.lower, found.upper) else ""),
    }


def _test(analysis: Analysis, experiment: Experiment) -> dict[str, Json]:
    registered, found = experiment.test, analysis.test
    drawn = found.method == "monte-carlo"
    members: dict[str, Json] = {
        "kind": registered.kind,
        "method": found.method,
        "alternative": registered.alternative,
        "alpha": registered.alpha,
        "clusters": found.clusters,
        "assignments": found.assignments,
        "atLeastAsExtreme": found.at_least_as_extreme,
        # The observed assignment is among those gone through, and counts as one more where they are drawn.
        "p": {
            "numerator": found.at_least_as_extreme + drawn,
            "denominator": found.assignments + drawn,
            "value": float(found.p),
        },
        "floor": float(least_p(found.clusters, experiment)),
    }
    return members | ({"seed": registered.seed} if drawn else {})


def _clusters(analysis: Analysis, experiment: Experiment, missing: Mapping[str, int]) -> Iterator[dict[str, Json]]:
    treatment, control, differences = analysis.treatment, analysis.control, analysis.differences
    binary = isinstance(experiment.outcome, Binary)
    for place, cluster in enumerate(differences.ids):
        pairs = differences.sizes[place]
        tally: Tally | None = analysis.tallies[place] if binary else None
        yield {
            "cluster": cluster,
            "pairs": pairs,
            "missing": missing.get(cluster, 0),
            "treatmentMean": float(Fraction(treatment.sums[place], treatment.scale * pairs)),
            "controlMean": float(Fraction(control.sums[place], control.scale * pairs)),
            "difference": float(Fraction(differences.sums[place], differences.scale * pairs)),
            "treatmentOnly": tally.won if tally else None,
            "controlOnly": tally.lost if tally else None,
        }


def _contrast(analysis: Analysis, experiment: Experiment) -> dict[str, Json]:
    binary = isinstance(experiment.outcome, Binary)
    units = "that only one arm solved" if binary else "in which the arms differ"
    return {
        "label": CONTRAST_LABEL,
        "kind": "mcnemar-exact" if binary else "sign-test-exact",
        "p": float(analysis.contrast),
        "discordant": analysis.total.won + analysis.total.lost,
        "message": (
            f"takes each unit {units} as independent of every other; units of one cluster are not, so this p-value is "
            "too small where clusters differ, and it decides nothing here"
        ),
    }
