"""What a registration of an experiment expects of each member, in plain words."""

from collections.abc import Mapping
from typing import Final

from assay.kernel.canonical import Json
from assay.rules.problems import Expectations

__all__ = ["EXPECTATIONS"]

_SHARE: Final = "a number between 0 and 1, both excluded"
_SEED: Final = "a seed: a whole number from 0 to 2^53−1"
_COLUMN: Final = "the name of a column"
_MARKS: Final = "a list of the cells that mean so, at least one"

_MEMBERS: Final[Mapping[str, str]] = {
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

_OF_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "binary": ("kind", "true", "false", "missing"),
    "real": ("kind", "min", "max", "missing"),
}


def _word_missing(path: str, value: Json) -> str | None:
    if path == "outcome.missing" and value == "failure":
        return "the outcome is real, so no value stands for a failure; expected refuse or exclude"
    return None


EXPECTATIONS: Final = Expectations(members=_MEMBERS, of_kind={"outcome": _OF_KIND}, special=_word_missing)
"""What every member of an experiment's registration should be."""
