"""The folder of objects: what is on the disk, and what never leaves it or gets in."""

import os

import pytest

from assay.kernel.errors import BadInput
from assay.objects.errors import NoSuchObject, ObjectConflict, StorageFault
from assay.objects.folder import FolderStore
from assay.objects.protocol import check_key


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_objects_are_plain_files_under_their_keys(tmp_path):
    store = FolderStore(tmp_path / "new" / "store")
    store.put("views/duel_turns@v4/chunks/view_0001_0000.jsonl.gz", b"x")
    assert files(tmp_path / "new" / "store") == ["views/duel_turns@v4/chunks/view_0001_0000.jsonl.gz"]


def test_nothing_but_objects_is_left_behind(tmp_path):
    store = FolderStore(tmp_path)
    store.put("a", b"one")
    store.put("a", b"one")
    with pytest.raises(ObjectConflict):
        store.put("a", b"two")
    with pytest.raises(ObjectConflict):
        store.swap("a", b"two", expected=b"three")
    assert files(tmp_path) == ["a"]


def test_drafts_of_interrupted_writes_are_no_objects(tmp_path):
    store = FolderStore(tmp_path)
    store.put("a/b", b"x")
    (tmp_path / "a" / ".0123456789abcdef").write_bytes(b"half")
    (tmp_path / ".drafts").mkdir()
    (tmp_path / ".drafts" / "c").write_bytes(b"half")
    (tmp_path / "no key").write_bytes(b"somebody's own file")
    assert store.list() == ("a/b",)


def test_links_are_not_followed_out_of_the_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    store = FolderStore(tmp_path / "store")
    store.put("a/b", b"x")
    (tmp_path / "store" / "folder").symlink_to(outside)
    (tmp_path / "store" / "file").symlink_to(outside / "secret")
    for key in ("folder/secret", "file"):
        assert not store.exists(key)
        with pytest.raises(NoSuchObject):
            store.get(key)
        with pytest.raises(ObjectConflict):
            store.put(key, b"mine")
        with pytest.raises(ObjectConflict):
            store.swap(key, b"mine", expected=None)
    with pytest.raises(ObjectConflict):
        store.put("folder/new", b"mine")
    assert store.list() == ("a/b",)
    assert files(outside) == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"


def test_the_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    FolderStore(tmp_path / "link").put("a/b", b"x")
    assert FolderStore(tmp_path / "real").get("a/b") == b"x"


def test_a_pipe_is_no_object_and_nobody_waits_for_it(tmp_path):
    store = FolderStore(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert not store.exists("pipe")
    with pytest.raises(NoSuchObject):
        store.get("pipe")
    assert store.list() == ()


def test_an_object_cannot_lie_where_a_folder_is_nor_below_an_object(tmp_path):
    store = FolderStore(tmp_path)
    store.put("a/b", b"x")
    for key in ("a", "a/b/c"):
        with pytest.raises(ObjectConflict):
            store.put(key, b"y")
    assert files(tmp_path) == ["a/b"]


def test_a_folder_that_is_a_file_is_a_fault_of_the_storage(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    store = FolderStore(tmp_path / "file")
    with pytest.raises((StorageFault, ObjectConflict)):
        store.put("a", b"x")
    assert store.list() == ()


@pytest.mark.parametrize("key", ["corpus/manifest.json", "a", "a=b/c+d@e", "_a/-b/0"])
def test_plain_keys_are_taken(key):
    assert check_key(key) == key


def test_a_refused_key_is_shown_escaped_and_cut():
    with pytest.raises(BadInput) as refusal:
        check_key("\x1b[31m" + "x" * 1000)
    assert "\x1b" not in refusal.value.message
    assert len(refusal.value.message) < 250
