"""What turns a design down before any effect is computed, as typed objects of the verdict."""

from collections.abc import Sequence
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.experiment.analysis import least_p
from assay.labs.experiment.pairing import Pairing
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.sections import Binary
from assay.labs.experiment.signals import REFUSED
from assay.stats.exact import read_share
from assay.stats.power import least_clusters

__all__ = ["list_refusals", "refused_decision"]

_MOST_NAMED: Final = 5


def list_refusals(pairing: Pairing, experiment: Experiment) -> list[Json]:
    """Every refusal, as ``{code, message, details}``; outcomes are looked at only after the power floor was."""
    if not pairing.pairs:
        rows = pairing.funnel.input
        message = f"of {rows} rows none is left in a pair; the funnel says where they went"
        return [_refusal("no-pairs", message, {"rows": rows})]
    return _check_floor(pairing, experiment) or _check_missing(pairing, experiment)


def refused_decision(refusals: Sequence[Json]) -> dict[str, Json]:
    """The decision where there are refusals: none of the registered branches."""
    codes = ", ".join(str(refusal["code"]) for refusal in refusals if isinstance(refusal, dict))
    says = f"The registered rules turn this design down ({codes}), so no effect, interval or p-value was computed."
    return {"verdict": REFUSED, "says": says, "branch": None, "signals": None}


def _refusal(code: str, message: str, details: dict[str, Json]) -> dict[str, Json]:
    return {"code": code, "message": message, "details": details}


def _check_floor(pairing: Pairing, experiment: Experiment) -> list[Json]:
    clusters = len({pair.cluster for pair in pairing.pairs})
    floor, alpha = least_p(clusters, experiment), experiment.test.alpha
    if floor <= read_share(alpha, "alpha"):
        return []
    needed = least_clusters(alpha)
    count = f"{clusters} cluster{'s' * (clusters != 1)}"
    message = (
        f"with {count} the least p-value that the registered test can give, however large the effect, is "
        f"{float(floor):.4f} ({floor}), which is above the registered alpha of {alpha}; "
        f"at least {needed} clusters are needed"
    )
    details: dict[str, Json] = {
        "clusters": clusters,
        "floor": float(floor),
        "alpha": alpha,
        "clustersNeeded": needed,
    }
    return [_refusal("power-floor", message, details)]


def _check_missing(pairing: Pairing, experiment: Experiment) -> list[Json]:
    treatment = [pair.unit for pair in pairing.pairs if pair.treatment is None]
    control = [pair.unit for pair in pairing.pairs if pair.control is None]
    if experiment.outcome.missing != "refuse" or not (treatment or control):
        return []
    failure = ", and `missing: failure` counts it as a failure" if isinstance(experiment.outcome, Binary) else ""
    message = (
        f"{len(treatment)} admitted rows of the treatment arm and {len(control)} of the control arm have no outcome, "
        "and a missing outcome is registered as a reason to refuse; in another registration, `missing: exclude` leaves "
        f"such a pair out, counted and noted{failure}"
    )
    units = sorted({*treatment, *control})
    details: dict[str, Json] = {
        "treatment": len(treatment),
        "control": len(control),
        "units": [*units[:_MOST_NAMED]],
    }
    return [_refusal("missing-outcome", message, details)]
