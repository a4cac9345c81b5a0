"""The contract suite of stores: the SQLite driver keeps it, and each broken twin fails where it is broken."""

import os
import sqlite3
import threading
from dataclasses import replace

import pytest

from assay.kernel.errors import StoreFault
from assay.kernel.store.protocol import Batch
from assay.kernel.store.sqlite import SqliteStore
from assay.testing.store import CONTRACT_LAYOUT, check_store


def check(folder, driver):
    """What the suite finds of a driver; changes behind its back come from a database client of their own."""

    def open_store(place):
        return driver(folder / f"{place}.db", CONTRACT_LAYOUT)

    def run_statement(store, statement):
        client = sqlite3.connect(store._path, isolation_level=None)
        try:
            client.execute(statement)
        finally:
            client.close()

    return check_store(open_store, run_statement=run_statement)


def failed(found):
    return {name for name, outcome in found.items() if outcome not in {"ok", "not applicable"}}


def test_the_sqlite_driver_keeps_the_contract(tmp_path):
    found = check(tmp_path, SqliteStore)
    assert len(found) == 20
    assert set(found.values()) == {"ok"}, found


def test_a_driver_without_sql_is_not_asked_about_it(tmp_path):
    found = check_store(lambda place: SqliteStore(tmp_path / f"{place}.db", CONTRACT_LAYOUT))
    assert found["refuses_changes_behind_its_back"] == "not applicable"
    assert failed(found) == set()


class Twin(SqliteStore):
    """The driver, quicker: a twin need not survive a power cut to be seen to fail."""

    def __init__(self, path, layout):
        super().__init__(path, layout, synchronous="OFF")


class Leftover(Twin):
    """Finds something where nothing is."""

    def file(self, path):
        return super().file(path) or b""


class Fussy(Twin):
    """Wants something in every batch."""

    def commit(self, batch):
        if not (batch.entries or batch.checkpoints or batch.files):
            raise StoreFault("nothing to commit")
        super().commit(batch)


class ThreadBound(Twin):
    """Serves the thread that opened it."""

    def __init__(self, path, layout):
        super().__init__(path, layout)
        self._thread = threading.get_ident()

    def entries(self, log, first=1):
        if threading.get_ident() != self._thread:
            raise StoreFault("another thread's store")
        return super().entries(log, first)


class RowByRow(Twin):
    """Commits each row by itself."""

    def commit(self, batch):
        for row in batch.entries:
            super().commit(Batch(entries=[row]))
        for point in batch.checkpoints:
            super().commit(Batch(checkpoints=[point]))
        super().commit(Batch(files=batch.files))


class Replacing(Twin):
    """Puts a new row in the place of the one that is there."""

    def __init__(self, path, layout):
        super().__init__(path, layout)
        self._inserts = {log: text.replace("INSERT", "INSERT OR REPLACE") for log, text in self._inserts.items()}


class Skipping(Twin):
    """Drops the last row of every full page."""

    def entries(self, log, first=1):
        return (row for row in super().entries(log, first) if (row.sequence - first + 1) % 1024)


class Repeating(Twin):
    """Reads the first row of every page twice."""

    def entries(self, log, first=1):
        for row in super().entries(log, first):
            yield row
            if (row.sequence - first) % 1024 == 1023:
                yield row


class Unordered(Twin):
    """Hands rows out as a table without an order might."""

    def entries(self, log, first=1):
        return reversed(list(super().entries(log, first)))


class Forgetful(Twin):
    """Keeps everything in memory only: what is opened again is new."""

    def close(self):
        super().close()
        self._path.unlink(missing_ok=True)


class Shared(Twin):
    """Lets anybody own it."""

    def __init__(self, path, layout):
        super().__init__(path, layout)
        os.close(self._lock)
        self._lock = -1


class Hoarding(Twin):
    """Keeps the lock after it was closed."""

    def close(self):
        lock, self._lock = self._lock, -1
        super().close()
        self._lock = lock


