"""`assay run`: register and run a lab's file."""

import argparse
import importlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from assay.app.cli.echo import Echo, paint
from assay.app.cli.keys_command import read_key
from assay.app.cli.main import add_common
from assay.kernel.errors import MissingMaterial
from assay.verifier.lab import Unwatched

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", type=Path, help="a registration file (.yaml, .toml or .json); it says which lab")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the run's folder (default: runs/<id>)")
    parser.add_argument(
        "--bundle", type=Path, metavar="PATH", help="where the bundle goes: a .zip, or a folder (default: in --out)"
    )
    parser.add_argument("--key", type=Path, metavar="FILE", help="the author's key (default: a fresh one in --out)")
    add_common(parser, _MORE)


_MORE = """\
examples:
  assay run registration.yaml
  assay run registration.yaml --key me.key --out runs/first
  assay run registration.yaml --json | jq .verdict.decision

A run that was interrupted goes on where it ended; a finished one is exported again, to the same bytes."""


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Runs the file; exit code 4 where the rules refused the design."""
    runner, terminal = (load_extra(name) for name in ("assay.app.runner", "assay.app.cli.terminal"))
    author = read_key(arguments.key) if arguments.key else None
    request = runner.Request(file=arguments.file, out=arguments.out, bundle=arguments.bundle, author=author)
    finished = runner.run_file(request, _no_progress if arguments.quiet else echo.progress)
    if not arguments.quiet:
        how = "taken up again" if finished.resumed else "sealed"
        echo.note(paint(f"{how}: ", "muted"), f"registration {finished.registration}, run {finished.run}")
    if arguments.json:
        echo.json(
            {
                "schema": "assay.run",
                "version": 1,
                "lab": finished.lab,
                "run": finished.run,
                "registration": finished.registration,
                "head": finished.head,
                "folder": str(finished.folder),
                "bundle": str(finished.bundle),
                "verdict": finished.verdict,
            }
        )
    else:
        echo.result(*terminal.summarise(finished.report, echo.width, unicode=echo.unicode), "\n")
        echo.result(f"bundle  {finished.bundle}\nhead    {finished.head}\nverify  assay verify {finished.bundle}")
        echo.result(f"`assay report {finished.bundle}` shows everything")
    return 4 if finished.report.tone == "refused" else 0


@contextmanager
def _no_progress(label: str, total: int) -> Generator[Unwatched]:  # noqa: ARG001 - as echo.progress takes them
    yield Unwatched()


def load_extra(module: str) -> ModuleType:
    """A module of the application whose packages are not in the base install.

    Raises:
        MissingMaterial: They are not installed; the message says how to install them.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("assay"):
            raise
        msg = f"this needs {error.name}, which the base install leaves out; in Assay's checkout: pip install '.[app]'"
        raise MissingMaterial(msg, missing=error.name) from error
