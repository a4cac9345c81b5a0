"""Killed at any moment: nothing that was acknowledged is lost, and the run goes on to a bundle that verifies."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from assay.kernel.bundle import export_bundle
from assay.kernel.random import Stream
from assay.kernel.run import open_run
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

CHILD = Path(__file__).with_name("crash_child.py")
INTEGRITY = Question(integrity_only=True, jobs=1)


class Attempt:
    """What one attempt said before it ended."""

    def __init__(self):
        self.pid = 0
        self.said = []
        self.acknowledged = {}
        self.attached = []
        self.steps = 0
        self.status = None

    def hear(self, line):
        word, *rest = line.split()
        if word == "begin":
            self.pid = int(rest[0])
        elif word == "ack":
            self.acknowledged[rest[0], int(rest[1])] = bytes.fromhex(rest[2])
        elif word == "attached":
            self.attached += rest
        elif word == "steps":
            self.steps = int(rest[0])
        elif word == "end":
            self.status = int(rest[0])
        self.said.append(word)


class Child:
    """The process that makes attempts, one at a time."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout.readline() == "ready\n"

    def run(self, folder, *, after=None, pause_s=0.0, **asked):
        """Makes an attempt; kills it once it has said some words (the last one so often) and a little later."""
        self._process.stdin.write(json.dumps({"folder": str(folder), **asked}) + "\n")
        self._process.stdin.flush()
        attempt = Attempt()
        while attempt.status is None:
            attempt.hear(self._process.stdout.readline())
            if after is not None and attempt.said.count(after[0]) == after[1]:
                after = None
                until = time.perf_counter() + pause_s
                while time.perf_counter() < until:  # a sleep would be longer than most of what is to be hit
                    pass
                if attempt.status is None:
                    os.kill(attempt.pid, signal.SIGKILL)
        return attempt

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@pytest.fixture(scope="module")
def child():
    process = Child()
    yield process
    process.close()


@pytest.fixture(scope="module")
def toy_plan():
    """The plan of the child's runs."""
    return runpy.run_path(str(CHILD))["PLAN"]


def failures(report):
    return {step.name: [failure.message for failure in step.failures] for step in report.steps if step.failures}


def check_bundle(path, outcomes):
    report = verify_bundle(path, INTEGRITY)
    assert (report.outcome in outcomes, failures(report)) == (True, {})


def check_survival(folder, plan, attempts):
    """Everything acknowledged is there, the run goes on, ends, and its bundle verifies."""
    with open_run(folder, plan) as run:
        for attempt in attempts:
            for (log, sequence), digest in attempt.acknowledged.items():
                row = next(run.store.entries(log, sequence), None)
                assert row is not None
                assert row.hash == digest
            for path in attempt.attached:
                assert run.evidence.file(path) == path.encode()
        # Both entries of a transaction are there or neither is.
        rows = [entry for entry in run.evidence.entries("rows") if entry["kind"] == "row"]
        judged = [entry for entry in run.evidence.entries("decisions") if entry["kind"] == "judged"]
        assert [entry["row"] for entry in judged] == [entry["sequence"] for entry in rows]
        if any("closed" in attempt.said for attempt in attempts):
            assert run.closed
        if not run.closed:
            with run.transaction() as transaction:
                transaction.append("rows", {"kind": "row"})
                transaction.append("decisions", lambda made: {"kind": "judged", "row": made[0].sequence})
            run.close()
        export_bundle(run.store, run.layout, lab="toy", signers=run.sealed.signers, to=folder / "final.zip")
    check_bundle(folder / "final.zip", {Outcome.CONSISTENT})


def test_an_attempt_that_nobody_kills(child, toy_plan, tmp_path):
    attempt = child.run(tmp_path / "run", rows=3, clients=2, attach=True, close=True, export="bundle")
    assert attempt.status == 0
    assert attempt.said[:4] == ["begin", "open", "opened", "ack"]
    assert len(attempt.acknowledged) == 12
    check_bundle(tmp_path / "run" / "bundle", {Outcome.CONSISTENT})
    check_survival(tmp_path / "run", toy_plan, [attempt])


