"""The SQLite driver: one file a run, WAL, synchronous FULL, one table a log, tables that refuse UPDATE and DELETE."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from assay.kernel.errors import MissingMaterial, StoreFault, StoreLocked, UnknownVersion
from assay.kernel.layout import Layout
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, ForkRow

__all__ = ["SqliteStore"]

FORMAT = 1
_PAGE = 1024
T = TypeVar("T")


class SqliteStore:
    """A store in one SQLite file.

    Args:
        path: The file; it is created if it is absent and ``create`` says so.
        layout: The logs it holds; an existing store must hold the same.
        create: Whether an absent file may be created.
        synchronous: ``FULL`` for durability; ``OFF`` exists for benchmarks alone.

    Raises:
        StoreLocked: Another process owns the store.
        MissingMaterial: It is absent and may not be created.
        UnknownVersion: Another release wrote it, or it holds other logs.
        StoreFault: The file cannot be opened, or is no SQLite file.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        *,
        create: bool = True,
        synchronous: Literal["FULL", "OFF"] = "FULL",
    ) -> None:
        """Opens the file, takes the lock and checks that the tables fit."""
        if not create and not path.exists():
            msg = f"no store at {path}"
            raise MissingMaterial(msg, path=str(path))
        self._path = path
        self._layout = layout
        self._tables = {spec.name: spec.table for spec in layout.logs}
        self._lock = _take_lock(path)
        self._connections: list[sqlite3.Connection] = []
        # A fork is kept from another thread than the writer's, and never inside its transaction.
        self._writing = threading.Lock()
        try:
            self._writer = self._guard("open", lambda: self._connect(synchronous))
            self._guard("prepare", self._prepare)
            self._reader = self._guard("open", lambda: self._connect(synchronous))
        except BaseException:
            self.close()
            raise
        self._inserts = {
            spec.name: f"INSERT INTO {spec.table} (sequence, hash, line) VALUES (?, ?, ?)"  # noqa: S608 - LogSpec vouches for the name
            for spec in layout.logs
        }

    def _connect(self, synchronous: str) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=5.0)
        self._connections.append(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        return connection

    def _guard(self, what: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except sqlite3.Error as error:
            msg = f"cannot {what} the store {self._path}: {error}"
            raise StoreFault(msg, path=str(self._path), sqlite=type(error).__name__) from error

    def _prepare(self) -> None:
        held = self._writer.execute("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        expected = {*self._tables.values(), "checkpoints", "files", "forks"}
        if held == 0 and not tables:
            self._writer.executescript(_schema(self._layout))
        elif held != FORMAT or tables != expected:
            msg = (
                f"{self._path} is not a store of this kind: format {held} (expected {FORMAT}), "
                f"tables {sorted(tables)} (expected {sorted(expected)})"
            )
            raise UnknownVersion(msg, path=str(self._path))

    def commit(self, batch: Batch) -> None:
        """Adds a batch durably and atomically."""
        with self._writing:
            self._commit(batch)

    def _commit(self, batch: Batch) -> None:
        execute = self._writer.execute
        inserts = self._inserts
        try:
            execute("BEGIN IMMEDIATE")
            for row in batch.entries:
                execute(inserts[row.log], (row.sequence, row.hash, row.line))
            for point in batch.checkpoints:
                values = (point.sequence, point.hash, point.line, point.notes)
                execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?)", values)
            for file in batch.files:
                execute("INSERT INTO files VALUES (?, ?)", (file.path, file.data))
            execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            hint = "free some space and run again" if full else "nothing of the transaction was kept"
            msg = f"cannot commit to {self._path}: {error}; {hint}"
            raise StoreFault(msg, path=str(self._path), full=full) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except sqlite3.Error:
            # The connection is closed or beyond use; SQLite drops the open transaction with it.
            self._writer.close()

    def size(self, log: str) -> int:
        """The number of committed entries of a log."""
        query = f"SELECT coalesce(max(sequence), 0) FROM {self._tables[log]}"  # noqa: S608 - LogSpec vouches for the name
        return self._guard("read", lambda: self._reader.execute(query).fetchone()[0])

    def entries(self, log: str, first: int = 1) -> Iterator[EntryRow]:
        """The committed entries of a log from a sequence on, in order, a page at a time."""
        table = self._tables[log]
        query = f"SELECT sequence, hash, line FROM {table} WHERE sequence >= ? ORDER BY sequence LIMIT {_PAGE}"  # noqa: S608 - LogSpec vouches for the name
        while True:
            rows = self._guard("read", lambda start=first: self._reader.execute(query, (start,)).fetchall())
            for sequence, digest, line in rows:
                yield EntryRow(log, sequence, digest, line)
            if len(rows) < _PAGE:
                return
            first = rows[-1][0] + 1

    def checkpoints(self) -> Iterator[CheckpointRow]:
        """The checkpoints in order."""
        query = "SELECT sequence, hash, line, notes FROM checkpoints ORDER BY sequence"
        for row in self._guard("read", lambda: self._reader.execute(query).fetchall()):
            yield CheckpointRow(*row)

    def paths(self) -> Sequence[str]:
        """The paths of the attached files, in code point order."""
        return self._guard(
            "read", lambda: [path for (path,) in self._reader.execute("SELECT path FROM files ORDER BY path")]
        )

    def file(self, path: str) -> bytes | None:
        """The bytes of an attached file, or ``None``."""
        query = "SELECT data FROM files WHERE path = ?"
        row = self._guard("read", lambda: self._reader.execute(query, (path,)).fetchone())
        return row[0] if row else None

    def keep_fork(self, fork: ForkRow) -> None:
        """Keeps a second entry of a taken sequence."""
        values = (fork.log, fork.sequence, fork.hash, fork.line)
        with self._writing:
            self._guard(
                "write", lambda: self._writer.execute("INSERT OR IGNORE INTO forks VALUES (?, ?, ?, ?)", values)
            )

    def forks(self) -> Sequence[ForkRow]:
        """The second entries that were kept."""
        query = "SELECT log, sequence, hash, line FROM forks ORDER BY log, sequence, hash"
        return [ForkRow(*row) for row in self._guard("read", lambda: self._reader.execute(query).fetchall())]

    def close(self) -> None:
        """Closes the file and gives the lock back; waits for a commit under way."""
        with self._writing:
            for connection in self._connections:
                connection.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _take_lock(path: Path) -> int:
    # A lock file beside the store: the kernel drops the lock with the process, also when it is killed.
    lock = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        msg = f"cannot open {lock}: {error.strerror}"
        raise StoreFault(msg, path=str(path)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        msg = f"another process owns the store {path}; wait for it to end, or stop it"
        raise StoreLocked(msg, path=str(path)) from error
    return descriptor


def _schema(layout: Layout) -> str:
    row = "(sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, line BLOB NOT NULL) STRICT"
    tables = {spec.table: row for spec in layout.logs}
    tables["checkpoints"] = (
        "(sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, line BLOB NOT NULL, notes BLOB NOT NULL) STRICT"
    )
    tables["files"] = "(path TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT"
    tables["forks"] = (
        "(log TEXT NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, line BLOB NOT NULL,"
        " PRIMARY KEY (log, sequence, hash)) STRICT"
    )
    statements = ["BEGIN IMMEDIATE"]
    for table, columns in tables.items():
        statements.append(f"CREATE TABLE {table} {columns}")
        for verb in ("UPDATE", "DELETE"):
            trigger = f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}"
            statements += [f"{trigger} BEGIN SELECT raise(ABORT, '{table} is append-only'); END"]
    return ";\n".join([*statements, f"PRAGMA user_version = {FORMAT}", "COMMIT"]) + ";"
