"""The `assay` command: finds the subcommand, runs it, and turns errors into exit codes.

Only the standard library is imported before a subcommand is known, so that help is there at once and the base install,
which is the offline verifier, needs nothing more.
"""

import argparse
import difflib
import errno
import importlib
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn, Protocol, cast

from assay import __version__
from assay.app.cli.echo import Echo, paint
from assay.kernel.errors import (
    AssayError,
    BadInput,
    EvidenceInvalid,
    Indeterminate,
    InvariantBroken,
    Refused,
    Unavailable,
    UnknownName,
    UsageInvalid,
)

__all__ = ["COMMANDS", "EXITS", "EXIT_TEXT", "Command", "add_common", "add_epilog", "entry", "main"]

COMMANDS: Mapping[str, str] = {
    "run": "register and run a lab's file; then the verdict, and where the bundle is",
    "verify": "check a bundle's integrity and derive its verdict again, offline",
    "report": "the verdict of a bundle as a page or a terminal summary",
    "inspect": "what is in a bundle: registration, logs, checkpoints, keys, entries",
    "keys": "make keys, show them, and write trust policies",
    "experiment": "what is particular to experiments: write a registration file from data",
    "duel": "what is particular to duels: replay, counterfactuals, red team, the board",
    "models": "which models are here, and one of them behind an HTTP API",
}


class _Interrupted(AssayError):
    """Somebody stopped the command."""

    code = "interrupted"


EXITS: Mapping[type[AssayError], int] = {
    EvidenceInvalid: 1,
    UsageInvalid: 2,
    Indeterminate: 3,
    Refused: 4,
    Unavailable: 5,
    InvariantBroken: 70,
    _Interrupted: 130,
}

# Failures of the machine: what could not be read or written because of them is nobody's wrong input.
_FAILING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})

EXIT_TEXT = """\
exit codes: 0 done or verified · 1 invalid, or the policy is not met · 2 wrong usage or input ·
  3 cannot decide (incomplete, unchecked, or something is missing) · 4 refused by the rules ·
  5 the disk or another resource failed · 70 a defect in assay · 130 interrupted"""

_HELP = """\
assay: evaluations whose verdicts anyone can derive again, offline

usage: assay COMMAND [ARGUMENTS]

{commands}

examples:
  assay experiment new outcomes.csv > registration.yaml    write a registration file from data
  assay run registration.yaml                              seal it, run it, leave a bundle
  assay verify runs/my-experiment/bundle.zip               check a bundle, trusting nobody
  assay report runs/my-experiment/bundle.zip               read its verdict

`assay COMMAND --help` tells more. Every command takes --json, --quiet and --no-color.
{exits}
"""


class Command(Protocol):
    """What the module of a subcommand offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declares the arguments and examples."""
        ...

    def execute(self, arguments: argparse.Namespace, echo: Echo) -> int:
        """Does it and returns the exit code."""
        ...


class _HelpAsked(Exception):
    """Somebody asked for help: its text."""


class _Parser(argparse.ArgumentParser):
    """A parser that writes nothing itself: complaints are errors like all others, and help is handed over."""

    def error(self, message: str) -> NoReturn:
        msg = f"{message}; see `{self.prog} --help`"
        raise BadInput(msg)

    def print_help(self, file: object = None) -> NoReturn:  # noqa: ARG002 - as argparse calls it
        self.color = False  # newer Pythons would colour it, and colour is the echo's
        raise _HelpAsked(self.format_help())


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    as_json = "--json" in argv
    echo = Echo.standard(color="never" if "--no-color" in argv else "auto")
    try:
        return _dispatch(list(argv), echo)
    except KeyboardInterrupt:
        return _tell(_Interrupted(_interruption(argv)), echo, as_json=as_json)
    except Exception as error:
        named = _classify(error)
        if isinstance(named, InvariantBroken) and os.environ.get("ASSAY_DEBUG"):
            raise
        return _tell(named, echo, as_json=as_json)


def _interruption(argv: Sequence[str]) -> str:
    if argv[:1] == ["run"]:
        return "interrupted; what was committed is kept, and the same command goes on from there"
    return "interrupted"


def _dispatch(argv: list[str], echo: Echo) -> int:
    if not argv or argv[0] in {"-h", "--help", "help"}:
        listed = "\n".join(f"  {name:<11} {summary}" for name, summary in COMMANDS.items())
        echo.result(_HELP.format(commands=listed, exits=EXIT_TEXT))
        return 0 if argv else 2
    if argv[0] in {"--version", "-V"}:
        if "--json" in argv:
            echo.json({"schema": "assay.version", "version": __version__})
        else:
            echo.result(f"assay {__version__}")
        return 0
    name, *rest = argv
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean `assay {near[0]}`?" if near else ""
        msg = f"no command is called {name!r}{hint} (there are: {', '.join(COMMANDS)})"
        raise UnknownName(msg, name=name)
    command = cast("Command", importlib.import_module(f"assay.app.cli.{name}_command"))
    parser = _Parser(prog=f"assay {name}", description=COMMANDS[name])
    command.configure(parser)
    try:
        arguments = parser.parse_args(rest)
    except _HelpAsked as help_asked:
        echo.result(str(help_asked))
        return 0
    return command.execute(arguments, echo)


def add_epilog(parser: argparse.ArgumentParser, more: str) -> None:
    """Ends the help of a command: examples and what else there is to say, then the exit codes."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{more}\n\n{EXIT_TEXT}"


def add_common(parser: argparse.ArgumentParser, more: str) -> None:
    """The options that every command takes, and the end of its help."""
    add_epilog(parser, more)
    parser.allow_abbrev = False
    parser.add_argument("--json", action="store_true", help="answer with exactly one JSON object on standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes and no progress on standard error")
    parser.add_argument("--no-color", action="store_true", help="no colour, also on a terminal")


def _classify(error: Exception) -> AssayError:
    """The error as one of the families: a failing machine is no wrong input, and anything unforeseen is a defect."""
    cause = error.__cause__
    if isinstance(error, UsageInvalid) and isinstance(cause, OSError) and cause.errno in _FAILING:
        return Unavailable(error.message, **error.details)
    if isinstance(error, AssayError):
        return error
    if isinstance(error, OSError):
        msg = f"the system failed: {error}"
        return Unavailable(msg)
    msg = f"a defect in assay: {type(error).__name__}: {error} (ASSAY_DEBUG=1 shows where)"
    return InvariantBroken(msg)


def _tell(error: AssayError, echo: Echo, *, as_json: bool) -> int:
    code = next((exit_code for family, exit_code in EXITS.items() if isinstance(error, family)), 70)
    answer = {
        "kind": _family(error),
        "code": error.code,
        "message": error.message,
        "details": {name: value for name, value in error.details.items() if _is_plain(value)},
        "exit": code,
    }
    if as_json:
        with suppress(OSError, InvariantBroken):  # standard output takes no more, or has had its answer
            echo.json({"error": answer})
    with suppress(OSError):
        echo.note(paint("error: ", "bad"), error.message)
    return code


def _family(error: AssayError) -> str:
    return next((family.code for family in EXITS if isinstance(error, family)), "assay-error")


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, cast("Sequence[object]", value)))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