@pytest.mark.parametrize("export", ["bundle", "bundle.zip"])
def test_killed_before_every_step(child, toy_plan, tmp_path, export):
    asked = {"rows": 2, "attach": True, "close": True, "export": export}
    whole = child.run(tmp_path / "whole", steps=0, **asked)
    assert whole.status == 0
    assert whole.steps > 100
    # The second form of an export shares everything before it with the first.
    first = 1 if export == "bundle" else whole.steps - 20
    for step in range(first, whole.steps + 1):
        folder = tmp_path / str(step)
        attempt = child.run(folder, steps=step, **asked)
        assert attempt.status == -signal.SIGKILL, step
        if (folder / export).exists():
            check_bundle(folder / export, {Outcome.CONSISTENT})
        check_survival(folder, toy_plan, [attempt])


def plan_kill(draw, turn):
    """What to ask of an attempt, and when to kill it: at its start, in an export, or between commits."""
    export = f"bundle-{turn}" + (".zip" if turn % 2 else "")
    asked = {"rows": 40, "clients": 1 + draw.below(4), "attach": True, "export": export}
    if turn < 2:  # while keys are made, the store is set up, or the run is taken up again
        return {**asked, "after": ("open", 1), "pause_s": draw.below(30_000) / 1e6}
    if turn < 4:  # while a bundle is written
        return {**asked, "rows": 1, "after": ("export", 1), "pause_s": draw.below(15_000) / 1e6}
    return {**asked, "after": ("ack", 1 + draw.below(60)), "pause_s": draw.below(4_000) / 1e6}


def test_killed_at_any_moment(child, toy_plan, tmp_path):
    draw = Stream(20261201, "kills")
    killed_after = Counter()
    for number in range(40):
        folder, attempts = tmp_path / str(number), []
        for turn in range(7):
            asked = plan_kill(draw, turn)
            attempt = child.run(folder, **asked)
            assert attempt.status in {0, -signal.SIGKILL}
            killed_after[attempt.said[-2]] += attempt.status != 0
            attempts.append(attempt)
            if (folder / asked["export"]).exists():
                check_bundle(folder / asked["export"], {Outcome.INCOMPLETE})
        check_survival(folder, toy_plan, attempts)
        if killed_after.total() >= 100:
            break
    assert killed_after.total() >= 100
    assert min(killed_after[word] for word in ("open", "ack", "export")) >= 5, killed_after


class TestTheCheckItself:
    """A check that cannot fail would find every crash survived."""

    def test_an_entry_that_is_lost(self, child, toy_plan, tmp_path):
        attempt = child.run(tmp_path / "run", rows=2)
        attempt.acknowledged["rows", 9] = bytes(32)
        with pytest.raises(AssertionError):
            check_survival(tmp_path / "run", toy_plan, [attempt])

    def test_an_entry_that_became_another(self, child, toy_plan, tmp_path):
        attempt = child.run(tmp_path / "run", rows=2)
        attempt.acknowledged["rows", 2] = bytes(32)
        with pytest.raises(AssertionError):
            check_survival(tmp_path / "run", toy_plan, [attempt])

    def test_half_a_transaction(self, child, toy_plan, tmp_path):
        attempt = child.run(tmp_path / "run", rows=2)
        with open_run(tmp_path / "run", toy_plan) as run, run.transaction() as transaction:
            transaction.append("rows", {"kind": "row"})
        with pytest.raises(AssertionError):
            check_survival(tmp_path / "run", toy_plan, [attempt])

    def test_half_a_bundle(self, child, toy_plan, tmp_path):
        child.run(tmp_path / "run", rows=2, close=True, export="bundle")
        (tmp_path / "run" / "bundle" / "notes" / "rows.note").unlink()
        with pytest.raises(AssertionError):
            check_bundle(tmp_path / "run" / "bundle", {Outcome.CONSISTENT})
