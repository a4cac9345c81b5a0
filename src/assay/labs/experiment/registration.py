"""The registration of a paired comparison: what is sealed before anything is computed.

A registration is a document of plain data. Reading it finds every problem at once and says each in plain words; what is
sealed is the full document, with every default written out.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.labs.experiment.consistency import check_rules, read_admission
from assay.labs.experiment.problems import EXPECTATIONS
from assay.labs.experiment.sections import Arms, Data, Estimand, Interval, Outcome, Test
from assay.labs.experiment.signals import read_decision
from assay.rules.admission import Stage
from assay.rules.decisions import Table
from assay.rules.registrations import read_model, refuse_problems
from assay.rules.sections import Id, Section, Seen, Text

__all__ = ["Experiment", "load"]


class Experiment(Section):
    """A paired comparison of two arms on recorded outcomes, as it is sealed."""

    lab: Literal["experiment"]
    version: Annotated[int, Field(ge=1, le=1)]  # a literal 1 would take true as well
    id: Id
    question: Text
    data: Data
    seen_before: Annotated[tuple[Seen, ...], Field(min_length=1)]
    arms: Arms
    outcome: Outcome
    admission: list[JsonValue] = Field(default_factory=list[JsonValue])
    estimand: Estimand = Estimand()
    interval: Interval
    test: Test
    decision: list[JsonValue]

    def to_document(self) -> dict[str, Json]:
        """The full document, every default written out; reading it gives this registration again."""
        return cast(dict[str, Json], self.model_dump(mode="json", by_alias=True))

    def stages(self) -> tuple[Stage, ...]:
        """The admission stages.

        Raises:
            BadInput: They are none; :func:`load` refuses such a registration.
        """
        stages, problems = read_admission(self.data.columns, self.data.more, cast(Json, self.admission))
        if problems:
            raise BadInput("; ".join(problems), problems=list(problems))
        return stages

    def table(self) -> Table:
        """The decision table.

        Raises:
            BadInput: It is not one; :func:`load` refuses such a registration.
        """
        table, problems = read_decision(cast(Json, self.decision), "decision")
        if table is None:
            raise BadInput("; ".join(problems), problems=list(problems))
        return table


def load(document: Mapping[str, Json]) -> Experiment:
    """The registration that a document states.

    Raises:
        BadInput: It states none; the message lists every problem found, and so does ``details["problems"]``.
    """
    copy, experiment, problems = read_model(Experiment, document, "registration", EXPECTATIONS)
    problems = list(dict.fromkeys([*problems, *check_rules(copy)]))
    if problems or experiment is None:
        refuse_problems(problems, "registration")
    return experiment
