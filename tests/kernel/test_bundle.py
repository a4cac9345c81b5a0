"""Exports: the same bytes for the same evidence, whole or not at all, whatever happens meanwhile."""

import errno
import io
import json
import os
import zipfile
from hashlib import sha256

import pytest

from assay.kernel.bundle import consistency_pairs, export_bundle, proven_sequences
from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import BadInput, StoreFault
from assay.kernel.manifest import MANIFEST, read_manifest
from assay.kernel.run import open_run
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

INTEGRITY = Question(integrity_only=True)


class Wrapped:
    """A store that is told about every reading of a log, and does the rest as the one inside."""

    def __init__(self, store, before_reading):
        self._store = store
        self._before_reading = before_reading
        self._times = {}

    def entries(self, log, first=1):
        self._times[log] = self._times.get(log, 0) + 1
        self._before_reading(log, self._times[log])
        return self._store.entries(log, first)

    def __getattr__(self, name):
        return getattr(self._store, name)


def write(run, *numbers):
    for number in numbers:
        with run.transaction() as transaction:
            transaction.append("rows", {"kind": "row", "number": number})
            transaction.append("decisions", {"kind": "judged", "number": number})


def export(run, to, store=None):
    return export_bundle(store or run.store, run.layout, lab="toy", signers=run.sealed.signers, to=to)


def contents(path):
    return {name: read_whole(span) for name, span in open_container(path).items()}


def failures(report):
    return {step.name: step.failures for step in report.steps if step.failures}


@pytest.fixture
def run(tmp_path, plan):
    """A run with checkpoints, an attached file and no end yet."""
    with open_run(tmp_path / "run", plan()) as opened:
        write(opened, *range(12))
        opened.attach("results/verdict.json", b"{}\n")
        yield opened


@pytest.fixture
def closed(run):
    run.close()
    return run


class TestSameness:
    def test_twice_gives_the_same_bytes(self, closed, tmp_path):
        export(closed, tmp_path / "one.zip")
        export(closed, tmp_path / "two.zip")
        assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()

    def test_folder_and_zip_hold_the_same(self, closed, tmp_path):
        manifest = export(closed, tmp_path / "folder")
        assert export(closed, tmp_path / "b.zip") == manifest
        assert contents(tmp_path / "folder") == contents(tmp_path / "b.zip")

    def test_the_manifest_comes_first_and_lists_every_file(self, closed, tmp_path):
        manifest = export(closed, tmp_path / "b.zip")
        with zipfile.ZipFile(tmp_path / "b.zip") as archive:
            names = archive.namelist()
        assert names == [MANIFEST, *manifest.files]
        files = contents(tmp_path / "b.zip")
        assert read_manifest(files.pop(MANIFEST)) == manifest
        assert {path: (entry.size, entry.sha256) for path, entry in manifest.files.items()} == {
            path: (len(data), sha256(data).hexdigest()) for path, data in files.items()
        }

    def test_logs_are_the_committed_lines(self, closed, tmp_path):
        export(closed, tmp_path / "folder")
        for spec in closed.layout.logs:
            lines = (tmp_path / "folder" / spec.file).read_bytes().split(b"\n")
            assert lines == [*(row.line for row in closed.store.entries(spec.name)), b""]

    def test_a_bundle_can_be_read_without_us(self, closed, tmp_path):
        export(closed, tmp_path / "b.zip")
        with zipfile.ZipFile(io.BytesIO((tmp_path / "b.zip").read_bytes())) as archive:
            assert archive.testzip() is None
            rows = [json.loads(line) for line in archive.read("logs/rows.jsonl").splitlines()]
        assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))


class TestSoundness:
    def test_a_closed_run_is_consistent(self, closed, tmp_path):
        export(closed, tmp_path / "b.zip")
        report = verify_bundle(tmp_path / "b.zip", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.CONSISTENT, {})

    def test_an_open_run_is_incomplete_and_sound(self, run, tmp_path):
        export(run, tmp_path / "b.zip")
        report = verify_bundle(tmp_path / "b.zip", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.INCOMPLETE, {})

    def test_a_run_of_one_commit(self, tmp_path, plan):
        with open_run(tmp_path / "run", plan()) as run:
            export(run, tmp_path / "b.zip")
        report = verify_bundle(tmp_path / "b.zip", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.INCOMPLETE, {})

    def test_a_run_that_was_taken_up_and_amended(self, tmp_path, plan):
        other = {"lab": "toy", "limit": 4}
        with open_run(tmp_path / "run", plan()) as run:
            write(run, 1)
        with open_run(tmp_path / "run", plan()) as run:
            run.amend(other, why="a reason", seen="one row")
            write(run, 2)
            run.close()
        with open_run(tmp_path / "run", plan(document=other)) as run:
            export(run, tmp_path / "b.zip")
        report = verify_bundle(tmp_path / "b.zip", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.CONSISTENT, {})

    @pytest.mark.parametrize("turn", [1, 2, 3])
    def test_a_run_that_goes_on_meanwhile(self, run, tmp_path, turn):
        """Members are read twice, to measure and to write: what comes in between stays out of both."""

        def add(log, times):
            if times == turn and log in {"rows", "decisions"}:
                write(run, 100 + turn)

        manifest = export(run, tmp_path / "b.zip", Wrapped(run.store, add))
        report = verify_bundle(tmp_path / "b.zip", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.INCOMPLETE, {})
        export(run, tmp_path / "later.zip")
        assert read_manifest(contents(tmp_path / "later.zip")[MANIFEST]) != manifest

    def test_a_transaction_is_never_cut_in_half(self, run, tmp_path):
        """One is committed just after the first log was counted, and again before the second."""
        counted = []

        class Counting(Wrapped):
            def size(self, log):
                size = self._store.size(log)
                counted.append(log)
                if log == "rows" and counted.count("rows") <= 2:
                    write(run, 200)
                    run.attach(f"late/{len(counted)}", b"late")
                return size

        export(run, tmp_path / "folder", Counting(run.store, lambda log, times: None))
        kinds = {
            log: [
                json.loads(line)["kind"]
                for line in (tmp_path / "folder" / "logs" / f"{log}.jsonl").read_bytes().splitlines()
            ]
            for log in ("rows", "decisions")
        }
        assert kinds["rows"].count("row") == kinds["decisions"].count("judged")
        report = verify_bundle(tmp_path / "folder", INTEGRITY)
        assert (report.outcome, failures(report)) == (Outcome.INCOMPLETE, {})


