"""Files of recorded rollouts, as what a fold takes: one envelope a line, packed with gzip or not."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from assay.kernel.canonical import loads
from assay.kernel.errors import BadInput, EvidenceInvalid, UnknownName
from assay.labs.duel.corpus.baking import Renderer
from assay.labs.duel.corpus.envelopes import read_envelope
from assay.labs.duel.corpus.routing import Record
from assay.labs.duel.corpus.views import derive_view
from assay.labs.duel.eras import Era

__all__ = ["LONGEST_LINE", "TraceFiles"]

LONGEST_LINE: Final = 64 << 20
"""Bytes one rollout may have."""


class TraceFiles:
    """Some files of rollouts; each is a chunk that is known by the digest of its bytes.

    Args:
        paths: The files, in the order in which they are folded.
        render: The teacher's chat template, for rollouts that call tools; without it such rollouts are left out.
    """

    def __init__(self, paths: Sequence[Path], render: Renderer | None = None) -> None:
        self._render = render
        self._files = {_digest_file(path): path for path in paths}
        self.left_out: Counter[str] = Counter()

    @property
    def manifest_sha256(self) -> str | None:
        """None: files have no manifest that names them."""
        return None

    def chunk_ids(self) -> Sequence[str]:
        """The digests of the files, in order."""
        return tuple(self._files)

    def records(self, chunk_id: str) -> Iterable[Record]:
        """The view records of a file; rollouts that give none are counted by the reason.

        Raises:
            BadInput: A line is no envelope; the message names the file and the line.
        """
        path = self._files[chunk_id]
        for number, line in enumerate(_read_lines(path), start=1):
            record = self._read(line, f"{path} line {number}")
            if record is not None:
                yield record

    def _read(self, line: bytes, where: str) -> Record | None:
        try:
            envelope = read_envelope(loads(line))
        except EvidenceInvalid as problem:
            msg = f"{where}: {problem.message}"
            raise BadInput(msg) from problem
        try:
            record = derive_view(envelope, Era.NETWORK, render=self._render)
        except (EvidenceInvalid, UnknownName) as problem:
            self.left_out[problem.code] += 1
            return None
        if record is None:
            self.left_out["errored-or-no-turn"] += 1
            return None
        return record.to_document()


def _digest_file(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise BadInput(msg, path=str(path)) from error


def _read_lines(path: Path) -> Iterator[bytes]:
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    msg = f"{path}: a line is longer than {LONGEST_LINE:,} bytes, which is the most that is read"
                    raise BadInput(msg, path=str(path))
                if line.strip():
                    yield line
    except (OSError, EOFError, zlib.error) as error:
        msg = f"{path}: cannot be read whole: {error}"
        raise BadInput(msg, path=str(path)) from error
