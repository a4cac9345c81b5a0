"""The BUNDLE that a command was given: what is plainly something else is said to be so before it is verified.

Nothing that could be a tampered bundle is turned away here: that is for verification to call invalid.
"""

import os
from pathlib import Path

from assay.kernel.errors import BadInput
from assay.kernel.manifest import MANIFEST
from assay.kernel.run import STORE_FILE

__all__ = ["check_bundle_argument"]

_PARTS = ("checkpoints", "logs")  # a folder with one of these was a bundle, whatever else it lacks
_ZIP_MAGIC = b"PK"


def check_bundle_argument(path: Path) -> None:
    """Returns if ``path`` is a bundle, could have been one, or cannot be looked at here.

    Raises:
        BadInput: It is a run's folder, or nothing that ever was a bundle; the message says which.
    """
    if path.is_dir():
        _check_folder(path)
    elif path.is_file():
        _check_file(path)


def _check_folder(path: Path) -> None:
    try:
        with os.scandir(path) as entries:
            names = {entry.name for entry in entries}
    except OSError:
        return
    if MANIFEST in names:
        return
    if STORE_FILE in names:
        bundle = path / "bundle.zip"
        there = f"its bundle is {bundle}" if bundle.name in names else "`assay run` its registration to get its bundle"
        msg = f"{path} is a run's folder; {there}"
        raise BadInput(msg, path=str(path))
    if names.isdisjoint(_PARTS):
        msg = f"{path} holds no {MANIFEST}: not a bundle"
        raise BadInput(msg, path=str(path))


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_ZIP_MAGIC))
    except OSError:
        return
    if magic != _ZIP_MAGIC and path.suffix != ".zip":
        msg = f"{path} is neither a folder nor a zip: not a bundle"
        raise BadInput(msg, path=str(path))
