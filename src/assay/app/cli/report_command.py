"""`assay report`: the verdict of a bundle for people."""

import argparse
from pathlib import Path
from typing import Any

from assay.app.amendments import read_changes, show_amendments
from assay.app.cli.bundle_argument import check_bundle_argument
from assay.app.cli.echo import Echo, paint
from assay.app.cli.main import add_common
from assay.app.cli.run_command import load_extra
from assay.app.wiring import InstalledLabs, find_lab
from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import BadInput, EvidenceInvalid, MissingMaterial
from assay.kernel.manifest import MANIFEST, read_manifest
from assay.kernel.roles import run_id
from assay.verifier.lab import Lab, Record
from assay.verifier.result import Outcome, Verification
from assay.verifier.verify import Question, verify_bundle

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page here instead of a terminal summary")
    add_common(parser, _MORE)


_MORE = """\
examples:
  assay report runs/my-experiment/bundle.zip
  assay report bundle.zip --html report.html

The bundle is verified first, and the report is made from the verdict derived here, not from what the bundle says."""


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Verifies the bundle, then shows the verdict that was derived from it."""
    check_bundle_argument(arguments.bundle)
    result = verify_bundle(arguments.bundle, Question(labs=InstalledLabs()))
    verdict = _verdict(result, arguments.bundle)
    lab: Lab[Any] = find_lab(str(result.facts["lab"]))
    report = show_amendments(lab.report(verdict), read_changes(result.facts))
    if arguments.html:
        _write_page(arguments, result, report, lab.name)
    if arguments.json:
        echo.json({"schema": "assay.report", "version": 1, "outcome": result.outcome.value, "verdict": dict(verdict)})
    elif arguments.html:
        echo.result(f"wrote {arguments.html}")
    else:
        terminal = load_extra("assay.app.cli.terminal")
        echo.result(*terminal.lay_out(report, echo.width, unicode=echo.unicode))
        echo.result(paint(f"verified here: {result.outcome.value}", "muted"))
    return 0


def _verdict(result: Verification, bundle: Path) -> Record:
    verdict = result.facts.get("verdict")
    if result.outcome in {Outcome.AUTHENTIC, Outcome.CONSISTENT} and isinstance(verdict, dict):
        return verdict
    if result.outcome == Outcome.INVALID:
        msg = f"{bundle} is invalid ({', '.join(result.failed())}); `assay verify {bundle}` says where"
        raise EvidenceInvalid(msg, failed=", ".join(result.failed()))
    note = result.step("verdict").note or result.step("completeness").note
    msg = f"no verdict can be shown for {bundle}: {result.outcome.value} ({note})"
    raise MissingMaterial(msg)


def _write_page(arguments: argparse.Namespace, result: Verification, report: object, lab: str) -> None:
    page = load_extra("assay.app.web.page")
    manifest = read_manifest(read_whole(open_container(arguments.bundle)[MANIFEST]))
    context = page.PageContext(registration=str(result.facts["registration"]), run=run_id(manifest.signers), lab=lab)
    data = page.render_page(report, context)
    try:
        _put(arguments.html, data)
    except OSError as error:
        msg = f"cannot write {arguments.html}: {error.strerror}; nothing of it was kept"
        raise BadInput(msg, path=str(arguments.html)) from error


def _put(path: Path, data: bytes) -> None:
    """Puts a file in place whole or not at all; a device or a pipe is written to and never replaced."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()  # a link stays one
    draft = target.with_name(f".{target.name}.partial")
    try:
        draft.write_bytes(data)
        draft.replace(target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
