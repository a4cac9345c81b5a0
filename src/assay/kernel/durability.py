"""Making sure that a name survives a power cut: a file's own bytes are synced where it is written."""

import os
from pathlib import Path

__all__ = ["sync_folder"]


def sync_folder(folder: Path) -> None:
    """Returns once the names in a folder are on the disk: new files, links and renames in it.

    Raises:
        OSError: The folder cannot be opened or synced; the caller says what that means.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
