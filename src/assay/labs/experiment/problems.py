"""What a validator found wrong with a registration, in plain words and with the place of each member."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from assay.kernel.canonical import Json
from assay.rules.names import describe, nearest

__all__ = ["EXPECTED", "list_problems"]

_SHARE: Final = "a number between 0 and 1, both excluded"
_SEED: Final = "a seed: a whole number from 0 to 2^53−1"
_COLUMN: Final = "the name of a column"
_MARKS: Final = "a list of the cells that mean so, at least one"

EXPECTED: Final[Mapping[str, str]] = {
    "lab": "experiment",
    "version": "1, the version that this release reads",
    "id": "a name of small letters, digits and hyphens, at most 100 long",
    "question": "the question in a sentence",
    "data": "an object {file, sha256, source, columns, more}",
    "data.file": "the name of a .csv or .jsonl file",
    "data.sha256": "the SHA-256 of the file in 64 small hex digits, as sha256sum prints it",
    "data.source": "a sentence that says where the rows come from",
    "data.columns": "an object {arm, unit, cluster, outcome}",
    "data.columns.arm": _COLUMN,
    "data.columns.unit": _COLUMN,
    "data.columns.cluster": _COLUMN,
    "data.columns.outcome": _COLUMN,
    "data.more": "an object that gives further columns their type",
    "data.more.*": "number, text or boolean",
    "seenBefore": "a list of {who, what}, at least one: the data exist, so somebody may have seen them",
    "seenBefore[]": "an object {who, what}",
    "seenBefore[].who": "who had seen the data, or had not",
    "seenBefore[].what": "what they had seen, or 'nothing'",
    "arms": "an object {treatment, control}",
    "arms.treatment": "the name of an arm",
    "arms.control": "the name of an arm",
    "outcome": "an object whose kind is binary or real",
    "outcome.kind": "binary or real",
    "outcome.true": _MARKS,
    "outcome.false": _MARKS,
    "outcome.true[]": "text, a whole number, or true or false",
    "outcome.false[]": "text, a whole number, or true or false",
    "outcome.min": "a number, or null for no bound",
    "outcome.max": "a number, or null for no bound",
    "outcome.missing": "refuse, exclude or, of a binary outcome, failure",
    "admission": "a list of stages {id, keep, reason}",
    "estimand": "an object {kind}",
    "estimand.kind": "paired-difference-of-means",
    "interval": "an object {kind, method, level, draws, seed}",
    "interval.kind": "cluster-bootstrap",
    "interval.method": "percentile",
    "interval.level": _SHARE,
    "interval.draws": "a whole number from 1,000 to 1,000,000",
    "interval.seed": _SEED,
    "test": "an object {kind, alternative, alpha, exactUpTo, draws, seed}",
    "test.kind": "cluster-sign-flip",
    "test.alternative": "two-sided",
    "test.alpha": _SHARE,
    "test.exactUpTo": "20",
    "test.draws": "a whole number from 1,000 to 1,000,000",
    "test.seed": _SEED,
    "decision": "a list of branches {verdict, when, says}",
}
"""What is expected at each place; ``[]`` stands for any item and ``*`` for any name."""


_OF_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "binary": ("kind", "true", "false", "missing"),
    "real": ("kind", "min", "max", "missing"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A member of a document: its path, the same with ``[]`` and ``*``, its value, and the section that holds it."""

    path: str
    pattern: str
    value: Json
    section: Json


def list_problems(error: ValidationError, document: Mapping[str, Json]) -> list[str]:
    """One sentence for every place at which the validator found something, in its order.

    Args:
        error: What the validator raised for *document*.
        document: The document that was read.
    """
    problems: dict[str, str] = {}
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        location = found["loc"]
        if found["type"].startswith("union_tag"):
            location = (*location, "kind")
        kind = "key" if location[-1:] == ("[key]",) else found["type"]
        place = _find(location, document)
        if kind == "too_short" and place.value:
            continue  # its items have been named already
        problems.setdefault(place.path, _word(kind, place))
    return list(problems.values())


def _find(location: tuple[int | str, ...], document: Mapping[str, Json]) -> _Place:
    """The member that a validator's location means; the names of its alternatives are left out."""
    place = _Place(path="", pattern="", value=dict(document), section=None)
    for at, part in enumerate(location):
        place = _step(place, part, last=at == len(location) - 1)
    return place


def _step(place: _Place, part: int | str, *, last: bool) -> _Place:
    value = place.value
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return _Place(path=f"{place.path}[{part}]", pattern=f"{place.pattern}[]", value=value[part], section=value)
    if isinstance(value, dict) and isinstance(part, str) and (part in value or (last and part != "[key]")):
        path = f"{place.path}.{part}".removeprefix(".")
        pattern = f"{place.pattern}.{part}".removeprefix(".")
        if pattern not in EXPECTED:
            pattern = f"{place.pattern}.*".removeprefix(".")
        return _Place(path=path, pattern=pattern, value=value.get(part), section=value)
    return place


def _word(kind: str, place: _Place) -> str:
    path, expected = place.path, EXPECTED.get(place.pattern)
    if kind == "key":
        return f"{path}: expected a name that is not blank"
    if kind == "missing" or (kind == "union_tag_not_found" and path == "outcome.kind"):
        return f"{path}: is missing; expected {expected}"
    if kind == "extra_forbidden" or expected is None:
        return f"{path}: unknown member; {_find_home(path) or nearest(path.rpartition('.')[2], _list_members(place))}"
    if path == "outcome.missing" and place.value == "failure":
        return f"{path}: the outcome is real, so no value stands for a failure; expected refuse or exclude"
    return f"{path}: expected {expected}, got {describe(place.value)}"


def _find_home(path: str) -> str:
    """Where a member of the whole document belongs, if sections know its name."""
    homes = [known.rpartition(".")[0] for known in EXPECTED if known.endswith(f".{path}") and known.count(".") == 1]
    return f"it belongs under {' or '.join(homes)}; move it there, indented" if homes else ""


def _list_members(place: _Place) -> tuple[str, ...]:
    """The names that a section may hold."""
    section = place.pattern.rpartition(".")[0]
    if section == "outcome" and isinstance(place.section, dict):
        return _OF_KIND.get(str(place.section.get("kind")), ())
    prefix = f"{section}." if section else ""
    rest = [pattern.removeprefix(prefix) for pattern in EXPECTED if pattern.startswith(prefix)]
    return tuple(name for name in rest if not set(name) & set(".[*"))
