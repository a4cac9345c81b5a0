"""The verdict of an experiment: a pure function of its registration and the rows in evidence.

Refusals are part of the verdict. Where there is one, nothing was computed: no effect, no p-value, no interval, no
contrast. The power floor is looked at before any outcome is.
"""

from collections.abc import Iterator
from math import sqrt
from typing import Final, cast

from assay.kernel.canonical import Json, dumps, loads
from assay.kernel.seal import registration_digest
from assay.labs.experiment.absences import list_absence_notes
from assay.labs.experiment.analysis import Analysis, analyse, complete_pairs
from assay.labs.experiment.numbers import NO_NUMBERS, number_members
from assay.labs.experiment.pairing import Pairing, pair_rows
from assay.labs.experiment.refusals import list_refusals, refused_decision
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.rows import list_rows
from assay.labs.experiment.signals import read_signals
from assay.rules.decisions import decide
from assay.stats.exact import read_share
from assay.verifier.lab import Evidence

__all__ = ["FEW_CLUSTERS", "KIND", "VERSION", "derive"]

KIND: Final = "assay.experiment.verdict"
VERSION: Final = 1
_NEAR_ERRORS: Final = 3
FEW_CLUSTERS: Final = 30
"""Below so many clusters the verdict warns of the percentile bootstrap; a common rule of thumb."""


def derive(experiment: Experiment, evidence: Evidence) -> dict[str, Json]:
    """The verdict, the same bytes on any machine, whatever the order of rows in the source.

    Its values are those that its bytes give when they are read: a whole number is an integer.

    Raises:
        EvidenceInvalid: The rows in evidence cannot be those of a run under this registration.
    """
    return cast(dict[str, Json], loads(dumps(_derive(experiment, evidence))))


def _derive(experiment: Experiment, evidence: Evidence) -> dict[str, Json]:
    pairing = pair_rows(list_rows(experiment, evidence), experiment)
    refusals = list_refusals(pairing, experiment)
    verdict = _head(experiment)
    verdict["funnel"] = _funnel(pairing)
    verdict["refusals"] = refusals
    if refusals:
        notes: list[Json] = [_RETROSPECTIVE, *list_absence_notes(pairing.absences, experiment)]
        verdict |= {**NO_NUMBERS, "decision": refused_decision(refusals), "notes": notes}
        return verdict
    pairs, filled = complete_pairs(pairing.pairs, experiment)
    analysis = analyse(pairs, experiment)
    verdict |= number_members(analysis, experiment, pairing.absences.clusters)
    said: list[Json] = [*_notes(analysis, experiment, filled), *list_absence_notes(pairing.absences, experiment)]
    verdict |= {"decision": _decide(analysis, experiment), "notes": said}
    return verdict


def _head(experiment: Experiment) -> dict[str, Json]:
    document = experiment.to_document()
    return {
        "kind": KIND,
        "version": VERSION,
        "id": experiment.id,
        "question": experiment.question,
        "registration": registration_digest(document),
        "label": "retrospective",
        "seenBefore": document["seenBefore"],
        "arms": document["arms"],
        "data": {"sha256": experiment.data.sha256, "source": experiment.data.source},
    }


def _decide(analysis: Analysis, experiment: Experiment) -> dict[str, Json]:
    state = read_signals(
        p=analysis.test.p,
        alpha=read_share(experiment.test.alpha, "alpha"),
        estimate=analysis.differences.estimate,
        lower=analysis.interval.lower_exact,
        upper=analysis.interval.upper_exact,
    )
    decision = decide(experiment.table(), state)
    return {
        "verdict": decision.verdict,
        "says": decision.says,
        "branch": decision.branch,
        "signals": dict(state.items()),
    }


def _funnel(pairing: Pairing) -> dict[str, Json]:
    funnel = pairing.funnel
    return {
        "unit": "row",
        "input": funnel.input,
        "stages": [
            {
                "id": stage.id,
                "reason": stage.reason,
                "entering": stage.entering,
                "excluded": stage.excluded,
                "remaining": stage.remaining,
            }
            for stage in funnel.stages
        ],
        "surviving": funnel.surviving,
        "pairs": len(pairing.pairs),
    }


def _note(code: str, message: str) -> dict[str, Json]:
    return {"code": code, "message": message}


_RETROSPECTIVE: Final[Json] = _note(
    "retrospective",
    "the data existed before this was registered, and the account of who had seen what is sealed with the rest; the "
    "verdict shows what the registered rules give, not that they were chosen blind",
)


def _notes(analysis: Analysis, experiment: Experiment, filled: int) -> Iterator[Json]:
    yield _RETROSPECTIVE
    clusters = len(analysis.differences)
    if clusters < FEW_CLUSTERS:
        yield _note(
            "few-clusters",
            f"with {clusters} clusters a percentile bootstrap under-covers: its interval tends to be too short; the "
            "test decides, and the interval that inverts the test stands beside it",
        )
    if analysis.test.method == "monte-carlo":
        p, drawn = analysis.test.p, analysis.test.assignments
        error = sqrt(float(p * (1 - p) / drawn))
        near = abs(float(p - read_share(experiment.test.alpha, "alpha"))) <= _NEAR_ERRORS * error
        yield _note(
            "monte-carlo",
            f"{clusters} clusters have too many sign assignments to go through them all; {analysis.test.assignments:,} "
            "were drawn by the registered seed, and the observed one counts as one more; the standard error of this p "
            f"is {error:.5f}" + (", and alpha is so near that another seed could decide otherwise" if near else ""),
        )
    if read_share(experiment.interval.level, "level") + read_share(experiment.test.alpha, "alpha") != 1:
        yield _note(
            "another-level",
            f"the interval is of level {experiment.interval.level}, and the test decides at alpha "
            f"{experiment.test.alpha}: the two do not answer the same question",
        )
    if filled:
        yield _note("missing-as-failure", f"{filled} missing outcomes count as failures, as registered")
