"""The prompts of the chat probe: what an editor's assistant and a plain one are asked on any day.

They are public. A model that answers them only, and nothing else, is caught by the duel itself; what they are for is a
model that never closes its thought or shows no text, whatever it is asked.

The port to models renders messages alone, so tools are described in the system message, with the form of a call.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from assay.models.protocol import Message

__all__ = ["PROMPTS", "Expects", "ProbePrompt"]

Expects: TypeAlias = Literal["answer", "tool", "any"]
"""``answer``: visible text and no tool call; ``tool``: exactly one call; ``any``: visible text, or one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePrompt:
    """One conversation whose next message is asked for, and what that message has to be."""

    name: str
    expects: Expects
    messages: tuple[Message, ...]


_EDITOR: Final = (
    "You are the assistant inside a code editor. The user sees only what you write after your thinking, so always end "
    "with a short visible reply. Put code into fenced blocks."
)
_TOOLS: Final = (
    _EDITOR
    + """

You may call one tool instead of replying. The tools, as JSON:
{"name": "open_file", "parameters": {"path": "string"}}
{"name": "search_text", "parameters": {"query": "string", "folder": "string"}}

A call is written as
<tool_call>
{"name": "...", "arguments": {...}}
</tool_call>
and nothing follows it."""
)
_PLAIN: Final = "You are a friendly assistant. Answer in plain sentences."
_CODE: Final = """def mean(values):
    return sum(values) / len(values)"""


def _ask(name: str, expects: Expects, *texts: str, system: str | None) -> ProbePrompt:
    """A conversation: the user and the assistant in turns, the user first."""
    opening = () if system is None else (Message(role="system", content=system),)
    roles = ("user", "assistant")
    turns = tuple(Message(role=roles[at % 2], content=text) for at, text in enumerate(texts))
    return ProbePrompt(name=name, expects=expects, messages=opening + turns)


PROMPTS: Final = (
    _ask("editor-greeting", "answer", "Good morning! Are you there?", system=_EDITOR),
    _ask(
        "editor-write-code",
        "answer",
        "Write a Python function that returns the second largest number of a list.",
        system=_EDITOR,
    ),
    _ask(
        "editor-selection",
        "answer",
        f"I have selected this code:\n\n```python\n{_CODE}\n```\n\nWhat happens when the list is empty?",
        system=_EDITOR,
    ),
    _ask(
        "editor-follow-up",
        "answer",
        "How do I undo my last commit but keep the changes?",
        "Run `git reset --soft HEAD~1`: the commit is gone and its changes stay staged.",
        "And if I had pushed it already?",
        system=_EDITOR,
    ),
    _ask(
        "editor-open-file",
        "tool",
        "Open settings/defaults.toml with your tool, please. Do nothing else yet.",
        system=_TOOLS,
    ),
    _ask(
        "editor-search",
        "tool",
        "Find every place under the folder src that mentions retry_limit. Use the search tool.",
        system=_TOOLS,
    ),
    _ask("editor-either", "any", "Why might the tests of this project be slow?", system=_TOOLS),
    _ask("plain-fact", "answer", "Why does ice float on water?", system=_PLAIN),
    _ask("plain-list", "answer", "Name three vegetables that can be sown in early spring.", system=_PLAIN),
    _ask("no-system", "answer", "What is 17 times 6? Answer with the number alone.", system=None),
)
"""Four requests in an editor, two for a tool call, one that may do either, and three of plain talk."""
