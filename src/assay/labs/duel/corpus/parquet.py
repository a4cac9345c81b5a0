"""Columns of texts and 32-bit integers as one Parquet file: the only place that knows the library."""

import io
from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, cast

import pyarrow  # pyright: ignore[reportMissingTypeStubs] - what is used of it is typed below
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from assay.kernel.errors import BadInput, MalformedDocument

__all__ = ["Column", "Schema", "read_columns", "write_columns"]

Schema: TypeAlias = Mapping[str, Literal["text", "int32"]]
"""The columns of a file, in order."""

_ROW_GROUP: Final = 1 << 16
_ZSTD_LEVEL: Final = 3
_LARGEST: Final = 2_000_000_000  # bytes of all columns, decompressed, as the file itself states them
_MOST_ROWS: Final = 10_000_000


class Column(Protocol):
    """One column as it was read; nothing of it is a Python value yet."""

    @property
    def null_count(self) -> int:
        """Cells without a value."""
        ...

    def to_pylist(self) -> list[object]:
        """Its cells."""
        ...


class _Table(Protocol):
    def column(self, name: str) -> Column: ...
    def validate(self, *, full: bool) -> None: ...


class _RowGroup(Protocol):
    total_byte_size: int


class _Metadata(Protocol):
    num_rows: int
    num_row_groups: int

    def row_group(self, number: int) -> _RowGroup: ...


class _Field(Protocol):
    name: str
    type: object


class _File(Protocol):
    metadata: _Metadata
    schema_arrow: Sequence[_Field]

    def read(self) -> _Table: ...


class _Arrow(Protocol):
    """What is used of the library, which comes without types."""

    ArrowException: type[Exception]

    def string(self) -> object: ...
    def large_string(self) -> object: ...
    def int32(self) -> object: ...
    def array(self, values: Sequence[object], kind: object, /) -> object: ...
    def table(self, columns: Mapping[str, object], /) -> _Table: ...


class _Parquet(Protocol):
    def write_table(self, table: _Table, sink: io.BytesIO, /, **options: object) -> None: ...
    def ParquetFile(self, source: io.BytesIO, /) -> _File: ...  # noqa: N802 - the library's own name


_arrow = cast(_Arrow, pyarrow)
_parquet = cast(_Parquet, pyarrow.parquet)
_TYPES: Final = {"text": (_arrow.string(), _arrow.large_string()), "int32": (_arrow.int32(),)}
# What the library raises: its own errors, and Python's where a value does not fit or a file's structure is broken.
_FAULTS: Final = (_arrow.ArrowException, OSError, ValueError, TypeError, OverflowError, KeyError)


def write_columns(schema: Schema, columns: Mapping[str, Sequence[object]]) -> bytes:
    """The file, compressed with zstd; the same columns give the same bytes under one version of the library.

    Raises:
        BadInput: A cell is not of its column's type, or the columns are not of one length.
    """
    sink = io.BytesIO()
    try:
        table = _arrow.table({name: _arrow.array(columns[name], _TYPES[kind][0]) for name, kind in schema.items()})
        _parquet.write_table(
            table,
            sink,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            row_group_size=_ROW_GROUP,
            write_statistics=False,
            store_schema=False,
        )
    except _FAULTS as error:
        msg = f"the rows do not fit the columns {', '.join(schema)}: {error}"
        raise BadInput(msg) from error
    return sink.getvalue()


def read_columns(schema: Schema, data: bytes) -> Mapping[str, Column]:
    """The columns of a file that has exactly those of the schema, in its order.

    Raises:
        MalformedDocument: It is no such file, states more rows or bytes than are read, or a text in it is not UTF-8.
    """
    try:
        file = _parquet.ParquetFile(io.BytesIO(data))
        _check_schema(schema, file.schema_arrow)
        _check_size(file.metadata)
        table = file.read()
        table.validate(full=True)
        return {name: table.column(name) for name in schema}
    except _FAULTS as error:
        msg = f"expected a Parquet file with the columns {', '.join(schema)}: {error}"
        raise MalformedDocument(msg, reason="parquet") from error


def _check_schema(schema: Schema, fields: Sequence[_Field]) -> None:
    found = [(field.name, str(field.type)) for field in fields]
    fits = [name for name, _ in found] == list(schema) and all(
        field.type in _TYPES[schema[field.name]] for field in fields
    )
    if not fits:
        wanted = ", ".join(f"{name} ({kind})" for name, kind in schema.items())
        got = ", ".join(f"{name} ({kind})" for name, kind in found)
        msg = f"expected a Parquet file with the columns {wanted}, got {got:.2000}"
        raise MalformedDocument(msg, reason="schema")


def _check_size(metadata: _Metadata) -> None:
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if metadata.num_rows > _MOST_ROWS or size > _LARGEST:
        msg = f"at most {_MOST_ROWS:,} rows of {_LARGEST:,} bytes are read, got {metadata.num_rows:,} of {size:,}"
        raise MalformedDocument(msg, reason="too-large")
