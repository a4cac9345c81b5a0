"""The recorded outcomes of examples/prompts: items, pilot, grades, counts and digests agree. Needs no model."""

import csv
import hashlib
import importlib
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "prompts"
COLUMNS = ["family", "item", "arm", "question", "expected", "answer", "correct"]

Row = dict[str, str]


def load(name: str) -> ModuleType:
    """The module of that name in the folder, whose modules import one another by their bare names."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


grading = load("grading")
items = load("items")
pilot = load("pilot")
prompts = load("prompts")


def read_rows() -> list[Row]:
    with (FOLDER / "outcomes.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_recording() -> dict[str, Any]:
    recording: dict[str, Any] = json.loads((FOLDER / "recording.json").read_text(encoding="utf-8"))
    return recording


def count_arms(rows: list[Row]) -> dict[str, dict[str, int]]:
    """Rows and right answers of every arm that occurs in `rows`."""
    return {
        arm: {
            "rows": sum(row["arm"] == arm for row in rows),
            "correct": sum(row["arm"] == arm and row["correct"] == "true" for row in rows),
        }
        for arm in {row["arm"] for row in rows}
    }


def recorded_counts() -> dict[str, dict[str, int]]:
    return {name: {"rows": arm["rows"], "correct": arm["correct"]} for name, arm in read_recording()["arms"].items()}


def expected_columns() -> list[tuple[str, str, str, str, str]]:
    return [
        (item.family, item.name, arm, item.question, item.expected)
        for item in items.build_items()
        for arm in prompts.ARMS
    ]


def find_misgraded(rows: list[Row]) -> list[str]:
    verdicts = {True: "true", False: "false"}
    return [
        f"{row['item']} {row['arm']}"
        for row in rows
        if verdicts[grading.grade_answer(row["answer"], row["expected"])] != row["correct"]
    ]


def test_there_are_enough_distinct_items_in_equal_families() -> None:
    built = items.build_items()
    families = Counter(item.family for item in built)
    assert len(families) >= 12
    assert len(built) >= 360
    assert set(families.values()) == {30}
    assert len({item.name for item in built}) == len(built)
    assert len({item.question for item in built}) == len(built)


def test_worked_examples_are_three_a_family_and_no_items() -> None:
    asked = {item.question for item in items.build_items()}
    for family in items.build_families():
        assert len(family.worked) == 3
        assert not asked & {question for question, _ in family.worked}


def test_expected_answers_are_one_word_or_number() -> None:
    assert all(re.fullmatch(r"[A-Za-z]+|[0-9]+", item.expected) for item in items.build_items())


@pytest.mark.parametrize(
    ("family", "pattern", "answer"),
    [
        ("addition", r"What is (\d+) plus (\d+)\?", lambda a, b: a + b),
        ("subtraction", r"What is (\d+) minus (\d+)\?", lambda a, b: a - b),
        ("larger", r"Which number is larger, (\d+) or (\d+)\?", max),
    ],
)
def test_arithmetic_answers_follow_from_the_question(family: str, pattern: str, answer: Any) -> None:
    for item in items.build_items():
        if item.family == family:
            left, right = map(int, re.fullmatch(pattern, item.question).groups())  # type: ignore[union-attr]
            assert left != right or family != "larger"
            assert int(item.expected) == answer(left, right)


def test_outcomes_hold_each_item_once_per_arm_in_order() -> None:
    rows = read_rows()
    assert list(rows[0]) == COLUMNS
    recorded = [(row["family"], row["item"], row["arm"], row["question"], row["expected"]) for row in rows]
    assert recorded == expected_columns()


def test_outcomes_are_utf8_with_lf_and_minimal_quoting() -> None:
    data = (FOLDER / "outcomes.csv").read_bytes()
    lines = [",".join(_quote(field) for field in row.values()) for row in read_rows()]
    assert data.decode("utf-8") == "\n".join([",".join(COLUMNS), *lines]) + "\n"


def _quote(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if re.search('[",\r\n]', field) else field


def test_recorded_grades_follow_from_the_rule() -> None:
    assert find_misgraded(read_rows()) == []


def test_a_wrong_grade_is_noticed_both_ways() -> None:
    row = read_rows()[0]
    assert find_misgraded([row | {"answer": row["expected"], "correct": "false"}]) == [f"{row['item']} {row['arm']}"]
    assert find_misgraded([row | {"answer": "no such answer", "correct": "true"}]) == [f"{row['item']} {row['arm']}"]


@pytest.mark.parametrize("answer", ["Paris", " paris. ", "PARIS\nis the capital", "\n Paris .\n"])
def test_the_rule_accepts_the_same_word_in_other_dress(answer: str) -> None:
    assert grading.grade_answer(answer, "Paris")


@pytest.mark.parametrize("answer", ["", ".", "The capital is Paris.", "Paris..", "Paris!", '"Paris"', "Par is"])
def test_the_rule_refuses_anything_else(answer: str) -> None:
    assert not grading.grade_answer(answer, "Paris")


def test_the_recording_states_what_the_code_holds() -> None:
    recording = read_recording()
    assert {name: arm["description"] for name, arm in recording["arms"].items()} == prompts.DESCRIPTIONS
    assert recording["form"] == {
        "opening": prompts.FORM.opening,
        "pattern": prompts.FORM.pattern,
        "separator": prompts.SEPARATOR,
    }
    assert recording["gradingRule"] == grading.RULE
    assert recording["workedExamples"] == {
        family.name: [list(pair) for pair in family.worked] for family in items.build_families()
    }


def test_the_recording_counts_both_arms_as_the_outcomes_do() -> None:
    rows = read_rows()
    assert recorded_counts() == count_arms(rows)
    assert set(recorded_counts()) == set(prompts.ARMS)
    assert read_recording()["rows"] == len(rows)


@pytest.mark.parametrize("arm", prompts.ARMS)
def test_one_right_answer_more_in_an_arm_is_noticed(arm: str) -> None:
    rows = read_rows()
    wrong = next(row for row in rows if row["arm"] == arm and row["correct"] == "false")
    wrong["correct"] = "true"
    assert recorded_counts() != count_arms(rows)


def test_the_recording_holds_the_digests_of_the_outcomes_and_the_pilot() -> None:
    recording = read_recording()
    data = (FOLDER / "outcomes.csv").read_bytes()
    assert recording["outcomesSha256"] == hashlib.sha256(data).hexdigest()
    assert recording["outcomesSha256"] != hashlib.sha256(data.replace(b"false", b"true", 1)).hexdigest()
    assert recording["outcomesSha256"] in (FOLDER / "registration.yaml").read_text(encoding="utf-8")
    assert recording["pilot"]["sha256"] == hashlib.sha256((FOLDER / "pilot.json").read_bytes()).hexdigest()


def test_no_pilot_question_is_an_item_or_a_worked_example() -> None:
    families = items.build_families()
    taken = {item.question for family in families for item in family.items}
    taken |= {question for family in families for question, _ in family.worked}
    asked = [question for pairs in pilot.QUESTIONS.values() for question, _ in pairs]
    assert not taken & set(asked)
    assert len(set(asked)) == len(asked)
    assert list(pilot.QUESTIONS) == [family.name for family in families]
    assert {len(pairs) for pairs in pilot.QUESTIONS.values()} == {3}


def test_the_form_in_use_is_the_one_that_the_pilot_chose_by_its_rule() -> None:
    record = json.loads((FOLDER / "pilot.json").read_text(encoding="utf-8"))
    assert record["questions"] == sum(map(len, pilot.QUESTIONS.values()))
    assert list(record["forms"]) == list(pilot.FORMS)
    assert record["chosen"] == pilot.choose_form(record["forms"])
    assert pilot.FORMS[record["chosen"]] == prompts.FORM


def test_the_pilot_rule_takes_the_highest_sum_and_the_earlier_form_on_a_tie() -> None:
    counts = {"a": {"question": 0, "examples": 9}, "b": {"question": 5, "examples": 6}}
    assert pilot.choose_form(counts) == "b"
    assert pilot.choose_form(counts | {"c": {"question": 1, "examples": 10}}) == "b"


def test_both_prompts_end_with_the_same_question_and_only_one_shows_examples() -> None:
    worked = [("What is 1 plus 1?", "2")]
    alone = prompts.build_prompt("question", "What is 2 plus 2?", worked)
    shown = prompts.build_prompt("examples", "What is 2 plus 2?", worked)
    assert alone == "Question: What is 2 plus 2?\nAnswer:"
    assert shown == "Question: What is 1 plus 1?\nAnswer: 2\n\n" + alone
