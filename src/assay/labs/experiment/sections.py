"""The sections of a registration, each with its defaults and the range of every member."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from assay.kernel.canonical import MAX_SAFE_INTEGER
from assay.rules.predicates import Kind
from assay.rules.sections import Section, Text

__all__ = [
    "SUFFIXES",
    "Arms",
    "Binary",
    "Columns",
    "Data",
    "Estimand",
    "Interval",
    "Mark",
    "Outcome",
    "Real",
    "Test",
]

SUFFIXES: Final = (".csv", ".jsonl")

Share: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Draws: TypeAlias = Annotated[int, Field(ge=1000, le=1_000_000)]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Mark: TypeAlias = bool | int | str


class Columns(Section):
    """Which columns of the file hold what."""

    arm: Text
    unit: Text
    cluster: Text
    outcome: Text


class Data(Section):
    """Where the rows come from: the file, the plain SHA-256 of its bytes, and how its columns are read."""

    file: Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
    source: Text
    columns: Columns
    more: dict[Text, Kind] = Field(default_factory=dict[str, Kind])

    @property
    def suffix(self) -> str:
        """The ending of the file's name, which says how it is read."""
        return next((suffix for suffix in SUFFIXES if self.file.endswith(suffix)), "")


class Arms(Section):
    """The two arms, as the arm column names them."""

    treatment: Text
    control: Text


class Binary(Section):
    """A yes-or-no outcome: the cells that mean yes and no, and what a missing one means."""

    kind: Literal["binary"]
    true: Annotated[tuple[Mark, ...], Field(min_length=1)]
    false: Annotated[tuple[Mark, ...], Field(min_length=1)]
    missing: Literal["refuse", "exclude", "failure"] = "refuse"


class Real(Section):
    """A real outcome, with the bounds that it keeps."""

    kind: Literal["real"]
    min: float | None = None
    max: float | None = None
    missing: Literal["refuse", "exclude"] = "refuse"


Outcome: TypeAlias = Annotated[Binary | Real, Field(discriminator="kind")]


class Estimand(Section):
    """What is estimated."""

    kind: Literal["paired-difference-of-means"] = "paired-difference-of-means"


class Interval(Section):
    """The interval that describes the estimate: whole clusters are drawn, by a registered seed."""

    kind: Literal["cluster-bootstrap"] = "cluster-bootstrap"
    method: Literal["percentile"] = "percentile"
    level: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    draws: Draws = 20_000
    seed: Seed


class Test(Section):
    """The test that decides: exact up to a number of clusters, by drawn sign flips above it."""

    __test__ = False  # pytest collects classes of this name

    kind: Literal["cluster-sign-flip"] = "cluster-sign-flip"
    alternative: Literal["two-sided"] = "two-sided"
    alpha: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    # Not a choice: where every assignment can be gone through, a seed must not be able to decide.
    exact_up_to: Annotated[int, Field(ge=20, le=20)] = 20
    draws: Draws = 100_000
    seed: Seed
