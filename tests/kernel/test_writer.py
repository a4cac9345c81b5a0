"""The writer: all or nothing over several logs, everybody answered whatever fails, checkpoints when they are due."""

import asyncio
import json
import threading

import pytest

from assay.kernel.digests import to_text
from assay.kernel.errors import (
    BadInput,
    InvariantBroken,
    KeyRefused,
    MalformedDocument,
    StoreFault,
)
from assay.kernel.keys import Signer
from assay.kernel.logs import MAX_LINE_BYTES
from assay.kernel.store.protocol import FileRow
from assay.kernel.store.sqlite import SqliteStore
from assay.kernel.writer import Cadence, Hands, State, Writer
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy

FULL = StoreFault("the disk is full", full=True)
WAIT_S = 20


class TestTransactions:
    def test_entries_of_several_logs_in_one_commit(self, desk):
        with desk.writer.transaction() as transaction:
            transaction.append("rows", {"number": 1})
            transaction.append("decisions", {"number": 2})
            transaction.append("rows", {"number": 3})
        assert [(row.log, row.sequence) for row in transaction.entries] == [("rows", 1), ("decisions", 1), ("rows", 2)]
        assert (desk.numbers(), desk.numbers("decisions")) == ([1, 3], [2])
        assert len(desk.store.batches) == 1
        assert [*desk.store.entries("rows")] == [row for row in transaction.entries if row.log == "rows"]
        desk.recover()

    def test_an_exception_inside_commits_nothing(self, desk):
        def fail():
            with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": 1})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert desk.store.batches == []
        desk.write(2)
        assert desk.numbers() == [2]

    def test_a_body_may_be_changed_afterwards(self, desk):
        body = {"number": 1, "list": [1]}
        with desk.writer.transaction() as transaction:
            transaction.append("rows", body)
            body["number"] = 2
            body["list"].append(2)
        entry = json.loads(transaction.entries[0].line)
        assert (entry["number"], entry["list"]) == (1, [1])

    def test_a_late_body_sees_the_entries_before_it(self, desk):
        with desk.writer.transaction() as transaction:
            transaction.append("rows", {"number": 1})
            transaction.append(
                "decisions", lambda rows: {"number": rows[0].sequence, "of": to_text(rows[0].hash), "seen": len(rows)}
            )
        decision = json.loads(transaction.entries[1].line)
        assert decision["of"] == json.loads(transaction.entries[0].line)["entryHash"]
        assert decision["seen"] == 1

    @pytest.mark.parametrize(
        ("body", "error"),
        [
            (lambda rows: rows[7], IndexError),
            (lambda rows: "text", BadInput),
            (lambda rows: {"sequence": 1}, BadInput),
            (lambda rows: {"x": float("nan")}, MalformedDocument),
            (lambda rows: {"x": "x" * MAX_LINE_BYTES}, BadInput),
            (lambda rows: exit(3), SystemExit),
        ],
    )
    @pytest.mark.parametrize("hurried", [True, False], ids=["own thread", "writer's thread"])
    def test_a_late_body_that_fails_fails_alone(self, desk, body, error, hurried):
        transaction = desk.writer.transaction()
        transaction.append("rows", {"number": 1})
        transaction.append("decisions", body)
        commit = transaction.commit if hurried else lambda: desk.writer.submit(transaction.order).result(WAIT_S)
        with pytest.raises(error):
            commit()
        desk.write(2)
        desk.writer.submit(desk.order(3)).result(WAIT_S)
        assert desk.numbers() == [2, 3]
        assert desk.store.size("decisions") == 0
        desk.recover()

    def test_what_a_body_must_not_hold_is_refused_at_once(self, desk):
        transaction = desk.writer.transaction()
        with pytest.raises(BadInput):
            transaction.append("rows", {"entryHash": "x"})
        with pytest.raises(MalformedDocument):
            transaction.append("rows", {"x": 2**60})
        with pytest.raises(InvariantBroken, match="stranger"):
            transaction.append("stranger", {})

    def test_an_entry_that_is_too_large_fails_alone(self, desk):
        with pytest.raises(BadInput, match="attach"), desk.writer.transaction() as transaction:
            transaction.append("rows", {"x": "x" * MAX_LINE_BYTES})
        desk.write(1)
        assert desk.numbers() == [1]

    def test_a_transaction_is_committed_once(self, desk):
        transaction = desk.writer.transaction()
        transaction.append("rows", {"number": 1})
        transaction.commit()
        with pytest.raises(InvariantBroken, match="begin another"), transaction:
            pass
        with pytest.raises(InvariantBroken):
            transaction.append("rows", {"number": 2})
        with pytest.raises(InvariantBroken):
            transaction.attach("a", b"")
        desk.write(3)
        assert desk.numbers() == [1, 3]

    def test_an_empty_transaction_is_answered(self, desk):
        with desk.writer.transaction() as transaction:
            pass
        assert transaction.entries == []

    def test_one_time_for_a_transaction_and_later_ones_after_it(self, desk):
        desk.write(1, 2)
        times = [json.loads(row.line)["recordedAt"] for row in desk.store.entries("rows")]
        assert times == sorted(set(times))


