"""The two arms: the text that the model is given to continue for one question. No chat template is used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Arm = Literal["question", "examples"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How questions are laid out: `opening` comes first and once, `pattern` ends where an answer begins."""

    opening: str
    pattern: str


ARMS: tuple[Arm, ...] = ("question", "examples")
DESCRIPTIONS: dict[Arm, str] = {
    "question": "the question alone",
    "examples": "the same, after three worked examples of the same family that are no items",
}
# Chosen on the pilot questions of pilot.py, before any item was asked in any of the forms tried there.
FORM = Form(opening="", pattern="Question: {question}\nAnswer:")
SEPARATOR = "\n\n"


def build_prompt(arm: Arm, question: str, worked: Sequence[tuple[str, str]], form: Form = FORM) -> str:
    """The whole text given to the model; `worked` holds (question, answer) pairs, which `question` leaves out."""
    shown = worked if arm == "examples" else ()
    parts = [f"{form.pattern.format(question=asked)} {answer}" for asked, answer in shown]
    return form.opening + SEPARATOR.join([*parts, form.pattern.format(question=question)])
