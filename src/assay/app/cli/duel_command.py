"""`assay duel`: what is particular to duels: replay, counterfactuals, red team, the board, single turns."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from assay.app.cli.bundle_argument import check_bundle_argument
from assay.app.cli.echo import Echo
from assay.app.cli.main import add_common, add_epilog
from assay.app.cli.run_command import load_extra

__all__ = ["configure", "execute"]

_SUMMARIES: Final[Mapping[str, str]] = {
    "replay": "score a published duel's rows again and compare with its verdict",
    "rescore": "margin shifts and flips of stored duels under another contract",
    "slice": "the turns that a contract draws from its corpus",
    "show": "everything that was said on one turn of a bundle",
    "export": "a bundle as one artefact in the public form",
    "fold": "recorded rollouts into a corpus: view records, turns, index, manifest",
    "redteam": "known attacks against a contract: what each gains, and whether it may",
    "monitor": "whether a board of duels follows an outside benchmark, and what may be claimed",
}

_EXAMPLES: Final[Mapping[str, str]] = {
    "replay": "assay duel replay chal-00284.json.gz --verdict chal-00284.verdict.json",
    "rescore": "assay duel rescore --contract new.toml chal-*.json.gz runs/local/bundle.zip",
    "slice": "assay duel slice duel.toml",
    "show": "assay duel show bundle.zip 7",
    "export": "assay duel export bundle.zip duel.json.gz",
    "fold": "assay duel fold traces.jsonl.gz --corpus corpus",
    "redteam": "assay duel redteam duel.toml --budget 500",
    "monitor": "assay duel monitor board.csv benchmark.csv --null 0.1",
}

_MORE: Final[Mapping[str, str]] = {
    "replay": "Exit code 1 where a stored number is not what the rows give.",
    "rescore": "A contract here may hold no more than [contract] and [duel], of any version.",
    "redteam": "Exit code 1 where the contract loses an attack that it has to hold.",
    "monitor": "A board is a .csv with the columns model, score and, where known, crowned; a benchmark one with the\n"
    "columns model, solved and total. Name the rate that a model without the ability reaches with --null.",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, declare in _ARGUMENTS.items():
        action = actions.add_parser(name, help=_SUMMARIES[name], description=_SUMMARIES[name])
        declare(action)
        more = f"\n\n{_MORE[name]}" if name in _MORE else ""
        add_common(action, f"examples:\n  {_EXAMPLES[name]}{more}")
    add_epilog(parser, "\n".join(["examples:", *(f"  {example}" for example in _EXAMPLES.values())]))


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Does what was asked."""
    if hasattr(arguments, "bundle"):
        check_bundle_argument(arguments.bundle)
    answers = load_extra("assay.app.duel_answers")
    answer = answers.ANSWERS[arguments.action](arguments, echo)
    if arguments.json:
        echo.json(answer.json)
    elif answer.report is not None:
        terminal = load_extra("assay.app.cli.terminal")
        echo.result(*terminal.lay_out(answer.report, echo.width, unicode=echo.unicode))
    else:
        echo.result(answer.text)
    return answer.exit


def _declare_replay(action: argparse.ArgumentParser) -> None:
    action.add_argument("file", type=Path, help="an artefact: one duel as .json or .json.gz")
    action.add_argument("--verdict", type=Path, metavar="FILE", help="its verdict, where the artefact holds none")


def _declare_rescore(action: argparse.ArgumentParser) -> None:
    action.add_argument("files", type=Path, nargs="+", help="artefacts, or bundles of duels")
    action.add_argument("--contract", type=Path, required=True, metavar="FILE", help="the other contract")


def _declare_contract(action: argparse.ArgumentParser) -> None:
    action.add_argument("contract", type=Path, help="a contract")


def _declare_show(action: argparse.ArgumentParser) -> None:
    action.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    action.add_argument("turn", type=int, help="the number of the turn in the slice, from 0")


def _declare_export(action: argparse.ArgumentParser) -> None:
    action.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    action.add_argument("to", type=Path, help="the file to write, .json.gz")


def _declare_fold(action: argparse.ArgumentParser) -> None:
    action.add_argument("traces", type=Path, nargs="+", help="files of trace envelopes, .jsonl or .jsonl.gz")
    action.add_argument(
        "--corpus", type=Path, required=True, metavar="FOLDER", help="the corpus; made if it is not there"
    )
    action.add_argument("--dialects", nargs="+", metavar="NAME", help="dialects that are admitted (default: all)")


def _declare_redteam(action: argparse.ArgumentParser) -> None:
    _declare_contract(action)
    action.add_argument("--teacher", action="store_true", help="also on the contract's own teacher, not only on rows")
    action.add_argument("--budget", type=int, default=200, metavar="N", help="scores the search may ask for (200)")


def _declare_monitor(action: argparse.ArgumentParser) -> None:
    action.add_argument("board", type=Path, help="the board, a .csv")
    action.add_argument("benchmark", type=Path, help="the benchmark's results, a .csv")
    action.add_argument(
        "--null", type=float, default=0.1, metavar="RATE", help="the rate crowned models must exceed (0.1)"
    )
    action.add_argument(
        "--panel", type=float, nargs=2, metavar=("RHO", "N"), help="the correlation of an earlier panel"
    )
    action.add_argument("--seed", type=int, default=0, help="of drawn pairings, above ten models (0)")


_ARGUMENTS: Final[Mapping[str, Callable[[argparse.ArgumentParser], None]]] = {
    "replay": _declare_replay,
    "rescore": _declare_rescore,
    "slice": _declare_contract,
    "show": _declare_show,
    "export": _declare_export,
    "fold": _declare_fold,
    "redteam": _declare_redteam,
    "monitor": _declare_monitor,
}
