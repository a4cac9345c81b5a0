"""What is particular to the SQLite driver: the file, the lock, a full disk. The contract itself is in tests/testing."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from assay.kernel.errors import MissingMaterial, StoreFault, StoreLocked, UnknownVersion
from assay.kernel.layout import default_layout
from assay.kernel.store.protocol import Batch, EntryRow, FileRow, ForkRow
from assay.kernel.store.sqlite import SqliteStore

HOLDER = """
import sys
from pathlib import Path
from assay.kernel.layout import default_layout
from assay.kernel.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), default_layout("toy", ("rows", "decisions")))
print("open", flush=True)
sys.stdin.read()
"""


def entry(sequence, size=0):
    return EntryRow("rows", sequence, sequence.to_bytes(32, "big"), b"x" * size)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "evidence.db"


@pytest.fixture
def store(path, toy_layout):
    opened = SqliteStore(path, toy_layout)
    yield opened
    opened.close()


@pytest.fixture
def holder(path):
    """Another process that has the store open, until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "open\n"
    yield process
    process.kill()
    process.communicate()


class TestOwnership:
    def test_another_process_keeps_this_one_out(self, path, toy_layout, holder):
        with pytest.raises(StoreLocked, match="another process"):
            SqliteStore(path, toy_layout)
        holder.communicate("")
        SqliteStore(path, toy_layout).close()

    def test_a_killed_process_leaves_no_lock_behind(self, path, toy_layout, holder):
        holder.kill()
        holder.wait()
        SqliteStore(path, toy_layout).close()

    def test_a_failed_opening_leaves_no_lock_behind(self, path, toy_layout, store):
        store.close()
        with pytest.raises(UnknownVersion):
            SqliteStore(path, default_layout("toy", ("others",)))
        SqliteStore(path, toy_layout).close()


class TestFiles:
    def test_an_absent_store_is_not_made_unasked(self, path, toy_layout):
        with pytest.raises(MissingMaterial, match="no store at"):
            SqliteStore(path, toy_layout, create=False)
        assert list(path.parent.iterdir()) == []

    @pytest.mark.parametrize("data", [b"not a database" * 100, b"SQLite format 3\0" + bytes(100), bytes(4096)])
    def test_what_is_no_database(self, path, toy_layout, data):
        path.write_bytes(data)
        with pytest.raises(StoreFault):
            SqliteStore(path, toy_layout)
        assert path.read_bytes() == data

    def test_a_cut_database(self, path, toy_layout, store):
        store.commit(Batch(entries=[entry(n, 1000) for n in range(1, 50)]))
        store.close()
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(StoreFault), closing(SqliteStore(path, toy_layout)) as cut:
            list(cut.entries("rows"))

    def test_another_format(self, path, toy_layout, store):
        store.close()
        client = sqlite3.connect(path, isolation_level=None)
        client.execute("PRAGMA user_version = 2")
        client.close()
        with pytest.raises(UnknownVersion, match="format 2"):
            SqliteStore(path, toy_layout)

    def test_other_logs(self, path, store):
        store.close()
        with pytest.raises(UnknownVersion, match="log_decisions"):
            SqliteStore(path, default_layout("toy", ("rows",)))

    def test_somebody_elses_database(self, path, toy_layout):
        client = sqlite3.connect(path, isolation_level=None)
        client.execute("CREATE TABLE recipes (name TEXT)")
        client.close()
        with pytest.raises(UnknownVersion, match="recipes"):
            SqliteStore(path, toy_layout)

    def test_a_folder_in_the_way(self, path, toy_layout):
        path.mkdir()
        with pytest.raises(StoreFault):
            SqliteStore(path, toy_layout)

    def test_a_lock_that_cannot_be_made(self, path, toy_layout):
        path.with_name("evidence.db.lock").mkdir()
        with pytest.raises(StoreFault, match="cannot open"):
            SqliteStore(path, toy_layout)

    def test_a_folder_that_is_not_there(self, path, toy_layout):
        with pytest.raises(StoreFault):
            SqliteStore(path / "absent" / "evidence.db", toy_layout)

    @pytest.mark.skipif(os.geteuid() == 0, reason="needs a user whom the mode of a folder binds, which root is not")
    def test_a_folder_that_cannot_be_written(self, path, toy_layout):
        path.parent.chmod(0o500)
        try:
            with pytest.raises(StoreFault):
                SqliteStore(path, toy_layout)
        finally:
            path.parent.chmod(0o700)

    def test_durability_is_what_it_says(self, store, path, toy_layout):
        for connection in (store._writer, store._reader):
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


class TestFullDisk:
    def limit(self, store, pages):
        held = store._writer.execute("PRAGMA page_count").fetchone()[0]
        store._writer.execute(f"PRAGMA max_page_count = {held + pages}")

    def test_a_batch_that_does_not_fit_leaves_no_trace(self, store, path, toy_layout):
        store.commit(Batch(entries=[entry(1)]))
        self.limit(store, 2)
        big = Batch(entries=[entry(2), entry(3, 100_000)], files=[FileRow("a", b"a")])
        with pytest.raises(StoreFault, match="free some space") as caught:
            store.commit(big)
        assert caught.value.details["full"] is True
        assert (store.size("rows"), list(store.paths())) == (1, [])
        store.commit(Batch(entries=[entry(2)]))
        self.limit(store, 1000)
        store.commit(Batch(entries=[entry(3, 100_000)], files=[FileRow("a", b"a")]))
        store.close()
        again = SqliteStore(path, toy_layout)
        assert [row.sequence for row in again.entries("rows")] == [1, 2, 3]
        again.close()

    def test_other_failures_are_not_called_a_full_disk(self, store):
        store.commit(Batch(entries=[entry(1)]))
        with pytest.raises(StoreFault) as caught:
            store.commit(Batch(entries=[entry(1)]))
        assert caught.value.details["full"] is False


class TestDefects:
    def test_a_log_that_is_not_there_leaves_nothing_open(self, store):
        stranger = EntryRow("stranger", 1, bytes(32), b"{}")
        with pytest.raises(KeyError):
            store.commit(Batch(entries=[entry(1), stranger]))
        assert store.size("rows") == 0
        store.commit(Batch(entries=[entry(1)]))
        assert store.size("rows") == 1

    def test_a_number_that_does_not_fit_leaves_nothing_open(self, store):
        with pytest.raises(OverflowError):
            store.commit(Batch(entries=[entry(1), EntryRow("rows", 2**64, bytes(32), b"{}")]))
        store.commit(Batch(entries=[entry(1)]))

    def test_a_fork_is_kept_whatever_becomes_of_the_commit_beside_it(self, store, path, toy_layout):
        """The fork arrives from another thread in the middle of a commit that fails."""
        inside, kept = threading.Event(), threading.Event()

        class Slow(list):
            def __iter__(self):
                yield entry(1)
                inside.set()
                kept.wait(0.2)  # the fork must wait for the commit's end: nothing is to be seen of it yet
                yield entry(1)

        def keep():
            inside.wait(10)
            store.keep_fork(ForkRow("rows", 1, bytes(32), b"{}"))
            kept.set()

        keeper = threading.Thread(target=keep)
        keeper.start()
        with pytest.raises(StoreFault):
            store.commit(Batch(entries=Slow([entry(1), entry(1)])))
        keeper.join()
        store.close()
        again = SqliteStore(path, toy_layout)
        assert [fork.sequence for fork in again.forks()] == [1]
        assert again.size("rows") == 0
        again.close()
