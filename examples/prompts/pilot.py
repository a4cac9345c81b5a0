"""The pilot: which form the prompts take was decided on these questions alone, none of which is an item.

    python pilot.py    asks every pilot question in every form under both arms and writes pilot.json

The rule, set before the pilot ran: the form with the most right answers in both arms together is taken, the earlier
one on a tie. Both arms use the same form, so the choice does not favour either.
"""

import json
import sys
from pathlib import Path

from grading import grade_answer
from items import build_families
from prompts import ARMS, Arm, Form, build_prompt
from record import Completer, ask, find_model, load_engine

PILOT = Path(__file__).resolve().parent / "pilot.json"
INSTRUCTION = "Answer with one word or number only.\n\n"
FORMS: dict[str, Form] = {
    "question-answer": Form(opening="", pattern="Question: {question}\nAnswer:"),
    "q-a": Form(opening="", pattern="Q: {question}\nA:"),
    "one-line": Form(opening="", pattern="{question} Answer:"),
    "question-answer, instruction first": Form(opening=INSTRUCTION, pattern="Question: {question}\nAnswer:"),
    "q-a, instruction first": Form(opening=INSTRUCTION, pattern="Q: {question}\nA:"),
}
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "capital": (
        ("What is the capital of Ecuador?", "Quito"),
        ("What is the capital of Lebanon?", "Beirut"),
        ("What is the capital of the Netherlands?", "Amsterdam"),
    ),
    "continent": (
        ("On which continent is Denmark?", "Europe"),
        ("On which continent is Mali?", "Africa"),
        ("On which continent is Laos?", "Asia"),
    ),
    "opposite": (
        ('What is the opposite of "left"?', "right"),
        ('What is the opposite of "light"?', "dark"),
        ('What is the opposite of "win"?', "lose"),
    ),
    "plural": (
        ('What is the plural of "bus"?', "buses"),
        ('What is the plural of "fox"?', "foxes"),
        ('What is the plural of "person"?', "people"),
    ),
    "past-tense": (
        ('What is the simple past tense of "drink"?', "drank"),
        ('What is the simple past tense of "sing"?', "sang"),
        ('What is the simple past tense of "drive"?', "drove"),
    ),
    "chemical-symbol": (
        ("What is the chemical symbol for boron?", "B"),
        ("What is the chemical symbol for radium?", "Ra"),
        ("What is the chemical symbol for platinum?", "Pt"),
    ),
    "calendar": (
        ("Which month comes right after November?", "December"),
        ("Which month comes right before February?", "January"),
        ("Which month comes right before December?", "November"),
    ),
    "addition": (
        ("What is 21 plus 6?", "27"),
        ("What is 4 plus 17?", "21"),
        ("What is 14 plus 22?", "36"),
    ),
    "subtraction": (
        ("What is 30 minus 4?", "26"),
        ("What is 15 minus 12?", "3"),
        ("What is 29 minus 7?", "22"),
    ),
    "larger": (
        ("Which number is larger, 5 or 71?", "71"),
        ("Which number is larger, 95 or 8?", "95"),
        ("Which number is larger, 99 or 40?", "99"),
    ),
    "first-letter": (
        ('What is the first letter of the word "lamp"?', "l"),
        ('What is the first letter of the word "snow"?', "s"),
        ('What is the first letter of the word "basket"?', "b"),
    ),
    "word-length": (
        ('How many letters are in the word "egg"?', "3"),
        ('How many letters are in the word "horse"?', "5"),
        ('How many letters are in the word "window"?', "6"),
    ),
    "number-word": (
        ("Write the number fourteen in digits.", "14"),
        ("Write the number forty-three in digits.", "43"),
        ("Write the number seventy-two in digits.", "72"),
    ),
    "roman-numeral": (
        ("Write the Roman numeral XXVIII in ordinary digits.", "28"),
        ("Write the Roman numeral XXXIX in ordinary digits.", "39"),
        ("Write the Roman numeral XII in ordinary digits.", "12"),
    ),
}


def main() -> int:
    """0 once pilot.json holds the counts of every form."""
    engine = load_engine(find_model())
    forms = {name: count_form(engine, form) for name, form in FORMS.items()}
    record = {"questions": sum(map(len, QUESTIONS.values())), "forms": forms, "chosen": choose_form(forms)}
    PILOT.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8", newline="\n")
    return 0


def count_form(engine: Completer, form: Form) -> dict[str, int]:
    """How many pilot questions were answered right in `form`, by arm."""
    return {arm: sum(count_family(engine, form, arm)) for arm in ARMS}


def count_family(engine: Completer, form: Form, arm: Arm) -> list[int]:
    """How many pilot questions were answered right in `form` under `arm`, family by family."""
    return [
        sum(
            grade_answer(ask(engine, build_prompt(arm, question, family.worked, form)), expected)
            for question, expected in QUESTIONS[family.name]
        )
        for family in build_families()
    ]


def choose_form(counts: dict[str, dict[str, int]]) -> str:
    """The form with the most right answers in both arms together; the earlier one on a tie."""
    return max(counts, key=lambda name: sum(counts[name].values()))


if __name__ == "__main__":
    sys.exit(main())
