"""The one evidence writer of a store: atomic transactions over several logs, one fsync for all that wait, checkpoints.

The writer lives on its own thread. Clients hand it whole transactions; it gives each entry its sequence, link, time and
signature, commits everything that is waiting in one database transaction, and only then answers anybody. A process
killed at any moment leaves all of a transaction or nothing.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeAlias

from assay.kernel import canonical
from assay.kernel.canonical import Frozen, Json
from assay.kernel.checkpoint import Claim, Head, make_checkpoint
from assay.kernel.clock import Clock
from assay.kernel.errors import RunClosed, StoreFault
from assay.kernel.keys import Signer
from assay.kernel.layout import Layout, LogSpec
from assay.kernel.logs import Place, freeze_body, make_entry
from assay.kernel.merkle import Frontier
from assay.kernel.notes import NoteSigner, tree_head
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, FileRow, Store

__all__ = ["Body", "Cadence", "State", "Transaction", "Writer"]

Body: TypeAlias = Json | Callable[[Sequence[EntryRow]], Json]
_BATCH_LIMIT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """When a checkpoint is due by itself: after so many entries, or so many seconds after an entry without one."""

    entries: int = 1024
    seconds: float = 300.0


@dataclass(slots=True)
class State:
    """Where the committed evidence stands: what a writer continues from.

    Args:
        places: Sequence and hash of each log's last entry.
        frontiers: The Merkle frontier of each log.
        checkpoints: How many checkpoints there are, and the raw hash of the last one.
        registration: The digest of the registration in force.
        covered: How many entries of each log the last checkpoint covers.
    """

    places: dict[str, Place]
    frontiers: dict[str, Frontier]
    checkpoints: Place = field(default=Place(0, bytes(32)))
    registration: str = ""
    covered: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def empty(cls, layout: Layout) -> "State":
        """The state of a run that has no entry yet."""
        places = {spec.name: Place(0, bytes(32)) for spec in layout.logs}
        return cls(places=places, frontiers={spec.name: Frontier(layout.tree) for spec in layout.logs})

    def copy(self) -> "State":
        """A state that can move on without this one."""
        frontiers = {log: frontier.copy() for log, frontier in self.frontiers.items()}
        return State(dict(self.places), frontiers, self.checkpoints, self.registration, dict(self.covered))


@dataclass(slots=True)
class Order:
    """One transaction as the writer's thread gets it; ``checkpoint`` asks for one in the same commit."""

    bodies: list[tuple[LogSpec, Frozen | Callable[[Sequence[EntryRow]], Json]]] = field(
        default_factory=list[tuple[LogSpec, Frozen | Callable[[Sequence[EntryRow]], Json]]]
    )
    files: list[FileRow] = field(default_factory=list[FileRow])
    checkpoint: bool = False
    closes: bool = False
    registration: str | None = None
    done: "Future[list[EntryRow]]" = field(default_factory=lambda: Future[list[EntryRow]]())


