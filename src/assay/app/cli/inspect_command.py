"""`assay inspect`: what is in a bundle, without believing any of it; needs the base install only."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, cast

from assay.app.cli.bundle_argument import check_bundle_argument
from assay.app.cli.columns import cell_width, pad_text
from assay.app.cli.echo import Echo, paint, visible
from assay.app.cli.main import add_common
from assay.kernel import canonical
from assay.kernel.archive import Span
from assay.kernel.canonical import Json
from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import BadInput, EvidenceInvalid, KeyRefused, MissingMaterial
from assay.kernel.keys import encode_public
from assay.kernel.layout import LogSpec
from assay.kernel.manifest import MANIFEST, Manifest, read_manifest
from assay.kernel.seal import Sealed, open_seal
from assay.verifier.reading import lines_of, read_file

__all__ = ["configure", "execute"]

_MOST: Final = 1_000_000_000
# What each part of the overview lists, in the order of its members.
_HEADINGS: Final = {
    "amendments": ("at", "why", "seen"),
    "logs": ("log", "file", "entries"),
    "keys": ("role", "key id", "public key"),
    "files": ("file", "bytes"),
}
_NUMERIC: Final = ("entries", "bytes")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--log", metavar="NAME", help="print the entries of one log, one JSON object a line")
    what.add_argument("--file", metavar="PATH", help="print one file of the bundle, hidden characters written out")
    parser.add_argument("--from", dest="first", type=int, default=1, metavar="N", help="with --log: first entry")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="with --log: how many (default 20)")
    add_common(parser, _MORE)


_MORE = """\
examples:
  assay inspect bundle.zip
  assay inspect bundle.zip --log rows --from 100 --count 5
  assay inspect bundle.zip --file verdict.json

Nothing is verified here: `assay verify` does that."""


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Prints what was asked for."""
    check_bundle_argument(arguments.bundle)
    container = open_container(arguments.bundle)
    if MANIFEST not in container:
        msg = f"{arguments.bundle} lacks its {MANIFEST}: `assay verify {arguments.bundle}` says what else is wrong"
        raise EvidenceInvalid(msg, path=str(arguments.bundle))
    try:
        manifest = read_manifest(read_whole(container[MANIFEST]))
    except KeyRefused as error:  # the bundle's key, not the caller's
        raise EvidenceInvalid(error.message, path=MANIFEST) from error
    if arguments.file:
        return _print_file(container, arguments.file, echo, as_json=arguments.json)
    if arguments.log:
        return _print_log(container, manifest, arguments, echo)
    overview = _overview(container, manifest)
    if arguments.json:
        echo.json(overview)
    else:
        _print_overview(overview, echo)
    return 0


def _print_file(container: Mapping[str, Span], path: str, echo: Echo, *, as_json: bool) -> int:
    if path not in container:
        msg = f"the bundle holds no file {path!r}; it holds {len(container)}, see `assay inspect BUNDLE`"
        raise BadInput(msg, path=path)
    text = read_whole(container[path]).decode("utf-8", "backslashreplace")
    if as_json:
        echo.json({"schema": "assay.file", "version": 1, "path": path, "text": text})
    else:
        echo.result(text)
    return 0


def _print_log(container: Mapping[str, Span], manifest: Manifest, arguments: argparse.Namespace, echo: Echo) -> int:
    names = [spec.name for spec in manifest.layout.logs]
    if arguments.log not in names:
        msg = f"no log {arguments.log!r} in this bundle; it has {', '.join(names)}"
        raise BadInput(msg)
    if not (1 <= arguments.first <= _MOST and 0 <= arguments.count <= _MOST):
        msg = f"entries count from 1 up to {_MOST}; got --from {arguments.first} --count {arguments.count}"
        raise BadInput(msg)
    spec = manifest.layout.log(arguments.log)
    lines = [*islice(_lines(container, spec), arguments.first - 1, arguments.first - 1 + arguments.count)]
    if not lines and arguments.count and arguments.first > 1:
        held = read_file(container[spec.file], plan=True).lines
        msg = f"log {spec.name!r} has {held} entries; got --from {arguments.first}"
        raise BadInput(msg)
    if arguments.json:
        entries: list[Json] = [canonical.loads(line) for line in lines]
        echo.json({"schema": "assay.entries", "version": 1, "log": spec.name, "entries": entries})
    else:
        for line in lines:
            echo.result(line.decode("utf-8", "backslashreplace"))
    return 0


def _lines(container: Mapping[str, Span], spec: LogSpec) -> Iterator[bytes]:
    if spec.file not in container:
        msg = f"the bundle lacks {spec.file}, the file of log {spec.name}"
        raise MissingMaterial(msg, path=spec.file)
    return lines_of(read_file(container[spec.file], plan=True).blocks)


def _overview(container: Mapping[str, Span], manifest: Manifest) -> dict[str, Json]:
    logs: list[Json] = []
    for spec in manifest.layout.logs:
        count = read_file(container[spec.file], plan=True).lines if spec.file in container else None
        logs.append({"name": spec.name, "file": spec.file, "entries": count})
    sealed = _sealed(container, manifest)
    keys: list[Json] = [
        {"role": key.role, "keyId": key.key_id, "publicKey": encode_public(key.raw)} for key in manifest.signers
    ]
    files: list[Json] = [{"path": path, "size": entry.size} for path, entry in manifest.files.items()]
    return {
        "schema": "assay.inspect",
        "version": 1,
        "lab": manifest.lab,
        "registration": sealed.registration if sealed else None,
        "sealedAt": sealed.sealed_at if sealed else None,
        "document": dict(sealed.document) if sealed else None,
        "amendments": [{"at": a.at, "why": a.why, "seen": a.seen} for a in sealed.amendments] if sealed else [],
        "logs": logs,
        "checkpoints": sum(1 for path in manifest.files if path.startswith("checkpoints/")),
        "keys": keys,
        "files": files,
    }


def _sealed(container: Mapping[str, Span], manifest: Manifest) -> Sealed | None:
    if manifest.layout.registration is not None:
        return None
    try:
        entries = [canonical.loads(line) for line in _lines(container, manifest.layout.logs[0])]
        return open_seal(entry for entry in entries if isinstance(entry, dict))
    except (EvidenceInvalid, KeyRefused):
        return None


def _print_overview(overview: dict[str, Json], echo: Echo) -> None:
    echo.result(paint(f"lab           {visible(str(overview['lab']))}", "strong"))
    for label, member in (("registration", "registration"), ("sealed at", "sealedAt")):
        echo.result(f"{label:<13} {visible(str(overview[member]))}")
    for name, headings in _HEADINGS.items():
        rows = cast("list[dict[str, Json]]", overview[name])  # as _overview puts them together
        if rows:
            echo.result(paint(f"\n{name}", "strong"))
            for line in _column_lines([headings, *([str(value) for value in row.values()] for row in rows)]):
                echo.result(line)
    echo.result(paint("\nregistration document", "strong"))
    echo.result(json.dumps(overview["document"], indent=2, ensure_ascii=False))
    echo.result(paint("\nnothing was verified here; `assay verify` does that", "muted"))


def _column_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as aligned lines, numbers flush right; the first row is the headings."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(row, rows[0], widths, strict=True)
        padded = (pad_text(cell, width, right=heading in _NUMERIC) for cell, heading, width in cells)
        yield f"  {'  '.join(padded)}".rstrip()
