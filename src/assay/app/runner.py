"""The five steps for one registration file, whatever its lab: register, admit and run, decide, bundle."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from assay.app.amendments import Change, show_amendments
from assay.app.destination import Destination
from assay.app.web.page import PageContext, render_page
from assay.app.wiring import find_lab
from assay.kernel import canonical
from assay.kernel.bundle import export_bundle
from assay.kernel.canonical import Json
from assay.kernel.digests import to_text
from assay.kernel.errors import BadInput, Refused, UnknownName
from assay.kernel.keys import Signer
from assay.kernel.roles import run_id
from assay.kernel.run import Plan, Run, open_run
from assay.rules.documents import read_document
from assay.verifier.claims import VERDICT
from assay.verifier.figures import Report
from assay.verifier.lab import Lab, Progress, Record, Work

__all__ = ["Finished", "Request", "run_file"]

REPORT = "report.html"
ProgressBar = Callable[[str, int], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be run, and where.

    Args:
        file: The registration file.
        out: The run's folder; by default ``runs/`` and the registration's id.
        bundle: Where the bundle goes; by default ``bundle.zip`` in the run's folder.
        author: The key that signs the registration; by default a fresh one.
    """

    file: Path
    out: Path | None = None
    bundle: Path | None = None
    author: Signer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run left behind."""

    lab: str
    run: str
    registration: str
    verdict: Record
    report: Report
    folder: Path
    bundle: Path
    head: str
    resumed: bool


def run_file(request: Request, progress: ProgressBar) -> Finished:
    """Registers and runs a file, or goes on with the run of it that is there, and leaves its bundle.

    Everything the registration names is read and found usable before anything is sealed. A run that is closed already
    is exported again, to the same bytes.

    Raises:
        BadInput: The file or something it names cannot be used.
        UnknownName: No such lab.
        MissingMaterial: The lab's packages, or a key of the run, are missing.
        Refused: The folder holds the run of another registration or author key, or the bundle would replace another's.
        EvidenceInvalid: What the folder holds does not verify.
        StoreFault: The disk failed.
    """
    document = read_document(request.file)
    lab = _find_lab(document, request.file)
    registration = _load(lab, document, request.file)
    sealed = lab.document(registration)
    work = lab.prepare(registration, request.file.parent)
    folder = request.out or Path("runs") / str(sealed.get("id", request.file.stem))
    destination = Destination(folder, request.bundle)
    destination.check_before()
    plan = Plan(lab=lab.name, layout=lab.layout, document=sealed, author=request.author)
    with _open(folder, plan, chosen=request.out is not None) as run:
        destination.check_replaced(run.sealed.signers)
        # A run that has just begun holds one entry in each log.
        resumed = run.closed or any(run.size(spec.name) > 1 for spec in lab.layout.logs)
        if not run.closed:
            with progress(work.label, work.units) as bar:
                _finish(run, lab, registration, work, bar)
        export_bundle(run.store, lab.layout, lab=lab.name, signers=run.sealed.signers, to=destination.path)
        verdict = cast("dict[str, Json]", canonical.loads(run.evidence.file(VERDICT)))  # written by _finish
        return Finished(
            lab=lab.name,
            run=run_id(run.sealed.signers),
            registration=run.sealed.registration,
            verdict=verdict,
            report=_report(lab, verdict, run),
            folder=folder,
            bundle=destination.path,
            head=to_text([row.hash for row in run.store.checkpoints()][-1]),
            resumed=resumed,
        )


def _report(lab: Lab[Any], verdict: Record, run: Run) -> Report:
    changes = [Change(at=item.at, why=item.why, seen=item.seen) for item in run.sealed.amendments]
    return show_amendments(lab.report(verdict), changes)


def _find_lab(document: Record, file: Path) -> Lab[Any]:
    name = document.get("lab")
    if not isinstance(name, str):
        msg = f"{file}: expected a member `lab` that says which lab the file is for, such as `lab: experiment`"
        raise BadInput(msg, path=str(file))
    try:
        return find_lab(name)
    except UnknownName as error:
        msg = f"{file}: {error.message}"
        raise UnknownName(msg, **{**error.details, "path": str(file)}) from error


def _load(lab: Lab[Any], document: Record, file: Path) -> object:
    try:
        return lab.load(document)
    except BadInput as error:
        msg = f"{file}: {error.message}"
        raise BadInput(msg, **{**error.details, "path": str(file)}) from error


def _open(folder: Path, plan: Plan, *, chosen: bool) -> Run:
    """The run; a refusal names the option that is the way out, which the kernel does not know."""
    try:
        return open_run(folder, plan)
    except Refused as error:
        if type(error) is not Refused:  # a run that is held by another process, or closed
            raise
        other = "" if chosen or "differs" not in error.details else ", or give the registration another id"
        msg = f"{error.message}: use `--out runs/NAME`{other}"
        raise Refused(msg, **error.details) from error


def _finish(run: Run, lab: Lab[Any], registration: object, work: Work, bar: Progress) -> None:
    work.run(run, bar)
    attached = set(run.store.paths())
    # As it will be read again: the order in which a lab puts members together must not show in its report.
    verdict = cast("dict[str, Json]", canonical.loads(canonical.dumps(lab.derive(registration, run.evidence))))
    if VERDICT not in attached:
        run.attach(VERDICT, canonical.dumps(verdict) + b"\n")
    if REPORT not in attached:
        context = PageContext(registration=run.sealed.registration, run=run_id(run.sealed.signers), lab=lab.name)
        run.attach(REPORT, render_page(_report(lab, verdict, run), context))
    run.close()
