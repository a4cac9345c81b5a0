"""`assay experiment`: what is particular to experiments."""

import argparse
from pathlib import Path

from assay.app.cli.echo import Echo
from assay.app.cli.main import add_common, add_epilog
from assay.app.cli.run_command import load_extra

__all__ = ["configure", "execute"]

_COLUMNS = ("arm", "unit", "cluster", "outcome")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="write a commented registration file from a data file, asking nothing")
    new.add_argument("data", type=Path, help="recorded outcomes, one row an arm and unit (.csv or .jsonl)")
    for column in _COLUMNS:
        new.add_argument(f"--{column}", metavar="COLUMN", help=f"the {column} column (default: guessed)")
    new.add_argument("--treatment", metavar="ARM", help="the arm whose gain is measured (default: guessed)")
    new.add_argument("--control", metavar="ARM", help="the arm it is compared with (default: guessed)")
    add_common(new, _MORE)
    add_epilog(parser, _MORE)


_MORE = """\
examples:
  assay experiment new outcomes.csv > registration.yaml
  assay experiment new runs.csv --treatment "model B" --control "model A" > registration.yaml

Write the file into the current folder and name the data by a relative path: of an absolute path only
the file's name is kept. Read the comments and say in seenBefore who had seen what."""


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Writes the registration file to standard output."""
    template = load_extra("assay.labs.experiment.template")
    chosen = {name: getattr(arguments, name) for name in (*_COLUMNS, "treatment", "control")}
    text = template.new_registration(arguments.data, **{name: value for name, value in chosen.items() if value})
    if arguments.json:
        echo.json({"schema": "assay.registration", "version": 1, "yaml": text})
    else:
        echo.result(text)
    return 0
