"""Durable commits: one client against a bare sqlite3 loop, and 64 clients against the same path without fsync.

The peer does the same inserts with the same pragmas and neither hashes nor signs. Blocks of both are interleaved and
medians compared, since the time of an fsync drifts; CPU time an entry is printed beside it, since it does not.
"""

import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from figures import report

from assay.kernel.clock import SystemClock
from assay.kernel.keys import Signer
from assay.kernel.layout import Layout, default_layout
from assay.kernel.store.sqlite import SqliteStore
from assay.kernel.writer import Cadence, Hands, State, Writer

LAYOUT: Layout = default_layout("bench", ("rows", "decisions"))
BLOCK = 300
ROUNDS = 9
CLIENTS = 64
EACH = 40


def body(number: int) -> dict[str, object]:
    """A body that makes an entry of about 600 bytes."""
    return {
        "kind": "row.read",
        "index": number,
        "arm": "an agent, a version, a date",
        "unit": f"instance_project__project-{number:08d}-with-a-long-name",
        "cluster": "project/project",
        "outcome": number % 3 == 0,
    }


def open_writer(folder: Path, synchronous: str) -> tuple[SqliteStore, Writer]:
    """A store and its writer, as a run has them."""
    store = SqliteStore(folder / "evidence.db", LAYOUT, synchronous=synchronous)
    signers = {spec.name: Signer.new(role=spec.signer, domain=spec.domain) for spec in LAYOUT.logs}
    witness = Signer.new(role="witness", domain=LAYOUT.checkpoint.domain)
    hands = Hands(logs=signers, witness=witness)
    state = State.empty(LAYOUT)
    writer = Writer(store, LAYOUT, hands=hands, clock=SystemClock(), state=state, cadence=Cadence(entries=1 << 40))
    return store, writer


def assay_block(writer: Writer, start: int) -> None:
    """A block of two-entry transactions by one client."""
    for number in range(start, start + BLOCK):
        with writer.transaction() as transaction:
            transaction.append("rows", body(number))
            transaction.append("decisions", body(number))


def bare_store(folder: Path) -> sqlite3.Connection:
    """The peer's database: the same tables and pragmas."""
    SqliteStore(folder / "bare.db", LAYOUT).close()
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def bare_block(connection: sqlite3.Connection, start: int, line: bytes) -> None:
    """The same inserts, without hashing or signing."""
    digest = bytes(32)
    for number in range(start, start + BLOCK):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO log_rows (sequence, hash, line) VALUES (?, ?, ?)", (number, digest, line))
        connection.execute("INSERT INTO log_decisions (sequence, hash, line) VALUES (?, ?, ?)", (number, digest, line))
        connection.execute("COMMIT")


def timed(action: Callable[[], None]) -> tuple[float, float]:
    """Seconds on the wall and of this process's CPUs that an action takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def one_client(folder: Path) -> bool:
    """One client, against the bare loop."""
    store, writer = open_writer(folder, "FULL")
    peer = bare_store(folder)
    assay_block(writer, 0)
    line = next(store.entries("rows")).line
    bare_block(peer, 1, line)
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for turn in range(1, ROUNDS + 1):
        ours.append(timed(lambda turn=turn: assay_block(writer, turn * BLOCK)))
        theirs.append(timed(lambda turn=turn: bare_block(peer, 1 + turn * BLOCK, line)))
    writer.stop()
    store.close()
    peer.close()
    ratio = median(their[0] / our[0] for our, their in zip(ours, theirs, strict=True))
    cpu = median(cpu for _, cpu in ours) / (2 * BLOCK) * 1e6
    bare_cpu = median(cpu for _, cpu in theirs) / (2 * BLOCK) * 1e6
    rate = BLOCK / median(wall for wall, _ in ours)
    print(f"  one client: {rate:,.0f} transactions/s; CPU {cpu:.0f} us an entry, bare sqlite3 {bare_cpu:.0f} us")
    return report("durable commits, one client, against bare sqlite3", ratio, 0.5, "x")


def crowd(writer: Writer) -> None:
    """64 clients at once, each with transactions of its own."""
    barrier = threading.Barrier(CLIENTS)

    def client(name: int) -> None:
        barrier.wait()
        for number in range(EACH):
            with writer.transaction() as transaction:
                transaction.append("rows", body(name * EACH + number))
                transaction.append("decisions", body(number))

    threads = [threading.Thread(target=client, args=(name,)) for name in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def many_clients(folder: Path) -> bool:
    """64 clients with synchronous FULL, against the same with OFF."""
    stores = {}
    for mode in ("FULL", "OFF"):
        (folder / mode).mkdir()
        stores[mode] = open_writer(folder / mode, mode)
        crowd(stores[mode][1])
    walls: dict[str, list[float]] = {"FULL": [], "OFF": []}
    for _ in range(ROUNDS):
        for mode, (_, writer) in stores.items():
            walls[mode].append(timed(lambda writer=writer: crowd(writer))[0])
    for store, writer in stores.values():
        writer.stop()
        store.close()
    ratio = median(off / full for full, off in zip(walls["FULL"], walls["OFF"], strict=True))
    print(f"  64 clients: {CLIENTS * EACH / median(walls['FULL']):,.0f} transactions/s")
    return report("durable commits, 64 clients, against synchronous=OFF", ratio, 0.7, "x")


def main() -> int:
    """Runs both and says whether both limits hold."""
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    try:
        (folder / "one").mkdir()
        results = [one_client(folder / "one"), many_clients(folder)]
    finally:
        shutil.rmtree(folder)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
