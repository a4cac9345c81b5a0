"""A session: a few shell tasks of one family, one after another, each in a cell of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cell import Cell
from checks import find_fault
from shell_tasks import Task

TRIES = 3
NO_OUTPUT = "(no output)"

Show = Callable[[str, str, int], str]
"""How a harness shows what a command printed: from the command, the text and the exit status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a command led to: what the agent is told, the exit status, and whether and how the session has ended."""

    text: str
    status: int
    ended: Literal["no", "solved", "tries"]


def open_task(task: Task) -> str:
    """The sentence that sets a task."""
    return f"Task: {task.text}"


def run_command(cell: Cell, task: Task, command: str) -> tuple[str, int, bool]:
    """What the agent is told of the command, its exit status, and whether its check found the task done."""
    text, status = cell.run(command)
    done = find_fault(task.checks, cell.root) is None
    return "\n".join(part for part in (text, "Done." if done else "") if part) or NO_OUTPUT, status, done


class Session:
    """The tasks that are left and the cell of the one that is set. A `with` block removes the cell at its end.

    A task ends as soon as its check passes, or with its `TRIES`th command; then the next one is set.
    """

    def __init__(self, tasks: Sequence[Task], show: Show) -> None:
        self._left = list(tasks)
        self._show = show
        self._tries = 0
        self._task = self._left.pop(0)
        self._cell = Cell(self._task.files)
        self.passed = 0
        """Tasks whose check passed when they ended."""

    def __enter__(self) -> "Session":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Removes the cell."""
        self._cell.close()

    @property
    def opening(self) -> str:
        """The sentence that sets the task that is set now."""
        return open_task(self._task)

    def run(self, command: str) -> Told:
        """What `command` led to."""
        text, status, done = run_command(self._cell, self._task, command)
        self._tries += 1
        told = self._show(command, text, status)
        if not done and self._tries < TRIES:
            return Told(text=told, status=status, ended="no")
        self.passed += done
        if not self._left:
            return Told(text=told, status=status, ended="solved" if done else "tries")
        self._set_next()
        return Told(text=f"{told}\n\n{self.opening}", status=status, ended="no")

    def _set_next(self) -> None:
        self._cell.close()
        self._task = self._left.pop(0)
        self._cell = Cell(self._task.files)
        self._tries = 0
