"""What the actions of `assay duel` answer: a report or a text for people, one JSON object for machines."""

import argparse
import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Final, cast

from assay.app.answer import Answer
from assay.app.cli.echo import Echo
from assay.app.duels import read_duel
from assay.app.redteam_answer import answer_redteam
from assay.kernel.canonical import Json
from assay.kernel.clock import SystemClock
from assay.kernel.errors import BadInput
from assay.labs.duel.artefacts import read_artefact, read_json_file
from assay.labs.duel.corpus.cycle import run_cycle
from assay.labs.duel.corpus.fold import FoldRules
from assay.labs.duel.corpus.mix import Mix
from assay.labs.duel.corpus.traces import TraceFiles
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.drawing import draw_slice
from assay.labs.duel.exports import export_artefact, list_texts, read_stored, read_turns
from assay.labs.duel.isomorphism import BoardEntry, IsomorphismRule, Panel, Solved, compare_board
from assay.labs.duel.isomorphism_report import report_isomorphism
from assay.labs.duel.registration import DuelContract, load, load_scoring
from assay.labs.duel.replay import Replay, replay
from assay.labs.duel.rescore import Stored, report_rescored, rescore
from assay.labs.duel.run import open_registered_corpus
from assay.objects.folder import FolderStore
from assay.rules.documents import read_document, read_file
from assay.verifier.figures import Report, Section, Table
from assay.verifier.lab import Evidence, Record

__all__ = ["ANSWERS"]

_LARGEST_TABLE: Final = 10_000_000
_LONGEST_COUNT: Final = 18  # digits of a count of tasks


def _replay(arguments: argparse.Namespace, _: Echo) -> Answer:
    """The stored verdict beside what the rows give; exit code 1 where they differ."""
    verdict = read_json_file(arguments.verdict) if arguments.verdict else None
    found = replay(read_artefact(arguments.file, verdict))
    compared = [{name: _plain(value) for name, value in asdict(item).items()} for item in found.comparisons]
    told = {
        "schema": "assay.duel.replay",
        "version": 1,
        "rule": found.rule,
        "agrees": found.agrees,
        "duplicates": found.outcome.duplicates,
        "compared": compared,
    }
    return Answer(json=told, report=_report_replay(found), exit=0 if found.agrees else 1)


