"""Duels out of bundles: what a bundle's evidence holds, read only after the whole bundle was verified."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from assay.kernel.canonical import Json
from assay.kernel.errors import AssayError, BadInput, EvidenceInvalid, MissingMaterial
from assay.labs.duel.lab import DuelLab
from assay.labs.duel.registration import DuelContract
from assay.verifier.lab import Evidence
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

__all__ = ["read_duel"]

T = TypeVar("T")
Reader = Callable[[DuelContract, Evidence, "dict[str, Json]"], T]


class _Reading(DuelLab, Generic[T]):
    """The duel lab, which also hands what it derives a verdict from to somebody else."""

    def __init__(self, reader: Reader[T]) -> None:
        self._reader = reader
        self.found: list[T] = []
        self.problem: AssayError | None = None

    def derive(self, registration: DuelContract, evidence: Evidence) -> dict[str, Json]:
        verdict = super().derive(registration, evidence)
        try:
            self.found = [self._reader(registration, evidence, verdict)]
        except AssayError as problem:  # the reader's own affair, which says nothing of the bundle
            self.problem = problem
        return verdict


def read_duel(bundle: Path, reader: Reader[T]) -> T:
    """What a reader makes of the contract, evidence and verdict of a duel's bundle.

    Raises:
        BadInput: There is nothing, or the bundle is another lab's.
        AssayError: What the reader raised.
        EvidenceInvalid: The bundle does not verify; nothing is read from it.
        MissingMaterial: It cannot be decided whether it does.
    """
    lab = _Reading(reader)
    result = verify_bundle(bundle, Question(labs={"duel": lab}))
    if result.facts.get("lab") not in (None, "duel"):
        msg = f"{bundle} is a bundle of the {result.facts['lab']} lab; expected one of a duel"
        raise BadInput(msg, path=str(bundle))
    if result.outcome is Outcome.INVALID:
        msg = f"{bundle} is invalid ({', '.join(result.failed())}); `assay verify {bundle}` says where"
        raise EvidenceInvalid(msg, failed=", ".join(result.failed()))
    if lab.problem is not None:
        raise lab.problem
    if not lab.found:
        msg = f"no verdict can be derived from {bundle}: {result.outcome.value}"
        raise MissingMaterial(msg)
    return lab.found[0]
