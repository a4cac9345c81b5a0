"""The contract of a `Store`, one function a behaviour: what a driver must do before a run may lean on it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeAlias

from assay.kernel.errors import StoreFault, StoreLocked
from assay.kernel.layout import Layout, default_layout
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, FileRow, ForkRow, Store

__all__ = ["CONTRACT_LAYOUT", "OpenStore", "RunStatement", "check_store"]

CONTRACT_LAYOUT: Layout = default_layout("contract", ("rows", "decisions"))
ROWS, DECISIONS = "rows", "decisions"
# More than any page a driver would read at once, and not a multiple of one.
_MANY = 2600
# How long a look at the store may take in the middle of a commit before it is taken as waiting for the commit's end.
_LOOK_S = 0.25


class OpenStore(Protocol):
    """Opens the store at a place, with the layout of :data:`CONTRACT_LAYOUT`."""

    def __call__(self, place: str) -> Store:
        """The store; a place that was never named before has an empty one.

        Args:
            place: A plain name; the same name is the same store, as a path or a database would be.
        """
        ...


RunStatement: TypeAlias = Callable[[Store, str], object]
"""Runs one SQL statement on the database of an open store, as somebody with a database client would."""


def check_store(open_store: OpenStore, *, run_statement: RunStatement | None = None) -> dict[str, str]:
    """What became of each behaviour: ``ok``, ``not applicable``, or the reason why it does not hold.

    Args:
        open_store: Opens stores of the driver under test.
        run_statement: For drivers over SQL: without it, nothing is said about changing rows behind the driver's back.
    """
    found: dict[str, str] = {}
    for name, behaviour in _CONTRACT.items():
        bench = _Bench(open_store, name.replace("_", "-"), run_statement)
        try:
            found[name] = behaviour(bench) or "ok"
        except _Unmet as unmet:
            found[name] = str(unmet)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is the reason why it fails
            found[name] = f"{type(error).__name__}: {error}"
        finally:
            bench.close()
    return found


class _Unmet(Exception):
    """A behaviour that does not hold, and why."""


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise _Unmet(reason)


class _Bench:
    """One behaviour's own place, and every store that was opened for it."""

    def __init__(self, open_store: OpenStore, place: str, run_statement: RunStatement | None) -> None:
        self._open_store = open_store
        self._place = place
        self._opened: list[Store] = []
        self.run_statement = run_statement

    def open(self, other: str = "") -> Store:
        store = self._open_store(self._place + other)
        self._opened.append(store)
        return store

    def reopen(self, store: Store) -> Store:
        store.close()
        return self.open()

    def close(self) -> None:
        for store in self._opened:
            store.close()


def _entry(log: str, sequence: int, text: str = "") -> EntryRow:
    line = f'{{"log":"{log}","sequence":{sequence},"text":"{text}"}}'.encode()
    return EntryRow(log, sequence, sha256(line).digest(), line)


def _entries(log: str, first: int, last: int) -> list[EntryRow]:
    return [_entry(log, sequence) for sequence in range(first, last + 1)]


def _point(number: int, text: str = "") -> CheckpointRow:
    line = f'{{"checkpoint":{number},"text":"{text}"}}'.encode()
    return CheckpointRow(number, sha256(line).digest(), line, b'{"rows":"a note"}')


@dataclass(frozen=True, slots=True)
class _Contents:
    """Everything a store says it holds."""

    entries: dict[str, list[EntryRow]]
    sizes: dict[str, int]
    checkpoints: list[CheckpointRow]
    files: dict[str, bytes | None]
    forks: list[ForkRow]


def _read(store: Store) -> _Contents:
    logs = [spec.name for spec in CONTRACT_LAYOUT.logs]
    return _Contents(
        entries={log: list(store.entries(log)) for log in logs},
        sizes={log: store.size(log) for log in logs},
        checkpoints=list(store.checkpoints()),
        files={path: store.file(path) for path in store.paths()},
        forks=list(store.forks()),
    )


def _full_batch() -> Batch:
    return Batch(
        entries=[*_entries(ROWS, 1, 3), *_entries(DECISIONS, 1, 2)],
        checkpoints=[_point(0)],
        files=[FileRow("a/file.bin", bytes(range(256)))],
    )


def _refuse(action: Callable[[], object], what: str) -> None:
    try:
        action()
    except StoreFault:
        return
    except Exception as error:
        msg = f"{what}: expected a StoreFault, got {type(error).__name__}: {error}"
        raise _Unmet(msg) from error
    msg = f"{what}: expected a StoreFault, and it was accepted"
    raise _Unmet(msg)


