"""A whole small run of another system, in a layout of its own: taken in, taken up, exported and verified."""

import json
from contextlib import closing
from hashlib import sha256

import pytest

from assay.kernel import canonical
from assay.kernel.bundle import consistency_path, export_bundle
from assay.kernel.checkpoint import read_checkpoint
from assay.kernel.container import open_container, read_whole
from assay.kernel.digests import digest, to_raw, to_text
from assay.kernel.errors import BadProof, BrokenChain, EvidenceInvalid
from assay.kernel.manifest import read_layout
from assay.kernel.merkle import verify_consistency
from assay.kernel.recovery import recover
from assay.kernel.restore import restore_bundle
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, FileRow
from assay.kernel.store.sqlite import SqliteStore
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

LOGS = {"baby-a-ledger": "babyA", "baby-b-ledger": "babyB", "channel": "channel"}
INTEGRITY = Question(integrity_only=True)


@pytest.fixture(scope="module")
def mini(evidence):
    return evidence("mini_run.json")


@pytest.fixture(scope="module")
def layout(nursery):
    return nursery("runIdHash", "promptBundleHash", "softwareCommit", "auxiliaryTrees")


@pytest.fixture(scope="module")
def keys(nursery_signers):
    return {role: signer.public for role, signer in nursery_signers.items()}


def rows_of(mini, layout, stream):
    for entry in mini["streams"][stream]:
        yield EntryRow(LOGS[stream], entry["sequence"], to_raw(entry["entryHash"]), canonical.dumps(entry))


def points_of(mini):
    for number, point in enumerate(mini["checkpoints"]):
        yield CheckpointRow(number, to_raw(point["checkpointHash"]), canonical.dumps(point), b"{}")


@pytest.fixture
def load(tmp_path, mini, layout):
    """A store that holds the run, with changed rows where asked."""
    opened = []

    def make(change=lambda batch: None):
        store = SqliteStore(tmp_path / f"{len(opened)}.db", layout)
        opened.append(store)
        batch = Batch(
            entries=[row for stream in LOGS for row in rows_of(mini, layout, stream)],
            checkpoints=list(points_of(mini)),
            files=[FileRow(layout.registration.file, canonical.dumps(mini["configuration"]) + b"\n")],
        )
        change(batch)
        store.commit(batch)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def bundle(load, layout, keys, tmp_path):
    export_bundle(load(), layout, lab="nursery", signers=list(keys.values()), to=tmp_path / "bundle")
    return tmp_path / "bundle"


def failures(report):
    return {step.name: [failure.where for failure in step.failures] for step in report.steps if step.failures}


def test_the_registration_is_the_one_the_checkpoints_name(mini, layout):
    registration = digest(layout.registration.domain, mini["configuration"])
    assert registration == mini["configurationHash"]
    for row in points_of(mini):
        assert read_checkpoint(layout, row.line, "here").registration == registration


def test_it_is_taken_up_where_it_ended(mini, layout, keys, load):
    state = recover(load(), layout, keys, {})
    assert {log: place.sequence for log, place in state.places.items()} == mini["finalVerifiedSizes"]
    last = mini["checkpoints"][-1]
    for log, place in state.places.items():
        assert to_text(place.hash) == last[log]["lastEntryHash"]
        assert to_text(state.frontiers[log].root()) == last[log]["merkleRoot"]
    assert state.checkpoints == (4, to_raw(last["checkpointHash"]))
    assert state.registration == mini["configurationHash"]


@pytest.mark.parametrize("log", LOGS.values())
def test_a_changed_entry_is_found(layout, keys, load, log):
    def spoil(batch):
        index = next(index for index, row in enumerate(batch.entries) if row.log == log and row.sequence == 2)
        row = batch.entries[index]
        batch.entries[index] = EntryRow(log, 2, row.hash, canonical.dumps({**json.loads(row.line), "turn": 99}))

    with pytest.raises(BrokenChain, match=f"log {log}, entry 2"):
        recover(load(spoil), layout, keys, {})


def test_one_ledger_in_the_place_of_the_other_is_found(layout, keys, load):
    """Both ledgers share a domain; what tells them apart is the key."""
    swapped = {"babyA": "babyB", "babyB": "babyA", "channel": "channel"}

    def spoil(batch):
        batch.entries = [EntryRow(swapped[row.log], row.sequence, row.hash, row.line) for row in batch.entries]
        batch.checkpoints.clear()

    with pytest.raises(EvidenceInvalid):
        recover(load(spoil), layout, keys, {})


