"""How many strata each group of rollouts may have: everything is taken but the excess of the most over-supplied one.

A slice takes strata evenly, so a group's share of the strata is its share of every slice (facts 5.7).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from assay.labs.duel.corpus.routing import CODING, Record
from assay.labs.duel.slices import stratum_of

__all__ = ["GROUP_MIX", "LANGUAGE_MIX", "NETWORK_MIX", "Filled", "Mix", "cap_fill", "fill_mix", "language_of"]

GROUP_MIX: Final[Mapping[str, float]] = {
    "coding": 0.45,
    "terminal": 0.225,
    "nl2repo": 0.045,
    "math": 0.09,
    "tool_use": 0.09,
    "king_fail": 0.10,
}
"""The public network's shares of the strata at contract version 14."""

LANGUAGE_MIX: Final[Mapping[str, float]] = {"python": 0.40, "go": 0.15, "java": 0.15, "rs": 0.15, "tsjs": 0.15}
"""Its shares of the coding strata, by bucket of languages."""

_LANGUAGES: Final = {
    "go": "go",
    "golang": "go",
    "java": "java",
    "rs": "rs",
    "rust": "rs",
    "c": "rs",
    "c++": "rs",
    "cpp": "rs",
    "ts": "tsjs",
    "typescript": "tsjs",
    "js": "tsjs",
    "javascript": "tsjs",
    "php": "tsjs",
}
_SLACK: Final = 1e-9

Strata = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a mix takes.

    Args:
        selected: The rollouts that enter, key by key in the order in which keys first appear.
        deferred: Those that wait for a later cycle, in the same order.
        added: The strata that each key opens, in code point order.
    """

    selected: tuple[Record, ...]
    deferred: tuple[Record, ...]
    added: Mapping[str, tuple[str, ...]]


def cap_fill(
    records: Sequence[Record], key_of: Callable[[Record], str], have: Strata, targets: Mapping[str, float]
) -> Filled:
    """The rollouts that fit the targets, each with all of its turns.

    Args:
        records: The candidates, in order.
        key_of: What is shared out, such as the group of a rollout.
        have: The strata that each key holds already.
        targets: The share of the strata that each key should have; a key without a positive one is deferred whole.
    """
    by_key: dict[str, list[Record]] = {}
    for record in records:
        by_key.setdefault(key_of(record), []).append(record)
    reference = _second_supply(by_key, have, targets)
    selected: list[Record] = []
    deferred: list[Record] = []
    added: dict[str, tuple[str, ...]] = {}
    for key, candidates in by_key.items():
        target = targets.get(key, 0.0)
        if target <= 0:
            deferred += candidates
            continue
        held = frozenset(have.get(key, ()))
        taken, left, opened = _walk(candidates, held, target * reference)
        selected += taken
        deferred += left
        added[key] = opened
    return Filled(selected=tuple(selected), deferred=tuple(deferred), added=added)


def _second_supply(by_key: Mapping[str, list[Record]], have: Strata, targets: Mapping[str, float]) -> float:
    """The strata for each unit of target that the second-best supplied key could have; no bound if it is alone."""
    supplies = [
        len(set(have.get(key, ())).union(map(stratum_of, by_key.get(key, ())))) / target
        for key, target in targets.items()
        if target > 0
    ]
    return sorted(supplies)[-2] if len(supplies) > 1 else inf


def _walk(
    candidates: Sequence[Record], held: frozenset[str], cap: float
) -> tuple[list[Record], list[Record], tuple[str, ...]]:
    opened: set[str] = set()
    taken: list[Record] = []
    left: list[Record] = []
    for record in candidates:
        stratum = stratum_of(record)
        fits = stratum in held or stratum in opened or len(held) + len(opened) + 1 <= cap + _SLACK
        if fits and stratum not in held:
            opened.add(stratum)
        (taken if fits else left).append(record)
    return taken, left, tuple(sorted(opened))


def language_of(record: Record) -> str:
    """The bucket of a rollout's programming language; an unknown one counts as python.

    >>> language_of({"language": "C++"}), language_of({"language": ""})
    ('rs', 'python')
    """
    return _LANGUAGES.get(str(record.get("language") or "").strip().lower(), "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How strata are shared out.

    Args:
        groups: The share of each group.
        languages: The share of each bucket of languages among coding; none shares nothing out.
    """

    groups: Mapping[str, float]
    languages: Mapping[str, float]


NETWORK_MIX: Final = Mix(groups=GROUP_MIX, languages=LANGUAGE_MIX)
"""The public network's mix at contract version 14."""


def fill_mix(
    records: Sequence[Record],
    group_of: Callable[[Record], str],
    have: tuple[Strata, Strata],
    mix: Mix,
) -> tuple[Filled, Mapping[str, tuple[str, ...]]]:
    """What the mix takes, first by language inside coding, then by group; and the strata each language opens.

    Args:
        records: The candidates, in order.
        group_of: The group of a rollout.
        have: The strata held by each group, and by each bucket of languages inside coding.
        mix: How strata are shared out.
    """
    of_groups, of_languages = have
    coding = [record for record in records if group_of(record) == CODING]
    spoken = cap_fill(coding, language_of, of_languages, mix.languages) if mix.languages else None
    late = {id(record) for record in spoken.deferred} if spoken else set[int]()
    filled = cap_fill([record for record in records if id(record) not in late], group_of, of_groups, mix.groups)
    opened: dict[str, set[str]] = {}
    for record in filled.selected:
        if group_of(record) == CODING:
            opened.setdefault(language_of(record), set()).add(stratum_of(record))
    added = {key: tuple(sorted(found.difference(of_languages.get(key, ())))) for key, found in opened.items()}
    deferred = filled.deferred + (spoken.deferred if spoken else ())
    return Filled(selected=filled.selected, deferred=deferred, added=filled.added), added