def starts_empty(bench: _Bench) -> None:
    """A new store holds nothing, and says so instead of failing."""
    store = bench.open()
    empty = _Contents(
        entries={ROWS: [], DECISIONS: [], "registration": []},
        sizes={ROWS: 0, DECISIONS: 0, "registration": 0},
        checkpoints=[],
        files={},
        forks=[],
    )
    _require(_read(store) == empty, "a new store is not empty")
    _require(store.file("absent") is None, "a file that is not there must be None")


def keeps_everything_in_order(bench: _Bench) -> None:
    """What one commit adds is read back: the same rows, by log, in the order of their sequences."""
    store = bench.open()
    batch = _full_batch()
    mixed = [batch.entries[index] for index in (0, 3, 1, 4, 2)]
    store.commit(Batch(entries=mixed, checkpoints=batch.checkpoints, files=batch.files))
    store.commit(Batch(entries=_entries(ROWS, 4, 5), checkpoints=[_point(1)]))
    found = _read(store)
    _require(found.entries[ROWS] == _entries(ROWS, 1, 5), "the entries of a log are not those committed, in order")
    _require(found.entries[DECISIONS] == _entries(DECISIONS, 1, 2), "another log's entries are not those committed")
    _require(found.checkpoints == [_point(0), _point(1)], "the checkpoints are not those committed, in order")
    _require(found.files == {"a/file.bin": bytes(range(256))}, "the files are not those committed")


def keeps_logs_apart(bench: _Bench) -> None:
    """Two logs may hold the same sequences, and no log sees another's entries."""
    store = bench.open()
    store.commit(Batch(entries=[*_entries(ROWS, 1, 4), _entry(DECISIONS, 1)]))
    found = _read(store)
    _require(found.sizes == {"registration": 0, ROWS: 4, DECISIONS: 1}, f"sizes are {found.sizes}")
    _require(found.entries[ROWS] == _entries(ROWS, 1, 4), "a log's entries are not its own")
    _require(found.entries[DECISIONS] == [_entry(DECISIONS, 1)], "another log's entries are not its own")


def keeps_bytes_exactly(bench: _Bench) -> None:
    """Lines, notes and files come back byte for byte: any bytes, empty files, large ones."""
    store = bench.open()
    line = b'"\xe2\x80\xa8\x00\r\n' + b"x" * (1 << 20)
    row = EntryRow(ROWS, 1, sha256(line).digest(), line)
    point = CheckpointRow(0, bytes(32), line, bytes(range(256)))
    large = bytes(range(256)) * 4096
    store.commit(Batch(entries=[row], checkpoints=[point], files=[FileRow("empty", b""), FileRow("large", large)]))
    _require(list(store.entries(ROWS)) == [row], "an entry of a MiB does not come back byte for byte")
    _require(list(store.checkpoints()) == [point], "a checkpoint does not come back byte for byte")
    _require(store.file("large") == large, "a large file does not come back byte for byte")
    _require(store.file("empty") == b"", "an empty file must be empty bytes, not absent")


def accepts_empty_batches(bench: _Bench) -> None:
    """A batch of nothing is committed and changes nothing."""
    store = bench.open()
    store.commit(Batch())
    _require(store.size(ROWS) == 0, "an empty batch added something")


def _refuses_whole(bench: _Bench, clash: Batch, what: str) -> None:
    store = bench.open()
    store.commit(_full_batch())
    before = _read(store)
    _refuse(lambda: store.commit(clash), what)
    _require(_read(store) == before, f"{what}: part of the refused batch is there")
    _require(_read(bench.reopen(store)) == before, f"{what}: part of the refused batch is there after reopening")


def refuses_a_taken_sequence_whole(bench: _Bench) -> None:
    """A batch with a sequence that is taken leaves no trace, whatever else it holds, and replaces nothing."""
    clash = Batch(
        entries=[*_entries(DECISIONS, 3, 4), _entry(ROWS, 4), _entry(ROWS, 2, "another")],
        checkpoints=[_point(1)],
        files=[FileRow("b", b"b")],
    )
    _refuses_whole(bench, clash, "an entry at a taken sequence")


def refuses_a_taken_checkpoint_whole(bench: _Bench) -> None:
    """A batch with a checkpoint number that is taken leaves no trace."""
    clash = Batch(entries=_entries(ROWS, 4, 5), checkpoints=[_point(0, "another")], files=[FileRow("b", b"b")])
    _refuses_whole(bench, clash, "a checkpoint at a taken number")


