"""The offline verifier: one bundle in, one report out; no network, no state, no runtime of the lab that wrote it.

The steps are those of ``docs/spec/bundle.md``, with its numbers. What one step finds does not hide what another would:
once there is a manifest, every step is run on whatever can still be read.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.kernel.canonical import Json
from assay.verifier.checkpoints import (
    check_anchors,
    check_checkpoints,
    check_consistency,
    check_inclusion,
    check_notes,
    check_witness,
)
from assay.verifier.claims import check_attachments, check_completeness, check_lab, check_registration
from assay.verifier.entries import check_entries
from assay.verifier.examination import Examination
from assay.verifier.intake import check_container, check_files, check_manifest
from assay.verifier.lab import Lab
from assay.verifier.policy import Policy
from assay.verifier.reading import Scanner
from assay.verifier.result import Outcome, Verification, new_steps
from assay.verifier.trust import check_trust

__all__ = ["Question", "verify_bundle"]

# Below this many bytes of logs, starting workers takes longer than they save.
_WORTH_WORKERS = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a reader wants to know of a bundle.

    Args:
        policy: Whom he believes, or ``None``.
        expect_head: The hash of the last checkpoint, got by another way, or ``None``.
        integrity_only: Whether the verdict may stay unchecked.
        labs: The labs that are installed, by name.
        jobs: Processes for signature checks; ``None`` takes the cores there are, where that pays.
    """

    policy: Policy | None = None
    expect_head: str | None = None
    integrity_only: bool = False
    labs: Mapping[str, Lab[Any]] = field(default_factory=dict[str, Lab[Any]])
    jobs: int | None = None


def verify_bundle(path: Path, question: Question | None = None) -> Verification:
    """The report on one bundle.

    Raises:
        BadInput: There is nothing at ``path``.
        MissingMaterial: It is there and cannot be read.
        UnknownVersion: It is of a format this release does not know.
    """
    asked = question or Question()
    result = Verification(steps=new_steps(), integrity_only=asked.integrity_only)
    container = check_container(path, result)
    manifest = check_manifest(container, result) if container is not None else None
    if container is None or manifest is None:
        _skip(result, "without a readable manifest there is nothing to hold the rest against")
        return _conclude(result)
    exam = Examination(container=container, manifest=manifest, result=result)
    check_files(exam)
    check_checkpoints(exam)
    check_witness(exam)
    with Scanner(_jobs(exam, asked)) as scanner:
        check_entries(exam, scanner)
    check_inclusion(exam)
    check_consistency(exam)
    check_notes(exam)
    check_anchors(exam)
    check_registration(exam)
    check_completeness(exam)
    check_attachments(exam)
    if result.failed():
        _skip_lab(result, "the evidence is not sound; a verdict from it would mean nothing")
    elif result.step("completeness").status != "passed":
        _skip_lab(result, "the evidence ends too early; a verdict from it would be of another run")
    else:
        check_lab(exam, asked.labs.get(manifest.lab))
    check_trust(exam, asked.policy, asked.expect_head)
    sizes: dict[str, Json] = {name: log.size for name, log in exam.logs.items()}
    result.facts.update({"lab": manifest.lab, "entries": sizes, "checkpoints": len(exam.points)})
    return _conclude(result)


def _jobs(exam: Examination, asked: Question) -> int:
    if asked.jobs is not None:
        return max(1, asked.jobs)
    size = sum(exam.readings[s.file].size for s in exam.manifest.layout.logs if s.file in exam.readings)
    return min(8, os.cpu_count() or 1) if size > _WORTH_WORKERS else 1


def _skip(result: Verification, note: str) -> None:
    for step in result.steps:
        if step.status == "passed" and step.number > 1:
            step.leave("skipped", note)


def _skip_lab(result: Verification, note: str) -> None:
    for name in ("structure", "verdict"):
        result.step(name).leave("skipped", note)


def _conclude(result: Verification) -> Verification:
    failed = set(result.failed())
    statuses = {step.name: step.status for step in result.steps}
    if failed - {"trust"}:
        result.outcome = Outcome.INVALID
    elif failed:
        result.outcome = Outcome.UNTRUSTED
    elif "incomplete" in statuses.values():
        result.outcome = Outcome.INCOMPLETE
    elif statuses["verdict"] != "passed" and not result.integrity_only:
        result.outcome = Outcome.UNCHECKED
    elif statuses["trust"] == "passed":
        result.outcome = Outcome.AUTHENTIC
    else:
        result.outcome = Outcome.CONSISTENT
    return result
