"""What an action of a lab's command answers: a report or a text for people, one JSON object for machines."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.verifier.figures import Report

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an action answers.

    Args:
        json: The one object for machines.
        report: What people are shown; None where a text says it.
        text: The text, where there is no report.
        exit: The exit code.
    """

    json: Mapping[str, object]
    report: Report | None = None
    text: str = ""
    exit: int = 0
