"""What a decision table of this lab may ask, and the two rules that every such table obeys.

*p decides*: no verdict may be reached both with and without significance. *Disagreement is named*: where the interval
does not say what the test says, the verdict has a name that is not used where they agree. With few clusters the two do
part, because a percentile bootstrap of few clusters is too short.
"""

from collections import defaultdict
from fractions import Fraction
from typing import Final

from assay.kernel.canonical import Json
from assay.rules.decisions import Signals, State, Table, read_table
from assay.rules.names import show

__all__ = ["REFUSED", "SIGNALS", "agrees", "read_decision", "read_signals"]

SIGNALS: Final[Signals] = {
    "significant": (True, False),
    "direction": ("positive", "negative", "zero"),
    "interval": ("above-zero", "includes-zero", "below-zero"),
}
REFUSED: Final = "refused"
"""The verdict where the rules turn the design down; no branch may use its name."""

_SIDES: Final = {"positive": "above-zero", "negative": "below-zero"}


def read_signals(*, p: Fraction, alpha: Fraction, estimate: Fraction, lower: Fraction, upper: Fraction) -> State:
    """The signals of a result; an end of the interval at exactly zero includes zero.

    >>> half = Fraction(1, 2)
    >>> read_signals(p=Fraction(1, 20), alpha=Fraction(1, 20), estimate=half, lower=0 * half, upper=half)
    {'significant': True, 'direction': 'positive', 'interval': 'includes-zero'}
    """
    direction = "positive" if estimate > 0 else "negative" if estimate < 0 else "zero"
    interval = "above-zero" if lower > 0 else "below-zero" if upper < 0 else "includes-zero"
    return {"significant": p <= alpha, "direction": direction, "interval": interval}


def agrees(state: State) -> bool:
    """Whether the interval says what the test says: zero outside on the estimate's side iff significant."""
    if state["significant"]:
        return _SIDES.get(str(state["direction"])) == state["interval"]
    return state["interval"] == "includes-zero"


def read_decision(document: Json, where: str) -> tuple[Table | None, tuple[str, ...]]:
    """The decision table, or None with every problem found: those of any table, and those of this lab's rules."""
    table, problems = read_table(document, SIGNALS, where)
    if table is None:
        return None, problems
    found = _check_names(table, where)
    return (None if found else table), tuple(found)


def _check_names(table: Table, where: str) -> list[str]:
    states: dict[str, list[State]] = defaultdict(list)
    for state, branch in table.reaches():
        states[branch.verdict].append(state)
    problems: list[str] = []
    for verdict, reached in states.items():
        if verdict == REFUSED:
            problems.append(f"{where}: {show(REFUSED)} is what a design is called that the rules turn down; rename it")
        if len({state["significant"] for state in reached}) > 1:
            problems.append(
                f"{where}: {show(verdict)} is reached both with and without significance; p decides, "
                "so give each its own verdict"
            )
        elif len({agrees(state) for state in reached}) > 1:
            problems.append(
                f"{where}: {show(verdict)} is reached both where test and interval agree and where they do not; "
                "give the disagreement a verdict of its own"
            )
    return problems
