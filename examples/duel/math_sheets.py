"""The math sheets: 6 kinds of 2 sheets, six problems each, with four worked problems a kind that are never set."""

from collections.abc import Callable
from dataclasses import dataclass

PROBLEMS_PER_SHEET = 6
PASS_MARK = 4
_WORKED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem with its only right answer and the thought that leads to it, which is shown in worked ones alone."""

    text: str
    answer: str
    why: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One sheet: it is passed with `PASS_MARK` right answers; `name` is its kind and a number from 1."""

    name: str
    problems: tuple[Problem, ...]
    worked: tuple[Problem, ...]


_NAMES = (
    "Ann",
    "Bob",
    "Eva",
    "Tom",
    "Kim",
    "Lee",
    "Max",
    "Ida",
    "Sam",
    "Zoe",
    "Ben",
    "Mia",
    "Jon",
    "Amy",
    "Dan",
    "Lea",
)
_THINGS = ("pens", "nuts", "cards", "keys", "eggs", "coins", "books", "cups")


def build_sheets() -> tuple[Sheet, ...]:
    """Every sheet, in the order in which they are recorded."""
    kinds: dict[str, Callable[[int], Problem]] = {
        "gain": _gain,
        "loss": _loss,
        "boxes": _boxes,
        "after": _after,
        "twice": _twice,
        "larger": _larger,
    }
    return tuple(_build_sheet(kind, number, make) for kind, make in kinds.items() for number in (1, 2))


def _build_sheet(kind: str, number: int, make: Callable[[int], Problem]) -> Sheet:
    start = _WORKED + (number - 1) * PROBLEMS_PER_SHEET
    return Sheet(
        name=f"{kind}-{number}",
        worked=tuple(make(index) for index in range(_WORKED)),
        problems=tuple(make(index) for index in range(start, start + PROBLEMS_PER_SHEET)),
    )


def _pair(index: int) -> tuple[int, int]:
    # Two numbers, the first the larger; the pairs of one kind are all different.
    return 4 + (3 * index) % 8 + index // 8, 2 + index % 3


def _gain(index: int) -> Problem:
    (many, more), who, what = _pair(index), _NAMES[index], _THINGS[index % len(_THINGS)]
    return Problem(
        text=f"{who} has {many} {what} and gets {more} more. How many {what} has {who}?",
        answer=str(many + more),
        why=f"{who} has {many} and gets {more}.",
        what=f"{many} + {more} = {many + more}.",
    )


def _loss(index: int) -> Problem:
    (many, less), who, what = _pair(index), _NAMES[index], _THINGS[index % len(_THINGS)]
    return Problem(
        text=f"{who} has {many} {what} and loses {less}. How many {what} are left?",
        answer=str(many - less),
        why=f"{who} has {many} and loses {less}.",
        what=f"{many} - {less} = {many - less}.",
    )


def _boxes(index: int) -> Problem:
    (many, boxes), what = _pair(index), _THINGS[index % len(_THINGS)]
    return Problem(
        text=f"A box holds {many} {what}. How many {what} do {boxes} boxes hold?",
        answer=str(boxes * many),
        why=f"There are {boxes} boxes of {many}.",
        what=f"{boxes} * {many} = {boxes * many}.",
    )


def _after(index: int) -> Problem:
    number = 7 * index % 50 + 8
    return Problem(
        text=f"What number comes right after {number}?",
        answer=str(number + 1),
        why=f"I count on from {number}.",
        what=f"{number} + 1 = {number + 1}.",
    )


def _twice(index: int) -> Problem:
    number = index + 3
    return Problem(
        text=f"What is twice {number}?",
        answer=str(2 * number),
        why=f"Twice {number} is two times {number}.",
        what=f"2 * {number} = {2 * number}.",
    )


def _larger(index: int) -> Problem:
    one, two = 11 * index % 37 + 3, 17 * index % 41 + 5
    first, second, best = (one, two, max(one, two)) if index % 2 else (two, one, max(one, two))
    return Problem(
        text=f"Which number is larger, {first} or {second}?",
        answer=str(best),
        why=f"I compare {first} and {second}.",
        what=f"{best} > {min(first, second)}.",
    )