class TestFiles:
    def test_a_file_comes_with_its_entry(self, desk):
        with desk.writer.transaction() as transaction:
            transaction.append("rows", {"number": 1})
            transaction.attach("a/b.bin", b"\0\1")
        assert desk.store.file("a/b.bin") == b"\0\1"

    @pytest.mark.parametrize("path", ["../a", "/a", "", "a//b", ".hidden"])
    def test_paths_that_lead_elsewhere(self, desk, path):
        with pytest.raises(MalformedDocument):
            desk.writer.transaction().attach(path, b"")

    @pytest.mark.parametrize(
        "path",
        [
            "a",
            "a/b",
            "a/b/c",
            "manifest.json",
            "registration.jsonl",
            "logs",
            "logs/rows.jsonl",
            "checkpoints/000000.json",
            "proofs/x",
            "notes/rows.note",
            "anchors/1",
        ],
    )
    def test_a_path_that_is_taken_fails_alone_and_for_good(self, desk, path):
        with desk.writer.transaction() as transaction:
            transaction.attach("a/b", b"first")
        transaction = desk.writer.transaction()
        transaction.append("rows", {"number": 1})
        transaction.attach(path, b"second")
        with pytest.raises(BadInput, match="is taken"):
            transaction.commit()
        desk.write(2)
        assert desk.numbers() == [2]
        assert desk.store.file("a/b") == b"first"

    def test_one_path_twice_in_a_transaction(self, desk):
        transaction = desk.writer.transaction()
        transaction.attach("a", b"1")
        transaction.attach("a", b"2")
        with pytest.raises(BadInput, match="is taken"):
            transaction.commit()
        assert list(desk.store.paths()) == []

    def test_one_path_in_two_transactions_of_one_commit(self, desk):
        desk.store.hold()
        first = desk.writer.submit(desk.order(0))
        assert desk.store.entered.wait(WAIT_S)
        orders = [desk.order(1), desk.order(2)]
        for order in orders:
            order.files.append(FileRow("a", b"x"))
        waiting = [desk.writer.submit(order) for order in orders]
        desk.store.gate.set()
        assert first.result(WAIT_S)
        assert waiting[0].result(WAIT_S)
        with pytest.raises(BadInput, match="a is taken"):
            waiting[1].result(WAIT_S)
        assert desk.numbers() == [0, 1]

    def test_a_path_of_a_refused_transaction_stays_free(self, desk):
        desk.store.failures.append(FULL)
        transaction = desk.writer.transaction()
        transaction.attach("a", b"1")
        with pytest.raises(StoreFault):
            transaction.commit()
        with desk.writer.transaction() as transaction:
            transaction.attach("a", b"2")
        assert desk.store.file("a") == b"2"


