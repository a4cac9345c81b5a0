"""A run from its start to its closing checkpoint: taken up again, refused to others, and never half begun."""

import json
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest

from assay.kernel.clock import SystemClock
from assay.kernel.errors import (
    BadInput,
    EvidenceInvalid,
    InvariantBroken,
    KeyRefused,
    MalformedDocument,
    MissingMaterial,
    Refused,
    RunClosed,
    StoreLocked,
    UnknownVersion,
)
from assay.kernel.keys import Signer, read_signer, write_signer
from assay.kernel.layout import REGISTRATION_LOG, CheckpointSpec, Layout, default_layout
from assay.kernel.roles import roles_of
from assay.kernel.run import Plan, open_run
from assay.kernel.seal import registration_digest
from assay.kernel.store.sqlite import SqliteStore
from assay.testing.entropy import drawn_entropy

DOCUMENT = {"lab": "toy", "limit": 3}
OTHER = {"lab": "toy", "limit": 4}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def begun(folder, plan):
    """A run with three rows that somebody left."""
    with open_run(folder, plan()) as run:
        write(run, 1, 2, 3)
    return folder


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "evidence-writer"] == []


def write(run, *numbers):
    for number in numbers:
        with run.transaction() as transaction:
            transaction.append("rows", {"kind": "row", "number": number})


def kinds(run, log):
    return [entry["kind"] for entry in run.evidence.entries(log)]


def author_key(**changes):
    settled = {"role": "author", "domain": REGISTRATION_LOG.domain, "seed": bytes(32)}
    return Signer(**{**settled, **changes})


class TestStarting:
    def test_the_first_commit_seals_and_opens_every_log(self, folder, plan):
        with open_run(folder, plan()) as run:
            assert not run.closed
            assert run.sealed.document == DOCUMENT
            assert kinds(run, "registration") == ["registration.sealed"]
            assert kinds(run, "rows") == kinds(run, "decisions") == ["run.opened"]
            opened = next(run.evidence.entries("rows"))
            assert opened["registration"] == registration_digest(DOCUMENT)
            assert [point.sequence for point in run.store.checkpoints()] == [0]

    def test_the_seal_names_every_key_and_the_folder_holds_them(self, folder, plan, toy_layout):
        with open_run(folder, plan()) as run:
            assert {key.role: key.domain for key in run.sealed.signers} == roles_of(toy_layout)
            for key in run.sealed.signers:
                assert read_signer(folder / "keys" / f"{key.role}.key").public == key
        assert (folder / "keys").stat().st_mode & 0o777 == 0o700

    def test_an_author_of_ones_own(self, folder, plan):
        author = author_key()
        with open_run(folder, plan(author=author)) as run:
            assert author.public in run.sealed.signers
        assert not (folder / "keys" / "author.key").exists()
        with open_run(folder, plan(author=author)) as run:
            assert kinds(run, "decisions")[-1] == "run.recovered"

    @pytest.mark.parametrize("changes", [{"role": "writer"}, {"domain": "another"}], ids=str)
    def test_an_author_for_something_else_is_refused(self, folder, plan, changes):
        with pytest.raises(KeyRefused, match="needs a key for author"):
            open_run(folder, plan(author=author_key(**changes)))

    def test_a_document_that_json_cannot_carry(self, folder, plan):
        with pytest.raises(MalformedDocument):
            open_run(folder, plan(document={"x": float("nan")}))
        with open_run(folder, plan()) as run:
            assert run.sealed.document == DOCUMENT

    def test_checkpoint_members_that_were_not_given(self, folder, plan, toy_layout):
        layout = Layout(logs=toy_layout.logs, checkpoint=CheckpointSpec(extra=("commit",)))
        with pytest.raises(InvariantBroken, match="commit"):
            open_run(folder, plan(layout=layout))
        with open_run(folder, plan(layout=layout, extra={"commit": "git:x"})) as run:
            (point,) = run.store.checkpoints()
            assert json.loads(point.line)["commit"] == "git:x"

    def test_a_layout_without_a_registration_log(self, folder, plan, nursery):
        with pytest.raises(InvariantBroken, match="registration"):
            open_run(folder, plan(layout=nursery()))
        assert not folder.exists()

    def test_a_file_in_the_way(self, folder, plan):
        folder.write_bytes(b"")
        with pytest.raises(BadInput, match="cannot make the folder"):
            open_run(folder, plan())

    def test_the_machines_own_clock_and_entropy(self, folder, toy_layout):
        with open_run(folder, Plan(lab="toy", layout=toy_layout, document=DOCUMENT)) as run:
            write(run, 1)
        with open_run(folder, Plan(lab="toy", layout=toy_layout, document=DOCUMENT, clock=SystemClock())) as run:
            assert run.size("rows") == 2

    def test_the_same_entropy_and_clock_give_the_same_evidence(self, tmp_path, plan):
        lines = []
        for name in ("one", "two"):
            with open_run(tmp_path / name, plan()) as run:
                write(run, 1, 2)
                lines.append([row.line for log in ("registration", "rows") for row in run.store.entries(log)])
        assert lines[0] == lines[1]


