"""The index: one row a turn, in order, and no file that says otherwise is read."""

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.kernel.errors import BadInput, EvidenceInvalid, MalformedDocument
from assay.labs.duel.corpus.index import IndexRow, read_index, write_index

ROW = IndexRow(
    turn_id="a.b:0",
    traj_id="a.b",
    rollout_id="r",
    turn_idx=0,
    node_id=2,
    stratum="math:0001",
    phase="early",
    source="s",
    language="python",
    action_kind="boxed",
    chunk_key="views/v/chunks/view_0001_0000.jsonl.gz",
    traj_line=7,
    n_prefix_chars=12,
)
COLUMNS = [
    "turn_id",
    "traj_id",
    "rollout_id",
    "turn_idx",
    "node_id",
    "stratum",
    "phase",
    "source",
    "language",
    "action_kind",
    "chunk_key",
    "traj_line",
    "n_prefix_chars",
]


def rows(count):
    return [replace(ROW, turn_id=f"a.b:{n}", turn_idx=n, node_id=2 * n, stratum=f"s{n % 3}") for n in range(count)]


def parquet(changes=None, *, drop=(), order=None):
    """A file of two rows as another writer might make it."""
    columns = {name: pa.array([getattr(row, name) for row in rows(2)]) for name in COLUMNS}
    for name in ("turn_idx", "node_id", "traj_line", "n_prefix_chars"):
        columns[name] = columns[name].cast(pa.int32())
    columns = {name: column for name, column in {**columns, **(changes or {})}.items() if name not in drop}
    sink = io.BytesIO()
    pq.write_table(pa.table({name: columns[name] for name in order or columns}), sink)
    return sink.getvalue()


def test_rows_come_back_in_order():
    written = rows(1000)
    index = read_index(write_index(iter(written)))
    assert len(index) == 1000
    assert list(index.rows()) == written
    assert index.turn_ids[5] == "a.b:5"
    assert index.strata[5] == "s2"
    assert index.kinds[5] == "boxed"
    assert index.chunk_keys[5] == ROW.chunk_key
    assert index.lines[5] == 7
    assert index.node_ids[5] == 10


def test_an_index_without_rows_is_one():
    index = read_index(write_index([]))
    assert (len(index), list(index.rows()), list(index.strata)) == (0, [], [])


def test_the_same_rows_give_the_same_bytes():
    assert write_index(rows(300)) == write_index(rows(300))
    assert write_index(rows(300)) != write_index(rows(299))


def test_the_columns_are_those_of_the_format_packed_with_zstd():
    file = pq.ParquetFile(io.BytesIO(write_index(rows(3))))
    assert file.schema_arrow.names == COLUMNS
    assert {str(field.type) for field in file.schema_arrow} == {"string", "int32"}
    assert {file.metadata.row_group(0).column(at).compression for at in range(len(COLUMNS))} == {"ZSTD"}


def test_an_index_of_another_writer_is_read():
    assert list(read_index(parquet()).rows()) == rows(2)
    large = {"turn_id": pa.array(["x", "y"], pa.large_string())}
    assert list(read_index(parquet(large)).turn_ids) == ["x", "y"]


def test_what_a_row_leaves_open_is_filled_in():
    changes = {
        "turn_id": pa.array([None, ""], pa.string()),
        "stratum": pa.array([None, ""], pa.string()),
        "action_kind": pa.array([None, ""], pa.string()),
        "traj_id": pa.array(["a__b.x.pr_1__t", "a__b.x.func_pm__t"]),
        "language": pa.array([None, None], pa.string()),
    }
    index = read_index(parquet(changes))
    assert list(index.turn_ids) == ["a__b.x.pr_1__t:0", "a__b.x.func_pm__t:1"]
    assert list(index.strata) == ["a__b|pr_1", "a__b|func_pm"]
    assert list(index.kinds) == ["bash", "bash"]
    assert list(index.languages) == ["", ""]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"not a file",
        write_index(rows(3))[:-9],
        write_index(rows(3))[9:],
        parquet(drop=("stratum",)),
        parquet({"extra": pa.array([1, 2])}),
        parquet(order=COLUMNS[::-1]),
        parquet({"node_id": pa.array([1, 2], pa.int64())}),
        parquet({"node_id": pa.array(["1", "2"])}),
        parquet({"stratum": pa.array([b"a", b"b"])}),
        parquet({"node_id": pa.array([1, None], pa.int32())}),
        parquet({"traj_line": pa.array([1, -1], pa.int32())}),
        parquet({"turn_idx": pa.array([-1, 1], pa.int32())}),
        parquet({"stratum": pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers())}),
    ],
    ids=[
        "nothing",
        "magic",
        "text",
        "cut",
        "beheaded",
        "column-missing",
        "column-more",
        "order",
        "int64",
        "text-for-number",
        "bytes-for-text",
        "number-missing",
        "line-negative",
        "turn-negative",
        "not-utf8",
    ],
)
def test_any_other_file_is_refused(data):
    with pytest.raises(MalformedDocument):
        read_index(data)


def test_two_rows_with_one_id_are_refused():
    with pytest.raises(EvidenceInvalid, match="x"):
        read_index(parquet({"turn_id": pa.array(["x", "x"])}))


@pytest.mark.parametrize("changes", [{"node_id": 2**31}, {"turn_id": "\ud800"}, {"stratum": 7}])
def test_a_row_that_does_not_fit_is_not_written(changes):
    with pytest.raises(BadInput):
        write_index([replace(ROW, **changes)])


def test_flipped_bytes_never_raise_anything_else():
    good = write_index(rows(50))
    for at in range(0, len(good), 7):
        bad = bytearray(good)
        bad[at] ^= 0xFF
        try:
            read_index(bytes(bad))
        except EvidenceInvalid:
            continue
