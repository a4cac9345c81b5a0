"""The funnel of a verdict as a figure: a stage is named by the rows that remain, those that leave by the reason."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.labs.experiment.consistency import (
    ANOTHER_ARM,
    MISSING_IN_CONTROL,
    MISSING_IN_TREATMENT,
    NO_OUTCOME_IN_CONTROL,
    NO_OUTCOME_IN_TREATMENT,
)
from assay.verifier.figures import Funnel, FunnelStage

__all__ = ["draw_funnel"]


def draw_funnel(funnel: Mapping[str, Any], arms: Mapping[str, str]) -> Funnel:
    """The figure of a verdict's funnel; stages that removed nothing are in its note."""
    words = _word_stages(arms)
    return Funnel(
        title="From the source to the comparison",
        unit="rows",
        input=funnel["input"],
        stages=tuple(_draw(stage, words) for stage in funnel["stages"] if stage["excluded"]),
        surviving=funnel["surviving"],
        note="; ".join(_list_notes(funnel)),
    )


def _draw(stage: Mapping[str, Any], words: Mapping[str, tuple[str, str]]) -> FunnelStage:
    name, reason = words.get(stage["id"], (f"kept by {stage['id']}", stage["reason"]))
    return FunnelStage(
        name=name,
        reason=reason,
        entering=stage["entering"],
        excluded=stage["excluded"],
        remaining=stage["remaining"],
    )


def _word_stages(arms: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """For each stage of the lab's own, what the rows have that remain, and what those lack that leave."""
    ours, theirs = arms["treatment"], arms["control"]
    return {
        ANOTHER_ARM: ("of the two arms", "of an arm that is not compared"),
        MISSING_IN_TREATMENT: (f"unit is in {ours}", f"no row of {ours} for the same unit"),
        MISSING_IN_CONTROL: (f"unit is in {theirs}", f"no row of {theirs} for the same unit"),
        NO_OUTCOME_IN_TREATMENT: (f"outcome in {ours}", f"no outcome of {ours} for the unit"),
        NO_OUTCOME_IN_CONTROL: (f"outcome in {theirs}", f"no outcome of {theirs} for the unit"),
    }


def _list_notes(funnel: Mapping[str, Any]) -> Iterator[str]:
    removed = {stage["id"]: stage["excluded"] for stage in funnel["stages"]}
    yield f"{funnel['surviving']:,} rows make {funnel['pairs']:,} pairs"
    if not (removed[MISSING_IN_TREATMENT] or removed[MISSING_IN_CONTROL]):
        yield "no unit is missing in either arm"
    if removed.get(NO_OUTCOME_IN_TREATMENT) == 0 == removed.get(NO_OUTCOME_IN_CONTROL):
        yield "no pair left for a missing outcome"
    pairing = {MISSING_IN_TREATMENT, MISSING_IN_CONTROL, NO_OUTCOME_IN_TREATMENT, NO_OUTCOME_IN_CONTROL, ANOTHER_ARM}
    idle = [identity for identity, count in removed.items() if not count and identity not in pairing]
    if idle:
        yield f"admission stages that removed nothing: {', '.join(idle)}"
