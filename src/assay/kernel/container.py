"""A bundle as it lies on a disk, a folder or one zip, seen the same way: paths, and where their bytes are."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.kernel.archive import Span, read_archive, read_span
from assay.kernel.errors import BadInput, MalformedDocument, MissingMaterial
from assay.kernel.layout import check_path

__all__ = ["open_container", "read_whole"]

_DEPTH = 8
_COUNT = 2_000_000


def open_container(path: Path) -> Mapping[str, Span]:
    """Where each file of a bundle lies, by its path inside the bundle.

    Raises:
        BadInput: There is nothing at ``path``.
        MissingMaterial: It is there and cannot be read.
        MalformedDocument: It is neither a folder of plain files nor the zip form of a bundle.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        msg = f"no bundle at {path}: expected a folder or a .zip"
        raise BadInput(msg, path=str(path)) from error
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise MissingMaterial(msg, path=str(path)) from error
    if stat.S_ISDIR(mode):
        return dict(sorted(_walk(path, "", 0)))
    if not stat.S_ISREG(mode):
        msg = f"{path} is neither a folder nor a file"
        raise BadInput(msg, path=str(path))
    if not os.access(path, os.R_OK):
        msg = f"cannot read {path}: permission denied"
        raise MissingMaterial(msg, path=str(path))
    return read_archive(path)


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Span]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        msg = f"cannot read {folder}: {error.strerror}"
        raise MissingMaterial(msg, path=str(folder)) from error
    if len(entries) > _COUNT or depth > _DEPTH:
        msg = f"{prefix!r} holds more than a bundle can (deeper than {_DEPTH} or more than {_COUNT} files)"
        raise MalformedDocument(msg, reason="container")
    for entry in entries:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            inner = list(_walk(Path(entry.path), path + "/", depth + 1))
            if not inner:
                msg = f"the folder {path!r} is empty; a bundle holds files only"
                raise MalformedDocument(msg, reason="container")
            yield from inner
        elif entry.is_file(follow_symlinks=False):
            yield check_path(path), Span(Path(entry.path), 0, entry.stat(follow_symlinks=False).st_size)
        else:
            msg = f"{path!r} is a link or a special file; a bundle holds plain files only"
            raise MalformedDocument(msg, reason="container")


def read_whole(span: Span, limit: int = 1 << 26) -> bytes:
    """All bytes of a file of a bundle.

    Raises:
        MalformedDocument: It is larger than ``limit`` bytes.
        MissingMaterial: It cannot be read.
    """
    if span.size > limit:
        msg = f"{span.file.name} has {span.size} bytes, more than the {limit} such a file may have"
        raise MalformedDocument(msg, reason="size")
    return b"".join(read_span(span))
