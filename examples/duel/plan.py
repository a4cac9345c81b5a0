"""Which rollouts are recorded: the tasks of each family four times in three dialects, every sheet once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from dialects import BASH, BOXED, TERMINUS, TOOL_CALL, Dialect
from math_sheets import Sheet, build_sheets
from shell_tasks import Family, Task, Worked, build_families


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the policy is asked; `system` is the number of the system message, `problems` how many are shown of a sheet.

    Two forms take turns, so that rollouts of one dialect differ in more than their task.
    """

    name: str
    temperature: float
    system: int
    problems: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """One rollout of a few shell tasks; `name` is their family and their numbers."""

    name: str
    tasks: tuple[Task, ...]
    examples: tuple[Worked, ...]
    dialect: Dialect
    form: Form

    @property
    def system(self) -> str:
        """The system message."""
        return self.dialect.systems[self.form.system]


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetPlan:
    """One rollout of a math sheet; `name` is the sheet's."""

    name: str
    sheet: Sheet
    form: Form
    dialect: Dialect = BOXED

    @property
    def system(self) -> str:
        """The system message."""
        return self.dialect.systems[self.form.system]


Plan = SessionPlan | SheetPlan

FORMS = (
    Form(name="a", temperature=0.6, system=0, problems=4),
    Form(name="b", temperature=0.8, system=1, problems=3),
)


def build_plan() -> tuple[Plan, ...]:
    """Every rollout in the order of recording, the dialects mixed."""
    families = build_families()
    return tuple(
        planned
        for number, (family, sheet) in enumerate(zip_longest(families, build_sheets()))
        for planned in _plan_family(number, family, _choose_others(families, number), sheet)
    )


def name_rollout(planned: Plan) -> str:
    """What tells the rollout from every other: dialect, form and tasks."""
    return f"{planned.dialect.name}|{planned.form.name}|{planned.name}"


def _choose_others(families: tuple[Family, ...], number: int) -> list[Family]:
    return [families[(number + step) % len(families)] for step in (5, 10)]


def _plan_family(number: int, family: Family, others: list[Family], sheet: Sheet | None) -> Iterator[Plan]:
    one, two, three = family.tasks
    first, second = FORMS
    turned = FORMS[number % 2]
    for tasks, dialect, form in (
        ((one, two, three), BASH, first),
        ((two, three, one), TERMINUS, turned),
        ((three, one, two), TOOL_CALL, turned),
        ((three, two, one), BASH, second),
    ):
        yield SessionPlan(
            name=f"{family.name}-" + "".join(task.name.rpartition("-")[2] for task in tasks),
            tasks=tasks,
            examples=tuple(shown.worked for shown in (*others, family)),
            dialect=dialect,
            form=form,
        )
    if sheet is not None:
        yield SheetPlan(name=sheet.name, sheet=sheet, form=turned)
