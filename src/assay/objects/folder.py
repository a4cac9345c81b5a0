"""Objects as files of a folder: the default store, which needs no service and no account.

Every write goes to a file of its own, is synced, and is renamed into place under the lock of the folder. Folders are
walked one name at a time without following links, so that nothing outside can be read or written through the store.
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from assay.kernel.durability import sync_folder
from assay.kernel.errors import AssayError
from assay.objects.errors import NoSuchObject, ObjectConflict, ObjectTooLarge, StorageFault
from assay.objects.protocol import check_key, is_key

__all__ = ["FolderStore"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DRAFT: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE: Final = 1 << 20

_T = TypeVar("_T")


class FolderStore:
    """An `ObjectStore` in a folder, which is created with the first object.

    A file whose name starts with a dot is a draft that an interrupted write left behind; it may be deleted.

    Args:
        path: The folder; it may itself be a link, nothing inside it is followed.
    """

    def __init__(self, path: Path) -> None:
        """Touches nothing."""
        self._path = path

    def get(self, key: str, *, limit: int | None = None) -> bytes:
        """The bytes of an object.

        Raises:
            BadInput: The key is no plain path.
            NoSuchObject: There is none.
            ObjectTooLarge: It has more bytes than the limit.
            StorageFault: The folder cannot be read.
        """
        data = self._guard(key, lambda: self._read(key, limit))
        if data is None:
            msg = f"there is no object {key} in {self._path}"
            raise NoSuchObject(msg, key=key)
        return data

    def exists(self, key: str) -> bool:
        """Whether an object lies under a key.

        Raises:
            BadInput: The key is no plain path.
            StorageFault: The folder cannot be read.
        """
        return self._guard(key, lambda: self._is_there(key))

    def list(self, prefix: str = "") -> tuple[str, ...]:
        """The keys that start with a prefix, in code point order.

        Raises:
            StorageFault: The folder cannot be read.
        """
        try:
            return tuple(sorted(key for key in self._walk() if key.startswith(prefix)))
        except OSError as error:
            raise self._fault(prefix, error) from error

    def put(self, key: str, data: bytes) -> None:
        """Creates an object; once more with the same bytes changes nothing.

        Raises:
            BadInput: The key is no plain path.
            ObjectConflict: Other bytes lie under the key, or it is a folder of other objects or lies below one.
            StorageFault: The folder cannot be written.
        """

        def accept(held: bytes | None) -> bool:
            if held is not None and held != data:
                msg = f"{self._path}: the object {key} holds other bytes; objects are never replaced"
                raise ObjectConflict(msg, key=key)
            return held is None

        self._guard(key, lambda: self._write(key, data, accept))

    def swap(self, key: str, data: bytes, *, expected: bytes | None) -> None:
        """Puts an object in the place of the one that was expected there, in one step.

        Raises:
            BadInput: The key is no plain path.
            ObjectConflict: Something else lies there, or the key is a folder of other objects or lies below one.
            StorageFault: The folder cannot be written.
        """

        def accept(held: bytes | None) -> bool:
            if held != expected:
                found = "nothing" if held is None else "other bytes"
                msg = f"{self._path}: {key} holds {found} where somebody else may have been quicker; read it again"
                raise ObjectConflict(msg, key=key)
            return True

        self._guard(key, lambda: self._write(key, data, accept))

    def _guard(self, key: str, action: Callable[[], _T]) -> _T:
        check_key(key)
        try:
            return action()
        except OSError as error:
            raise self._fault(key, error) from error

    def _fault(self, key: str, error: OSError) -> AssayError:
        if isinstance(error, IsADirectoryError | NotADirectoryError):
            msg = f"{self._path}: {key} cannot be an object, since a part of it is a folder, an object or a link"
            return ObjectConflict(msg, key=key)
        msg = f"cannot use {self._path} for the object {key}: {error.strerror}"
        return StorageFault(msg, key=key)

    def _read(self, key: str, limit: int | None) -> bytes | None:
        try:
            with self._folder_of(key) as (folder, name):
                return _read_file(folder, name, key, limit)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def _is_there(self, key: str) -> bool:
        try:
            with self._folder_of(key) as (folder, name):
                return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _write(self, key: str, data: bytes, accept: Callable[[bytes | None], bool]) -> None:
        if not self._path.is_dir():
            self._path.mkdir(parents=True, exist_ok=True)
            sync_folder(self._path.parent)
        with self._folder_of(key, create=True) as (folder, name):
            draft = f".{secrets.token_hex(8)}"
            try:
                _write_draft(folder, draft, data)
                with self._locked():
                    if accept(_held(folder, name, key)):
                        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                    # Also where nothing was written: whoever wrote it may not have come as far as this.
                    os.fsync(folder)
            finally:
                _discard(folder, draft)

    @contextmanager
    def _folder_of(self, key: str, *, create: bool = False) -> Generator[tuple[int, str], None, None]:
        """The folder that a key's file lies in, as a descriptor, and the file's name."""
        *parts, name = key.split("/")
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if create:
                    _make_folder(folder, part)
                below = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder, name
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Holds every other writer off; the lock is the folder's own, and goes with the process."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _walk(self) -> Iterator[str]:
        if not self._path.is_dir():
            return
        for folder, names, files, descriptor in os.fwalk(self._path, onerror=_raise, follow_symlinks=False):
            names[:] = [name for name in names if not name.startswith(".")]
            above = Path(folder).relative_to(self._path).as_posix()
            for name in files:
                key = name if above == "." else f"{above}/{name}"
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and is_key(key):
                    yield key


def _raise(error: OSError) -> None:
    raise error


def _make_folder(above: int, name: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=above)
    # Also where it was there: whoever made it may not have come as far as this.
    os.fsync(above)


def _held(folder: int, name: str, key: str) -> bytes | None:
    try:
        return _read_file(folder, name, key, None)
    except FileNotFoundError:
        return None


def _read_file(folder: int, name: str, key: str, limit: int | None) -> bytes:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError from error
        raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError
        if limit is not None and status.st_size > limit:
            msg = f"the object {key} has {status.st_size:,} bytes, and at most {limit:,} are read"
            raise ObjectTooLarge(msg, key=key, size=status.st_size, limit=limit)
        return file.read()


def _write_draft(folder: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _DRAFT, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        for start in range(0, len(data), _PIECE):
            file.write(data[start : start + _PIECE])
        file.flush()
        os.fsync(descriptor)


def _discard(folder: int, draft: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=folder)
