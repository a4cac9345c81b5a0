"""What the steps share while one bundle is examined."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.kernel.archive import Span
from assay.kernel.canonical import Json
from assay.kernel.checkpoint import Checkpoint
from assay.kernel.manifest import Manifest
from assay.kernel.seal import Sealed
from assay.verifier.reading import FileReading
from assay.verifier.result import StepResult, Verification

__all__ = ["Examination", "LogReading"]


@dataclass(slots=True)
class LogReading:
    """What the pass over one log left behind: its size and last hash, a few hashes, and the lines that were picked."""

    size: int = 0
    last: bytes = bytes(32)
    hashes: dict[int, bytes] = field(default_factory=dict[int, bytes])
    picked: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    picked_bytes: int = 0


@dataclass(slots=True)
class Examination:
    """One bundle under examination; each step fills in what later ones need."""

    container: Mapping[str, Span]
    manifest: Manifest
    result: Verification
    readings: dict[str, FileReading] = field(default_factory=dict[str, FileReading])
    points: list[Checkpoint] = field(default_factory=list[Checkpoint])
    logs: dict[str, LogReading] = field(default_factory=dict[str, LogReading])
    structural: set[str] = field(default_factory=set[str])
    attached: dict[str, str] = field(default_factory=dict[str, str])
    sealed: Sealed | None = None
    document: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def step(self, name: str) -> StepResult:
        """One step by its name."""
        return self.result.step(name)