def refuses_a_taken_path_whole(bench: _Bench) -> None:
    """A batch with a path that is taken leaves no trace, and the file that is there stays as it is."""
    files = [FileRow("b", b"b"), FileRow("a/file.bin", b"another")]
    _refuses_whole(bench, Batch(entries=_entries(ROWS, 4, 5), files=files), "a file at a taken path")


def refuses_a_sequence_twice_in_one_batch(bench: _Bench) -> None:
    """A batch that holds one sequence twice leaves no trace."""
    clash = Batch(entries=[_entry(ROWS, 4), _entry(ROWS, 4, "another")])
    _refuses_whole(bench, clash, "one sequence twice in a batch")


def goes_on_after_a_refusal(bench: _Bench) -> None:
    """After a refused batch the next one is committed as if nothing had happened."""
    store = bench.open()
    store.commit(_full_batch())
    _refuse(lambda: store.commit(Batch(entries=[_entry(ROWS, 1, "another")])), "an entry at a taken sequence")
    store.commit(Batch(entries=[_entry(ROWS, 4)]))
    _require(store.size(ROWS) == 4, "the batch after a refused one is not there")


class _Watched(list[EntryRow]):
    """Entries that look at the store, from another thread, whenever one of them is taken."""

    def __init__(self, rows: Sequence[EntryRow], look: Callable[[], object]) -> None:
        super().__init__(rows)
        self._look = look

    def __iter__(self) -> Iterator[EntryRow]:
        for index in range(len(self)):
            thread = threading.Thread(target=self._look, daemon=True)
            thread.start()
            thread.join(_LOOK_S)  # a store whose readers wait for the commit shows nothing in the middle of it
            yield self[index]


def shows_nothing_half_committed(bench: _Bench) -> None:
    """Whoever looks in the middle of a commit sees all of it or nothing."""
    store = bench.open()
    seen: list[tuple[int, int]] = []
    rows = [row for sequence in (1, 2, 3) for row in (_entry(ROWS, sequence), _entry(DECISIONS, sequence))]
    # The second log is looked at first: were it read last, a commit in between would look like half of one.
    store.commit(Batch(entries=_Watched(rows, lambda: seen.append((store.size(DECISIONS), store.size(ROWS))))))
    half = sorted({sizes for sizes in tuple(seen) if sizes not in {(0, 0), (0, 3), (3, 3)}})
    _require(not half, f"in the middle of a commit of 3 and 3 entries these sizes were seen: {half}")
    _require((store.size(DECISIONS), store.size(ROWS)) == (3, 3), "the entries are not there after the commit")


def pages_through_long_logs(bench: _Bench) -> None:
    """A long log is read whole, each entry once, from any sequence on, also past its end."""
    store = bench.open()
    store.commit(Batch(entries=_entries(ROWS, 1, _MANY)))
    _require(store.size(ROWS) == _MANY, f"expected {_MANY} entries, the size is {store.size(ROWS)}")
    for first in (1, 2, 1023, 1024, 1025, 2048, 2049, _MANY - 1, _MANY, _MANY + 1):
        found = [row.sequence for row in store.entries(ROWS, first)]
        _require(found == list(range(first, _MANY + 1)), f"reading from {first} on gives {len(found)} entries")
    _require(list(store.entries(ROWS)) == _entries(ROWS, 1, _MANY), "a long log does not come back row for row")


def reads_while_the_log_grows(bench: _Bench) -> None:
    """What was committed before reading began is read whole, also when more is committed meanwhile."""
    store = bench.open()
    store.commit(Batch(entries=_entries(ROWS, 1, _MANY)))
    reading = store.entries(ROWS)
    found = [next(reading).sequence]
    store.commit(Batch(entries=_entries(ROWS, _MANY + 1, _MANY + 5)))
    found += [row.sequence for row in reading]
    _require(found == list(range(1, len(found) + 1)), "entries are missing, doubled or out of order")
    _require(len(found) >= _MANY, f"{_MANY} entries were there when reading began, {len(found)} were read")


def lists_paths_in_code_point_order(bench: _Bench) -> None:
    """Paths come in code point order, however the files were committed."""
    store = bench.open()
    paths = ["b", "a/b", "B", "a", "a-b", "a.b", "Z/1", "a/B", "10", "9", "a_b"]
    store.commit(Batch(files=[FileRow(path, path.encode()) for path in paths]))
    _require(list(store.paths()) == sorted(paths), f"expected {sorted(paths)}, got {list(store.paths())}")


