"""The one evidence writer of a store: atomic transactions over several logs, one fsync for all that wait, checkpoints.

The writer lives on its own thread. Clients hand it whole transactions; it gives each entry its sequence, link, time and
signature, commits everything that is waiting in one database transaction, and only then answers anybody. A client that
finds nobody else waiting does the writer's work itself, under the writer's lock, since waking two threads takes longer
than signing two entries. A process killed at any moment leaves all of a transaction or nothing.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

from assay.kernel import canonical
from assay.kernel.canonical import Frozen, Json
from assay.kernel.checkpoint import Claim, Head, make_checkpoint
from assay.kernel.clock import Clock
from assay.kernel.errors import BadInput, InvariantBroken, RunClosed, StoreFault
from assay.kernel.keys import Signer
from assay.kernel.layout import Layout, LogSpec, check_path
from assay.kernel.logs import Body, Place, freeze_body, make_entry
from assay.kernel.merkle import Frontier
from assay.kernel.notes import NoteSigner, tree_head
from assay.kernel.paths import RESERVED, TakenPaths
from assay.kernel.store.protocol import Batch, CheckpointRow, EntryRow, FileRow, Store

__all__ = ["Cadence", "State", "Transaction", "Writer"]

_BATCH_LIMIT = 4096
_PATIENCE_S = 1.0
_STOPPED = "the run is not open any more; open it again to add to it"


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


# Wakes the writer's thread without asking for anything.
_NUDGE = Order()


class Transaction:
    """Entries of several logs that are committed together or not at all.

    Use it as a context manager: leaving it commits and waits until the entries are durable. ``async with`` waits
    without blocking the event loop. Leaving it by an exception commits nothing.
    """

    def __init__(self, writer: "Writer") -> None:
        """Made by :meth:`Writer.transaction`."""
        self._writer = writer
        self._handed_over = False
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
        self._require_open()
        spec = self._writer.layout.log(log)
        self.order.bodies.append((spec, body if callable(body) else freeze_body(spec, body)))

    def attach(self, path: str, data: bytes) -> None:
        """Adds a file to the store in the same commit; an entry of the transaction should name its digest.

        Raises:
            MalformedDocument: The path is no plain relative path.
        """
        self._require_open()
        self.order.files.append(FileRow(check_path(path), data))

    def commit(self) -> list[EntryRow]:
        """Commits and waits until the entries are durable; returns them.

        Raises:
            RunClosed: The run is closed.
            BadInput: An entry is too large, or a file's path is taken.
            StoreFault: The store failed; none of the entries is there.
        """
        self.entries = self._writer.commit(self._hand_over())
        return self.entries

    def _hand_over(self) -> Order:
        self._require_open()
        self._handed_over = True
        return self.order

    def _require_open(self) -> None:
        if self._handed_over:
            msg = "this transaction has been handed to the writer already; begin another one"
            raise InvariantBroken(msg)

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
            self.entries = await asyncio.wrap_future(self._writer.submit(self._hand_over()))


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

    Raises:
        InvariantBroken: The values are not those of the declared members.
        MalformedDocument: A value is nothing that canonical JSON can carry.
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
        self._extra = _freeze_extra(layout, extra or {})
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._turn = threading.Lock()
        self._crowded = False
        self._committing = False
        self._closed = False
        self._broken: StoreFault | None = None
        self._pending = sum(place.sequence - state.covered.get(log, 0) for log, place in state.places.items())
        self._due = clock.monotonic() + self._cadence.seconds if self._pending else None
        self._taken = TakenPaths([*RESERVED, *(spec.file for spec in layout.logs), *store.paths()])
        self._gate = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="evidence-writer", daemon=True)
        self._thread.start()

    def transaction(self) -> Transaction:
        """A new transaction; see :class:`Transaction`."""
        return Transaction(self)

    def submit(self, order: Order) -> "Future[list[EntryRow]]":
        """Hands a transaction over; the future is done when its entries are durable, or have failed whole."""
        with self._gate:
            if self._stopped:
                order.done.set_exception(RunClosed(_STOPPED))
            else:
                self._orders.put(order)
        return order.done

    def commit(self, order: Order) -> list[EntryRow]:
        """Commits a transaction and waits; returns its entries once they are durable.

        Raises:
            RunClosed: The run is closed.
            StoreFault: The store failed; none of the entries is there.
        """
        taken = False
        try:
            taken = not (self._crowded or self._stopped) and self._turn.acquire(blocking=False)
            if taken:
                self._commit([order])
        except BaseException:
            # An interrupt in mid-commit leaves it open what was stored: only a fresh start, which verifies, may write.
            self._broken = StoreFault("interrupted while committing; start again, which verifies what was committed")
            raise
        finally:
            if taken:
                self._turn.release()
        return (order.done if taken else self.submit(order)).result()

    def checkpoint(self) -> None:
        """Writes a checkpoint now."""
        self.commit(Order(checkpoint=True))

    def close_run(self, bodies: Mapping[str, Json]) -> None:
        """Appends the closing entries and the last checkpoint in one commit; nothing can be written after it."""
        order = Order(checkpoint=True, closes=True)
        for log, body in bodies.items():
            spec = self.layout.log(log)
            order.bodies.append((spec, freeze_body(spec, body)))
        self.commit(order)

    def stop(self) -> None:
        """Commits what is waiting and ends the thread; the store stays open."""
        with self._gate:
            if not self._stopped:
                self._stopped = True
                self._orders.put(None)
        while self._thread.is_alive():
            self._thread.join(_PATIENCE_S)
            if self._turn.locked() and not self._committing:
                # An interrupt between taking the turn and using it left it taken by nobody.
                with contextlib.suppress(RuntimeError):
                    self._turn.release()

    def _work(self) -> None:
        while True:
            orders, ends = self._collect()
            with self._turn:
                if orders or self._is_due():
                    self._commit(orders)
                self._crowded = len(orders) > 1
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
            if first is not _NUDGE:
                orders.append(first)
            if len(orders) == _BATCH_LIMIT or self._orders.empty():
                return orders, False
            first = self._orders.get()
        return orders, True

    def _is_due(self) -> bool:
        return self._due is not None and self._clock.monotonic() >= self._due

    def _commit(self, orders: list[Order]) -> None:
        self._committing = True
        try:
            self._commit_all(orders)
        finally:
            self._committing = False

    def _commit_all(self, orders: list[Order]) -> None:
        draft = _Draft(dict(self._state.places), self._state.registration, self._closed)
        for order in orders:
            # A client that stopped waiting before its turn came is left out whole.
            if not order.done.set_running_or_notify_cancel():
                continue
            try:
                self._prepare(order, draft)
            except BaseException as error:  # noqa: BLE001 - whatever a client's body raises is that client's answer
                order.done.set_exception(error)
        try:
            self._store_draft(draft)
        except Exception as error:  # noqa: BLE001 - every client must be answered, also if the driver has a defect
            self._fail(draft, error)
            return
        for order, rows in draft.accepted:
            order.done.set_result(rows)

    def _store_draft(self, draft: "_Draft") -> None:
        if not self._broken and (draft.accepted or self._is_due()):
            self._add_checkpoint(draft)
            self._store.commit(draft.batch)
            self._adopt(draft)

    def _prepare(self, order: Order, draft: "_Draft") -> None:
        if draft.closed or self._broken:
            raise self._broken or RunClosed("the run is closed; nothing can be added to its evidence")
        self._refuse_taken(order, draft)
        places: dict[str, Place] = {}
        rows: list[EntryRow] = []
        now = self._clock.now()
        for spec, body in order.bodies:
            frozen = freeze_body(spec, body(tuple(rows))) if callable(body) else body
            after = places.get(spec.name) or draft.places[spec.name]
            row = make_entry(spec, frozen, after=after, recorded_at=now, signer=self._hands.logs[spec.name])
            places[spec.name] = Place(row.sequence, row.hash)
            rows.append(row)
        draft.places.update(places)
        draft.accept(order, rows)

    def _refuse_taken(self, order: Order, draft: "_Draft") -> None:
        own = TakenPaths()
        for file in order.files:
            other = next((at for shelf in (self._taken, draft.taken, own) if (at := shelf.conflict(file.path))), None)
            if other is not None:
                msg = f"no file can be attached at {file.path}: {other} is taken; choose another path"
                raise BadInput(msg, path=file.path)
            own.extend([file.path])

    def _adopt(self, draft: "_Draft") -> None:
        state = self._state
        state.places, state.registration, self._closed = draft.places, draft.registration, draft.closed
        self._taken.extend(file.path for file in draft.batch.files)
        if draft.frontiers is not None:
            state.frontiers, state.checkpoints = draft.frontiers, draft.checkpoint
            state.covered = {log: place.sequence for log, place in draft.places.items()}
            self._pending, self._due = 0, None
            return
        self._grow(state.frontiers, draft.batch.entries)
        self._pending += len(draft.batch.entries)
        if self._pending and self._due is None:
            self._due = self._clock.monotonic() + self._cadence.seconds
            self._orders.put(_NUDGE)  # the thread may be waiting without an end

    def _grow(self, frontiers: Mapping[str, Frontier], rows: Sequence[EntryRow]) -> None:
        leaf = self.layout.tree.leaf
        for row in rows:
            frontiers[row.log].append(leaf(row.sequence, row.hash))

    def _fail(self, draft: "_Draft", error: Exception) -> None:
        if isinstance(error, StoreFault) and error.details.get("full"):
            # Room may be made; a checkpoint that is due is tried again after another interval.
            self._due = None if self._due is None else self._clock.monotonic() + self._cadence.seconds
        else:
            # After any other failure it is unknown what the disk holds: only a fresh start, which verifies, may write.
            msg = f"the store failed ({error}); start again, which verifies what was committed"
            self._broken, self._due = StoreFault(msg), None
        for order, _ in draft.accepted:
            order.done.set_exception(error)

    def _add_checkpoint(self, draft: "_Draft") -> None:
        number, previous = self._state.checkpoints
        pending = self._pending + len(draft.batch.entries)
        wanted = number == 0 or any(order.checkpoint for order, _ in draft.accepted)
        if not (wanted or pending >= self._cadence.entries or (pending and self._is_due())):
            return
        draft.frontiers = {log: frontier.copy() for log, frontier in self._state.frontiers.items()}
        self._grow(draft.frontiers, draft.batch.entries)
        heads = {
            log: Head(place.sequence, draft.frontiers[log].root(), place.hash) for log, place in draft.places.items()
        }
        claim = Claim(registration=draft.registration, heads=heads, created_at=self._clock.now(), extra=self._extra)
        point = make_checkpoint(
            self.layout.checkpoint, claim, sequence=number, previous=previous, signer=self._hands.witness
        )
        draft.batch.checkpoints.append(CheckpointRow(number, point.hash, point.line, self._sign_notes(heads)))
        draft.checkpoint = Place(number + 1, point.hash)

    def _sign_notes(self, heads: Mapping[str, Head]) -> bytes:
        notes: dict[str, Json] = {
            log: signer.sign(tree_head(signer.name, heads[log].size, heads[log].root))
            for log, signer in self._hands.notes.items()
        }
        return canonical.dumps(notes)


@dataclass(slots=True)
class _Draft:
    """What one commit would make of the state; it is adopted after the commit, or forgotten."""

    places: dict[str, Place]
    registration: str
    closed: bool
    batch: Batch = field(default_factory=Batch)
    accepted: list[tuple[Order, list[EntryRow]]] = field(default_factory=list[tuple[Order, list[EntryRow]]])
    taken: TakenPaths = field(default_factory=TakenPaths)
    frontiers: dict[str, Frontier] | None = None
    checkpoint: Place = field(default=Place(0, bytes(32)))

    def accept(self, order: Order, rows: list[EntryRow]) -> None:
        """Takes a prepared transaction in."""
        self.registration = order.registration or self.registration
        self.closed = self.closed or order.closes
        self.taken.extend(file.path for file in order.files)
        self.accepted.append((order, rows))
        self.batch.entries += rows
        self.batch.files += order.files


def _freeze_extra(layout: Layout, extra: Mapping[str, Json]) -> dict[str, Json]:
    declared = layout.checkpoint.extra
    if set(extra) != set(declared):
        msg = f"checkpoints need values for exactly {sorted(declared)}, got {sorted(extra)}"
        raise InvariantBroken(msg)
    return cast("dict[str, Json]", canonical.freeze(dict(extra)).value)  # what was an object is one