def test_consistency_proofs(mini, layout):
    for proof in mini["consistencyProofs"]:
        path = [to_raw(step) for step in proof["path"]]
        roots = (to_raw(proof["fromRoot"]), to_raw(proof["toRoot"]))
        verify_consistency(layout.tree, proof["fromSize"], proof["toSize"], *roots, path)
        first = mini["checkpoints"][proof["fromCheckpoint"]][proof["treeName"]]
        second = mini["checkpoints"][proof["toCheckpoint"]][proof["treeName"]]
        assert (first["treeSize"], first["merkleRoot"]) == (proof["fromSize"], proof["fromRoot"])
        assert (second["treeSize"], second["merkleRoot"]) == (proof["toSize"], proof["toRoot"])
        for wrong in (path[:-1], [*path, path[0]], [bytes(32), *path[1:]]):
            with pytest.raises(BadProof):
                verify_consistency(layout.tree, proof["fromSize"], proof["toSize"], *roots, wrong)


def test_the_bundle_holds_the_published_bytes(mini, layout, bundle):
    for stream, expected in mini["jsonl_sha256"].items():
        file = layout.log(LOGS[stream]).file
        assert sha256((bundle / file).read_bytes()).hexdigest() == expected
    for number, point in enumerate(mini["checkpoints"]):
        assert (bundle / f"checkpoints/{number:06d}.json").read_bytes() == canonical.dumps(point) + b"\n"


def test_the_bundle_proves_what_the_run_published(mini, bundle):
    published = {
        consistency_path(proof["treeName"], proof["fromCheckpoint"], proof["toCheckpoint"]): proof["path"]
        for proof in mini["consistencyProofs"]
    }
    exported = {
        str(path.relative_to(bundle)): json.loads(path.read_bytes())["path"]
        for path in (bundle / "proofs" / "consistency").iterdir()
    }
    assert exported == published


def test_the_bundle_verifies(mini, bundle):
    report = verify_bundle(bundle, INTEGRITY)
    assert (report.outcome, failures(report)) == (Outcome.CONSISTENT, {})
    assert report.facts["registration"] == mini["configurationHash"]
    assert report.facts["head"] == mini["checkpoints"][-1]["checkpointHash"]
    assert report.facts["entries"] == mini["finalVerifiedSizes"]
    expected = Question(integrity_only=True, expect_head=mini["checkpoints"][-1]["checkpointHash"])
    assert verify_bundle(bundle, expected).outcome is Outcome.CONSISTENT


def test_the_zip_verifies_and_comes_back_the_same(bundle, load, layout, keys, tmp_path):
    signers = list(keys.values())
    export_bundle(load(), layout, lab="nursery", signers=signers, to=tmp_path / "one.zip")
    assert verify_bundle(tmp_path / "one.zip", INTEGRITY).outcome is Outcome.CONSISTENT
    manifest = restore_bundle(open_container(tmp_path / "one.zip"), tmp_path / "restored.db")
    assert manifest.layout == layout == read_layout(layout.to_json())
    with closing(SqliteStore(tmp_path / "restored.db", layout)) as store:
        export_bundle(store, manifest.layout, lab="nursery", signers=signers, to=tmp_path / "two.zip")
    assert (tmp_path / "two.zip").read_bytes() == (tmp_path / "one.zip").read_bytes()


@pytest.mark.parametrize("without", ["run.sealed of A", "run.sealed of B", "last checkpoint"])
def test_a_run_that_was_not_closed_is_incomplete(load, layout, keys, tmp_path, without):
    def cut(batch):
        if without != "last checkpoint":
            log = "babyA" if without.endswith("A") else "babyB"
            last = max(row.sequence for row in batch.entries if row.log == log)
            batch.entries = [row for row in batch.entries if (row.log, row.sequence) != (log, last)]
        batch.checkpoints.pop()

    export_bundle(load(cut), layout, lab="nursery", signers=list(keys.values()), to=tmp_path / "cut")
    report = verify_bundle(tmp_path / "cut", INTEGRITY)
    assert (report.outcome, failures(report)) == (Outcome.INCOMPLETE, {})


def test_another_configuration_is_invalid(load, layout, keys, mini, tmp_path):
    def spoil(batch):
        other = canonical.dumps({**mini["configuration"], "randomSeed": "8"}) + b"\n"
        batch.files[:] = [FileRow(layout.registration.file, other)]

    export_bundle(load(spoil), layout, lab="nursery", signers=list(keys.values()), to=tmp_path / "other")
    report = verify_bundle(tmp_path / "other", INTEGRITY)
    assert report.outcome is Outcome.INVALID
    assert failures(report) == {"registration": [f"checkpoint {number}" for number in range(4)]}


def test_a_signer_that_is_left_out_is_missed(load, layout, keys, tmp_path):
    export_bundle(load(), layout, lab="nursery", signers=list(keys.values())[:-1], to=tmp_path / "fewer")
    assert verify_bundle(tmp_path / "fewer", INTEGRITY).outcome is Outcome.INVALID


def test_every_file_is_named(bundle, layout):
    files = {name: read_whole(span) for name, span in open_container(bundle).items()}
    assert {name.partition("/")[0] for name in files} == {
        "manifest.json",
        "babies",
        "channel",
        "checkpoints",
        "configuration",
        "proofs",
    }