def keeps_forks_beside_the_first(bench: _Bench) -> None:
    """A fork is kept, the entry it disputes stays, and keeping one twice keeps it once."""
    store = bench.open()
    store.commit(_full_batch())
    second, third = _entry(ROWS, 2, "second"), _entry(ROWS, 2, "third")
    forks = [ForkRow(row.log, row.sequence, row.hash, row.line) for row in (second, third, second)]
    for fork in forks:
        store.keep_fork(fork)
    found = bench.reopen(store)
    _require({fork.line for fork in found.forks()} == {second.line, third.line}, "the forks that were kept are gone")
    _require(len(found.forks()) == 2, f"two forks were kept, {len(found.forks())} are there")
    _require(list(found.entries(ROWS)) == _entries(ROWS, 1, 3), "keeping a fork changed the log")


def keeps_everything_when_reopened(bench: _Bench) -> None:
    """Closing and opening again loses nothing and adds nothing."""
    store = bench.open()
    store.commit(_full_batch())
    store.keep_fork(ForkRow(ROWS, 1, bytes(32), b"{}"))
    before = _read(store)
    after = _read(bench.reopen(store))
    _require(after == before, "what was there before closing is not what is there after opening again")
    _require(after.sizes[ROWS] == 3, "what was committed is not there after opening again")


def has_one_owner(bench: _Bench) -> None:
    """A store that is open cannot be opened again until it is closed; other stores can."""
    store = bench.open()
    bench.open("-other")
    try:
        bench.open()
    except StoreLocked:
        pass
    else:
        msg = "a second owner was let in while the store was open"
        raise _Unmet(msg)
    store.close()
    bench.open()


def refuses_work_after_closing(bench: _Bench) -> None:
    """A closed store says `StoreFault`, and closing it twice is allowed."""
    store = bench.open()
    store.commit(_full_batch())
    store.close()
    store.close()
    _refuse(lambda: store.commit(Batch(entries=[_entry(ROWS, 4)])), "committing to a closed store")
    _refuse(lambda: list(store.entries(ROWS)), "reading a closed store")


def serves_several_threads(bench: _Bench) -> None:
    """One thread may commit while others read."""
    store = bench.open()
    failures: list[str] = []

    def read() -> None:
        try:
            for _ in range(20):
                sequences = [row.sequence for row in store.entries(ROWS)]
                if sequences != list(range(1, len(sequences) + 1)):
                    failures.append("a reader saw a gap")
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is the reason why it fails
            failures.append(f"{type(error).__name__}: {error}")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for sequence in range(1, 41):
        store.commit(Batch(entries=[_entry(ROWS, sequence)]))
    for reader in readers:
        reader.join()
    _require(not failures, "; ".join(sorted(set(failures))))


def refuses_changes_behind_its_back(bench: _Bench) -> str | None:
    """Its tables refuse UPDATE and DELETE, also from a client of the database itself."""
    if bench.run_statement is None:
        return "not applicable"
    store = bench.open()
    store.commit(_full_batch())
    store.keep_fork(ForkRow(ROWS, 1, bytes(32), b"{}"))
    before = _read(store)
    tables = [spec.table for spec in CONTRACT_LAYOUT.logs if spec.name != "registration"]
    columns = {**dict.fromkeys((*tables, "checkpoints", "forks"), "line"), "files": "data"}
    accepted: list[str] = []
    for table, column in columns.items():
        for statement in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):  # noqa: S608 - fixed names
            try:
                bench.run_statement(store, statement)
            except Exception:  # noqa: BLE001, S112 - however it refuses
                continue
            accepted.append(statement)
    _require(not accepted, f"these statements were accepted: {accepted}")
    _require(_read(bench.reopen(store)) == before, "rows were changed behind the store's back")
    return None


# Every behaviour by name; each names its own reason when it does not hold.
_CONTRACT: dict[str, Callable[[_Bench], str | None]] = {
    behaviour.__name__: behaviour
    for behaviour in (
        starts_empty,
        keeps_everything_in_order,
        keeps_logs_apart,
        keeps_bytes_exactly,
        accepts_empty_batches,
        refuses_a_taken_sequence_whole,
        refuses_a_taken_checkpoint_whole,
        refuses_a_taken_path_whole,
        refuses_a_sequence_twice_in_one_batch,
        goes_on_after_a_refusal,
        shows_nothing_half_committed,
        pages_through_long_logs,
        reads_while_the_log_grows,
        lists_paths_in_code_point_order,
        keeps_forks_beside_the_first,
        keeps_everything_when_reopened,
        has_one_owner,
        refuses_work_after_closing,
        serves_several_threads,
        refuses_changes_behind_its_back,
    )
}
