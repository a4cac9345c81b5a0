"""How a rollout ended, by its own record (facts 5.8)."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from assay.kernel.canonical import Json

__all__ = ["Outcome", "rollout_outcome"]

Outcome: TypeAlias = Literal["solved", "failed", "unscored", "errored"]

_CLEAN_STOPS: Final = ("agent_completed", "max_turns")
_GRADES: Final = ("solved", "correct", "passed_fraction")
_CAP: Final = "rollout stopped: max_turns"


def rollout_outcome(trace: Mapping[str, Json]) -> Outcome:
    """Whether a rollout solved its task, failed, was not graded, or broke for reasons that are not the policy's."""
    stop = trace.get("stop_condition")
    errors = trace.get("errors") or []
    broke = not isinstance(errors, list) or not all(_is_cap(error, stop) for error in errors)
    if broke or stop not in _CLEAN_STOPS:
        return "errored"
    score = _grade(trace.get("rewards"))
    if isinstance(score, bool) or not isinstance(score, int | float | str):
        return "failed" if stop == "max_turns" else "unscored"
    try:
        return "solved" if float(score) >= 1 else "failed"
    except ValueError:
        return "unscored"
    except OverflowError:
        return "solved" if cast(int, score) > 0 else "failed"


def _is_cap(error: Json, stop: Json) -> bool:
    """Whether an error is only how a harness says that its turns were used up."""
    message = error.get("message") if isinstance(error, dict) else None
    return stop == "max_turns" and isinstance(message, str) and _CAP in message


def _grade(rewards: Json) -> Json:
    """The first grade that is there; one without a score does not make room for the next."""
    if not isinstance(rewards, dict):
        return None
    found = next((rewards[name] for name in _GRADES if rewards.get(name)), None)
    return found.get("score") if isinstance(found, dict) else None