class TestGroupCommit:
    def test_64_threads(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=100))
        barrier = threading.Barrier(64)
        acknowledged = []

        def client(name):
            barrier.wait()
            for turn in range(5):
                with desk.writer.transaction() as transaction:
                    transaction.append("rows", {"number": name * 100 + turn})
                    transaction.append("decisions", lambda rows: {"row": rows[0].sequence})
                acknowledged.extend(transaction.entries)

        threads = [threading.Thread(target=client, args=(name,)) for name in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for log in ("rows", "decisions"):
            stored = list(desk.store.entries(log))
            assert [row.sequence for row in stored] == list(range(1, 321))
            assert sorted(row.sequence for row in acknowledged if row.log == log) == list(range(1, 321))
            assert {row for row in acknowledged if row.log == log} == set(stored)
        for row in desk.store.entries("decisions"):
            # Both entries of a transaction were committed side by side, so the logs keep step.
            assert json.loads(row.line)["row"] == row.sequence
        for name in range(64):
            own = [number for number in desk.numbers() if number // 100 == name]
            assert own == sorted(own)
        assert len(desk.store.batches) < 320
        desk.recover()

    def test_what_waits_is_committed_together(self, desk):
        desk.store.hold()
        first = desk.writer.submit(desk.order(0))
        assert desk.store.entered.wait(WAIT_S)
        waiting = [desk.writer.submit(desk.order(number)) for number in range(1, 6)]
        assert not any(future.done() for future in (first, *waiting))
        assert desk.store.size("rows") == 0
        desk.store.gate.set()
        assert [future.result(WAIT_S)[0].sequence for future in waiting] == [2, 3, 4, 5, 6]
        assert [len(batch.entries) for batch in desk.store.batches] == [1, 5]
        desk.recover()

    def test_a_failing_body_does_not_touch_those_it_waits_with(self, desk):
        desk.store.hold()
        first = desk.writer.submit(desk.order(0))
        assert desk.store.entered.wait(WAIT_S)
        broken = desk.writer.transaction()
        broken.append("rows", {"number": 2})
        broken.append("rows", lambda rows: 1 / 0)
        orders = [desk.order(1), broken.order, desk.order(3)]
        waiting = [desk.writer.submit(order) for order in orders]
        desk.store.gate.set()
        assert first.result(WAIT_S)
        with pytest.raises(ZeroDivisionError):
            waiting[1].result(WAIT_S)
        assert [waiting[0].result(WAIT_S)[0].sequence, waiting[2].result(WAIT_S)[0].sequence] == [2, 3]
        assert desk.numbers() == [0, 1, 3]
        desk.recover()


class TestAsync:
    def test_many_tasks(self, desk):
        async def client(name):
            async with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": name})
            return transaction.entries[0].sequence

        async def everyone():
            return await asyncio.gather(*(client(name) for name in range(50)))

        assert sorted(asyncio.run(everyone())) == list(range(1, 51))
        assert sorted(desk.numbers()) == list(range(50))
        desk.recover()

    def test_an_exception_inside_commits_nothing(self, desk):
        async def client():
            async with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": 1})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            asyncio.run(client())
        assert desk.store.batches == []

    def test_the_store_failing(self, desk):
        async def client():
            async with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": 1})

        desk.store.failures.append(FULL)
        with pytest.raises(StoreFault, match="full"):
            asyncio.run(client())

    @pytest.mark.parametrize("begun", [True, False], ids=["in mid-commit", "still waiting"])
    def test_a_client_that_stops_waiting(self, desk, begun):
        desk.store.hold()
        ahead = None if begun else desk.writer.submit(desk.order(0))
        assert begun or desk.store.entered.wait(WAIT_S)

        async def give_up():
            async with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": 1})

        async def main():
            task = asyncio.create_task(give_up())
            await asyncio.sleep(0)
            await asyncio.to_thread(desk.store.entered.wait, WAIT_S)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        desk.store.gate.set()
        if ahead is not None:
            assert ahead.result(WAIT_S)
        desk.writer.submit(desk.order(2)).result(WAIT_S)
        # What was begun is finished; what was not is left out whole.
        assert desk.numbers() == ([1, 2] if begun else [0, 2])
        desk.recover()


class TestFailures:
    def test_a_full_disk_fails_all_that_waited_and_nothing_more(self, desk):
        desk.write(0)
        desk.store.hold()
        first = desk.writer.submit(desk.order(1))
        assert desk.store.entered.wait(WAIT_S)
        waiting = [desk.writer.submit(desk.order(number)) for number in (2, 3, 4)]
        desk.store.failures.extend([FULL, FULL])
        desk.store.gate.set()
        for future in (first, *waiting):
            with pytest.raises(StoreFault, match="full"):
                future.result(WAIT_S)
        assert desk.numbers() == [0]
        desk.write(5)
        assert desk.numbers() == [0, 5]
        desk.writer.checkpoint()
        desk.recover()

    def test_a_disk_that_is_really_full(self, desk):
        desk.write(0)
        held = desk.store._writer.execute("PRAGMA page_count").fetchone()[0]
        desk.store._writer.execute(f"PRAGMA max_page_count = {held + 1}")
        transaction = desk.writer.transaction()
        transaction.append("rows", {"number": 1})
        transaction.append("decisions", {"text": "x" * 100_000})
        with pytest.raises(StoreFault, match="free some space"):
            transaction.commit()
        assert (desk.numbers(), desk.store.size("decisions")) == ([0], 0)
        desk.store._writer.execute(f"PRAGMA max_page_count = {held + 1000}")
        desk.write(2)
        assert desk.numbers() == [0, 2]
        desk.writer.checkpoint()
        desk.recover()

    @pytest.mark.parametrize("failure", [StoreFault("a torn wire"), RuntimeError("a driver's defect"), OSError("io")])
    def test_after_any_other_failure_only_a_fresh_start_may_write(self, desk, failure):
        desk.write(0)
        desk.store.failures.append(failure)
        with pytest.raises(type(failure)):
            desk.write(1)
        for _ in range(2):
            with pytest.raises(StoreFault, match="start again"):
                desk.write(2)
            with pytest.raises(StoreFault, match="start again"):
                desk.writer.submit(desk.order(3)).result(WAIT_S)
        assert desk.numbers() == [0]
        assert len(desk.store.batches) == 2
        desk.recover()

    def test_an_interrupt_in_mid_commit(self, desk):
        desk.store.failures.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            desk.write(1)
        with pytest.raises(StoreFault, match="start again"):
            desk.write(2)

    def test_a_failure_on_the_writers_own_thread_leaves_nobody_waiting(self, desk):
        desk.store.failures.append(RuntimeError("a driver's defect"))
        with pytest.raises(RuntimeError):
            desk.writer.submit(desk.order(1)).result(WAIT_S)
        with pytest.raises(StoreFault):
            desk.writer.submit(desk.order(2)).result(WAIT_S)

    def test_a_witness_that_cannot_sign_leaves_nobody_waiting(self, tmp_path, toy_layout, desk):
        stranger = Signer.new(role="witness", domain="another", entropy=drawn_entropy(2))
        hands = Hands(logs=desk.hands.logs, witness=stranger)
        store = SqliteStore(tmp_path / "other.db", toy_layout)
        writer = Writer(store, toy_layout, hands=hands, clock=SteppingClock(), state=State.empty(toy_layout))
        for _ in range(2):
            transaction = writer.transaction()
            transaction.append("rows", {"number": 1})
            with pytest.raises((KeyRefused, StoreFault)):
                writer.submit(transaction.order).result(WAIT_S)
        writer.stop()
        assert store.size("rows") == 0
        store.close()
