"""What verification found: numbered steps, what failed where, and the one word it all comes to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from assay.kernel.canonical import Json

__all__ = ["SHOWN", "STEPS", "Failure", "KeyMet", "Outcome", "StepResult", "Verification"]

# How many failures of one step a report lists, and how much it quotes of each; it counts the rest.
SHOWN = 20
_QUOTED = 1000

STEPS: tuple[tuple[str, str], ...] = (
    ("container", "the bundle is a folder of plain files or the one zip form"),
    ("manifest", "the manifest is canonical and names a layout and usable keys"),
    ("files", "the files are those the manifest lists, with its sizes and digests"),
    ("canonical", "every entry is one line of canonical JSON"),
    ("sequences", "sequences count up by one from 1"),
    ("links", "every entry holds the hash of the one before it"),
    ("entry-hashes", "every entry hash is that of its content"),
    ("writer-signatures", "every entry is signed by its log's key"),
    ("checkpoint-hashes", "checkpoints are numbered, chained and hashed right"),
    ("witness-signatures", "every checkpoint is signed by the witness"),
    ("merkle-roots", "the logs give the roots and last hashes of every checkpoint"),
    ("inclusion-proofs", "the inclusion proofs lead to the last checkpoint's roots"),
    ("consistency-proofs", "every checkpoint's logs extend those of the one before"),
    ("notes", "the published log heads are the last checkpoint's, under their keys"),
    ("anchors", "what fixes a checkpoint in time holds"),
    ("registration", "the registration is as sealed, and every checkpoint names the one in force"),
    ("completeness", "the last checkpoint closes every log, and nothing comes after it"),
    ("attachments", "every other file is committed by an entry"),
    ("structure", "the lab's own checks of its evidence hold"),
    ("verdict", "the verdict follows from registration and evidence"),
    ("trust", "the keys, the registration and the head are those that are believed"),
)


class Outcome(StrEnum):
    """What a verification comes to."""

    AUTHENTIC = "authentic"
    CONSISTENT = "consistent"
    INVALID = "invalid"
    UNTRUSTED = "untrusted"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing found wrong.

    Args:
        where: The record: ``rows entry 17``, ``checkpoint 3``, a path.
        message: What was expected and what came.
    """

    where: str
    message: str

    def to_json(self) -> dict[str, Json]:
        """The failure as the report carries it."""
        return {"where": self.where, "message": self.message}


@dataclass(slots=True)
class StepResult:
    """One step: its number from 1, its name, whether it passed, and why not.

    ``skipped`` means an earlier failure left nothing to check; ``unchecked`` that what it needs is not at hand.
    """

    number: int
    name: str
    title: str
    status: Literal["passed", "failed", "skipped", "unchecked", "incomplete"] = "passed"
    failures: list[Failure] = field(default_factory=list[Failure])
    more: int = 0
    note: str = ""

    def fail(self, where: str, message: str) -> None:
        """Records a failure; beyond the first few they are only counted."""
        self.status = "failed"
        if len(self.failures) < SHOWN:
            self.failures.append(Failure(_cut(where), _cut(message)))
        else:
            self.more += 1

    def leave(self, status: Literal["skipped", "unchecked", "incomplete"], note: str) -> None:
        """Says that the step was not decided, and why; a failure that is recorded already stands."""
        if self.status == "passed":
            self.status = status
        self.note = note

    def to_json(self) -> dict[str, Json]:
        """The step as the report carries it."""
        return {
            "number": self.number,
            "name": self.name,
            "title": self.title,
            "status": self.status,
            "failures": [failure.to_json() for failure in self.failures],
            "moreFailures": self.more,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class KeyMet:
    """A key that signed something in the bundle, and whether the policy believes it (``None`` without a policy)."""

    role: str
    key_id: str
    public: str
    believed: bool | None

    def to_json(self) -> dict[str, Json]:
        """The key as the report carries it."""
        return {"role": self.role, "keyId": self.key_id, "publicKey": self.public, "believed": self.believed}


@dataclass(slots=True, kw_only=True)
class Verification:
    """The whole report. ``facts`` hold what identifies the bundle: lab, registration, head, log sizes."""

    steps: list[StepResult]
    outcome: Outcome = Outcome.CONSISTENT
    integrity_only: bool = False
    facts: dict[str, Json] = field(default_factory=dict[str, Json])
    keys: list[KeyMet] = field(default_factory=list[KeyMet])

    def step(self, name: str) -> StepResult:
        """One step by its name."""
        return next(step for step in self.steps if step.name == name)

    def failed(self, names: Iterable[str] | None = None) -> list[str]:
        """The names of the steps that failed, among ``names`` or all."""
        wanted = set(names) if names is not None else None
        return [s.name for s in self.steps if s.status == "failed" and (wanted is None or s.name in wanted)]

    def to_json(self) -> dict[str, Json]:
        """The report as one JSON object."""
        return {
            "schema": "assay.verification",
            "version": 1,
            "outcome": self.outcome.value,
            "integrityOnly": self.integrity_only,
            **self.facts,
            "keys": [key.to_json() for key in self.keys],
            "steps": [step.to_json() for step in self.steps],
            "limits": list(LIMITS),
        }


LIMITS = (
    "Nothing is shown about whether what was recorded is true, or about what was never handed to the writer.",
    "One operator who holds every key can rewrite a run whose head nobody outside has seen.",
    "Times are the operator's own clock.",
)


def new_steps() -> list[StepResult]:
    """Every step, not yet run."""
    return [StepResult(number, name, title) for number, (name, title) in enumerate(STEPS, start=1)]