class Transaction:
    """Entries of several logs that are committed together or not at all.

    Use it as a context manager: leaving it commits and waits until the entries are durable. ``async with`` waits
    without blocking the event loop. Leaving it by an exception commits nothing.
    """

    def __init__(self, writer: "Writer") -> None:
        """Made by :meth:`Writer.transaction`."""
        self._writer = writer
        self.order = Order()
        self.entries: list[EntryRow] = []

    def append(self, log: str, body: Body) -> None:
        """Adds an entry to one log.

        Args:
            log: The log's name.
            body: The entry's own members; or a function that is given the entries of this transaction so far and
                returns them, for an entry that names the sequence or hash of another one.

        Raises:
            BadInput: The body is no object or holds a member of the envelope.
            MalformedDocument: It holds something canonical JSON cannot carry.
        """
        spec = self._writer.layout.log(log)
        self.order.bodies.append((spec, body if callable(body) else freeze_body(spec, body)))

    def attach(self, path: str, data: bytes) -> None:
        """Adds a file to the store in the same commit; an entry of the transaction should name its digest."""
        self.order.files.append(FileRow(path, data))

    def commit(self) -> list[EntryRow]:
        """Commits and waits until the entries are durable; returns them.

        Raises:
            RunClosed: The run is closed.
            StoreFault: The store failed; none of the entries is there.
        """
        self.entries = self._writer.submit(self.order).result()
        return self.entries

    def __enter__(self) -> Self:
        """Starts collecting."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Commits and waits, unless an exception is on its way."""
        if kind is None:
            self.commit()

    async def __aenter__(self) -> Self:
        """Starts collecting."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Commits and waits without blocking the event loop, unless an exception is on its way."""
        if kind is None:
            self.entries = await asyncio.wrap_future(self._writer.submit(self.order))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What the writer signs with: one key a log, the witness key, and one note key a log."""

    logs: Mapping[str, Signer]
    witness: Signer
    notes: Mapping[str, NoteSigner] = field(default_factory=dict[str, NoteSigner])


class Writer:
    """The one writer of a store.

    Args:
        store: The store it owns.
        layout: What the lab declared.
        hands: The keys.
        clock: Where times come from.
        state: Where the committed evidence stands (see :func:`assay.kernel.recovery.recover`).
        cadence: When checkpoints are due.
        extra: The values of the checkpoint members that the lab declared beyond the kernel's.
    """

    def __init__(
        self,
        store: Store,
        layout: Layout,
        *,
        hands: Hands,
        clock: Clock,
        state: State,
        cadence: Cadence | None = None,
        extra: Mapping[str, Json] | None = None,
    ) -> None:
        """Starts the thread."""
        self.layout = layout
        self._store = store
        self._hands = hands
        self._clock = clock
        self._state = state
        self._cadence = cadence or Cadence()
        self._extra = dict(extra or {})
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._closed = False
        self._broken: StoreFault | None = None
        self._due: float | None = None
        self._thread = threading.Thread(target=self._work, name="evidence-writer", daemon=True)
        self._thread.start()

    def transaction(self) -> Transaction:
        """A new transaction; see :class:`Transaction`."""
        return Transaction(self)

    def submit(self, order: Order) -> "Future[list[EntryRow]]":
        """Hands a transaction over; the future is done when its entries are durable, or have failed whole."""
        self._orders.put(order)
        return order.done

    def checkpoint(self) -> None:
        """Writes a checkpoint now."""
        self.submit(Order(checkpoint=True)).result()

    def close_run(self, bodies: Mapping[str, Json]) -> None:
        """Appends the closing entries and the last checkpoint in one commit; nothing can be written after it."""
        order = Order(checkpoint=True, closes=True)
        for log, body in bodies.items():
            spec = self.layout.log(log)
            order.bodies.append((spec, freeze_body(spec, body)))
        self.submit(order).result()

    def stop(self) -> None:
        """Commits what is waiting and ends the thread; the store stays open."""
        self._orders.put(None)
        self._thread.join()

    @property
    def state(self) -> State:
        """Where the committed evidence stands."""
        return self._state.copy()

    def _work(self) -> None:
        while True:
            orders, ends = self._collect()
            if orders or self._is_due():
                self._commit(orders)
            if ends:
                return

    def _collect(self) -> tuple[list[Order], bool]:
        wait = None if self._due is None else max(0.0, self._due - self._clock.monotonic())
        try:
            first = self._orders.get(timeout=wait)
        except queue.Empty:
            return [], False
        orders: list[Order] = []
        while first is not None:
            orders.append(first)
            if len(orders) == _BATCH_LIMIT or self._orders.empty():
                return orders, False
            first = self._orders.get()
        return orders, True

    def _is_due(self) -> bool:
        return self._due is not None and self._clock.monotonic() >= self._due

    def _commit(self, orders: list[Order]) -> None:
        # Everything is prepared on a copy of the state, which replaces it only after the commit.
        state, batch, accepted = self._state.copy(), Batch(), list[tuple[Order, list[EntryRow]]]()
        closed = self._closed
        for order in orders:
            try:
                if closed or self._broken:
                    raise self._broken or RunClosed("the run is closed; nothing can be added to its evidence")
                rows = self._prepare(order, state)
            except Exception as error:  # noqa: BLE001 - whatever a client's body raises is that client's answer
                order.done.set_exception(error)
                continue
            closed = closed or order.closes
            accepted.append((order, rows))
            batch.entries.extend(rows)
            batch.files.extend(order.files)
        if not self._broken and (accepted or self._is_due()):
            self._add_checkpoint(state, batch, wanted=any(order.checkpoint for order, _ in accepted))
        try:
            self._store.commit(batch)
        except Exception as error:  # noqa: BLE001 - every client must be answered, also if the driver has a defect
            self._fail(accepted, error)
            return
        self._state, self._closed = state, closed
        self._set_due()
        for order, rows in accepted:
            order.done.set_result(rows)

    def _fail(self, accepted: list[tuple[Order, list[EntryRow]]], error: Exception) -> None:
        if not (isinstance(error, StoreFault) and error.details.get("full")):
            # After any other failure it is unknown what the disk holds: only a fresh start, which verifies, may write.
            msg = f"the store failed ({error}); start again, which verifies what was committed"
            self._broken = StoreFault(msg)
        for order, _ in accepted:
            order.done.set_exception(error)

    def _prepare(self, order: Order, state: State) -> list[EntryRow]:
        places: dict[str, Place] = {}
        rows: list[EntryRow] = []
        now = self._clock.now()
        for spec, body in order.bodies:
            frozen = freeze_body(spec, body(tuple(rows))) if callable(body) else body
            after = places.get(spec.name) or state.places[spec.name]
            row = make_entry(spec, frozen, after=after, recorded_at=now, signer=self._hands.logs[spec.name])
            places[spec.name] = Place(row.sequence, row.hash)
            rows.append(row)
        for row in rows:
            state.frontiers[row.log].append(self.layout.tree.leaf(row.sequence, row.hash))
        state.places.update(places)
        state.registration = order.registration or state.registration
        return rows

    def _add_checkpoint(self, state: State, batch: Batch, *, wanted: bool) -> None:
        pending = sum(place.sequence - state.covered.get(log, 0) for log, place in state.places.items())
        first = state.checkpoints.sequence == 0
        if not (wanted or first or pending >= self._cadence.entries or (pending and self._is_due())):
            return
        heads = {
            log: Head(place.sequence, state.frontiers[log].root(), place.hash) for log, place in state.places.items()
        }
        claim = Claim(registration=state.registration, heads=heads, created_at=self._clock.now(), extra=self._extra)
        number, previous = state.checkpoints
        point = make_checkpoint(
            self.layout.checkpoint, claim, sequence=number, previous=previous, signer=self._hands.witness
        )
        batch.checkpoints.append(CheckpointRow(number, point.hash, point.line, self._sign_notes(heads)))
        state.checkpoints = Place(number + 1, point.hash)
        state.covered = {log: head.size for log, head in heads.items()}

    def _sign_notes(self, heads: Mapping[str, Head]) -> bytes:
        notes: dict[str, Json] = {
            log: signer.sign(tree_head(signer.name, heads[log].size, heads[log].root))
            for log, signer in self._hands.notes.items()
        }
        return canonical.dumps(notes)

    def _set_due(self) -> None:
        pending = any(place.sequence > self._state.covered.get(log, 0) for log, place in self._state.places.items())
        if not pending:
            self._due = None
        elif self._due is None or self._is_due():
            self._due = self._clock.monotonic() + self._cadence.seconds