class TestWholeOrNotAtAll:
    def test_a_folder_that_is_there_is_refused(self, run, tmp_path):
        (tmp_path / "folder").mkdir()
        with pytest.raises(BadInput, match="exists"):
            export(run, tmp_path / "folder")
        assert list((tmp_path / "folder").iterdir()) == []

    def test_a_file_in_the_place_of_the_folder(self, run, tmp_path):
        (tmp_path / "folder").write_bytes(b"mine")
        with pytest.raises(BadInput, match="exists"):
            export(run, tmp_path / "folder")
        assert (tmp_path / "folder").read_bytes() == b"mine"

    def test_a_zip_is_replaced(self, run, tmp_path):
        (tmp_path / "b.zip").write_bytes(b"an older one")
        export(run, tmp_path / "b.zip")
        assert MANIFEST in contents(tmp_path / "b.zip")

    def test_folders_above_are_made(self, run, tmp_path):
        export(run, tmp_path / "x" / "y" / "folder")
        assert MANIFEST in contents(tmp_path / "x" / "y" / "folder")

    @pytest.mark.parametrize("name", ["folder", "b.zip"])
    @pytest.mark.parametrize(
        ("failure", "error", "message"),
        [
            (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), StoreFault, "No space left.*nothing of it was kept"),
            (StoreFault("the store went away"), StoreFault, "went away"),
            (KeyboardInterrupt(), KeyboardInterrupt, None),
        ],
        ids=["disk full", "store", "interrupt"],
    )
    def test_a_failure_in_the_middle(self, run, tmp_path, name, failure, error, message):
        before = sorted(tmp_path.iterdir())

        def fail(log, times):
            # Measured once, read for the proofs, and then written.
            if log == "decisions" and times == 3:
                raise failure

        with pytest.raises(error, match=message):
            export(run, tmp_path / name, Wrapped(run.store, fail))
        assert sorted(tmp_path.iterdir()) == before
        export(run, tmp_path / name)

    def test_a_failure_leaves_the_older_zip(self, run, tmp_path):
        export(run, tmp_path / "b.zip")
        before = (tmp_path / "b.zip").read_bytes()
        write(run, 99)

        def fail(log, times):
            if log == "decisions" and times == 3:
                raise OSError(errno.ENOSPC, "full")

        with pytest.raises(StoreFault):
            export(run, tmp_path / "b.zip", Wrapped(run.store, fail))
        assert (tmp_path / "b.zip").read_bytes() == before

    @pytest.mark.parametrize("name", ["folder", "b.zip"])
    @pytest.mark.parametrize("left", ["file", "folder", "link"])
    def test_what_a_killed_export_left_is_cleared(self, run, tmp_path, name, left):
        draft = tmp_path / f".{name}.partial"
        if left == "file":
            draft.write_bytes(b"half of a")
        elif left == "folder":
            (draft / "logs").mkdir(parents=True)
            (draft / "logs" / "rows.jsonl").write_bytes(b"half of a")
        else:
            (tmp_path / "mine").mkdir()
            draft.symlink_to(tmp_path / "mine")
        export(run, tmp_path / name)
        assert not draft.exists()
        assert not draft.is_symlink()
        assert verify_bundle(tmp_path / name, INTEGRITY).outcome is Outcome.INCOMPLETE
        assert left != "link" or list((tmp_path / "mine").iterdir()) == []

    def test_a_file_in_the_way_of_the_folder_above(self, run, tmp_path):
        (tmp_path / "file").write_bytes(b"")
        for name in ("folder", "b.zip"):
            with pytest.raises(StoreFault, match="cannot write the bundle"):
                export(run, tmp_path / "file" / name)

    @pytest.mark.skipif(os.geteuid() == 0, reason="needs a user whom the mode of a folder binds, which root is not")
    @pytest.mark.parametrize("name", ["folder", "b.zip"])
    def test_a_folder_that_cannot_be_written(self, run, tmp_path, name):
        place = tmp_path / "locked"
        place.mkdir()
        place.chmod(0o500)
        try:
            with pytest.raises(StoreFault):
                export(run, place / name)
            assert list(place.iterdir()) == []
        finally:
            place.chmod(0o700)


@pytest.mark.parametrize(
    ("sizes", "pairs"),
    [
        ([], []),
        ([0], []),
        ([5], []),
        ([0, 5], []),
        ([5, 5], []),
        ([5, 6], [(0, 1)]),
        ([0, 1, 1, 3], [(2, 3)]),
        ([1, 2, 4], [(0, 1), (1, 2)]),
        ([4, 2], []),
    ],
)
def test_which_checkpoints_are_proven_consistent(sizes, pairs):
    assert consistency_pairs(sizes) == pairs


def test_which_entries_are_proven_included():
    assert [proven_sequences(size) for size in (0, 1, 2, 9)] == [[], [1], [1, 2], [1, 9]]
