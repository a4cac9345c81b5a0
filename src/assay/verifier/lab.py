"""The `Lab` protocol: what running and verifying ask of a lab, and nothing else.

The verifier checks a bundle's integrity without any lab. Where the bundle's lab is installed, it also runs the lab's
structural checks and derives the verdict again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

from assay.kernel.canonical import Json
from assay.kernel.layout import Layout
from assay.kernel.logs import Body
from assay.verifier.figures import Report

__all__ = ["Appending", "Check", "Evidence", "Lab", "OpenRun", "Progress", "Record", "Unwatched", "Work"]

Record: TypeAlias = Mapping[str, Json]
R = TypeVar("R")


class Evidence(Protocol):
    """Verified evidence, as a lab's pure functions read it: from a store or, when verifying, from a bundle."""

    def entries(self, log: str) -> Iterator[Record]:
        """The entries of one log in order, whole (body and envelope); each call starts at the first entry."""
        ...

    def file(self, path: str) -> bytes:
        """The bytes of an attached file whose digest the logs commit.

        Raises:
            EvidenceInvalid: No entry attaches such a file.
        """
        ...


class Appending(Protocol):
    """Entries that are being put together for one commit."""

    def append(self, log: str, body: Body) -> None:
        """Adds an entry to one log: its own members, or what gives them from the entries before it."""
        ...


class OpenRun(Protocol):
    """A run that a lab writes evidence into; :class:`assay.kernel.run.Run` is one.

    The verifier must not need what writing needs, so it knows a run by this much only.
    """

    @property
    def evidence(self) -> Evidence:
        """What is committed so far."""
        ...

    def size(self, log: str) -> int:
        """The number of committed entries of a log."""
        ...

    def attach(self, path: str, data: bytes) -> None:
        """Commits a file of the bundle together with the entry that names its digest."""
        ...

    def attached(self, path: str) -> bool:
        """Whether a file lies at that path already."""
        ...

    def transaction(self) -> AbstractContextManager[Appending]:
        """Entries of several logs that are committed together when the block is left, or not at all."""
        ...


class Progress(Protocol):
    """Told how far a run has come."""

    def advance(self, count: int = 1) -> None:
        """Counts ``count`` more units as done."""
        ...

    def say(self, label: str) -> None:
        """Names what is being done now, in a word or two."""
        ...


class Unwatched:
    """Progress that nobody is shown."""

    def advance(self, count: int = 1) -> None:
        """Counts nothing."""

    def say(self, label: str) -> None:
        """Says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is left to do once a registration is sealed.

    Args:
        label: What is being done, in a word or two.
        units: How many units of it there are.
        run: Does it: writes evidence into an open run, continuing where an earlier attempt ended.
    """

    label: str
    units: int
    run: Callable[[OpenRun, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[R]):
    """One structural check of a lab's evidence: returns if it holds, raises ``EvidenceInvalid`` if it does not."""

    name: str
    run: Callable[[R, Evidence], None]


class Lab(Protocol[R]):
    """One kind of evaluation, as the verifier sees it. ``R`` is the lab's own registration type."""

    @property
    def name(self) -> str:
        """The lab's name, as registrations and manifests carry it."""
        ...

    @property
    def layout(self) -> Layout:
        """What the lab declares about its evidence."""
        ...

    def load(self, document: Record) -> R:
        """The registration a sealed document states.

        Raises:
            BadInput: The document is not a valid registration; the message lists every problem found.
        """
        ...

    def document(self, registration: R) -> dict[str, Json]:
        """The document that is sealed: the registration in full, every default written out."""
        ...

    def prepare(self, registration: R, folder: Path) -> Work:
        """What running the registration takes, after everything it names was read and found usable.

        Args:
            registration: What is to be sealed.
            folder: Where the files it names are looked for.

        Raises:
            BadInput: Something it names is missing or unusable; nothing has been written yet.
        """
        ...

    def checks(self) -> tuple[Check[R], ...]:
        """The lab's structural checks, in the order in which they are run."""
        ...

    def derive(self, registration: R, evidence: Evidence) -> dict[str, Json]:
        """The verdict: a pure function of registration and evidence, the same bytes on any machine.

        Raises:
            EvidenceInvalid: The evidence cannot be what a run under this registration writes.
        """
        ...

    def report(self, verdict: Record) -> Report:
        """Tables and figures of a verdict."""
        ...