def _plain(value: object) -> object:
    """The value as JSON holds it: a number of somebody else's that is none becomes text."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def _report_replay(found: Replay) -> Report:
    rows = tuple(
        (item.name, "–" if item.stored is None else str(item.stored), str(item.derived), item.agreement)
        for item in found.comparisons
    )
    table = Table(title="Stored and derived", columns=("number", "stored", "derived", "agreement"), rows=rows)
    headline = (
        "the stored verdict is what its rows give" if found.agrees else "the stored verdict is not what its rows give"
    )
    return Report(
        title=f"Replay of {found.name} by rule {found.rule}",
        headline=headline,
        tone="decided" if found.agrees else "refused",
        facts=(("rows beyond one a turn", str(found.outcome.duplicates)),) if found.outcome.duplicates else (),
        sections=(Section(title="Every number", blocks=(table,)),),
    )


def _rescore(arguments: argparse.Namespace, _: Echo) -> Answer:
    """Every stored duel under another contract."""
    knobs = load_scoring(read_document(arguments.contract))
    found = [*rescore([_read_stored(path) for path in arguments.files], knobs)]
    told = [
        {
            "name": item.stored.name,
            "marginThen": item.stored.margin,
            "marginNow": item.duel.margin if item.duel else None,
            "shift": item.shift,
            "crownedThen": item.stored.crowned,
            "crownedNow": item.duel.challenger_wins if item.duel else None,
            "flipped": item.flipped,
            "why": item.why,
        }
        for item in found
    ]
    return Answer(json={"schema": "assay.duel.rescore", "version": 1, "duels": told}, report=report_rescored(found))


def _read_stored(path: Path) -> Stored:
    if path.is_dir() or path.suffix == ".zip":
        return read_duel(path, read_stored)
    artefact = read_artefact(path)
    margin = artefact.verdict.get("margin")
    known = isinstance(margin, int | float) and not isinstance(margin, bool) and isfinite(margin)
    return Stored(
        name=path.name,
        challenger=artefact.challenger,
        king=artefact.king,
        margin=float(cast(float, margin)) if known else None,
        crowned=artefact.verdict.get("challenger_wins") is True,
    )


def _slice(arguments: argparse.Namespace, _: Echo) -> Answer:
    """The turns that a contract draws."""
    contract = load(read_document(arguments.contract))
    corpus = open_registered_corpus(contract, arguments.contract.parent)
    drawn = draw_slice(contract, corpus.index)
    told = {
        "schema": "assay.duel.slice",
        "version": 1,
        "seed": str(drawn.seed),
        "digest": drawn.digest,
        "turns": list(drawn.turns),
        "dialects": list(drawn.dialects),
    }
    lines = [f"seed    {drawn.seed}", f"digest  {drawn.digest}", ""]
    lines += [
        f"{at:>6}  {dialect:<14} {turn}"
        for at, (turn, dialect) in enumerate(zip(drawn.turns, drawn.dialects, strict=True))
    ]
    return Answer(json=told, text="\n".join(lines))


def _show(arguments: argparse.Namespace, _: Echo) -> Answer:
    """Every text of one turn."""
    number: int = arguments.turn

    def read(contract: DuelContract, evidence: Evidence, verdict: Record) -> tuple[Record, list[tuple[str, str, str]]]:
        turns = read_turns(contract, evidence).turns
        if not 0 <= number < len(turns):
            msg = f"the duel played turns 0 to {len(turns) - 1}; there is no turn {number}"
            raise BadInput(msg)
        lines = cast("list[dict[str, Json]]", verdict["turns"])
        return lines[number], list_texts(turns[number], contract)

    line, texts = read_duel(arguments.bundle, read)
    told = {"schema": "assay.duel.turn", "version": 1, "turn": line, "texts": [list(item) for item in texts]}
    parts = [f"turn {number}: {line['turn']} ({line['dialect']}, {line['outcome']})"]
    for who, thought, action in texts:
        parts += ["", f"── {who}", "thought:", thought or "(none)", "action:", action or "(none: forfeited)"]
    return Answer(json=told, text="\n".join(parts))


def _export(arguments: argparse.Namespace, _: Echo) -> Answer:
    """The bundle as an artefact in the public form."""
    if arguments.to.exists() and arguments.to.resolve() == arguments.bundle.resolve():
        msg = f"{arguments.to} is the bundle itself; name another file"
        raise BadInput(msg, path=str(arguments.to))
    data = read_duel(arguments.bundle, export_artefact)
    try:
        arguments.to.write_bytes(data)
    except OSError as error:
        msg = f"cannot write {arguments.to}: {error.strerror}"
        raise BadInput(msg, path=str(arguments.to)) from error
    told = {"schema": "assay.duel.export", "version": 1, "path": str(arguments.to), "bytes": len(data)}
    return Answer(json=told, text=f"wrote {arguments.to}; `assay duel replay {arguments.to}` scores it again")


def _fold(arguments: argparse.Namespace, _: Echo) -> Answer:
    """Rollouts folded into a corpus, and what became of them."""
    traces = TraceFiles(arguments.traces)
    # One group: what the network registers as shares of groups would defer most of a small corpus.
    rules = FoldRules(
        allowed_kinds=tuple(arguments.dialects or DIALECTS), mix=Mix(groups={"coding": 1.0}, languages={})
    )
    cycle = run_cycle(FolderStore(arguments.corpus), traces, rules, SystemClock(), force=True)
    told: dict[str, object] = {
        "schema": "assay.duel.fold",
        "version": 1,
        "manifest": cycle.manifest,
        "published": cycle.published,
        "turns": cycle.turns,
        "deferred": cycle.deferred,
        "drops": dict(cycle.drops),
        "leftOut": dict(traces.left_out),
    }
    lines = [f"turns     {cycle.turns} new", f"manifest  {cycle.manifest}"]
    lines += [f"dropped   {count} {reason}" for reason, count in {**cycle.drops, **traces.left_out}.items()]
    return Answer(json=told, text="\n".join(lines))


def _monitor(arguments: argparse.Namespace, _: Echo) -> Answer:
    """Whether a board follows an outside benchmark, and what may be claimed."""
    board = [_board_entry(row, arguments.board) for row in _read_table(arguments.board, ("model", "score"))]
    results = {
        row["model"]: Solved(
            solved=_whole(row, "solved", arguments.benchmark), total=_whole(row, "total", arguments.benchmark)
        )
        for row in _read_table(arguments.benchmark, ("model", "solved", "total"))
    }
    rule = IsomorphismRule(benchmark=arguments.benchmark.stem, null_rate=arguments.null, seed=arguments.seed)
    panel = None
    if arguments.panel is not None:
        rho, models = arguments.panel
        if not models.is_integer():
            msg = f"--panel: N: expected a whole number of models, got {models:g}"
            raise BadInput(msg)
        panel = Panel(name="the earlier panel", rho=rho, models=int(models))
    found = compare_board(board, results, rule, panel=panel)
    told: dict[str, object] = {
        "schema": "assay.duel.monitor",
        "version": 1,
        "compared": len(found.compared),
        "correlation": {**asdict(found.correlation), "p": float(found.correlation.p)} if found.correlation else None,
        "interval": asdict(found.interval) if found.interval else None,
        "obstacles": [asdict(item) for item in found.obstacles],
        "alarms": [item.code for item in found.alarms],
        "claim": found.claim,
    }
    return Answer(json=told, report=report_isomorphism(found))


def _board_entry(row: Mapping[str, str], path: Path) -> BoardEntry:
    try:
        score = float(row["score"])
    except ValueError as error:
        msg = f"{path}: score of {row['model']!a}: expected a number, got {row['score']!a:.60}"
        raise BadInput(msg) from error
    return BoardEntry(
        model=row["model"], score=score, crowned=row.get("crowned", "").strip().lower() in ("true", "1", "yes")
    )


def _whole(row: Mapping[str, str], name: str, path: Path) -> int:
    if not row[name].strip().isdecimal() or len(row[name]) > _LONGEST_COUNT:
        msg = f"{path}: {name} of {row['model']!a}: expected a whole number, got {row[name]!a:.60}"
        raise BadInput(msg)
    return int(row[name])


def _read_table(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    try:
        text = read_file(path, _LARGEST_TABLE).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows = [{name: value or "" for name, value in row.items()} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"{path}: cannot be read as a UTF-8 CSV file: {error}"
        raise BadInput(msg, path=str(path)) from error
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing or not rows:
        what = f"missing: {', '.join(missing)}" if missing else "no rows"
        msg = f"{path}: expected columns {', '.join(columns)} and at least one row; {what}"
        raise BadInput(msg, path=str(path))
    return rows


ANSWERS: Final[Mapping[str, Callable[[argparse.Namespace, Echo], Answer]]] = {
    "replay": _replay,
    "rescore": _rescore,
    "slice": _slice,
    "show": _show,
    "export": _export,
    "fold": _fold,
    "redteam": answer_redteam,
    "monitor": _monitor,
}
"""What each action answers."""
