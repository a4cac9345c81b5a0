"""Publishing: readers see the revision before or the one after, wherever it stops, and trying again completes it."""

import gzip
import json
from hashlib import sha256

import pytest

from assay.kernel.errors import BadInput, EvidenceInvalid, MissingMaterial, Refused
from assay.labs.duel.corpus.chunks import pack
from assay.labs.duel.corpus.corpus import open_corpus, read_pointer
from assay.labs.duel.corpus.manifests import POINTER, get_manifest, manifest_key
from assay.labs.duel.corpus.publish import PENDING, companion_key, publish, resume
from assay.labs.duel.corpus.sync import CorpusSync, check_corpus
from assay.objects.errors import StorageFault
from assay.objects.folder import FolderStore

CHUNK = "views/duel_turns@v4/chunks/view_{:04}_{:04}.jsonl.gz"
INDEX = "views/duel_turns@v4/index/turns_{:04}.parquet"


class Recording:
    """A store that notes in which order it is written."""

    def __init__(self, store):
        self._store = store
        self.written = []

    def __getattr__(self, name):
        return getattr(self._store, name)

    def put(self, key, data):
        self._store.put(key, data)
        self.written.append(key)

    def swap(self, key, data, *, expected):
        self._store.swap(key, data, expected=expected)
        self.written.append(key)


def verify(store):
    """Everything that the pointer names, checked as a reader does; the digest, or None where nothing is published."""
    if read_pointer(store) is None:
        return None
    sync = CorpusSync(store)
    sync.refresh()
    assert sync.stale is None
    corpus = sync.corpus
    assert len(corpus.turns(range(len(corpus.index)))) == len(corpus.index)
    return corpus.manifest_sha256


def test_chunks_come_first_and_the_pointer_last(store, revise, view_record):
    recording = Recording(store)
    digest = publish(recording, revise(None, [view_record(n) for n in range(1001)], companions={"state.json": b"{}"}))
    assert recording.written == [
        PENDING,
        CHUNK.format(1, 0),
        CHUNK.format(1, 1),
        INDEX.format(1),
        companion_key(digest, "state.json"),
        manifest_key(digest),
        POINTER,
        PENDING,
    ]


def test_a_revision_adds_to_the_one_before_it(store, published):
    first, second = published
    old, new = (get_manifest(store, digest)[0] for digest in published)
    assert (old.corpus_epoch, new.corpus_epoch) == (1, 2)
    assert (old.prev_manifest, new.prev_manifest) == (None, first)
    assert new.shards[:1] == old.shards
    assert [shard.n_turns for shard in new.shards] == [6, 4]
    corpus = open_corpus(store)
    assert corpus.manifest_sha256 == second
    assert list(corpus.index.rows())[:6] == list(open_corpus(store, first).index.rows())
    assert store.get(POINTER) == store.get(manifest_key(second)) == corpus.manifest_bytes


def test_rows_say_of_each_turn_what_its_record_does(store, published):
    row = list(open_corpus(store).index.rows())[7]
    assert row.turn_id == "org__repo3.00000003.pr_3__run:1"
    assert (row.turn_idx, row.node_id, row.phase, row.traj_line) == (1, 4, "early", 0)
    assert (row.stratum, row.source, row.language, row.action_kind) == ("org__repo3|pr_3", "swesmith", "python", "bash")
    assert row.chunk_key == CHUNK.format(2, 0)
    assert row.rollout_id == "r3"


def test_the_same_records_give_the_same_manifest(tmp_path, store, revise, view_record):
    other = FolderStore(tmp_path / "other")
    records = [view_record(number) for number in range(3)]
    assert publish(store, revise(None, records)) == publish(other, revise(None, records))


def test_publishing_again_changes_nothing(store, revise, view_record):
    revision = revise(None, [view_record(1)])
    digest = publish(store, revision)
    before = {key: store.get(key) for key in store.list()}
    assert publish(store, revision) == digest
    assert {key: store.get(key) for key in store.list()} == before


@pytest.mark.parametrize("done", [False, True], ids=["before-the-write", "after-the-write"])
@pytest.mark.parametrize("storage", [False, True], ids=["killed", "storage-fault"])
def test_wherever_it_stops_the_old_corpus_is_served_and_trying_again_completes(
    store, revise, view_record, failing, stopped, done, storage
):
    first = publish(store, revise(None, [view_record(number) for number in range(3)]))
    steps = 0
    base = first
    while True:
        # Each round stops one write later than the round before it, and publishes records of its own.
        revision = revise(base, [view_record(10 + steps)], companions={"state.json": b"%d" % steps})
        try:
            digest = publish(failing(store, steps, done=done, storage=storage), revision)
            break
        except (stopped, StorageFault):
            served = verify(store)
        complete = publish(store, revision)
        assert served in (base, complete)
        assert verify(store) == complete
        base = complete
        steps += 1
    assert steps == 7  # pending, chunk, index, state, manifest, pointer, pending
    assert verify(store) == digest


