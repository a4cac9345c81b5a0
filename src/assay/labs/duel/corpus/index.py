"""The index of a corpus: one row a turn, in the order that slices are drawn from, as one Parquet file (facts 5.5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Final, cast

from assay.kernel.errors import EvidenceInvalid, MalformedDocument
from assay.labs.duel.corpus.parquet import Column, Schema, read_columns, write_columns
from assay.labs.duel.dialects import NO_KIND
from assay.labs.duel.slices import stratum_of_trajectory

__all__ = ["LARGEST_INDEX", "Index", "IndexRow", "read_index", "write_index"]

LARGEST_INDEX: Final = 512 << 20
"""Bytes an index file may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One turn: where it lies, and what slices and tripwires need to know of it.

    Args:
        turn_id: Its id, ``<traj_id>:<turn_idx>``.
        traj_id: Its trajectory's.
        rollout_id: Its rollout's.
        turn_idx: Which reply of the rollout it is, from 0.
        node_id: The node of the view record that is its reference.
        stratum: Its stratum.
        phase: ``early``, ``mid`` or ``late``.
        source: Where its task comes from.
        language: The programming language of its task, or nothing.
        action_kind: The dialect of its action.
        chunk_key: The chunk that holds its view record.
        traj_line: The record's line in the chunk, from 0.
        n_prefix_chars: Characters of its prefix.
    """

    turn_id: str
    traj_id: str
    rollout_id: str
    turn_idx: int
    node_id: int
    stratum: str
    phase: str
    source: str
    language: str
    action_kind: str
    chunk_key: str
    traj_line: int
    n_prefix_chars: int


_SCHEMA: Final[Schema] = {field.name: "int32" if field.type is int else "text" for field in fields(IndexRow)}


_cells: Final = attrgetter(*_SCHEMA)


class Index:
    """The rows of an index, by column: ``turn_ids[n]``, ``strata[n]`` and so on are of row ``n``.

    Columns become Python values when they are first asked for.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        """Takes what :func:`read_index` has checked."""
        self._columns = columns

    def __len__(self) -> int:
        return len(self.turn_ids)

    @cached_property
    def turn_ids(self) -> Sequence[str]:
        """The id of each turn; no two are alike."""
        own = self._texts("turn_id")
        if all(own):
            return own
        parts = zip(own, self.traj_ids, self._numbers("turn_idx"), strict=True)
        return [turn_id or f"{trajectory}:{number}" for turn_id, trajectory, number in parts]

    @cached_property
    def traj_ids(self) -> Sequence[str]:
        """The trajectory of each turn."""
        return self._texts("traj_id")

    @cached_property
    def strata(self) -> Sequence[str]:
        """The stratum of each turn: its own, else that of its trajectory."""
        own = self._texts("stratum")
        if all(own):
            return own
        known = {trajectory: stratum_of_trajectory(trajectory) for trajectory in set(self.traj_ids)}
        return [stratum or known[trajectory] for stratum, trajectory in zip(own, self.traj_ids, strict=True)]

    @cached_property
    def kinds(self) -> Sequence[str]:
        """The dialect of each turn's action."""
        return [kind or NO_KIND for kind in self._texts("action_kind")]

    @cached_property
    def chunk_keys(self) -> Sequence[str]:
        """The chunk that holds each turn."""
        return self._texts("chunk_key")

    @cached_property
    def lines(self) -> Sequence[int]:
        """The line of each turn's view record in its chunk, from 0."""
        return self._numbers("traj_line")

    @cached_property
    def node_ids(self) -> Sequence[int]:
        """The node of each turn's reference in its view record."""
        return self._numbers("node_id")

    @cached_property
    def turn_numbers(self) -> Sequence[int]:
        """Which reply of its rollout each turn is, from 0."""
        return self._numbers("turn_idx")

    @cached_property
    def sources(self) -> Sequence[str]:
        """Where each turn's task comes from."""
        return self._texts("source")

    @cached_property
    def languages(self) -> Sequence[str]:
        """The programming language of each turn's task, or nothing."""
        return self._texts("language")

    def rows(self) -> Iterator[IndexRow]:
        """Every row, in order."""
        rest = zip(self._texts("rollout_id"), self._texts("phase"), self._numbers("n_prefix_chars"), strict=True)
        for number, (rollout_id, phase, n_prefix_chars) in enumerate(rest):
            yield IndexRow(
                turn_id=self.turn_ids[number],
                traj_id=self.traj_ids[number],
                rollout_id=rollout_id,
                turn_idx=self.turn_numbers[number],
                node_id=self.node_ids[number],
                stratum=self.strata[number],
                phase=phase,
                source=self.sources[number],
                language=self.languages[number],
                action_kind=self.kinds[number],
                chunk_key=self.chunk_keys[number],
                traj_line=self.lines[number],
                n_prefix_chars=n_prefix_chars,
            )

    def _texts(self, name: str) -> list[str]:
        cells = cast("list[str | None]", self._columns[name].to_pylist())  # the schema was checked
        return [cell or "" for cell in cells] if self._columns[name].null_count else cast(list[str], cells)

    def _numbers(self, name: str) -> list[int]:
        return cast(list[int], self._columns[name].to_pylist())  # the schema was checked


def write_index(rows: Iterable[IndexRow]) -> bytes:
    """The file that holds the rows; the same rows give the same bytes under one version of the Parquet library.

    Raises:
        BadInput: A number does not fit 32 bits, or a text holds a lone surrogate.
    """
    cells = zip(*map(_cells, rows), strict=True)
    columns: dict[str, Sequence[object]] = dict(zip(_SCHEMA, cells, strict=False))
    return write_columns(_SCHEMA, {name: columns.get(name, ()) for name in _SCHEMA})


def read_index(data: bytes) -> Index:
    """The index that a file holds.

    Raises:
        MalformedDocument: It has not exactly the columns of :class:`IndexRow`, or a number is missing or negative.
        EvidenceInvalid: Two rows have one id.
    """
    columns = read_columns(_SCHEMA, data)
    for name, kind in _SCHEMA.items():
        if kind == "int32":
            _check_numbers(name, columns[name])
    index = Index(columns)
    if len(set(index.turn_ids)) != len(index):
        seen: set[str] = set()
        twice = next(turn_id for turn_id in index.turn_ids if turn_id in seen or seen.add(turn_id))
        msg = f"the index holds the turn {twice!r:.200} more than once"
        raise EvidenceInvalid(msg)
    return index


def _check_numbers(name: str, column: Column) -> None:
    if column.null_count or min(cast(list[int], column.to_pylist()), default=0) < 0:
        msg = f"expected numbers from 0 on in the column {name} of the index, got cells without one or below 0"
        raise MalformedDocument(msg, reason="index-numbers", column=name)
