"""Where a run's bundle goes, and what must not be replaced there: evidence cannot be made again."""

from collections.abc import Sequence
from pathlib import Path

from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import AssayError, BadInput, Refused
from assay.kernel.keys import PublicKey
from assay.kernel.manifest import MANIFEST, read_manifest
from assay.kernel.run import STORE_FILE

__all__ = ["Destination"]


class Destination:
    """The place of a run's bundle: what is there may be replaced if it is a bundle of the same run, and only then.

    Args:
        folder: The run's folder.
        bundle: The place that the caller named, or ``None`` for ``bundle.zip`` in the run's folder.
    """

    def __init__(self, folder: Path, bundle: Path | None) -> None:
        self.path = bundle or folder / "bundle.zip"
        self._named = bundle is not None
        self._begun = (folder / STORE_FILE).exists()

    def check_before(self) -> None:
        """Returns if a run can be begun that will leave its bundle here; said before the work and not after it.

        Raises:
            BadInput: Something is there that is never replaced.
            Refused: The bundle of another run is there.
        """
        if self.path.is_dir() or (self.path.suffix != ".zip" and self.path.exists()):
            msg = f"{self.path} exists, and only a .zip is replaced; remove it, or choose another place for the bundle"
            raise BadInput(msg, path=str(self.path))
        if not self._begun:
            self.check_replaced(())  # a run that has yet to begin has no bundle anywhere

    def check_replaced(self, signers: Sequence[PublicKey]) -> None:
        """Returns if nothing is there, or the bundle of the run that these keys belong to.

        In the run's own folder, what cannot be read as a bundle is a damaged one, and is mended by replacing it.

        Raises:
            BadInput: The caller named a file that is no bundle.
            Refused: The bundle of another run is there.
        """
        if not self.path.exists():
            return
        there = _signers_of(self.path)
        if there is None and self._named:
            msg = f"{self.path} exists and cannot be read as a bundle; remove it, or choose another place with --bundle"
            raise BadInput(msg, path=str(self.path))
        if there is not None and there != frozenset(signers):
            msg = (
                f"{self.path} is the bundle of another run, and replacing it could lose that run's evidence; choose "
                f"another place with --bundle, or move it away"
            )
            raise Refused(msg, path=str(self.path))


def _signers_of(bundle: Path) -> frozenset[PublicKey] | None:
    """The keys that a bundle names, or nothing where it cannot be read as one."""
    try:
        return frozenset(read_manifest(read_whole(open_container(bundle)[MANIFEST])).signers)
    except (AssayError, KeyError):
        return None
