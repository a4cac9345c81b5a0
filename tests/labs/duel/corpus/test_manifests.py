"""Manifests: strict to read, named by their bytes, and each after the one it names."""

import json
from hashlib import sha256

import pytest

from assay.kernel.errors import EvidenceInvalid, MalformedDocument
from assay.labs.duel.corpus.manifests import (
    IndexFile,
    Manifest,
    Shard,
    get_manifest,
    manifest_key,
    read_manifest,
    walk_back,
)
from assay.objects.errors import NoSuchObject
from assay.objects.folder import FolderStore

SHARD = Shard(key="views/v/chunks/view_0001_0000.jsonl.gz", sha256="a" * 64, n_trajectories=2, n_turns=5)


def make(epoch=1, prev=None, **changes):
    members = {
        "corpus_epoch": epoch,
        "view_spec": "duel_turns@v4",
        "created_at": "2026-09-10T00:00:00.000Z",
        "index": IndexFile(key="views/v/index/turns_0001.parquet", sha256="b" * 64, n_turns=5),
        "shards": (SHARD,),
        "prev_manifest": prev,
        "traces_manifest_sha256": "c" * 64,
        "allowed_action_kinds": ("bash", "boxed"),
    }
    return Manifest(**{**members, **changes})


def digest(manifest):
    return sha256(manifest.to_bytes()).hexdigest()


def put(store, manifest, *, under=None):
    store.put(manifest_key(under or digest(manifest)), manifest.to_bytes())
    return digest(manifest)


def test_a_manifest_is_json_with_sorted_names_and_two_spaces():
    document = json.loads(make().to_bytes())
    assert make().to_bytes() == json.dumps(document, indent=2, sort_keys=True).encode()
    assert set(document) == {
        "corpus_epoch",
        "schema_version",
        "view_spec",
        "created_at",
        "index",
        "shards",
        "prev_manifest",
        "traces_manifest_sha256",
        "allowed_action_kinds",
    }
    assert document["schema_version"] == 3
    assert document["shards"][0]["format"] == "view_v4"


@pytest.mark.parametrize("changes", [{}, {"prev": "d" * 64}, {"legacy_turns_manifest_sha256": "e" * 64}])
def test_reading_gives_back_what_was_written(changes):
    assert read_manifest(make(**changes).to_bytes()) == make(**changes)


def test_another_spelling_of_the_same_manifest_has_another_name():
    compact = json.dumps(json.loads(make().to_bytes())).encode()
    assert read_manifest(compact) == make()
    assert sha256(compact).hexdigest() != digest(make())


def change(path, value):
    document = json.loads(make().to_bytes())
    place = document
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 2),
        (("schema_version",), "3"),
        (("schema_version",), True),
        (("corpus_epoch",), -1),
        (("corpus_epoch",), 1.5),
        (("created_at",), 5),
        (("created_at",), ...),
        (("more",), 1),
        (("prev_manifest",), "short"),
        (("prev_manifest",), "A" * 64),
        (("traces_manifest_sha256",), 5),
        (("allowed_action_kinds",), "bash"),
        (("allowed_action_kinds",), [1]),
        (("index",), None),
        (("index", "sha256"), "x" * 64),
        (("index", "n_turns"), -5),
        (("index", "key"), "../index"),
        (("shards",), []),
        (("shards",), {}),
        (("shards", 0), "chunk"),
        (("shards", 0, "key"), "/etc/passwd"),
        (("shards", 0, "key"), "a/../b"),
        (("shards", 0, "sha256"), "a" * 63),
        (("shards", 0, "format"), "view_v5"),
        (("shards", 0, "active"), 1),
        (("shards", 0, "active"), False),
        (("shards", 0, "n_turns"), None),
        (("shards", 0, "more"), 1),
    ],
)
def test_anything_else_is_refused(path, value):
    with pytest.raises(MalformedDocument):
        read_manifest(change(path, value))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff", b'{"a":1,"a":2}', b"NaN", b"[" * 5000])
def test_what_is_no_manifest_at_all_is_refused(data):
    with pytest.raises(MalformedDocument):
        read_manifest(data)


def test_one_chunk_twice_is_refused():
    with pytest.raises(MalformedDocument):
        read_manifest(make(shards=(SHARD, SHARD)).to_bytes())


def test_inactive_chunks_stay_listed_and_are_not_part_of_the_corpus():
    gone = Shard(key="views/v/chunks/x.gz", sha256="f" * 64, n_trajectories=1, n_turns=1, active=False)
    manifest = read_manifest(make(shards=(gone, SHARD)).to_bytes())
    assert manifest.shards == (gone, SHARD)
    assert manifest.active == (SHARD,)


def test_a_chain_is_walked_newest_first(tmp_path):
    store = FolderStore(tmp_path)
    first = put(store, make(1))
    second = put(store, make(2, first))
    assert [name for name, _ in walk_back(store, make(5, second))] == [second, first]
    assert list(walk_back(store, make(1))) == []


def test_a_chain_ends_where_an_older_schema_begins(tmp_path):
    manifest = make(5, "d" * 64, legacy_turns_manifest_sha256="d" * 64)
    assert list(walk_back(FolderStore(tmp_path), manifest)) == []


def test_a_manifest_under_another_name_is_refused(tmp_path):
    store = FolderStore(tmp_path)
    put(store, make(1), under="d" * 64)
    with pytest.raises(EvidenceInvalid):
        get_manifest(store, "d" * 64)
    with pytest.raises(EvidenceInvalid):
        list(walk_back(store, make(2, "d" * 64)))


def test_a_chain_with_a_gap_is_refused(tmp_path):
    with pytest.raises(NoSuchObject):
        list(walk_back(FolderStore(tmp_path), make(2, "d" * 64)))


def test_a_chain_that_turns_back_is_refused(tmp_path):
    store = FolderStore(tmp_path)
    later = put(store, make(7))
    with pytest.raises(EvidenceInvalid, match="7"):
        list(walk_back(store, make(7, later)))


def test_a_circle_is_refused(tmp_path):
    """No two digests can name one another, so a circle is a copy under a name that is not its own."""
    store = FolderStore(tmp_path)
    second = make(2, "d" * 64)
    put(store, make(1, digest(second)), under="d" * 64)
    put(store, second)
    with pytest.raises(EvidenceInvalid):
        list(walk_back(store, make(3, digest(second))))
