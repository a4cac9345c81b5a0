"""A bundle as it lies on a disk: plain files in plain folders, or the one zip form, and nothing else."""

import os
import zlib

import pytest

from assay.kernel.archive import Member, write_archive
from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import BadInput, MalformedDocument, MissingMaterial


@pytest.fixture
def folder(tmp_path):
    """A folder with two files, one of them deeper."""
    place = tmp_path / "bundle"
    (place / "a").mkdir(parents=True)
    (place / "manifest.json").write_bytes(b"{}\n")
    (place / "a" / "b.bin").write_bytes(b"\0\1")
    return place


def read(path):
    return {name: read_whole(span) for name, span in open_container(path).items()}


def test_a_folder_and_its_zip_look_the_same(folder, tmp_path):
    files = read(folder)
    assert files == {"a/b.bin": b"\0\1", "manifest.json": b"{}\n"}
    with (tmp_path / "b.zip").open("wb") as out:
        write_archive(
            out,
            [
                Member(path=path, size=len(data), crc=zlib.crc32(data), chunks=lambda data=data: (data,))
                for path, data in files.items()
            ],
        )
    assert read(tmp_path / "b.zip") == files


def test_a_link_to_the_folder_itself_is_the_users_own_affair(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert read(tmp_path / "link") == read(folder)


@pytest.mark.parametrize("target", ["manifest.json", "/etc/passwd", "absent", ".", ".."])
@pytest.mark.parametrize("place", ["link", "a/link"])
def test_links_are_refused(folder, target, place):
    (folder / place).symlink_to(target)
    with pytest.raises(MalformedDocument, match="link"):
        open_container(folder)


def test_pipes_are_refused(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(MalformedDocument, match="special file"):
        open_container(folder)


@pytest.mark.parametrize("place", ["empty", "a/empty", "a/b/c"])
def test_empty_folders_are_refused(folder, place):
    (folder / place).mkdir(parents=True)
    with pytest.raises(MalformedDocument, match="empty"):
        open_container(folder)


def test_how_deep_a_file_may_lie(folder):
    deep = folder.joinpath(*"1234567")
    deep.mkdir(parents=True)
    (deep / "8").write_bytes(b"")
    assert "1/2/3/4/5/6/7/8" in open_container(folder)
    (deep / "8").unlink()
    (deep / "8").mkdir()
    (deep / "8" / "9").write_bytes(b"")
    with pytest.raises(MalformedDocument):
        open_container(folder)


def test_a_chain_of_folders_without_an_end(folder):
    (folder / "/".join(["x"] * 40)).mkdir(parents=True)
    with pytest.raises(MalformedDocument):
        open_container(folder)


@pytest.mark.parametrize("name", [".hidden", "a b", "b\\c", "\u00e9", "-x", "x\n", "~", os.fsdecode(b"\xff")])
def test_names_that_a_bundle_cannot_hold(folder, name):
    (folder / name).write_bytes(b"")
    with pytest.raises(MalformedDocument) as caught:
        open_container(folder)
    caught.value.message.encode()


def test_an_empty_folder_is_an_empty_bundle(tmp_path):
    assert open_container(tmp_path) == {}


def test_nothing_there(tmp_path):
    with pytest.raises(BadInput, match="no bundle at"):
        open_container(tmp_path / "absent")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    with pytest.raises(BadInput, match="no bundle at"):
        open_container(tmp_path / "dangling")


def test_neither_folder_nor_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="neither"):
        open_container(tmp_path / "pipe")


def test_a_file_in_the_way_of_the_path(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MissingMaterial):
        open_container(tmp_path / "file" / "bundle")


def test_a_file_that_is_no_zip(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"hello")
    with pytest.raises(MalformedDocument):
        open_container(tmp_path / "x.zip")


@pytest.mark.skipif(os.geteuid() == 0, reason="needs a user whom the modes of files bind, which root is not")
@pytest.mark.parametrize("place", ["", "a"])
def test_what_may_not_be_read(folder, place):
    (folder / place).chmod(0)
    try:
        with pytest.raises(MissingMaterial):
            open_container(folder)
    finally:
        (folder / place).chmod(0o700)


def test_a_file_that_is_too_large(folder):
    span = open_container(folder)["manifest.json"]
    assert read_whole(span, 3) == b"{}\n"
    with pytest.raises(MalformedDocument, match="more than the 2"):
        read_whole(span, 2)
