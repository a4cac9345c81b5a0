"""What must hold of an experiment's evidence beside its integrity.

That the rows are the registered ones in their order, the verdict checks while it reads them.
"""

from assay.kernel.errors import EvidenceInvalid
from assay.labs.experiment.logs import DECISIONS
from assay.labs.experiment.registration import Experiment
from assay.verifier.lab import Check, Evidence

__all__ = ["CHECKS"]

_KINDS = ("run.opened", "run.recovered", "file.attached", "run.closed")


def _check_decisions(_: Experiment, evidence: Evidence) -> None:
    """The log of decisions holds the run's own entries and attached files, and nothing else."""
    for entry in evidence.entries(DECISIONS):
        if entry.get("kind") not in _KINDS:
            msg = f"{DECISIONS} entry {entry.get('sequence')}: expected one of {_KINDS}, got {entry.get('kind')!r}"
            raise EvidenceInvalid(msg)


CHECKS: tuple[Check[Experiment], ...] = (Check(name="decisions", run=_check_decisions),)
