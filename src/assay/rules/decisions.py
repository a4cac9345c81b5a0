"""Decision tables over finitely many states: total, every branch reachable, first match wins.

A table is a list of branches ``{verdict, when, says}``; ``when`` is a condition on *signals*, each of which takes one
of a closed set of values. Because the states are finite, a table is checked by going through all of them when it is
read, and deciding later cannot fail.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput, InvariantBroken
from assay.rules.names import describe, nearest, show
from assay.rules.predicates import Predicate, evaluate, read_predicate

__all__ = [
    "Branch",
    "Decision",
    "Signal",
    "Signals",
    "State",
    "Table",
    "decide",
    "list_states",
    "parse_table",
    "read_table",
]

Signal: TypeAlias = bool | str
Signals: TypeAlias = Mapping[str, tuple[Signal, ...]]
State: TypeAlias = Mapping[str, Signal]

_MEMBERS = ("verdict", "when", "says")
_VERDICT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MOST_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of a table: the verdict where the condition holds, and what that verdict says in plain words."""

    verdict: str
    when: Predicate
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a table decided, and by which of its branches (counted from 0)."""

    verdict: str
    branch: int
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A decision table that covers every state of its signals, without a branch that nothing reaches."""

    branches: tuple[Branch, ...]
    signals: Signals

    def reaches(self) -> Iterator[tuple[State, Branch]]:
        """Every state of the signals, with the branch that decides it."""
        for state in list_states(self.signals):
            yield state, self.branches[decide(self, state).branch]


def list_states(signals: Signals) -> Iterator[State]:
    """Every combination of the signals' values, in their order.

    >>> [tuple(state.values()) for state in list_states({"p": (True, False), "side": ("left",)})]
    [(True, 'left'), (False, 'left')]
    """
    for values in product(*signals.values()):
        yield dict(zip(signals, values, strict=True))


def decide(table: Table, state: State) -> Decision:
    """The first branch of the table whose condition holds for the state.

    Raises:
        InvariantBroken: The state is not one of the table's signals.
    """
    strange = [name for name, value in state.items() if not _is_among(value, table.signals.get(name, ()))]
    if strange or state.keys() != table.signals.keys():
        msg = f"a state of the signals {', '.join(table.signals)} was expected, got {show(dict(state))}"
        raise InvariantBroken(msg)
    place = _match(table.branches, state)
    if place is None:
        msg = f"the decision table does not cover {_name_state(state)}; it was not read by parse_table"
        raise InvariantBroken(msg)
    branch = table.branches[place]
    return Decision(verdict=branch.verdict, branch=place, says=branch.says)


def parse_table(document: Json, signals: Signals) -> Table:
    """The table that a list of branches states.

    Raises:
        BadInput: It states none, does not cover every state, or has a branch that nothing reaches; the message lists
            every problem found.
    """
    table, problems = read_table(document, signals, "decision")
    if table is None:
        raise BadInput("; ".join(problems), problems=list(problems))
    return table


def read_table(document: Json, signals: Signals, where: str) -> tuple[Table | None, tuple[str, ...]]:
    """The table, or None with every problem found, each beginning with the place of the member it is about."""
    if not isinstance(document, list) or not document:
        return None, (f"{where}: expected a list of branches {{verdict, when, says}}, got {describe(document)}",)
    branches: list[Branch] = []
    problems: list[str] = []
    for place, item in enumerate(document):
        branch, found = _read_branch(item, signals, f"{where}[{place}]")
        problems += found
        branches += [branch] if branch else []
    if not problems:
        problems += _check_reach(branches, signals, where)
    return (None if problems else Table(branches=tuple(branches), signals=signals)), tuple(problems)


def _read_branch(item: Json, signals: Signals, where: str) -> tuple[Branch | None, list[str]]:
    if not isinstance(item, dict):
        return None, [f"{where}: expected a branch {{verdict, when, says}}, got {describe(item)}"]
    problems = [f"{where}.{name}: unknown member; {nearest(name, _MEMBERS)}" for name in item if name not in _MEMBERS]
    problems += [f"{where}: {name} is missing" for name in _MEMBERS if name not in item]
    verdict, says = item.get("verdict"), item.get("says")
    if "verdict" in item and not (isinstance(verdict, str) and _VERDICT.fullmatch(verdict)):
        got = describe(verdict)
        problems.append(f"{where}.verdict: expected a name of small letters, digits and hyphens, got {got}")
    if "says" in item and not (isinstance(says, str) and says.strip()):
        problems.append(f"{where}.says: expected a sentence that says what the verdict means, got {describe(says)}")
    when, found = read_predicate(item["when"], signals, f"{where}.when") if "when" in item else (None, ())
    problems += found
    if problems or when is None or not isinstance(verdict, str) or not isinstance(says, str):
        return None, problems
    return Branch(verdict=verdict, when=when, says=says), []


def _check_reach(branches: list[Branch], signals: Signals, where: str) -> list[str]:
    matches = [(state, _match(branches, state)) for state in list_states(signals)]
    uncovered = [_name_state(state) for state, place in matches if place is None]
    reached = {place for _, place in matches}
    problems = [
        f"{where}[{place}]: no state reaches {show(branch.verdict)}; its condition never holds, or earlier branches "
        "take all of its states"
        for place, branch in enumerate(branches)
        if place not in reached
    ]
    if uncovered:
        shown = "; ".join(uncovered[:_MOST_SHOWN])
        rest = f"; and {len(uncovered) - _MOST_SHOWN} more" if len(uncovered) > _MOST_SHOWN else ""
        problems.append(f"{where}: {len(uncovered)} of {len(matches)} states have no branch: {shown}{rest}")
    return problems


def _match(branches: list[Branch] | tuple[Branch, ...], state: State) -> int | None:
    return next((place for place, branch in enumerate(branches) if evaluate(branch.when, state)), None)


def _is_among(value: Signal, values: tuple[Signal, ...]) -> bool:
    return any(isinstance(value, bool) == isinstance(known, bool) and value == known for known in values)


def _name_state(state: State) -> str:
    return ", ".join(
        f"{name} {str(value).lower() if isinstance(value, bool) else value}" for name, value in state.items()
    )
