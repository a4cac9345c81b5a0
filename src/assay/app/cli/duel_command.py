"""`assay duel`: what is particular to duels: replay, counterfactuals, red team, the board, single turns."""

import argparse
from pathlib import Path
from typing import Any, Final

from assay.app.cli.bundle_argument import check_bundle_argument
from assay.app.cli.echo import Echo
from assay.app.cli.main import add_common, add_epilog
from assay.app.cli.run_command import load_extra

__all__ = ["configure", "execute"]

_MORE: Final = """\
examples:
  assay duel replay chal-00284.json.gz                     score a published duel again, and its slice's seed
  assay duel rescore --contract new.toml *.json.gz         what a changed rule would have decided
  assay duel slice duel.toml                               the turns that a contract draws
  assay duel show bundle.zip 7                             every text of turn 7
  assay duel export bundle.zip duel.json.gz                a bundle in the public artefact form
  assay duel fold traces.jsonl.gz --corpus corpus          recorded rollouts become turns
  assay duel redteam duel.toml                             known attacks against a contract
  assay duel monitor board.csv benchmark.csv               does the board follow an outside benchmark?"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    replay = _add(actions, "replay", "score a published duel's rows again and compare with its verdict")
    replay.add_argument("file", type=Path, help="an artefact: one duel as .json or .json.gz")
    replay.add_argument("--verdict", type=Path, metavar="FILE", help="its verdict, where the artefact holds none")
    rescore = _add(actions, "rescore", "margin shifts and flips of stored duels under another contract")
    rescore.add_argument("files", type=Path, nargs="+", help="artefacts, or bundles of duels")
    rescore.add_argument("--contract", type=Path, required=True, metavar="FILE", help="the other contract")
    drawn = _add(actions, "slice", "the turns that a contract draws from its corpus")
    drawn.add_argument("contract", type=Path, help="a contract")
    show = _add(actions, "show", "everything that was said on one turn of a bundle")
    show.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    show.add_argument("turn", type=int, help="the number of the turn in the slice, from 0")
    export = _add(actions, "export", "a bundle as one artefact in the public form")
    export.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    export.add_argument("to", type=Path, help="the file to write, .json.gz")
    fold = _add(actions, "fold", "recorded rollouts into a corpus: view records, turns, index, manifest")
    fold.add_argument("traces", type=Path, nargs="+", help="files of trace envelopes, .jsonl or .jsonl.gz")
    fold.add_argument(
        "--corpus", type=Path, required=True, metavar="FOLDER", help="the corpus; made where it is not there"
    )
    fold.add_argument("--dialects", nargs="+", metavar="NAME", help="dialects that are admitted (all)")
    redteam = _add(actions, "redteam", "known attacks against a contract: what each gains, and whether it may")
    redteam.add_argument("contract", type=Path, help="a contract")
    redteam.add_argument("--teacher", action="store_true", help="also on the contract's own teacher, not only on rows")
    redteam.add_argument("--budget", type=int, default=200, metavar="N", help="scores the search may ask for (200)")
    monitor = _add(actions, "monitor", "whether a board of duels follows an outside benchmark, and what may be claimed")
    monitor.add_argument("board", type=Path, help="a .csv with columns model, score and, if known, crowned")
    monitor.add_argument("benchmark", type=Path, help="a .csv with columns model, solved and total")
    monitor.add_argument(
        "--null", type=float, default=0.1, metavar="RATE", help="the rate crowned models must exceed (0.1)"
    )
    monitor.add_argument(
        "--panel", type=float, nargs=2, metavar=("RHO", "N"), help="the correlation of an earlier panel"
    )
    monitor.add_argument("--seed", type=int, default=0, help="of drawn pairings, above ten models (0)")
    add_epilog(parser, _MORE)


def _add(actions: Any, name: str, summary: str) -> argparse.ArgumentParser:  # noqa: ANN401 - argparse keeps its type private
    parser: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=summary)
    add_common(parser, _MORE)
    return parser


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Does what was asked."""
    if hasattr(arguments, "bundle"):
        check_bundle_argument(arguments.bundle)
    answers = load_extra("assay.app.duel_answers")
    answer = getattr(answers, f"answer_{arguments.action}")(arguments, echo)
    if arguments.json:
        echo.json(answer.json)
    elif answer.report is not None:
        terminal = load_extra("assay.app.cli.terminal")
        echo.result(*terminal.lay_out(answer.report, echo.width, unicode=echo.unicode))
    else:
        echo.result(answer.text)
    return answer.exit
