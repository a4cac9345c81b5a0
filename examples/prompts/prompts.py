"""The two arms: what the model is shown for one question, down to the characters of the chat template."""

from collections.abc import Sequence
from typing import Literal

Arm = Literal["bare", "examples"]

ARMS: tuple[Arm, ...] = ("bare", "examples")
DESCRIPTIONS: dict[Arm, str] = {
    "bare": "the question and one line of instruction",
    "examples": "the same, after three worked examples of the same family that are no items",
}
TEMPLATES: dict[Arm, str] = {
    "bare": "{question}\nAnswer with one word or number only.",
    "examples": (
        "Here are three worked examples.\n{examples}\n\n{question}\nAnswer with one word or number only."
    ),
}
EXAMPLE_TEMPLATE = "Question: {question}\nAnswer: {expected}"
# The model's own chat template, with the system message that it puts in when none is given.
CHAT_TEMPLATE = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"
)


def build_message(arm: Arm, question: str, worked: Sequence[tuple[str, str]]) -> str:
    """The user's message of `arm`; `worked` holds (question, answer) pairs, which `bare` leaves out."""
    examples = "\n".join(EXAMPLE_TEMPLATE.format(question=asked, expected=answer) for asked, answer in worked)
    return TEMPLATES[arm].format(question=question, examples=examples)


def build_prompt(arm: Arm, question: str, worked: Sequence[tuple[str, str]]) -> str:
    """The whole text given to the model: the message of `arm` inside the chat template."""
    return CHAT_TEMPLATE.format(message=build_message(arm, question, worked))
