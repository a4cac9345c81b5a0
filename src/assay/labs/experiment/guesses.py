"""Guesses at what the columns of a data file hold, for a first registration; a person reads and corrects them.

A guess is made from the shape of the columns first (an arm repeats, a unit comes once in an arm, a unit lies in one
cluster) and from their names where several columns have that shape.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, NoReturn, TypeAlias

from assay.kernel.errors import BadInput
from assay.labs.experiment.cells import Cell, is_number_text
from assay.labs.experiment.sections import Mark
from assay.rules.names import nearest, show, suggest

__all__ = ["Choice", "Guess", "guess_columns"]

_HINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "arm": ("arm", "model", "agent", "system", "variant", "condition", "method", "prompt", "run"),
    "unit": ("unit", "instance", "task", "problem", "question", "item", "sample", "case", "example", "doc", "id"),
    "cluster": ("cluster", "repo", "group", "site", "suite", "subject", "domain", "category", "topic", "source"),
    "outcome": ("outcome", "resolved", "solved", "pass", "success", "correct", "score", "reward", "result", "accuracy"),
}
_TRUE: Final = ("true", "1", "yes", "pass", "passed", "success", "solved", "resolved", "correct", "1.0")
_FALSE: Final = ("false", "0", "no", "fail", "failed", "failure", "unsolved", "unresolved", "incorrect", "0.0")
_MOST_ARMS: Final = 50

Column: TypeAlias = Sequence[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a person has said already: names of columns and arms, None where it is to be guessed."""

    arm: str | None = None
    unit: str | None = None
    cluster: str | None = None
    outcome: str | None = None
    treatment: str | None = None
    control: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What the file seems to hold.

    Args:
        arm: The column of the arm.
        unit: The column of the unit.
        cluster: The column of the cluster.
        outcome: The column of the outcome.
        treatment: The arm whose gain is measured.
        control: The arm that it is compared with.
        arms: Every arm with its number of rows, most rows first.
        true: The cells of a binary outcome that mean yes; empty for a real one.
        false: The cells that mean no.
        numbers: Further columns that hold numbers only.
        clusters: In how many clusters the units lie that both arms have.
        pairs: How many units both arms have.
    """

    arm: str
    unit: str
    cluster: str
    outcome: str
    treatment: str
    control: str
    arms: tuple[tuple[str, int], ...]
    true: tuple[Mark, ...]
    false: tuple[Mark, ...]
    numbers: tuple[str, ...]
    clusters: int
    pairs: int


def guess_columns(file: str, columns: Mapping[str, Column], choice: Choice) -> Guess:
    """The guess that fits the file and what was chosen.

    Raises:
        BadInput: A chosen name is not there, or a column has to be named because none looks like it.
    """
    return _Guesser(file, columns, choice).guess()


class _Guesser:
    """Guesses one role after another; a column has one role."""

    def __init__(self, file: str, columns: Mapping[str, Column], choice: Choice) -> None:
        self._file = file
        self._columns = columns
        self._choice = choice
        chosen = {role: getattr(choice, role) for role in _HINTS}
        self._roles: dict[str, str] = {role: name for role, name in chosen.items() if name is not None}
        for role, name in self._roles.items():
            if name not in columns:
                self._refuse(f"there is no column {show(name)} to hold the {role}; {nearest(name, columns)}")

    def guess(self) -> Guess:
        outcome = self._pick("outcome", self._list_outcomes())
        arm = self._pick("arm", self._list_arms())
        arms = self._need_texts("arm")
        unit = self._pick("unit", self._list_units(arms))
        units = self._need_texts("unit")
        cluster = self._pick("cluster", self._list_clusters(units))
        clusters = self._need_texts("cluster")
        counts = Counter(arms)
        treatment, control = self._pick_arms(counts)
        shared = _share_units(zip(arms, units, strict=True), treatment, control)
        true, false = _split_marks(self._columns[outcome])
        return Guess(
            arm=arm,
            unit=unit,
            cluster=cluster,
            outcome=outcome,
            treatment=treatment,
            control=control,
            arms=tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            true=true,
            false=false,
            numbers=tuple(name for name in self._free() if _is_numeric(self._columns[name])),
            clusters=len({cluster for unit, cluster in zip(units, clusters, strict=True) if unit in shared}),
            pairs=len(shared),
        )

    def _refuse(self, problem: str) -> NoReturn:
        msg = f"{self._file}: {problem}"
        raise BadInput(msg, file=self._file)

    def _need_texts(self, role: str) -> list[str]:
        """The column of a role, every cell of which must be a name."""
        name = self._roles[role]
        texts = _texts(self._columns[name])
        if not texts:
            self._refuse(f"column {show(name)} cannot hold the {role}, for a cell of it is empty or no text")
        return texts

    def _free(self) -> list[str]:
        return [name for name in self._columns if name not in self._roles.values()]

    def _pick(self, role: str, candidates: Iterator[str]) -> str:
        """The chosen column, or the candidate whose name fits best; it is taken from then on."""
        if role not in self._roles:
            best = min(candidates, key=lambda name: _rank_name(name, role), default=None)
            if best is None:
                named = ", ".join(map(show, self._columns))
                self._refuse(f"no column looks like the {role}; name it ({role}), of {named}. {_SHAPES[role]}")
            self._roles[role] = best
        return self._roles[role]

    def _list_names(self, role: str) -> Iterator[tuple[str, list[str]]]:
        """The free columns of names, with their texts; numbers are names only where the column says so itself."""
        for name in self._free():
            column = self._columns[name]
            if not _is_numeric(column) or _rank_name(name, role) < len(_HINTS[role]):
                yield name, _texts(column)

    def _list_outcomes(self) -> Iterator[str]:
        free = self._free()
        binary = [name for name in free if _is_binary(self._columns[name])]
        numeric = [name for name in free if _is_numeric(self._columns[name])]
        hinted = [name for name in numeric if _rank_name(name, "outcome") < len(_HINTS["outcome"])]
        yield from binary or hinted or numeric

    def _list_arms(self) -> Iterator[str]:
        for name, texts in self._list_names("arm"):
            counts = Counter(texts)
            if 2 <= len(counts) <= _MOST_ARMS and min(counts.values()) >= 2:
                yield name

    def _list_units(self, arms: Sequence[str]) -> Iterator[str]:
        for name, units in self._list_names("unit"):
            if units and len(set(zip(arms, units, strict=True))) == len(units) > len(set(units)):
                yield name

    def _list_clusters(self, units: Sequence[str]) -> Iterator[str]:
        for name, clusters in self._list_names("cluster"):
            lies = dict(zip(units, clusters, strict=False))
            if 2 <= len(set(clusters)) < len(lies) and all(lies[u] == c for u, c in zip(units, clusters, strict=True)):
                yield name

    def _pick_arms(self, counts: Counter[str]) -> tuple[str, str]:
        chosen = (self._choice.treatment, self._choice.control)
        for role, arm in zip(("treatment", "control"), chosen, strict=True):
            if arm is not None and arm not in counts:
                hint = suggest(arm, counts) or f"the arms are {', '.join(map(show, counts))}"
                self._refuse(f"no row is of the {role} arm {show(arm)}; {hint}")
        rest = sorted((arm for arm in counts if arm not in chosen), key=lambda arm: (-counts[arm], arm))
        picked = [arm if arm is not None else rest.pop(0) if rest else None for arm in chosen]
        if picked[0] is None or picked[1] is None or picked[0] == picked[1]:
            self._refuse(f"two arms are compared, and column {show(self._roles['arm'])} offers no other arm")
        return picked[0], picked[1]


def _share_units(rows: Iterable[tuple[str, str]], treatment: str, control: str) -> set[str]:
    """The units that both arms have."""
    units: dict[str, set[str]] = defaultdict(set)
    for arm, unit in rows:
        units[arm].add(unit)
    return units[treatment] & units[control]


_SHAPES: Final[Mapping[str, str]] = {
    "outcome": "It holds yes or no in words that are known, or numbers.",
    "arm": f"It holds from 2 to {_MOST_ARMS} texts, each in several rows.",
    "unit": "It holds texts that come once in each arm, and in more than one arm.",
    "cluster": "It holds fewer texts than there are units, and one for each unit; if units are independent of one "
    "another, add a column that repeats the unit.",
}


def _rank_name(name: str, role: str) -> int:
    """The place of the first hint that the name holds, lower for a better fit."""
    lowered = name.lower()
    hints = _HINTS[role]
    return next((place for place, hint in enumerate(hints) if hint in lowered), len(hints))


def _texts(column: Column) -> list[str]:
    """The column, if it holds texts only and none is blank; else nothing."""
    texts = [cell for cell in column if isinstance(cell, str) and cell.strip()]
    return texts if len(texts) == len(column) else []


def _present(column: Column) -> list[Cell]:
    return [cell for cell in column if cell is not None and cell != ""]


def _is_binary(column: Column) -> bool:
    present = _present(column)
    return bool(present) and all(_meaning(cell) is not None for cell in present)


def _is_numeric(column: Column) -> bool:
    present = _present(column)
    return bool(present) and all(_is_number(cell) for cell in present)


def _is_number(cell: Cell) -> bool:
    if isinstance(cell, str):
        return is_number_text(cell)
    return isinstance(cell, int | float) and not isinstance(cell, bool) and isfinite(cell)


def _meaning(cell: Cell) -> bool | None:
    """What a cell of a binary outcome means, or None where no such word is known."""
    if not isinstance(cell, bool | int | str):
        return None
    word = str(cell).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _split_marks(column: Column) -> tuple[tuple[Mark, ...], tuple[Mark, ...]]:
    """The cells that mean yes and those that mean no, both with at least one; two times nothing for a real outcome."""
    if not _is_binary(column):
        return (), ()
    # The type is part of the key, because in Python true equals 1.
    marks = {(type(cell), cell): cell for cell in column if isinstance(cell, bool | int | str) and cell != ""}
    true = [mark for mark in marks.values() if _meaning(mark)]
    false = [mark for mark in marks.values() if not _meaning(mark)]
    return tuple(true or map(_opposite, false)), tuple(false or map(_opposite, true))


def _opposite(mark: Mark) -> Mark:
    if isinstance(mark, bool):
        return not mark
    if isinstance(mark, int):
        return 1 - mark
    word = mark.lower()
    return _FALSE[_TRUE.index(word)] if word in _TRUE else _TRUE[_FALSE.index(word)]
