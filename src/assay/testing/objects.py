"""The contract of an `ObjectStore`, one function a behaviour: what a driver must do before a corpus may lie in it."""

import threading
from collections.abc import Callable
from typing import Final, Protocol

from assay.kernel.errors import AssayError, BadInput
from assay.objects.errors import NoSuchObject, ObjectConflict, ObjectTooLarge
from assay.objects.protocol import ObjectStore

__all__ = ["MakeStore", "check_object_store"]

_LARGE: Final = bytes(range(256)) * (1 << 12)  # 1 MiB, more than any buffer
_WRITERS: Final = 8
# Keys that could reach another place, another object under the same name, or a driver's own files.
_BAD_KEYS: Final = (
    "",
    "/",
    "/etc/passwd",
    "a/",
    "a//b",
    ".",
    "..",
    "../a",
    "a/../b",
    "a/./b",
    ".hidden",
    "a/.hidden",
    "a\\b",
    "a b",
    "a\nb",
    "a\0b",
    "ä",
    "a/" + "b" * 201,
    "/".join(["a"] * 300),
)


class MakeStore(Protocol):
    """Gives the object store at a place."""

    def __call__(self, place: str) -> ObjectStore:
        """The store; a place that was never named before has an empty one.

        Args:
            place: A plain name; the same name is the same store, as a folder or a bucket would be.
        """
        ...


def check_object_store(make_store: MakeStore) -> dict[str, str]:
    """What became of each behaviour: ``ok``, or the reason why it does not hold."""
    found: dict[str, str] = {}
    for behaviour in _CONTRACT:
        name = behaviour.__name__
        place = name.replace("_", "-")
        try:
            behaviour(lambda place=place: make_store(place))
            found[name] = "ok"
        except _Unmet as unmet:
            found[name] = str(unmet)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is the reason why it fails
            found[name] = f"{type(error).__name__}: {error}"
    return found


class _Unmet(Exception):
    """A behaviour that does not hold, and why."""


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise _Unmet(reason)


def _refuse(action: Callable[[], object], expected: type[AssayError], what: str) -> None:
    try:
        action()
    except expected:
        return
    except Exception as error:
        msg = f"{what}: expected {expected.__name__}, got {type(error).__name__}: {error}"
        raise _Unmet(msg) from error
    msg = f"{what}: expected {expected.__name__}, and it was accepted"
    raise _Unmet(msg)


_Open = Callable[[], ObjectStore]


def starts_empty(open_store: _Open) -> None:
    """A new store holds nothing, and says so instead of failing."""
    store = open_store()
    _require(tuple(store.list()) == (), "a new store lists objects")
    _require(store.exists("a/b") is False, "an object exists in a new store")
    _refuse(lambda: store.get("a/b"), NoSuchObject, "getting from a new store")


def keeps_bytes_exactly(open_store: _Open) -> None:
    """Objects come back byte for byte: any bytes, empty ones, large ones."""
    store = open_store()
    for key, data in (("empty", b""), ("some", b"\r\n\x00\xff"), ("large", _LARGE)):
        store.put(key, data)
        _require(store.get(key) == data, f"the {key} object does not come back byte for byte")
        _require(store.exists(key), f"the {key} object does not exist after it was put")


def names_what_is_missing(open_store: _Open) -> None:
    """What is not there is said to be missing, also beside, above and below what is there."""
    store = open_store()
    store.put("a/b.json", b"x")
    for key in ("a", "a/b", "a/b.jso", "a/b.json.gz", "b.json", "a/b.json/c"):
        _require(store.exists(key) is False, f"{key} exists, and only a/b.json was put")
        _refuse(lambda key=key: store.get(key), NoSuchObject, f"getting {key}")


def takes_the_same_bytes_again(open_store: _Open) -> None:
    """Putting an object once more with the same bytes changes nothing."""
    store = open_store()
    store.put("a", b"x")
    store.put("a", b"x")
    _require(store.get("a") == b"x", "the object changed")


def refuses_other_bytes_under_a_taken_key(open_store: _Open) -> None:
    """An object is never replaced by putting, also not by its beginning or by nothing."""
    store = open_store()
    store.put("a", b"one")
    for data in (b"two", b"on", b"one more", b""):
        _refuse(lambda data=data: store.put("a", data), ObjectConflict, "putting other bytes under a taken key")
    _require(store.get("a") == b"one", "an object was replaced")


def refuses_keys_that_are_no_plain_paths(open_store: _Open) -> None:
    """Keys that reach elsewhere are refused by every method, and leave nothing behind."""
    store = open_store()
    for key in _BAD_KEYS:
        actions: dict[str, Callable[[], object]] = {
            "getting": lambda key=key: store.get(key),
            "looking for": lambda key=key: store.exists(key),
            "putting": lambda key=key: store.put(key, b"x"),
            "swapping": lambda key=key: store.swap(key, b"x", expected=None),
        }
        for what, action in actions.items():
            _refuse(action, BadInput, f"{what} {key!r:.40}")
    _require(tuple(store.list()) == (), "a refused key left an object behind")


def lists_keys_in_code_point_order(open_store: _Open) -> None:
    """Every key is listed once, in code point order, however the objects were put."""
    store = open_store()
    keys = ["b", "a-b", "a/b", "B", "a.b", "Z/1/2", "a/B", "10", "9", "a_b", "views/duel_turns@v4/chunks/view_0001.gz"]
    for key in keys:
        store.put(key, key.encode())
    _require(list(store.list()) == sorted(keys), f"expected {sorted(keys)}, got {list(store.list())}")


