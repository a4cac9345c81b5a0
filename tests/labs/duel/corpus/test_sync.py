"""Corpus tampering: whatever is wrong with what is published, the last corpus that was checked goes on being served."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from assay.kernel.errors import MissingMaterial
from assay.labs.duel.corpus.chunks import pack
from assay.labs.duel.corpus.corpus import read_pointer
from assay.labs.duel.corpus.manifests import POINTER, get_manifest, manifest_key
from assay.labs.duel.corpus.publish import publish
from assay.labs.duel.corpus.sync import CorpusSync


@pytest.fixture
def served(store, published):
    """A sync that serves the second revision."""
    sync = CorpusSync(store)
    assert sync.refresh()
    return sync


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store"


def point(store, data, *, copy=True):
    """Publishes the bytes of a manifest as they are; the digest."""
    digest = sha256(data).hexdigest()
    if copy:
        store.put(manifest_key(digest), data)
    store.swap(POINTER, data, expected=read_pointer(store))
    return digest


def expect_stale(sync, digest, code, *words):
    """The corpus of a digest is still served whole, and the reason is told."""
    assert not sync.refresh()
    assert sync.stale is not None
    assert sync.stale.code == code
    assert all(word in sync.stale.reason for word in words), sync.stale.reason
    assert sync.corpus.manifest_sha256 == digest
    assert len(sync.corpus.turns(range(10))) == 10


def next_manifest(store, digest, **changes):
    manifest, _ = get_manifest(store, digest)
    return replace(manifest, corpus_epoch=manifest.corpus_epoch + 1, prev_manifest=digest, **changes)


def test_a_new_revision_is_served_once_it_was_checked(store, served, published, revise, view_record):
    assert served.corpus.manifest_sha256 == published[1]
    assert not served.refresh()
    assert served.stale is None
    digest = publish(store, revise(published[1], [view_record(9)]))
    assert served.corpus.manifest_sha256 == published[1]
    assert served.refresh()
    assert (served.corpus.manifest_sha256, served.stale) == (digest, None)


def test_nothing_is_served_before_anything_was_checked(store):
    sync = CorpusSync(store)
    with pytest.raises(MissingMaterial, match="not looked for"):
        _ = sync.corpus
    assert not sync.refresh()
    with pytest.raises(MissingMaterial, match=POINTER):
        _ = sync.corpus


def test_a_pointer_without_an_immutable_copy(store, served, published):
    point(store, next_manifest(store, published[1]).to_bytes(), copy=False)
    expect_stale(served, published[1], "no-such-object", "corpus/manifests/")


def test_a_pointer_whose_copy_is_another(store, served, published, path):
    digest = point(store, next_manifest(store, published[1]).to_bytes())
    (path / manifest_key(digest)).write_bytes(store.get(manifest_key(published[0])))
    expect_stale(served, published[1], "evidence-invalid", digest)


@pytest.mark.parametrize("data", [b"", b"{}", b"not json", b"[1]"])
def test_a_pointer_that_is_no_manifest(store, served, published, data):
    point(store, data)
    expect_stale(served, published[1], "malformed-document")


def test_a_pointer_that_is_gone(served, published, path):
    (path / POINTER).unlink()
    expect_stale(served, published[1], "missing-material", POINTER)


def add_chunk(store, digest, lines, **changes):
    """A manifest with one more chunk than the last, of these lines."""
    manifest, _ = get_manifest(store, digest)
    key = "views/duel_turns@v4/chunks/view_0003_0000.jsonl.gz"
    shard = replace(manifest.shards[0], key=key, sha256=sha256(lines).hexdigest(), n_trajectories=1, n_turns=0)
    return key, next_manifest(store, digest, shards=(*manifest.shards, replace(shard, **changes)))


def test_a_chunk_that_is_missing(store, served, published):
    key, manifest = add_chunk(store, published[1], b"{}\n")
    point(store, manifest.to_bytes())
    expect_stale(served, published[1], "no-such-object", key)


@pytest.mark.parametrize(
    ("packed", "code"),
    [
        (pack(b"{ }\n"), "evidence-invalid"),
        (pack(b"{}\n{}\n"), "evidence-invalid"),
        (b"{}\n", "evidence-invalid"),
        (pack(b"{}\n")[:-1], "evidence-invalid"),
        (b"", "evidence-invalid"),
    ],
)
def test_a_chunk_with_another_sha(store, served, published, packed, code):
    key, manifest = add_chunk(store, published[1], b"{}\n")
    store.put(key, packed)
    point(store, manifest.to_bytes())
    expect_stale(served, published[1], code, key)


def test_a_chunk_with_another_number_of_records(store, served, published):
    key, manifest = add_chunk(store, published[1], b"{}\n", n_trajectories=2)
    store.put(key, pack(b"{}\n"))
    point(store, manifest.to_bytes())
    expect_stale(served, published[1], "evidence-invalid", key)


def test_an_old_chunk_that_was_changed_meanwhile(store, served, published, path, revise, view_record):
    """Its turns are read no more: a duel stops, and is told why."""
    digest = publish(store, revise(published[1], [view_record(9)]))
    manifest, _ = get_manifest(store, digest)
    chunk = path / manifest.shards[0].key
    good = chunk.read_bytes()
    chunk.write_bytes(pack(b"{}\n{}\n{}\n"))
    assert not served.refresh()
    assert served.stale is not None
    assert served.corpus.manifest_sha256 == published[1]
    chunk.write_bytes(good)
    assert served.refresh()
    assert served.stale is None


def test_an_index_with_another_sha(store, served, published, path):
    manifest = next_manifest(store, published[1])
    index = replace(manifest.index, key="views/duel_turns@v4/index/turns_0003.parquet")
    store.put(index.key, b"another")
    point(store, replace(manifest, index=index).to_bytes())
    expect_stale(served, published[1], "evidence-invalid", index.key)


def test_an_index_with_another_number_of_rows(store, served, published):
    manifest = next_manifest(store, published[1])
    point(store, replace(manifest, index=replace(manifest.index, n_turns=11)).to_bytes())
    expect_stale(served, published[1], "evidence-invalid", "11")


def test_an_index_with_rows_of_an_inactive_chunk(store, served, published):
    manifest = next_manifest(store, published[1])
    shards = (manifest.shards[0], replace(manifest.shards[1], active=False))
    point(store, replace(manifest, shards=shards).to_bytes())
    expect_stale(served, published[1], "evidence-invalid", "no active chunk")


def test_no_active_chunk(store, served, published):
    manifest = next_manifest(store, published[1])
    shards = tuple(replace(shard, active=False) for shard in manifest.shards)
    point(store, replace(manifest, shards=shards).to_bytes())
    expect_stale(served, published[1], "malformed-document")


def test_a_chain_that_goes_in_a_circle(store, served, published, path):
    """A digest cannot be met, so the circle is closed by a copy under a name that is not its own."""
    name = "d" * 64
    second = next_manifest(store, published[1], created_at="x")
    second = replace(second, prev_manifest=name, corpus_epoch=9)
    digest = sha256(second.to_bytes()).hexdigest()
    store.put(manifest_key(name), replace(second, prev_manifest=digest, corpus_epoch=8).to_bytes())
    point(store, second.to_bytes())
    expect_stale(served, published[1], "evidence-invalid", name)


def test_a_manifest_that_names_itself_as_the_one_before(store, served, published):
    manifest = next_manifest(store, published[1])
    document = json.loads(replace(manifest, prev_manifest="e" * 64).to_bytes())
    data = json.dumps(document).encode()
    store.put(manifest_key("e" * 64), data)
    point(store, data)
    expect_stale(served, published[1], "evidence-invalid", "e" * 64)


def test_a_chain_with_a_gap(store, served, published):
    manifest = replace(next_manifest(store, published[1]), prev_manifest="d" * 64)
    point(store, manifest.to_bytes())
    expect_stale(served, published[1], "no-such-object", "d" * 64)


def test_an_older_revision_is_not_served_again(store, served, published):
    store.swap(POINTER, store.get(manifest_key(published[0])), expected=read_pointer(store))
    expect_stale(served, published[1], "evidence-invalid", published[1])


def test_a_revision_beside_the_served_one_is_not_served(store, served, published):
    fork = replace(next_manifest(store, published[0]), corpus_epoch=7)
    point(store, fork.to_bytes())
    expect_stale(served, published[1], "evidence-invalid", "does not come after")


def test_a_pinned_manifest_has_to_be_part_of_the_chain(store, published):
    for pinned in published:
        assert CorpusSync(store, pinned=pinned).refresh()
    sync = CorpusSync(store, pinned="d" * 64)
    assert not sync.refresh()
    assert sync.stale is not None
    assert "d" * 64 in sync.stale.reason


def test_a_fault_that_passes_is_forgotten(store, served, published, path):
    hidden = path / "hidden"
    (path / POINTER).rename(hidden)
    assert not served.refresh()
    assert served.stale is not None
    hidden.rename(path / POINTER)
    assert not served.refresh()
    assert served.stale is None
