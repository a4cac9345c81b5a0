"""Records rollouts of a small local model through four harnesses, or records some again to compare.

Needs bubblewrap and the packages named in README.md; nothing else in this folder does.

    python record.py               records what is missing, then writes traces.jsonl.gz and recording.json
    python record.py --limit 5     records at most 5 of the missing rollouts
    python record.py --repeat 10   records every tenth rollout again and compares; exit 1 if any differs

Finished rollouts are kept one by one in traces.part.jsonl, so that a recording that was interrupted goes on.
"""

import argparse
import gzip
import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mini_agents
import sheet_loop
import terminal_loop
from cell import LIMIT_S, MOST_CHARS
from dialects import BASH, BOXED, TERMINUS, TOOL_CALL
from envelopes import Origin, build_envelope
from plan import FORMS, Plan, SheetPlan, build_plan, name_rollout
from policy import (
    CONTEXT_TOKENS,
    DECODING,
    ENGINE_PACKAGE,
    MODEL_FILE,
    MODEL_NAME,
    MODEL_PACKAGE,
    MOST_DRAWS,
    OPENING,
    THREADS,
    WARMER,
    Completer,
    SmolPolicy,
    find_model,
    load_engine,
)

FOLDER = Path(__file__).resolve().parent
PART = FOLDER / "traces.part.jsonl"
TRACES = FOLDER / "traces.jsonl.gz"
RECORDING = FOLDER / "recording.json"
RECORDED = "2026-12-01T00:00:00Z"

Json = dict[str, Any]

SOURCES = {
    BASH.name: "shell_bash",
    TOOL_CALL.name: "shell_tools",
    TERMINUS.name: "shell_terminal",
    BOXED.name: "math_sheets",
}
HARNESSES: dict[str, tuple[str, str]] = {
    BASH.name: (f"{mini_agents.HARNESS_PACKAGE} text", mini_agents.HARNESS_VERSION),
    TOOL_CALL.name: (f"{mini_agents.HARNESS_PACKAGE} tool calls", mini_agents.HARNESS_VERSION),
    TERMINUS.name: (terminal_loop.HARNESS, terminal_loop.HARNESS_VERSION),
    BOXED.name: (sheet_loop.HARNESS, sheet_loop.HARNESS_VERSION),
}


def main() -> int:
    """0 when everything asked for was recorded, or recorded again with the same outcome; else 1."""
    parser = argparse.ArgumentParser(description="Record rollouts of a small local model through four harnesses.")
    parser.add_argument("--limit", type=int, metavar="N", help="record at most N of the missing rollouts")
    parser.add_argument("--repeat", type=int, metavar="N", help="record every Nth again and compare; writes nothing")
    given = parser.parse_args()
    plan = build_plan()
    if given.repeat is not None:
        return compare_rollouts(plan[:: given.repeat])
    lines = record_missing(plan, given.limit)
    if len(lines) < len(plan):
        sys.stdout.write(f"{len(lines)} of {len(plan)} rollouts are recorded\n")
        return 0
    ordered = [lines[name_rollout(planned)] for planned in plan]
    TRACES.write_bytes(gzip.compress("".join(ordered).encode(), compresslevel=9, mtime=0))
    write_recording([json.loads(line) for line in ordered])  # noqa: TID251 - lines written by this program
    return 0


def record_missing(plan: Iterable[Plan], limit: int | None) -> dict[str, str]:
    """The recorded lines by the name of their rollout, after at most `limit` missing ones were recorded."""
    lines = _read_part()
    missing = [planned for planned in plan if name_rollout(planned) not in lines][:limit]
    if missing:
        engine = load_engine()
        for planned in missing:
            lines[name_rollout(planned)] = _keep_line(name_rollout(planned), _to_line(run_rollout(engine, planned)))
    return lines