def lists_by_prefix(open_store: _Open) -> None:
    """A prefix is the beginning of a key, not a folder."""
    store = open_store()
    for key in ("a/b", "a/bc", "a/d/b", "ab", "b/a/b"):
        store.put(key, b"")
    for prefix, expected in (("a/b", ["a/b", "a/bc"]), ("a", ["a/b", "a/bc", "a/d/b", "ab"]), ("a/d/", ["a/d/b"])):
        found = list(store.list(prefix))
        _require(found == expected, f"with the prefix {prefix}: expected {expected}, got {found}")
    _require(list(store.list("c")) == [], "a prefix that no key has lists something")


def swaps_what_is_expected(open_store: _Open) -> None:
    """A pointer is created where nothing is, and replaced where the expected bytes are."""
    store = open_store()
    store.swap("pointer", b"one", expected=None)
    _require(store.get("pointer") == b"one", "a pointer was not created")
    store.swap("pointer", b"two", expected=b"one")
    _require(store.get("pointer") == b"two", "a pointer was not replaced")
    store.swap("pointer", b"", expected=b"two")
    store.swap("pointer", b"three", expected=b"")
    _require(store.get("pointer") == b"three", "a pointer to nothing was not replaced")


def refuses_to_swap_anything_else(open_store: _Open) -> None:
    """A pointer that holds other bytes than expected, or none, stays as it is."""
    store = open_store()
    _refuse(lambda: store.swap("pointer", b"x", expected=b""), ObjectConflict, "swapping what is not there")
    _require(not store.exists("pointer"), "a refused swap created the pointer")
    store.swap("pointer", b"one", expected=None)
    for expected in (None, b"", b"two", b"on"):
        refused = f"swapping with {expected!r} expected where b'one' is"
        _refuse(lambda expected=expected: store.swap("pointer", b"x", expected=expected), ObjectConflict, refused)
    _require(store.get("pointer") == b"one", "a refused swap changed the pointer")


def reads_no_more_than_asked(open_store: _Open) -> None:
    """An object beyond the reader's limit is refused, one at the limit is read."""
    store = open_store()
    store.put("a", b"12345")
    _require(store.get("a", limit=5) == b"12345", "an object as large as the limit is not read")
    _refuse(lambda: store.get("a", limit=4), ObjectTooLarge, "an object larger than the limit")
    _refuse(lambda: store.get("a", limit=0), ObjectTooLarge, "an object where none may have bytes")


def keeps_everything_when_reopened(open_store: _Open) -> None:
    """Another store at the same place sees the same objects."""
    store = open_store()
    store.put("a/b", b"one")
    store.swap("pointer", b"two", expected=None)
    other = open_store()
    found = {key: other.get(key) for key in other.list()}
    _require(found == {"a/b": b"one", "pointer": b"two"}, f"another store at the place holds {found}")


def lets_one_of_many_win(open_store: _Open) -> None:
    """Of many who swap or put at a time, one is let through, and the others are told."""
    store = open_store()
    store.swap("pointer", b"start", expected=None)
    swapped = _race(lambda number: open_store().swap("pointer", b"%d" % number, expected=b"start"))
    _require(len(swapped) == 1, f"{len(swapped)} of {_WRITERS} swaps from the same bytes were let through")
    _require(store.get("pointer") == b"%d" % swapped[0], "the pointer is not what the one winner wrote")
    put = _race(lambda number: open_store().put("object", b"%d" % number))
    _require(len(put) == 1, f"{len(put)} of {_WRITERS} creations of one object were let through")
    _require(store.get("object") == b"%d" % put[0], "the object is not what the one winner wrote")


def _race(write: Callable[[int], object]) -> list[int]:
    """Who was let through, of many who write at a time."""
    barrier = threading.Barrier(_WRITERS)
    through: list[int] = []
    faults: list[Exception] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            write(number)
            through.append(number)
        except ObjectConflict:
            pass
        except Exception as error:  # noqa: BLE001 - told below, in the thread that asks
            faults.append(error)

    writers = [threading.Thread(target=run, args=(number,)) for number in range(_WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    if faults:
        raise faults[0]
    return through


def shows_nothing_half_written(open_store: _Open) -> None:
    """Whoever reads while an object is written sees all of it or nothing; a pointer, the old bytes or the new."""
    store = open_store()
    before, after = b"before", _LARGE
    store.swap("pointer", before, expected=None)
    done = threading.Event()
    half: list[str] = []

    def read() -> None:
        while not done.is_set():
            if store.get("pointer") not in (before, after):
                half.append("half a pointer was seen")
            try:
                if store.get("object") != after:
                    half.append("half an object was seen")
            except NoSuchObject:
                pass

    def watch() -> None:
        try:
            read()
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is the reason why it fails
            half.append(f"{type(error).__name__}: {error}")

    reader = threading.Thread(target=watch)
    reader.start()
    try:
        for _ in range(2):
            store.swap("pointer", after, expected=before)
            store.swap("pointer", before, expected=after)
        store.put("object", after)
    finally:
        done.set()
        reader.join()
    _require(not half, "; ".join(sorted(set(half))))


# Every behaviour; each names its own reason when it does not hold.
_CONTRACT: Final[tuple[Callable[[_Open], None], ...]] = (
    starts_empty,
    keeps_bytes_exactly,
    names_what_is_missing,
    takes_the_same_bytes_again,
    refuses_other_bytes_under_a_taken_key,
    refuses_keys_that_are_no_plain_paths,
    lists_keys_in_code_point_order,
    lists_by_prefix,
    swaps_what_is_expected,
    refuses_to_swap_anything_else,
    reads_no_more_than_asked,
    keeps_everything_when_reopened,
    lets_one_of_many_win,
    shows_nothing_half_written,
)
