"""How a reply is written and read in each of the four dialects, in the way the harness of that dialect does."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from shell_tasks import Step

_BASH = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{([^{}]*\S[^{}]*)\}")
_KEYS = {"analysis", "plan", "commands"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One dialect.

    Args:
        name: Its registered name.
        systems: The system messages in use; each holds the dialect's marker word.
        write: A reply of a worked example.
        find_actions: The texts of the actions in a reply, in order.
        read_command: What an action says to do; none where the harness can't tell.
    """

    name: str
    systems: tuple[str, ...]
    write: Callable[[Step], str]
    find_actions: Callable[[str], list[str]]
    read_command: Callable[[str], str | None]


def write_bash(step: Step) -> str:
    """A reply with one command in a bash block."""
    return f"{_think(step.why)}\nTHOUGHT: {step.what}\n\n```bash\n{step.command}\n```"


def write_call(step: Step) -> str:
    """A reply with one call of the tool bash."""
    call = json.dumps({"name": "bash", "arguments": {"command": step.command}})
    return f"{_think(step.why)}\nTHOUGHT: {step.what}\n\n<tool_call>\n{call}\n</tool_call>"


def write_terminal(step: Step) -> str:
    """A reply with one JSON object of commands."""
    return f"{_think(step.why)}\n" + json.dumps({"analysis": step.why, "plan": step.what, "commands": [step.command]})


def write_boxed(step: Step) -> str:
    """A reply with one boxed result."""
    return f"{_think(step.why)}\nTHOUGHT: {step.what}\n\n\\boxed{{{step.command}}}"


def find_objects(text: str) -> list[str]:
    """The JSON objects in `text` that hold analysis, plan and a list of commands; the scan ends at a broken one."""
    found: list[str] = []
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            break
        if isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["commands"], list):
            found.append(text[start:end])
        start = text.find("{", end)
    return found


def read_block(action: str) -> str | None:
    """The command of a bash block."""
    return action.removeprefix("```bash\n").removesuffix("\n```").strip() or None


def read_call(action: str) -> str | None:
    """The command of a tool call."""
    try:
        call = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))  # noqa: TID251 - a model's
        command = call["arguments"]["command"] if call["name"] == "bash" else None
    except (ValueError, TypeError, KeyError):
        return None
    return command.strip() or None if isinstance(command, str) else None


def read_object(action: str) -> str | None:
    """The commands of a JSON object, one a line."""
    listed = json.loads(action)["commands"]  # noqa: TID251 - a model's text, found to be JSON before
    return "\n".join(item.strip() for item in listed if isinstance(item, str)).strip() or None


def read_box(action: str) -> str | None:
    """The result in a box."""
    return action.removeprefix("\\boxed{").removesuffix("}").strip()


def _think(why: str) -> str:
    return f"<think>\n{why}\n</think>"


def _find_all(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    return lambda text: [match.group() for match in pattern.finditer(text)]


BASH = Dialect(
    name="bash",
    systems=(
        "You work in a bash shell. Answer with one short thought and one command in a bash block.",
        "You solve small tasks with bash. Think first, then give one command in a bash block.",
    ),
    write=write_bash,
    find_actions=_find_all(_BASH),
    read_command=read_block,
)
TOOL_CALL = Dialect(
    name="tool_call",
    systems=(
        'You have one tool.\n<tools>\n{"name": "bash", "arguments": {"command": "string"}}\n</tools>\n'
        "Answer with one short thought and one tool call.",
        'You solve small tasks with a tool.\n<tools>\n{"name": "bash", "arguments": {"command": "string"}}\n</tools>\n'
        "Think first, then call the tool once.",
    ),
    write=write_call,
    find_actions=_find_all(_CALL),
    read_command=read_call,
)
TERMINUS = Dialect(
    name="terminus_json",
    systems=(
        "You work in a terminal. Answer with one short thought and one JSON object that holds "
        '"analysis", "plan" and "commands".',
        'You solve small tasks in a terminal. Think first, then give JSON with "analysis", "plan" and "commands".',
    ),
    write=write_terminal,
    find_actions=find_objects,
    read_command=read_object,
)
BOXED = Dialect(
    name="boxed",
    systems=(
        "You solve small sums. Answer with one short thought and the result in \\boxed{}.",
        "You answer questions about numbers. Think first, then give one boxed number.",
    ),
    write=write_boxed,
    find_actions=_find_all(_BOXED),
    read_command=read_box,
)
