"""Small damage to bytes, lines and texts, and writing what came of it."""

import zlib
from collections.abc import Mapping
from pathlib import Path

from assay.kernel.archive import Member, write_archive
from assay.kernel.canonical import Json

__all__ = ["drop_line", "flip_byte", "repeat_line", "replace_texts", "swap_lines", "write_files"]


def flip_byte(data: bytes, offset: int, mask: int = 1) -> bytes:
    """The bytes with one of them changed in the bits of ``mask``."""
    return data[:offset] + bytes([data[offset] ^ mask]) + data[offset + 1 :]


def drop_line(data: bytes, number: int) -> bytes:
    """The bytes without one line, counted from 0."""
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:number] + lines[number + 1 :])


def repeat_line(data: bytes, number: int) -> bytes:
    """The bytes with one line, counted from 0, twice in a row."""
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[: number + 1], *lines[number:]])


def swap_lines(data: bytes, number: int) -> bytes:
    """The bytes with one line, counted from 0, and the next one in each other's place."""
    lines = data.splitlines(keepends=True)
    lines[number : number + 2] = reversed(lines[number : number + 2])
    return b"".join(lines)


def replace_texts(value: Json, changed: Mapping[str, str]) -> Json:
    """A copy of a value in which every text that ``changed`` names is replaced, at any depth."""
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, list):
        return [replace_texts(item, changed) for item in value]
    if isinstance(value, dict):
        return {name: replace_texts(item, changed) for name, item in value.items()}
    return value


def write_files(files: Mapping[str, bytes], to: Path) -> None:
    """Writes files by their path into a new folder, or into the zip form of a bundle where ``to`` ends in ``.zip``."""
    if to.suffix == ".zip":
        members = [
            Member(path=path, size=len(data), crc=zlib.crc32(data), chunks=lambda data=data: (data,))
            for path, data in files.items()
        ]
        with to.open("wb") as file:
            write_archive(file, members)
        return
    for path, data in files.items():
        place = to / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
