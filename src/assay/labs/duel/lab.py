"""The duel lab, as wiring lists it."""

from pathlib import Path

from assay.kernel.canonical import Json
from assay.kernel.layout import Layout
from assay.labs.duel.checks import CHECKS
from assay.labs.duel.logs import LAYOUT
from assay.labs.duel.registration import DuelContract, load
from assay.labs.duel.report import report
from assay.labs.duel.run import prepare
from assay.labs.duel.verdict import derive
from assay.verifier.figures import Report
from assay.verifier.lab import Check, Evidence, Record, Work

__all__ = ["LAB", "DuelLab"]


class DuelLab:
    """Duels of two models, scored by a frozen teacher's log-probabilities; see :class:`assay.verifier.lab.Lab`."""

    name = "duel"

    @property
    def layout(self) -> Layout:
        """The kernel's default layout with a log of turns and a log of decisions."""
        return LAYOUT

    def load(self, document: Record) -> DuelContract:
        """The contract a document states."""
        return load(document)

    def document(self, registration: DuelContract) -> dict[str, Json]:
        """The document that is sealed."""
        return registration.to_document()

    def prepare(self, registration: DuelContract, folder: Path) -> Work:
        """Reads the corpus, draws the slice and says what is left to do."""
        return prepare(registration, folder)

    def checks(self) -> tuple[Check[DuelContract], ...]:
        """What must hold of the evidence before a verdict is derived from it."""
        return CHECKS

    def derive(self, registration: DuelContract, evidence: Evidence) -> dict[str, Json]:
        """The verdict."""
        return derive(registration, evidence)

    def report(self, verdict: Record) -> Report:
        """Tables and figures of a verdict."""
        return report(verdict)


LAB = DuelLab()
