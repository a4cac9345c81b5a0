"""When checkpoints are due and what they say, and how a run ends."""

import json
import threading

import pytest

from assay.kernel.errors import (
    InvariantBroken,
    MalformedDocument,
    RunClosed,
    StoreFault,
)
from assay.kernel.layout import CheckpointSpec, Layout
from assay.kernel.notes import note_key, verify_note
from assay.kernel.writer import Cadence, Order, Writer

FULL = StoreFault("the disk is full", full=True)
WAIT_S = 20


class TestCheckpoints:
    def test_the_first_commit_has_one(self, desk):
        desk.write(1, 2, 3)
        assert desk.covered() == [1]

    def test_after_so_many_entries(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=4))
        desk.write(*range(11))
        assert desk.covered() == [1, 5, 9]
        desk.recover()

    def test_entries_of_all_logs_count(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=4))
        for _ in range(5):
            with desk.writer.transaction() as transaction:
                transaction.append("rows", {"number": 1})
                transaction.append("decisions", {"number": 1})
        assert desk.covered() == [1, 3, 5]

    def test_after_so_much_time_with_the_next_commit(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=10**6, seconds=60.0))
        desk.write(1, 2)
        desk.clock.advance(59.0)
        desk.write(3)
        assert desk.covered() == [1]
        desk.clock.advance(1.0)
        desk.write(4)
        assert desk.covered() == [1, 4]
        desk.clock.advance(60.0)
        desk.writer.submit(Order()).result(WAIT_S)
        assert desk.covered() == [1, 4]

    def test_after_so_much_time_by_itself(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=10**6, seconds=0.0))
        desk.write(1)
        assert desk.store.pointed.acquire(timeout=WAIT_S)
        desk.write(2)
        assert desk.store.pointed.acquire(timeout=WAIT_S)
        assert desk.covered()[-1] == 2
        desk.recover()

    def test_a_full_disk_is_not_tried_again_at_once(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=10**6, seconds=60.0))
        desk.write(1, 2)
        desk.clock.advance(60.0)
        desk.store.failures.extend([FULL] * 1000)
        with pytest.raises(StoreFault):
            desk.write(3)
        desk.writer.stop()
        assert len(desk.store.failures) == 999

    def test_on_demand(self, desk):
        desk.writer.checkpoint()
        desk.write(1)
        desk.writer.checkpoint()
        desk.writer.checkpoint()
        assert desk.covered() == [0, 1, 1]
        desk.recover()

    def test_they_are_chained_and_say_what_is_there(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=3))
        desk.write(*range(10))
        points = desk.points()
        assert [point.sequence for point in points] == [0, 1, 2, 3]
        assert [point.previous for point in points] == [bytes(32), *(point.hash for point in points[:-1])]
        rows = list(desk.store.entries("rows"))
        assert [point.heads["rows"].last for point in points] == [rows[size - 1].hash for size in desk.covered()]

    def test_heads_are_published_under_keys_of_their_own(self, desk):
        desk.write(1)
        (row,) = desk.store.checkpoints()
        notes = json.loads(row.notes)
        assert set(notes) == {"registration", "rows", "decisions"}
        key = desk.signers["note-rows"].public.raw
        assert verify_note(notes["rows"], note_key("o/rows", key)).splitlines()[:2] == ["o/rows", "1"]

    def test_after_recovery_what_no_checkpoint_covers_still_counts(self, open_desk):
        desk = open_desk(cadence=Cadence(entries=4))
        desk.write(1, 2, 3)
        desk.writer.stop()
        state = desk.recover()
        writer = Writer(
            desk.store, desk.layout, hands=desk.hands, clock=desk.clock, state=state, cadence=Cadence(entries=4)
        )
        for number in (4, 5):
            with writer.transaction() as transaction:
                transaction.append("rows", {"number": number})
        writer.stop()
        assert desk.covered() == [1, 5]
        desk.recover()


