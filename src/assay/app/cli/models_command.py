"""`assay models`: which models are here, and one of them behind an HTTP API."""

import argparse
from typing import Any, Final

from assay.app.cli.echo import Echo, paint
from assay.app.cli.main import add_common, add_epilog
from assay.app.cli.run_command import load_extra

__all__ = ["configure", "execute"]

_LIST: Final = """\
examples:
  assay models list
  assay models list --json"""

_SERVE: Final = """\
examples:
  assay models serve local:smollm2-135m-instruct
  assay models serve folder:models/mine --port 8001

The API is OpenAI's, echoes with log-probabilities in vLLM's shape; it asks for no key, so that whoever
reaches the address can use the model. A contract names the model as `serve` prints it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    summary = "which models can be named in a contract, their weights, licences and where they lie"
    add_common(actions.add_parser("list", help=summary, description=summary), _LIST)
    summary = "answer for a model over HTTP until interrupted"
    serve = actions.add_parser("serve", help=summary, description=summary)
    serve.add_argument("name", help="a model as a contract names it, such as local:smollm2-135m-instruct")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1: this machine alone)")
    serve.add_argument("--port", type=int, default=8000, help="the port (8000)")
    add_common(serve, _SERVE)
    add_epilog(parser, "examples:\n  assay models list\n  assay models serve local:smollm2-135m-instruct")


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Lists, or serves until interrupted."""
    return _list(arguments, echo) if arguments.action == "list" else _serve(arguments, echo)


def _list(arguments: argparse.Namespace, echo: Echo) -> int:
    found: list[Any] = load_extra("assay.models.inventory").list_models()
    if arguments.json:
        models = [dict(item.to_json()) for item in found]
        echo.json({"schema": "assay.models", "version": 1, "models": models})
        return 0
    for item in found:
        echo.result(paint(item.name, "strong"), f"  {'ready' if item.installed else 'not installed'}")
        echo.result(f"  weights   {item.weights or 'known once they are unpacked'}\n  licence   {item.licence}")
        echo.result(f"  {'lies in' if item.installed else 'missing'}   {item.place}")
    return 0


def _serve(arguments: argparse.Namespace, echo: Echo) -> int:
    serving = load_extra("assay.app.serving")
    prepared = serving.prepare(arguments.name, arguments.host, arguments.port)
    if arguments.json:
        echo.json(dict(prepared.to_json()))
    else:
        echo.result(f"serving {arguments.name} at {prepared.address}")
        if prepared.spec:
            echo.result(f"in a contract: {prepared.spec}")
    if not arguments.quiet:
        echo.note(paint("stop it with Ctrl-C", "muted"))
    prepared.run()
    return 0
