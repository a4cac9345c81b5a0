"""An opened corpus: the turns of its index, each record checked against what the index says of it."""

from dataclasses import replace
from hashlib import sha256

import pytest

from assay.kernel.errors import BadInput, EvidenceInvalid, MissingMaterial
from assay.labs.duel.corpus.chunks import pack
from assay.labs.duel.corpus.corpus import open_corpus
from assay.labs.duel.corpus.index import write_index
from assay.labs.duel.corpus.manifests import get_manifest, manifest_key
from assay.labs.duel.corpus.publish import publish
from assay.models.protocol import Message
from assay.objects.errors import NoSuchObject


def test_a_turn_is_what_the_model_was_shown_and_what_the_policy_said(store, published):
    turn = open_corpus(store).turn(7)
    assert turn.turn_id == "org__repo3.00000003.pr_3__run:1"
    assert turn.prefix == (
        Message(role="system", content="Reply with exactly one bash block."),
        Message(role="user", content="go"),
        Message(role="assistant", content="step\n```bash\necho 3 0\n```"),
        Message(role="user", content="out 0"),
    )
    assert turn.reference == "step\n```bash\necho 3 1\n```"
    assert (turn.kind, turn.stratum, turn.source, turn.language) == ("bash", "org__repo3|pr_3", "swesmith", "python")


def test_turns_come_in_the_order_that_was_asked_for(store, published):
    corpus = open_corpus(store)
    rows = [9, 0, 7, 0, 3]
    assert corpus.turns(rows) == tuple(corpus.turn(row) for row in rows)
    assert corpus.turns([]) == ()


def test_a_corpus_is_opened_by_the_pointer_or_by_a_digest(store, published):
    assert open_corpus(store).manifest_sha256 == published[1]
    old = open_corpus(store, published[0])
    assert (old.manifest_sha256, len(old.index)) == (published[0], 6)
    assert sha256(old.index_bytes).hexdigest() == old.manifest.index.sha256
    assert sha256(old.manifest_bytes).hexdigest() == published[0]


def test_each_chunk_is_read_once_for_many_turns(store, published):
    reads = []

    class Counting:
        def get(self, key, *, limit=None):
            reads.append(key)
            return store.get(key, limit=limit)

    corpus = open_corpus(Counting())
    reads.clear()
    corpus.turns([9, 0, 8, 1, 7, 2, 6, 3])
    assert sorted(reads) == sorted(shard.key for shard in corpus.manifest.active)


def test_every_record_is_read_in_order(store, published):
    found = [(line, record.rollout_id) for _, line, record in open_corpus(store).records()]
    assert found == [(0, "r0"), (1, "r1"), (2, "r2"), (0, "r3")]


@pytest.mark.parametrize("row", [-1, 10, 10**9])
def test_a_row_that_is_not_there_is_refused(store, published, row):
    with pytest.raises(BadInput):
        open_corpus(store).turn(row)


def test_an_empty_store_has_no_corpus(store):
    with pytest.raises(MissingMaterial):
        open_corpus(store)
    with pytest.raises(NoSuchObject):
        open_corpus(store, "d" * 64)


def test_a_chunk_that_was_changed_is_not_used(store, published, tmp_path):
    corpus = open_corpus(store)
    (tmp_path / "store" / corpus.manifest.shards[0].key).write_bytes(pack(b"{}\n" * 3))
    with pytest.raises(EvidenceInvalid):
        corpus.turn(0)
    assert corpus.turn(9).turn_id.endswith(":3")


def test_a_chunk_that_is_gone_is_missed(store, published, tmp_path):
    corpus = open_corpus(store)
    (tmp_path / "store" / corpus.manifest.shards[0].key).unlink()
    with pytest.raises(NoSuchObject):
        corpus.turn(0)


@pytest.mark.parametrize("changes", [{"node_id": 2}, {"turn_idx": 2}, {"action_kind": "boxed"}, {"traj_id": "other"}])
def test_an_index_that_says_something_else_of_a_record_is_refused(store, published, changes):
    """Such an index verifies by every digest: whoever published it was wrong, or lied."""
    manifest, _ = get_manifest(store, published[1])
    rows = list(open_corpus(store).index.rows())
    rows[9] = replace(rows[9], **changes)
    data = write_index(rows)
    index = replace(manifest.index, key="views/other.parquet", sha256=sha256(data).hexdigest())
    other = replace(manifest, index=index).to_bytes()
    digest = sha256(other).hexdigest()
    store.put(index.key, data)
    store.put(manifest_key(digest), other)
    corpus = open_corpus(store, digest)
    assert corpus.turn(8).turn_id.endswith(":2")
    with pytest.raises(EvidenceInvalid, match="row 9"):
        corpus.turn(9)


def test_two_chunks_at_most_are_held(store, published, revise, view_record):
    base = published[1]
    for number in range(20, 24):
        base = publish(store, revise(base, [view_record(number)]))
    corpus = open_corpus(store)
    corpus.turns(range(len(corpus.index)))
    assert len(corpus._chunks) == 2
