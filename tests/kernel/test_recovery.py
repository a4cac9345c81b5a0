"""Recovery: whatever was changed in the file behind the driver's back is found before anything is added to it."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from assay.kernel import canonical
from assay.kernel.checkpoint import rebuild_hash
from assay.kernel.digests import to_raw, to_text
from assay.kernel.errors import BadSignature, BrokenChain, EvidenceInvalid, ForkDetected, MalformedDocument, SealBroken
from assay.kernel.layout import CheckpointSpec
from assay.kernel.recovery import recover
from assay.kernel.run import open_run
from assay.kernel.seal import in_force_at, open_seal
from assay.kernel.store.protocol import ForkRow
from assay.kernel.store.sqlite import SqliteStore

ROWS = 20
EDITED = """CAST(replace(CAST(line AS TEXT), '"number":7', '"number":8') AS BLOB)"""


@pytest.fixture(scope="module")
def written(tmp_path_factory, plan):
    """A run of 20 rows with four checkpoints, left open by whoever wrote it."""
    folder = tmp_path_factory.mktemp("written") / "run"
    with open_run(folder, plan()) as run:
        for number in range(1, ROWS):
            with run.transaction() as transaction:
                transaction.append("rows", {"kind": "row", "number": number})
        run.attach("notes.txt", b"as attached\n")
        run.writer.checkpoint()
    return folder


@pytest.fixture
def folder(written, tmp_path):
    """A copy of that run, to be spoilt."""
    return shutil.copytree(written, tmp_path / "run")


@pytest.fixture
def tamper(folder):
    """Runs SQL on the file as somebody would who has a database client and no respect for triggers."""

    def run(statement, *values):
        with closing(sqlite3.connect(folder / "evidence.db", isolation_level=None)) as client:
            for (name,) in client.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                client.execute(f"DROP TRIGGER {name}")
            return client.execute(statement, values).fetchall()

    return run


@pytest.fixture
def take_up(folder, toy_layout):
    """Recovers the store of the folder with the keys and digests that its own seal names."""

    def run(keys=None, digests=None):
        with closing(SqliteStore(folder / "evidence.db", toy_layout)) as store:
            lines = [canonical.loads_canonical(row.line) for row in store.entries("registration")]
            sealed = open_seal(lines)
            named = {key.role: key for key in sealed.signers}
            return recover(store, toy_layout, named if keys is None else keys(named), digests or sealed.digests)

    return run


def test_what_was_committed_is_taken_up_where_it_ended(take_up, tamper):
    state = take_up()
    assert {log: place.sequence for log, place in state.places.items()} == {
        "registration": 1,
        "rows": ROWS,
        "decisions": 2,
    }
    ((last,),) = tamper("SELECT hash FROM log_rows ORDER BY sequence DESC LIMIT 1")
    assert state.places["rows"].hash == last
    assert state.frontiers["rows"].size == ROWS
    assert state.covered == {"registration": 1, "rows": ROWS, "decisions": 2}
    ((count, hashes),) = tamper("SELECT count(*), max(hash) FILTER (WHERE sequence = 3) FROM checkpoints")
    assert state.checkpoints == (count, hashes)
    assert state.registration.startswith("sha256:")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"UPDATE log_rows SET line = {EDITED} WHERE sequence = 8", "entry 8"),
        ("UPDATE log_rows SET line = CAST(line || ' ' AS BLOB) WHERE sequence = 9", "entry 9"),
        ("UPDATE log_rows SET line = x'' WHERE sequence = 9", "entry 9"),
        ("UPDATE log_rows SET line = x'ff' WHERE sequence = 1", "entry 1"),
        ("UPDATE log_rows SET line = (SELECT line FROM log_rows WHERE sequence = 5) WHERE sequence = 6", "entry 6"),
        ("UPDATE log_rows SET line = (SELECT line FROM log_decisions) WHERE sequence = 1", "entry 1"),
        ("UPDATE log_rows SET hash = zeroblob(32) WHERE sequence = 4", "lies in the store as entry 4"),
        ("UPDATE log_rows SET sequence = 40 WHERE sequence = 20", "lies in the store as entry 40"),
        ("UPDATE log_rows SET sequence = 0 WHERE sequence = 1", "entry 1"),
        ("DELETE FROM log_rows WHERE sequence = 10", "entry 10"),
        ("DELETE FROM log_rows WHERE sequence = 1", "entry 1"),
        ("DELETE FROM log_rows WHERE sequence = 20", "covers 20 entries, there are 19"),
        ("DELETE FROM log_rows", "covers 2 entries|covers 1 entries"),
        ("DELETE FROM log_decisions", "covers [12] entries, there are 0"),
    ],
)
def test_changed_entries(take_up, tamper, statement, message):
    take_up()
    tamper(statement)
    with pytest.raises(BrokenChain, match=message):
        take_up()


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("DELETE FROM checkpoints WHERE sequence = 0", BrokenChain),
        ("DELETE FROM checkpoints WHERE sequence = 1", BrokenChain),
        ("UPDATE checkpoints SET sequence = 9 WHERE sequence = 3", BrokenChain),
        ("UPDATE checkpoints SET hash = zeroblob(32) WHERE sequence = 1", BrokenChain),
        ("UPDATE checkpoints SET line = (SELECT line FROM checkpoints WHERE sequence = 0)", BrokenChain),
        ("UPDATE checkpoints SET line = x'7b7d' WHERE sequence = 1", MalformedDocument),
        ("UPDATE checkpoints SET line = x'' WHERE sequence = 1", MalformedDocument),
    ],
)
def test_changed_checkpoints(take_up, tamper, statement, error):
    tamper(statement)
    with pytest.raises(error):
        take_up()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE files SET data = x'00'", "notes.txt with SHA-256 6e34.*its entry commits"),
        ("DELETE FROM files", "notes.txt with SHA-256 None"),
        ("UPDATE files SET path = 'other.txt'", "notes.txt"),
        ("INSERT INTO files VALUES ('more.txt', x'00')", "more.txt.*commits None"),
    ],
)
def test_changed_files(take_up, tamper, statement, message):
    tamper(statement)
    with pytest.raises(BrokenChain, match=message):
        take_up()


def test_changed_heads(take_up, tamper):
    """The heads that an earlier checkpoint published, in place of the last one's."""
    tamper("UPDATE checkpoints SET notes = (SELECT notes FROM checkpoints WHERE sequence = 0)")
    with pytest.raises(BrokenChain, match="published head of log"):
        take_up()


