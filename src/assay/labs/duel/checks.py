"""What must hold of a duel's evidence beside its integrity; the order and the texts of turns the verdict checks."""

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.architecture import accepts_architecture
from assay.labs.duel.attached import read_index
from assay.labs.duel.drawing import draw_slice
from assay.labs.duel.evidence_log import read_log
from assay.labs.duel.logs import DECISIONS, INDEX_FILE, MANIFEST_FILE
from assay.labs.duel.registration import DuelContract
from assay.verifier.lab import Check, Evidence

__all__ = ["CHECKS"]

_FILES = (MANIFEST_FILE, INDEX_FILE, "verdict.json", "report.html")
_KINDS = ("run.opened", "run.recovered", "file.attached", "run.closed")


def _check_decisions(_: DuelContract, evidence: Evidence) -> None:
    """The log of decisions holds the run's own entries and attached files, and nothing else."""
    for entry in evidence.entries(DECISIONS):
        if entry.get("kind") not in _KINDS:
            msg = f"{DECISIONS} entry {entry.get('sequence')}: expected one of {_KINDS}, got {entry.get('kind')!r}"
            raise EvidenceInvalid(msg)
        if entry.get("kind") == "file.attached" and entry.get("path") not in _FILES:
            msg = f"{DECISIONS} entry {entry.get('sequence')}: a duel attaches no file {entry.get('path')!a:.80}"
            raise EvidenceInvalid(msg)


def _check_models(contract: DuelContract, evidence: Evidence) -> None:
    """Every model has the weights that were registered, and no side has the teacher's or the other's."""
    drawn = draw_slice(contract, read_index(contract, evidence).index)
    log = read_log(evidence, drawn)
    models = log.models
    registered = {"teacher": contract.teacher.weights, "king": contract.king.weights}
    registered["challenger"] = contract.challenger.weights
    for role, weights in registered.items():
        if weights is not None and models[role].weights != weights:
            msg = f"the {role}'s weights are {models[role].weights}, and {weights} were registered"
            raise EvidenceInvalid(msg)
    if len({model.weights for model in models.values()}) < len(models):
        msg = "two of teacher, king and challenger have the same weights; a copy proves nothing"
        raise EvidenceInvalid(msg)
    for side, config in log.configs.items():
        if contract.architecture and not accepts_architecture(config, contract.architecture, contract.knobs.era):
            msg = f"the {side}'s config.json holds none of the architectures that the contract admits"
            raise EvidenceInvalid(msg)


CHECKS: tuple[Check[DuelContract], ...] = (
    Check(name="decisions", run=_check_decisions),
    Check(name="models", run=_check_models),
)
