"""The contract suite of object stores: the folder keeps it, and each broken twin fails where it is broken."""

import threading
from pathlib import Path

import pytest

from assay.objects.errors import NoSuchObject, ObjectConflict
from assay.objects.folder import FolderStore
from assay.objects.protocol import ObjectStore
from assay.testing.objects import check_object_store


def check(folder, driver):
    return check_object_store(lambda place: driver(folder / place))


def failed(found):
    return {name for name, outcome in found.items() if outcome != "ok"}


def test_the_folder_keeps_the_contract(tmp_path):
    found = check(tmp_path, FolderStore)
    assert len(found) == 14
    assert set(found.values()) == {"ok"}, found


def test_the_folder_is_an_object_store(tmp_path):
    store: ObjectStore = FolderStore(tmp_path)
    assert store.list() == ()


class Twin(FolderStore):
    """The folder, as somebody broke it."""


class Leftover(Twin):
    def list(self, prefix=""):
        return super().list(prefix) or ("a",)


class Empty(Twin):
    """Takes an empty object for none."""

    def get(self, key, *, limit=None):
        data = super().get(key, limit=limit)
        if not data:
            raise NoSuchObject(key)
        return data


class Python(Twin):
    """Lets the system's own errors out."""

    def get(self, key, *, limit=None):
        try:
            return super().get(key, limit=limit)
        except NoSuchObject as error:
            raise FileNotFoundError(key) from error


class Nosy(Twin):
    """Takes a folder for an object."""

    def exists(self, key):
        return super().exists(key) or (self._path / key).is_dir()


class OnceOnly(Twin):
    """Creates an object and never hears of it again."""

    def put(self, key, data):
        if self.exists(key):
            raise ObjectConflict(key)
        super().put(key, data)


class Replacing(Twin):
    """Puts other bytes in the place of those that are there."""

    def put(self, key, data):
        self.swap(key, data, expected=self.get(key) if self.exists(key) else None)


class Silent(Twin):
    """Keeps what is there, and says nothing."""

    def put(self, key, data):
        try:
            super().put(key, data)
        except ObjectConflict:
            return


class Trusting(Twin):
    """Joins paths as they come."""

    def _guard(self, key, action):
        if not key or "\0" in key or len(key) > 100:
            return super()._guard(key, action)
        (self._path / "x" / key.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        return action()


class Caseless(Twin):
    def list(self, prefix=""):
        return tuple(sorted(super().list(prefix), key=str.lower))


class FoldersOnly(Twin):
    """Takes a prefix for a folder."""

    def list(self, prefix=""):
        return tuple(key for key in super().list(prefix) if not prefix or key.startswith(prefix.rstrip("/") + "/"))


class Overwriting(Twin):
    """Swaps whatever is there."""

    def swap(self, key, data, *, expected):
        super().swap(key, data, expected=self.get(key) if self.exists(key) else None)


class NeverTwice(Twin):
    """Creates pointers, and cannot move them."""

    def swap(self, key, data, *, expected):
        if expected is not None:
            raise ObjectConflict(key)
        super().swap(key, data, expected=expected)


class NothingIsNone(Twin):
    """Takes empty bytes for nothing where it swaps."""

    def swap(self, key, data, *, expected):
        super().swap(key, data, expected=expected or None)


class Unlimited(Twin):
    def get(self, key, *, limit=None):
        return super().get(key)


class OffByOne(Twin):
    def get(self, key, *, limit=None):
        return super().get(key, limit=limit and limit - 1)


class Private(Twin):
    """Keeps everything to itself."""

    opened = 0

    def __init__(self, path):
        type(self).opened += 1
        super().__init__(path.with_name(f"{path.name}-{type(self).opened}"))


class Unlocked(Twin):
    """Looks first and writes then, with room for everybody in between."""

    room = threading.Barrier(8)

    def swap(self, key, data, *, expected):
        if expected != b"start" or self.get(key) != expected:
            super().swap(key, data, expected=expected)
        else:
            self.room.wait()
            self._write(key, data, lambda held: True)


class InPlace(Twin):
    """Writes where others read, piece by piece."""

    def swap(self, key, data, *, expected):
        super().swap(key, b"", expected=expected)
        with (Path(self._path) / key).open("wb", buffering=0) as file:
            for start in range(0, len(data), 4096):
                file.write(data[start : start + 4096])


class Ascii(Twin):
    """Takes objects for text, with this machine's line ends."""

    def put(self, key, data):
        super().put(key, data.replace(b"\r\n", b"\n"))


TWINS = {
    Leftover: {"starts_empty"},
    Empty: {"keeps_bytes_exactly"},
    Ascii: {"keeps_bytes_exactly"},
    Python: {"starts_empty", "names_what_is_missing"},
    Nosy: {"names_what_is_missing"},
    OnceOnly: {"takes_the_same_bytes_again"},
    Replacing: {"refuses_other_bytes_under_a_taken_key"},
    Silent: {"refuses_other_bytes_under_a_taken_key", "lets_one_of_many_win"},
    Trusting: {"refuses_keys_that_are_no_plain_paths"},
    Caseless: {"lists_keys_in_code_point_order"},
    FoldersOnly: {"lists_by_prefix"},
    Overwriting: {"refuses_to_swap_anything_else"},
    NeverTwice: {"swaps_what_is_expected"},
    NothingIsNone: {"swaps_what_is_expected", "refuses_to_swap_anything_else"},
    Unlimited: {"reads_no_more_than_asked"},
    OffByOne: {"reads_no_more_than_asked"},
    Private: {"keeps_everything_when_reopened"},
    Unlocked: {"lets_one_of_many_win"},
    InPlace: {"shows_nothing_half_written"},
}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_twin_fails_where_it_is_broken(tmp_path, twin):
    found = check(tmp_path, twin)
    assert failed(found) >= TWINS[twin], found


def test_every_behaviour_is_seen_to_fail(tmp_path):
    assert set().union(*TWINS.values()) == set(check(tmp_path, FolderStore))