class TestHalfBegun:
    """A start that was killed before its first commit leaves keys, or an empty database, and nothing sealed."""

    def test_keys_without_a_store(self, begun, plan):
        keys = {path.name: path.read_bytes() for path in (begun / "keys").iterdir()}
        for path in begun.glob("evidence.db*"):
            path.unlink()
        with open_run(begun, plan(entropy=drawn_entropy(8))) as run:
            assert kinds(run, "rows") == ["run.opened"]
        assert {path.name: path.read_bytes() for path in (begun / "keys").iterdir()} == keys

    def test_some_keys_and_an_empty_store(self, begun, plan, toy_layout):
        kept = (begun / "keys" / "witness.key").read_bytes()
        for path in [*begun.glob("evidence.db*"), *begun.glob("keys/note-*"), begun / "keys" / "rows-log.key"]:
            path.unlink()
        SqliteStore(begun / "evidence.db", toy_layout).close()
        with open_run(begun, plan(entropy=drawn_entropy(8))) as run:
            assert len(run.sealed.signers) == len(roles_of(toy_layout))
        assert (begun / "keys" / "witness.key").read_bytes() == kept

    def test_a_draft_of_a_key(self, folder, plan):
        (folder / "keys").mkdir(parents=True)
        (folder / "keys" / ".witness.key.1").write_bytes(b"half of a")
        with open_run(folder, plan()) as run:
            write(run, 1)

    def test_a_database_of_no_bytes(self, folder, plan):
        folder.mkdir()
        (folder / "evidence.db").write_bytes(b"")
        with open_run(folder, plan()) as run:
            write(run, 1)

    @pytest.mark.parametrize("role", ["author", "witness", "rows-log", "note-rows"])
    def test_keys_of_another_lab_are_not_taken(self, folder, plan, toy_layout, role):
        (folder / "keys").mkdir(parents=True)
        stranger = Signer(role=role, domain="another", seed=bytes(32))
        write_signer(stranger, folder / "keys" / f"{role}.key")
        with pytest.raises(KeyRefused, match=f"needs a key for {role}"):
            open_run(folder, plan())

    def test_a_key_that_others_can_read_is_not_taken(self, begun, plan):
        for path in begun.glob("evidence.db*"):
            path.unlink()
        (begun / "keys" / "witness.key").chmod(0o644)
        with pytest.raises(KeyRefused, match="can be read by others"):
            open_run(begun, plan())