class TestExtraMembers:
    @pytest.fixture
    def layout(self, toy_layout):
        return Layout(logs=toy_layout.logs, checkpoint=CheckpointSpec(extra=("commit", "more")))

    def test_they_are_in_every_checkpoint(self, open_desk, layout):
        extra = {"commit": "git:x", "more": {"list": [1]}}
        desk = open_desk(layout=layout, extra=extra)
        extra["more"]["list"].append(2)
        desk.write(1)
        desk.writer.checkpoint()
        assert [json.loads(row.line)["more"] for row in desk.store.checkpoints()] == [{"list": [1]}] * 2
        desk.recover()

    @pytest.mark.parametrize("extra", [{}, {"commit": "x"}, {"commit": "x", "more": 1, "stranger": 2}], ids=str)
    def test_others_than_declared_are_refused_before_anything_is_written(self, open_desk, layout, extra):
        with pytest.raises(InvariantBroken, match="exactly"):
            open_desk(layout=layout, extra=extra)

    def test_what_json_cannot_carry_is_refused_before_anything_is_written(self, open_desk, layout):
        with pytest.raises(MalformedDocument):
            open_desk(layout=layout, extra={"commit": float("nan"), "more": 1})


class TestEnding:
    def test_closing_ends_every_log_in_one_commit(self, desk):
        desk.write(1)
        desk.writer.close_run({"rows": {"kind": "run.closed"}, "decisions": {"kind": "run.closed"}})
        assert len(desk.store.batches) == 2
        assert len(desk.store.batches[-1].checkpoints) == 1
        assert desk.covered() == [1, 2]
        for log in ("rows", "decisions"):
            assert json.loads(list(desk.store.entries(log))[-1].line)["kind"] == "run.closed"

    def test_nothing_is_added_to_a_closed_run(self, desk):
        desk.writer.close_run({"rows": {"kind": "run.closed"}})
        with pytest.raises(RunClosed):
            desk.write(1)
        with pytest.raises(RunClosed):
            desk.writer.submit(desk.order(1)).result(WAIT_S)
        with pytest.raises(RunClosed):
            desk.writer.checkpoint()
        with pytest.raises(RunClosed):
            desk.writer.close_run({})
        assert desk.store.size("rows") == 1

    def test_what_waited_behind_the_end_is_refused(self, desk):
        desk.store.hold()
        first = desk.writer.submit(desk.order(0))
        assert desk.store.entered.wait(WAIT_S)
        closing = Order(checkpoint=True, closes=True)
        waiting = [desk.writer.submit(order) for order in (desk.order(1), closing, desk.order(2))]
        desk.store.gate.set()
        assert first.result(WAIT_S)
        assert waiting[0].result(WAIT_S)
        assert waiting[1].result(WAIT_S) == []
        with pytest.raises(RunClosed):
            waiting[2].result(WAIT_S)
        assert desk.numbers() == [0, 1]

    def test_an_end_that_failed_is_no_end(self, desk):
        desk.write(1)
        desk.store.failures.append(FULL)
        with pytest.raises(StoreFault):
            desk.writer.close_run({"rows": {"kind": "run.closed"}})
        desk.write(2)
        desk.writer.close_run({})
        assert desk.covered()[-1] == 2

    def test_stopping_commits_what_waits_and_then_answers_no(self, desk):
        desk.store.hold()
        waiting = [desk.writer.submit(desk.order(number)) for number in range(3)]
        stopping = threading.Thread(target=desk.writer.stop)
        stopping.start()
        desk.store.gate.set()
        stopping.join()
        assert all(future.result(WAIT_S) for future in waiting)
        desk.writer.stop()
        with pytest.raises(RunClosed, match="not open"):
            desk.write(9)
        with pytest.raises(RunClosed, match="not open"):
            desk.writer.submit(desk.order(9)).result(WAIT_S)
        assert desk.numbers() == [0, 1, 2]