@pytest.mark.parametrize("done", [False, True], ids=["before-the-write", "after-the-write"])
def test_wherever_it_stops_another_revision_can_be_published_instead(
    store, revise, view_record, failing, stopped, done
):
    """The records of the one that was stopped may be gone: what is far enough is completed, the rest is left lying."""
    base = publish(store, revise(None, [view_record(0)]))
    for at in range(6):
        lost = revise(base, [view_record(100 + at)], companions={"state.json": b"lost"})
        with pytest.raises(stopped):
            publish(failing(store, at, done=done), lost)
        assert verify(store) in (base, sha256(read_pointer(store)).hexdigest())
        base = resume(store) or sha256(read_pointer(store)).hexdigest()
        assert verify(store) == base
        base = publish(store, revise(base, [view_record(200 + at)]))
        assert verify(store) == base
    numbers = [manifest.corpus_epoch for manifest in chain(store, base)]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(open_corpus(store).index.turn_ids)) == len(open_corpus(store).index)


def chain(store, digest):
    while digest is not None:
        manifest, _ = get_manifest(store, digest)
        yield manifest
        digest = manifest.prev_manifest


def test_what_was_far_enough_is_completed_without_its_records(store, revise, view_record, failing, stopped):
    base = publish(store, revise(None, [view_record(0)]))
    with pytest.raises(stopped):
        publish(failing(store, 4), revise(base, [view_record(1)]))
    assert verify(store) == base
    resumed = resume(store)
    assert resumed not in (None, base)
    assert verify(store) == resumed
    assert resume(store) is None


def test_what_was_not_far_enough_is_forgotten(store, revise, view_record, failing, stopped):
    base = publish(store, revise(None, [view_record(0)]))
    with pytest.raises(stopped):
        publish(failing(store, 3), revise(base, [view_record(1)]))
    assert resume(store) is None
    assert verify(store) == base
    assert store.get(PENDING) == b"{}"


def test_completing_takes_nobodys_word_for_what_is_there(tmp_path, store, revise, view_record, failing, stopped):
    base = publish(store, revise(None, [view_record(0)]))
    with pytest.raises(stopped):
        publish(failing(store, 4), revise(base, [view_record(1)]))
    (tmp_path / "store" / CHUNK.format(2, 0)).write_bytes(pack(b"{}\n"))
    with pytest.raises(EvidenceInvalid):
        resume(store)
    assert verify(store) == base


def test_a_number_that_something_else_took_is_passed_over(store, revise, view_record):
    store.put(CHUNK.format(1, 0), pack(b'{"left":"behind"}\n'))
    store.put(INDEX.format(2), b"left behind")
    store.put(CHUNK.format(3, 0), b"not even a chunk")
    digest = publish(store, revise(None, [view_record(0)]))
    assert get_manifest(store, digest)[0].corpus_epoch == 4
    assert verify(store) == digest


def test_a_chunk_that_another_packer_left_is_used_as_it_is(tmp_path, store, revise, view_record):
    publish(store, revise(None, [view_record(0)]))
    lines = gzip.decompress(store.get(CHUNK.format(1, 0)))
    other = FolderStore(tmp_path / "other")
    other.put(CHUNK.format(1, 0), gzip.compress(lines, 1))
    digest = publish(other, revise(None, [view_record(0)]))
    assert digest == sha256(read_pointer(store)).hexdigest()
    assert verify(other) == digest


def test_whoever_comes_second_is_told(store, revise, view_record):
    base = publish(store, revise(None, [view_record(0)]))
    publish(store, revise(base, [view_record(1)]))
    with pytest.raises(Refused):
        publish(store, revise(base, [view_record(2)]))
    with pytest.raises(Refused):
        publish(store, revise(None, [view_record(3)]))


def test_a_turn_is_published_once(store, revise, view_record):
    base = publish(store, revise(None, [view_record(0)]))
    for records in ([view_record(0)], [view_record(1), view_record(1)]):
        with pytest.raises(BadInput):
            publish(store, revise(base, records))
    assert verify(store) == base


def test_a_revision_of_nothing_is_refused(store, revise):
    with pytest.raises(BadInput):
        publish(store, revise(None, []))


def test_a_base_that_is_not_there_or_was_changed_is_refused(tmp_path, store, revise, view_record):
    with pytest.raises(MissingMaterial):
        publish(store, revise("d" * 64, [view_record(0)]))
    base = publish(store, revise(None, [view_record(0)]))
    copy = tmp_path / "store" / manifest_key(base)
    copy.write_text(json.dumps(json.loads(copy.read_bytes())))
    with pytest.raises(EvidenceInvalid):
        publish(store, revise(base, [view_record(1)]))


def test_every_chunk_is_that_of_the_manifest(store, published):
    check_corpus(store, open_corpus(store))
