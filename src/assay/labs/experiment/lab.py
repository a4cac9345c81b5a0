"""The experiment lab, as wiring lists it."""

from pathlib import Path

from assay.kernel.canonical import Json
from assay.kernel.layout import Layout
from assay.labs.experiment.checks import CHECKS
from assay.labs.experiment.logs import LAYOUT
from assay.labs.experiment.registration import Experiment, load
from assay.labs.experiment.report import report
from assay.labs.experiment.run import prepare
from assay.labs.experiment.verdict import derive
from assay.verifier.figures import Report
from assay.verifier.lab import Check, Evidence, Record, Work

__all__ = ["LAB", "ExperimentLab"]


class ExperimentLab:
    """Pre-registered comparison of two arms on recorded outcomes; see :class:`assay.verifier.lab.Lab`."""

    name = "experiment"

    @property
    def layout(self) -> Layout:
        """The kernel's default layout with a log of rows and a log of decisions."""
        return LAYOUT

    def load(self, document: Record) -> Experiment:
        """The registration a document states."""
        return load(document)

    def document(self, registration: Experiment) -> dict[str, Json]:
        """The document that is sealed."""
        return registration.to_document()

    def prepare(self, registration: Experiment, folder: Path) -> Work:
        """Reads the rows the registration names and says what is left to do."""
        return prepare(registration, folder)

    def checks(self) -> tuple[Check[Experiment], ...]:
        """What must hold of the evidence before a verdict is derived from it."""
        return CHECKS

    def derive(self, registration: Experiment, evidence: Evidence) -> dict[str, Json]:
        """The verdict."""
        return derive(registration, evidence)

    def report(self, verdict: Record) -> Report:
        """Tables and figures of a verdict."""
        return report(verdict)


LAB = ExperimentLab()