def compare_rollouts(plan: Iterable[Plan]) -> int:
    """0 when every rollout of `plan` comes out as in traces.jsonl.gz; prints how many did."""
    recorded = set(gzip.decompress(TRACES.read_bytes()).decode().splitlines(keepends=True))
    engine = load_engine()
    same = [_to_line(run_rollout(engine, planned)) in recorded for planned in plan]
    sys.stdout.write(f"{sum(same)} of {len(same)} rollouts are identical to the recording\n")
    return 0 if all(same) else 1


def run_rollout(engine: Completer, planned: Plan) -> Json:
    """The envelope of one rollout, run anew."""
    policy = SmolPolicy(engine, planned.form.temperature, name_rollout(planned), planned.dialect)
    if isinstance(planned, SheetPlan):
        rollout = sheet_loop.run_sheet(planned, policy)
    elif planned.dialect is TERMINUS:
        rollout = terminal_loop.run_session(planned, policy)
    else:
        rollout = mini_agents.run_session(planned, policy)
    return build_envelope(describe_origin(planned), rollout)


def describe_origin(planned: Plan) -> Origin:
    """Where a planned rollout comes from."""
    harness, version = HARNESSES[planned.dialect.name]
    sheet = isinstance(planned, SheetPlan)
    return Origin(
        key=name_rollout(planned),
        source=SOURCES[planned.dialect.name],
        environment="math-sheets" if sheet else "shell-tasks",
        task=planned.name,
        language="math" if sheet else "shell",
        policy=f"smollm2_135m_{planned.form.name}",
        model=MODEL_NAME,
        harness=f"{harness} {version}",
        dialect=planned.dialect.name,
        recorded=RECORDED,
    )


def write_recording(envelopes: list[Json]) -> None:
    """Writes recording.json: everything that produced traces.jsonl.gz, and its counts and digest."""
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
            "note": "Quantised kernels, good for drawing texts; no number of a duel was measured with them.",
        },
        "decoding": {
            **{_to_camel_case(name): value for name, value in DECODING.items()},
            "opening": OPENING,
            "mostDraws": MOST_DRAWS,
            "warmerByDraw": WARMER,
            "drawnAgain": "no closed think block, not just one action at the end, or an action said before",
        },
        "forms": {form.name: {"temperature": form.temperature, "system": form.system} for form in FORMS},
        "systems": {dialect.name: list(dialect.systems) for dialect in (BASH, TOOL_CALL, TERMINUS, BOXED)},
        "cell": {"program": "bubblewrap", "network": False, "limitSeconds": LIMIT_S, "mostChars": MOST_CHARS},
        "recorded": RECORDED,
        "dialects": {name: _describe_dialect(name, envelopes) for name in SOURCES},
        "rollouts": len(envelopes),
        "replies": sum(len(envelope["trace"]["calls"]) for envelope in envelopes),
        "tracesSha256": hashlib.sha256(TRACES.read_bytes()).hexdigest(),
        "linesSha256": hashlib.sha256(gzip.decompress(TRACES.read_bytes())).hexdigest(),
    }
    RECORDING.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _describe_dialect(name: str, envelopes: list[Json]) -> Json:
    traces = [envelope["trace"] for envelope in envelopes if envelope["policy"]["action_kind"] == name]
    harness, version = HARNESSES[name]
    return {
        "harness": harness,
        "version": version,
        "source": SOURCES[name],
        "rollouts": len(traces),
        "replies": sum(len(trace["calls"]) for trace in traces),
        "draws": sum(trace["metrics"]["draws"] for trace in traces),
        "solved": sum(trace["rewards"]["solved"]["score"] for trace in traces),
    }


def _keep_line(name: str, line: str) -> str:
    with PART.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({"rollout": name, "line": line}) + "\n")
    sys.stdout.write(f"{name}\n")
    sys.stdout.flush()
    return line


def _read_part() -> dict[str, str]:
    if not PART.exists():
        return {}
    kept = [json.loads(line) for line in PART.read_text(encoding="utf-8").splitlines()]  # noqa: TID251 - as above
    return {entry["rollout"]: entry["line"] for entry in kept}


def _to_line(envelope: Json) -> str:
    return json.dumps(envelope, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def _to_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


if __name__ == "__main__":
    sys.exit(main())
