"""Runs of which the parent test kills most: it says what it has done only once that is durable.

Each line of standard input is one JSON object that asks for one attempt, made in a forked process so that thousands of
starts cost one import. An attempt says ``begin PID``, then what it does, then ``end STATUS``.
"""

import json
import os
import signal
import sqlite3
import sys
import threading
import traceback
from pathlib import Path

from assay.kernel.bundle import export_bundle
from assay.kernel.layout import default_layout
from assay.kernel.run import Plan, open_run
from assay.kernel.writer import Cadence

PLAN = Plan(
    lab="toy",
    layout=default_layout("toy", ("rows", "decisions")),
    document={"lab": "toy", "limit": 3},
    cadence=Cadence(entries=5),
)
CONNECT = sqlite3.connect
STEPS = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "shutil.rmtree")


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class Steps:
    """Counts what an attempt does to the disk, and ends the process just before one step, as a power cut would.

    A step is an SQL statement, or the opening, linking, renaming or removing of a file in the run's folder.
    """

    def __init__(self, folder, last):
        self._folder = folder
        self._last = last
        self.taken = 0

    def watch(self, event, arguments):
        if event in STEPS or (event == "open" and str(arguments[0]).startswith(self._folder)):
            self.take(event)

    def connect(self, *arguments, **named):
        connection = CONNECT(*arguments, **named)
        connection.set_trace_callback(self.take)
        return connection

    def take(self, _):
        self.taken += 1
        if self.taken == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


def work(run, count):
    """Transactions over two logs, each acknowledged after its commit; a file now and then."""
    for number in range(count):
        with run.transaction() as transaction:
            transaction.append("rows", {"kind": "row", "number": number})
            transaction.append("decisions", lambda rows: {"kind": "judged", "row": rows[0].sequence})
        for row in transaction.entries:
            say("ack", row.log, row.sequence, row.hash.hex())


def attempt(folder, *, rows, clients=1, attach=False, close=False, export="", steps=None):
    folder = Path(folder)
    counted = Steps(str(folder), steps)
    if steps is not None:
        sys.addaudithook(counted.watch)
        sqlite3.connect = counted.connect
    say("open")
    with open_run(folder, PLAN) as run:
        say("opened")
        if not run.closed:
            threads = [threading.Thread(target=work, args=(run, rows)) for _ in range(clients - 1)]
            for thread in threads:
                thread.start()
            work(run, rows)
            for thread in threads:
                thread.join()
            if attach:
                path = f"files/{run.size('decisions')}"
                run.attach(path, path.encode())
                say("attached", path)
            if close:
                run.close()
                say("closed")
        if export:
            say("export")
            export_bundle(run.store, run.layout, lab="toy", signers=run.sealed.signers, to=folder / export)
            say("exported")
    if steps is not None:
        say("steps", counted.taken)


def main():
    say("ready")
    pid = 0
    while line := sys.stdin.readline():
        if pid:
            os.waitpid(pid, 0)
        pid = os.fork()
        if pid == 0:
            say("begin", os.getpid())
            try:
                attempt(**json.loads(line))
            except BaseException:  # noqa: BLE001 - the process ends here, and says why
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        # Its number stays its own until the next attempt, so that the parent never kills a stranger.
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        say("end", ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)


if __name__ == "__main__":
    main()