class TestForgedCheckpoints:
    """Whoever changes a checkpoint and makes its hash right still lacks the witness key."""

    @pytest.fixture
    def forge(self, tamper):
        def run(number, *, rehash=True, **changes):
            ((line,),) = tamper("SELECT line FROM checkpoints WHERE sequence = ?", number)
            value = {**json.loads(line), **changes}
            if rehash:
                value["checkpointHash"] = to_text(rebuild_hash(CheckpointSpec(), canonical.dumps(value)))
            tamper(
                "UPDATE checkpoints SET line = ?, hash = ? WHERE sequence = ?",
                canonical.dumps(value),
                to_raw(value["checkpointHash"]),
                number,
            )

        return run

    def test_with_the_old_hash(self, take_up, forge):
        forge(3, rehash=False, createdAt="later")
        with pytest.raises(BrokenChain):
            take_up()

    def test_with_the_right_hash(self, take_up, forge):
        forge(3, createdAt="later")
        with pytest.raises(BadSignature):
            take_up()

    def test_another_signature(self, take_up, forge):
        forge(3, rehash=False, witnessSignature="ed25519:" + "A" * 86 + "==")
        with pytest.raises(BadSignature):
            take_up()

    def test_a_text_that_is_no_signature(self, take_up, forge):
        forge(3, rehash=False, witnessSignature="x")
        with pytest.raises(MalformedDocument):
            take_up()


def test_a_checkpoint_that_names_another_registration(take_up):
    with pytest.raises(SealBroken, match="names registration"):
        take_up(digests={1: "sha256:" + "0" * 64})


def test_another_key_for_a_log(take_up):
    swapped = {"rows-log": "decisions-log", "decisions-log": "rows-log"}
    with pytest.raises(BrokenChain):
        take_up(keys=lambda keys: {role: keys[swapped.get(role, role)] for role in keys})


@pytest.mark.parametrize("role", ["author", "rows-log", "witness"])
def test_a_key_that_is_missing_is_named(take_up, role):
    with pytest.raises(MalformedDocument, match=role):
        take_up(keys=lambda keys: {name: key for name, key in keys.items() if name != role})


def test_a_fork_stops_the_run_and_both_sides_are_kept(folder, plan, toy_layout):
    with closing(SqliteStore(folder / "evidence.db", toy_layout)) as store:
        first = next(store.entries("rows", 5))
        store.keep_fork(ForkRow("rows", 5, bytes(32), b'{"the":"other"}'))
    for _ in range(2):
        with pytest.raises(ForkDetected, match="both are kept") as caught:
            open_run(folder, plan())
        assert caught.value.details == {"log": "rows", "sequence": 5}
    with closing(SqliteStore(folder / "evidence.db", toy_layout)) as store:
        assert next(store.entries("rows", 5)) == first
        assert [fork.line for fork in store.forks()] == [b'{"the":"other"}']


def test_a_run_that_does_not_verify_is_not_written_to(folder, plan, tamper):
    tamper("UPDATE log_rows SET hash = zeroblob(32) WHERE sequence = 4")
    before = tamper("SELECT count(*) FROM log_decisions")
    with pytest.raises(EvidenceInvalid):
        open_run(folder, plan())
    assert tamper("SELECT count(*) FROM log_decisions") == before


def test_in_force():
    digests = {1: "a", 3: "b", 4: "c"}
    assert [in_force_at(digests, size) for size in range(6)] == [None, "a", "a", "b", "c", "c"]