class Editable(Twin):
    """Forgets the triggers."""

    def __init__(self, path, layout):
        super().__init__(path, layout)
        names = [name for (name,) in self._writer.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
        for name in names:
            self._writer.execute(f"DROP TRIGGER {name}")


class NoEmptyFiles(Twin):
    """Takes an empty file for none."""

    def file(self, path):
        return super().file(path) or None


class Caseless(Twin):
    """Sorts paths as a person would."""

    def paths(self):
        return sorted(super().paths(), key=str.lower)


class Text(Twin):
    """Takes lines for text, with this machine's line ends."""

    def commit(self, batch):
        entries = [replace(row, line=row.line.replace(b"\r\n", b"\n")) for row in batch.entries]
        super().commit(replace(batch, entries=entries))


class Blabbing(Twin):
    """Lets the database's own errors out."""

    def _guard(self, what, action):
        return action()


class ForkInPlace(Twin):
    """Puts a fork where the first entry was."""

    def keep_fork(self, fork):
        super().keep_fork(fork)
        table = self._tables[fork.log]
        values = (fork.sequence, fork.hash, fork.line)
        self._writer.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", values)


class OneFork(Twin):
    """Remembers one fork for each sequence."""

    def forks(self):
        return list({(fork.log, fork.sequence): fork for fork in super().forks()}.values())


class Merging(Twin):
    """Keeps two logs in one place."""

    def entries(self, log, first=1):
        return super().entries("rows" if log == "decisions" else log, first)


class Stuck(Twin):
    """Leaves a refused batch half open."""

    def _roll_back(self):
        pass


class Stale(Twin):
    """Counts what was there when it was opened."""

    def __init__(self, path, layout):
        super().__init__(path, layout)
        self._counted = {spec.name: super(Stale, self).size(spec.name) for spec in layout.logs}

    def size(self, log):
        return self._counted[log]


TWINS = {
    Leftover: {"starts_empty"},
    Fussy: {"accepts_empty_batches"},
    ThreadBound: {"serves_several_threads"},
    RowByRow: {
        "refuses_a_taken_sequence_whole",
        "refuses_a_taken_path_whole",
        "refuses_a_sequence_twice_in_one_batch",
        "refuses_a_taken_checkpoint_whole",
        "shows_nothing_half_committed",
    },
    Replacing: {"refuses_a_taken_sequence_whole", "refuses_a_sequence_twice_in_one_batch", "goes_on_after_a_refusal"},
    Skipping: {"pages_through_long_logs", "reads_while_the_log_grows"},
    Repeating: {"pages_through_long_logs", "reads_while_the_log_grows"},
    Unordered: {"keeps_everything_in_order", "pages_through_long_logs"},
    Forgetful: {"keeps_everything_when_reopened", "refuses_a_taken_sequence_whole"},
    Shared: {"has_one_owner"},
    Hoarding: {"has_one_owner", "keeps_everything_when_reopened"},
    Editable: {"refuses_changes_behind_its_back"},
    NoEmptyFiles: {"keeps_bytes_exactly"},
    Caseless: {"lists_paths_in_code_point_order"},
    Text: {"keeps_bytes_exactly"},
    Blabbing: {"refuses_work_after_closing"},
    ForkInPlace: {"keeps_forks_beside_the_first"},
    OneFork: {"keeps_forks_beside_the_first"},
    Merging: {"keeps_logs_apart", "keeps_everything_in_order"},
    Stuck: {"goes_on_after_a_refusal"},
    Stale: {"keeps_logs_apart", "pages_through_long_logs"},
}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_twin_fails_where_it_is_broken(tmp_path, twin):
    found = check(tmp_path, twin)
    assert failed(found) >= TWINS[twin], found


def test_every_behaviour_is_seen_to_fail(tmp_path):
    contract = set(check_store(lambda place: SqliteStore(tmp_path / f"{place}.db", CONTRACT_LAYOUT)))
    assert set().union(*TWINS.values()) == contract
