"""Running an experiment on recorded outcomes: every row of the source becomes an entry, in order."""

from collections.abc import Sequence
from pathlib import Path

from assay.labs.experiment.data import read_rows
from assay.labs.experiment.logs import ROWS, source_body
from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.rows import Row
from assay.verifier.lab import OpenRun, Progress, Work

__all__ = ["prepare"]

_BATCH = 256
# The rows log begins with the kernel's opening entry and the entry that names the source.
_BEFORE_ROWS = 2


def prepare(experiment: Experiment, folder: Path) -> Work:
    """Reads the rows the registration names, whole, and says what is left to do with them.

    Raises:
        BadInput: The file is missing, is not the registered one, or holds rows that cannot be compared.
    """
    rows = read_rows(folder / experiment.data.file, experiment)
    return Work(
        label="recording rows",
        units=len(rows),
        run=lambda run, progress: _record(experiment, rows, run, progress),
    )


def _record(experiment: Experiment, rows: Sequence[Row], run: OpenRun, progress: Progress) -> None:
    if run.size(ROWS) < _BEFORE_ROWS:
        with run.transaction() as transaction:
            transaction.append(ROWS, source_body(experiment.data.sha256, len(rows)))
    done = run.size(ROWS) - _BEFORE_ROWS
    progress.advance(done)
    for start in range(done, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        with run.transaction() as transaction:
            for row in batch:
                transaction.append(ROWS, row.to_body())
        progress.advance(len(batch))