class TestTakingUp:
    def test_a_run_goes_on_and_says_so(self, begun, plan):
        with open_run(begun, plan()) as run:
            recovered = list(run.evidence.entries("decisions"))[-1]
            assert recovered["kind"] == "run.recovered"
            assert recovered["sizes"] == {"registration": 1, "rows": 4, "decisions": 1}
            write(run, 4)
            assert run.size("rows") == 5
        with open_run(begun, plan()) as run:
            assert kinds(run, "decisions") == ["run.opened", "run.recovered", "run.recovered"]

    def test_a_layout_that_takes_no_such_entry(self, folder, plan, toy_layout):
        silent = plan(layout=Layout(logs=toy_layout.logs, closings=toy_layout.closings))
        with open_run(folder, silent) as run:
            write(run, 1)
        with open_run(folder, silent) as run:
            assert kinds(run, "decisions") == ["run.opened"]
            write(run, 2)

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"document": OTHER}, "limit"),
            ({"document": {**DOCUMENT, "more": {"x": 1}}}, "more"),
            ({"document": {"lab": "toy"}}, "limit"),
            ({"lab": "other"}, "lab"),
        ],
        ids=str,
    )
    def test_another_registration_is_refused_by_the_name_of_what_differs(self, begun, plan, changes, named):
        with pytest.raises(Refused, match=f"differs in {named};"):
            open_run(begun, plan(**changes))
        with open_run(begun, plan()) as run:
            assert run.size("rows") == 4

    def test_other_logs_are_refused(self, begun, plan):
        with pytest.raises(UnknownVersion, match="log_more"):
            open_run(begun, plan(layout=default_layout("toy", ("rows", "decisions", "more"))))

    def test_another_closing_is_another_layout(self, begun, plan, toy_layout):
        open_ended = Layout(logs=toy_layout.logs, recovery="decisions", attachments="decisions")
        with pytest.raises(Refused, match="laid out otherwise") as caught:
            open_run(begun, plan(layout=open_ended))
        assert caught.value.details == {"differs": "layout"}

    def test_somebody_else_has_it_open(self, begun, plan):
        with open_run(begun, plan()), pytest.raises(StoreLocked):
            open_run(begun, plan())
        open_run(begun, plan()).__exit__()

    @pytest.mark.parametrize("role", ["author", "witness", "rows-log", "note-rows"])
    def test_a_key_that_is_gone_is_named(self, begun, plan, role):
        path = begun / "keys" / f"{role}.key"
        path.rename(begun / "aside")
        with pytest.raises(MissingMaterial, match=f"{role}.key"):
            open_run(begun, plan())
        (begun / "aside").rename(path)
        open_run(begun, plan()).__exit__()

    def test_a_key_that_was_exchanged_is_refused(self, begun, plan):
        path = begun / "keys" / "rows-log.key"
        domain = read_signer(path).public.domain
        path.unlink()
        write_signer(Signer(role="rows-log", domain=domain, seed=bytes(32)), path)
        with pytest.raises(Refused, match="sealed for key"):
            open_run(begun, plan())

    def test_another_author_is_refused(self, begun, plan):
        with pytest.raises(Refused, match="another author key"):
            open_run(begun, plan(author=author_key()))

    def test_a_row_that_was_changed(self, begun, plan):
        with closing(sqlite3.connect(begun / "evidence.db", isolation_level=None)) as client:
            client.execute("DROP TRIGGER log_rows_no_update")
            client.execute("UPDATE log_rows SET line = CAST(replace(CAST(line AS TEXT), ':2', ':7') AS BLOB)")
        with pytest.raises(EvidenceInvalid, match="log rows, entry"):
            open_run(begun, plan())

    def test_a_seal_that_was_changed(self, begun, plan):
        with closing(sqlite3.connect(begun / "evidence.db", isolation_level=None)) as client:
            client.execute("DROP TRIGGER log_registration_no_update")
            edited = """CAST(replace(CAST(line AS TEXT), '"limit":3', '"limit":4') AS BLOB)"""
            client.execute(f"UPDATE log_registration SET line = {edited}")
        for document in (DOCUMENT, OTHER):
            with pytest.raises(EvidenceInvalid, match="edited after it was sealed"):
                open_run(begun, plan(document=document))

    def test_a_copy_of_the_folder_is_the_same_run(self, begun, plan, tmp_path):
        copied = shutil.copytree(begun, tmp_path / "copied")
        with open_run(copied, plan()) as run:
            write(run, 4)
            assert run.size("rows") == 5

    def test_leaving_by_an_exception_keeps_what_was_committed(self, folder, plan):
        def fail():
            with open_run(folder, plan()) as run:
                write(run, 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        with open_run(folder, plan()) as run:
            assert kinds(run, "rows") == ["run.opened", "row"]


class TestAmending:
    def test_the_amended_document_is_in_force(self, begun, plan):
        with open_run(begun, plan()) as run:
            run.amend(OTHER, why="a reason", seen="three rows")
            assert run.sealed.document == OTHER
            run.writer.checkpoint()
            last = list(run.store.checkpoints())[-1]
            assert json.loads(last.line)["registration"] == registration_digest(OTHER)
        with pytest.raises(Refused, match="limit"):
            open_run(begun, plan())
        with open_run(begun, plan(document=OTHER)) as run:
            assert [item.why for item in run.sealed.amendments] == ["a reason"]
            write(run, 4)

    @pytest.mark.parametrize(
        ("document", "why", "error"), [(OTHER, " ", BadInput), (DOCUMENT, "x", Refused)], ids=["blank", "unchanged"]
    )
    def test_what_is_no_amendment_is_not_written(self, begun, plan, document, why, error):
        with open_run(begun, plan()) as run:
            with pytest.raises(error):
                run.amend(document, why=why, seen="x")
            assert kinds(run, "registration") == ["registration.sealed"]


class TestAttaching:
    def test_a_file_and_the_entry_that_commits_it(self, folder, plan):
        with open_run(folder, plan()) as run:
            run.attach("verdict.json", b"{}\n")
            entry = list(run.evidence.entries("decisions"))[-1]
            assert (entry["kind"], entry["path"], entry["size"]) == ("file.attached", "verdict.json", 3)
            assert entry["sha256"] == "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
            assert run.evidence.file("verdict.json") == b"{}\n"
            with pytest.raises(EvidenceInvalid, match="absent"):
                run.evidence.file("absent")

    @pytest.mark.parametrize("path", ["verdict.json", "manifest.json", "logs/rows.jsonl", "verdict.json/x", "notes"])
    def test_a_path_that_is_taken_leaves_no_entry(self, folder, plan, path):
        with open_run(folder, plan()) as run:
            run.attach("verdict.json", b"{}\n")
            with pytest.raises(BadInput, match="is taken"):
                run.attach(path, b"another")
            assert kinds(run, "decisions") == ["run.opened", "file.attached"]

    def test_a_path_stays_taken_when_the_run_is_taken_up_again(self, folder, plan):
        with open_run(folder, plan()) as run:
            run.attach("verdict.json", b"{}\n")
        with open_run(folder, plan()) as run, pytest.raises(BadInput):
            run.attach("verdict.json", b"another")

    @pytest.mark.parametrize("path", ["../x", "/x", "a/../b", ".x", ""])
    def test_paths_that_lead_elsewhere(self, folder, plan, path):
        with open_run(folder, plan()) as run, pytest.raises(MalformedDocument):
            run.attach(path, b"")

    def test_a_layout_that_takes_none(self, folder, plan, toy_layout):
        bare = plan(layout=Layout(logs=toy_layout.logs))
        with open_run(folder, bare) as run, pytest.raises(BadInput, match="no attached files"):
            run.attach("x", b"")


class TestClosing:
    def test_a_closed_run_stays_closed(self, begun, plan):
        with open_run(begun, plan()) as run:
            run.close()
            run.close()
            assert run.closed
            with pytest.raises(RunClosed):
                run.transaction()
        with open_run(begun, plan()) as run:
            assert run.closed
            assert [kinds(run, log)[-1] for log in ("registration", "rows", "decisions")] == ["run.closed"] * 3
            for attempt in (run.transaction, lambda: run.attach("x", b""), lambda: run.amend(OTHER, why="x", seen="x")):
                with pytest.raises(RunClosed):
                    attempt()

    def test_a_closed_run_opens_without_its_keys(self, begun, plan):
        with open_run(begun, plan()) as run:
            run.close()
        shutil.rmtree(begun / "keys")
        with open_run(begun, plan()) as run:
            assert run.closed

    def test_a_closed_run_is_verified_all_the_same(self, begun, plan):
        with open_run(begun, plan()) as run:
            run.close()
        with closing(sqlite3.connect(begun / "evidence.db", isolation_level=None)) as client:
            client.execute("DROP TRIGGER checkpoints_no_delete")
            client.execute("DELETE FROM checkpoints WHERE sequence = 0")
        with pytest.raises(EvidenceInvalid):
            open_run(begun, plan())

    def test_the_last_checkpoint_covers_the_end(self, begun, plan):
        with open_run(begun, plan()) as run:
            run.close()
            last = json.loads(list(run.store.checkpoints())[-1].line)
            assert {log: head["treeSize"] for log, head in last["trees"].items()} == {
                log: run.size(log) for log in ("registration", "rows", "decisions")
            }

    def test_one_log_that_is_closed_does_not_close_the_run(self, folder, plan):
        with open_run(folder, plan()) as run, run.transaction() as transaction:
            transaction.append("rows", {"kind": "run.closed"})
        with open_run(folder, plan()) as run:
            assert not run.closed

    def test_a_run_that_was_left_answers_no(self, folder, plan):
        with open_run(folder, plan()) as run:
            transaction = run.transaction()
            transaction.append("rows", {"kind": "row"})
        with pytest.raises(RunClosed, match="not open"):
            transaction.commit()
