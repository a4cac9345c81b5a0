"""Worked examples as the messages that come before the task: what the shell answers in them was run, not written."""

from collections.abc import Sequence

from cell import Cell
from conversations import Message
from dialects import BASH, Dialect
from math_sheets import Problem
from sessions import Show, open_task, run_command
from shell_tasks import Step, Worked


def show_worked(dialect: Dialect, examples: Sequence[Worked], show: Show) -> tuple[list[Message], str]:
    """The messages of the worked tasks, and what the shell said last, with which the message of the task begins."""
    messages: list[Message] = []
    last = ""
    for worked in examples:
        last = f"{last}\n\n{open_task(worked.task)}" if last else open_task(worked.task)
        cell = Cell(worked.task.files)
        for step in _choose_steps(dialect, worked):
            messages.append(Message(role="user", content=last))
            messages.append(Message(role="assistant", content=dialect.write(step)))
            text, status, _ = run_command(cell, worked.task, step.command)
            last = show(step.command, text, status)
        cell.close()
    return messages, last


def _choose_steps(dialect: Dialect, worked: Worked) -> list[Step]:
    # Said again, a long action is no turn of a corpus, and with JSON around it even this one is long.
    return [step for step in worked.steps if dialect is BASH or step.command != "ls"]


def show_problems(dialect: Dialect, problems: Sequence[Problem]) -> tuple[list[Message], str]:
    """The messages of the worked problems, and what was said last."""
    messages: list[Message] = []
    last = ""
    for problem in problems:
        last = f"{last}\n\nProblem: {problem.text}" if last else f"Problem: {problem.text}"
        reply = dialect.write(Step(problem.why, problem.what, problem.answer))
        messages += [Message(role="user", content=last), Message(role="assistant", content=reply)]
        last = "Right."
    return messages, last
