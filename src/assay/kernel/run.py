"""A run: one folder with a store and its keys, from the sealed registration to the closing checkpoint.

A run is started once and taken up again as often as it takes; its registration never changes except by an amendment.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Self, cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.clock import Clock, SystemClock
from assay.kernel.errors import (
    BadInput,
    EvidenceInvalid,
    InvariantBroken,
    KeyRefused,
    MissingMaterial,
    Refused,
    RunClosed,
)
from assay.kernel.keys import PublicKey, Signer, encode_public, read_signer, write_signer
from assay.kernel.layout import REGISTRATION_LOG, Layout, check_path
from assay.kernel.notes import NoteSigner
from assay.kernel.recovery import recover
from assay.kernel.roles import AUTHOR, note_origin, note_role, roles_of
from assay.kernel.seal import (
    Sealed,
    amendment_body,
    differing_members,
    layout_digest,
    open_seal,
    registration_digest,
    seal_body,
)
from assay.kernel.store.protocol import Store
from assay.kernel.store.sqlite import SqliteStore
from assay.kernel.writer import Cadence, Hands, State, Transaction, Writer

__all__ = ["STORE_FILE", "Plan", "Run", "StoreEvidence", "open_run"]

STORE_FILE = "evidence.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run needs before it can start.

    Args:
        lab: The lab's name.
        layout: What the lab declares; its first log must be the kernel's registration log.
        document: The registration to seal, or the one that is sealed already.
        extra: Values for the checkpoint members the lab declares beyond the kernel's.
        author: The key that signs the registration; a fresh one is made where none is given.
        cadence: When checkpoints are due.
        clock: Where times come from.
        entropy: Where fresh keys come from.
    """

    lab: str
    layout: Layout
    document: Mapping[str, Json]
    extra: Mapping[str, Json] = field(default_factory=dict[str, Json])
    author: Signer | None = None
    cadence: Cadence = field(default_factory=Cadence)
    clock: Clock = field(default_factory=SystemClock)
    entropy: Callable[[int], bytes] = secrets.token_bytes


class StoreEvidence:
    """Committed evidence as a lab's pure functions read it, straight from the store."""

    def __init__(self, store: Store) -> None:
        """Reads from ``store``."""
        self._store = store

    def entries(self, log: str) -> Iterator[Mapping[str, Json]]:
        """The entries of one log in order, whole."""
        for row in self._store.entries(log):
            yield cast("dict[str, Json]", canonical.loads_canonical(row.line))  # the writer writes objects only

    def file(self, path: str) -> bytes:
        """The bytes of an attached file.

        Raises:
            EvidenceInvalid: No such file is attached.
        """
        data = self._store.file(path)
        if data is None:
            msg = f"no file {path!r} is attached to this run"
            raise EvidenceInvalid(msg, path=path)
        return data


class Run:
    """An open run. Use it as a context manager; leaving it commits what is waiting and gives the store up.

    ``writer`` is ``None`` once the run is closed.
    """

    def __init__(self, plan: Plan, store: Store, sealed: Sealed, writer: Writer | None) -> None:
        """Made by :func:`open_run`."""
        self.layout = plan.layout
        self.store = store
        self.sealed = sealed
        self._evidence = StoreEvidence(store)
        self._writer = writer

    @property
    def evidence(self) -> StoreEvidence:
        """What is committed so far."""
        return self._evidence

    @property
    def closed(self) -> bool:
        """Whether the closing entries are written; nothing can be added any more."""
        return self._writer is None

    @property
    def writer(self) -> Writer:
        """The run's one writer.

        Raises:
            RunClosed: The run is closed.
        """
        if self._writer is None:
            msg = "the run is closed; its evidence can be verified and reported, not added to"
            raise RunClosed(msg)
        return self._writer

    def transaction(self) -> Transaction:
        """A new transaction over the run's logs."""
        return self.writer.transaction()

    def size(self, log: str) -> int:
        """The number of committed entries of a log."""
        return self.store.size(log)

    def attached(self, path: str) -> bool:
        """Whether a file lies at that path already."""
        return path in self.store.paths()

    def attach(self, path: str, data: bytes) -> None:
        """Commits a file together with the entry that names its digest.

        Raises:
            BadInput: The layout takes no attachments, or something lies at the path already.
            MalformedDocument: The path is no plain relative path.
        """
        if self.layout.attachments is None:
            msg = "this lab's layout takes no attached files"
            raise BadInput(msg)
        body: dict[str, Json] = {
            "kind": "file.attached",
            "path": check_path(path),
            "sha256": sha256(data).hexdigest(),
            "size": len(data),
        }
        with self.transaction() as transaction:
            transaction.append(self.layout.attachments, body)
            transaction.attach(path, data)

    def amend(self, document: Mapping[str, Json], *, why: str, seen: str) -> None:
        """Replaces the document in force by an amendment that says why and what its author had already seen.

        Raises:
            BadInput: A blank reason or account.
            Refused: Nothing would change.
        """
        body = amendment_body(self.sealed, document, why=why, seen=seen)
        transaction = self.transaction()
        transaction.append(self.layout.logs[0].name, body)
        transaction.order.registration = registration_digest(dict(document))
        transaction.commit()
        self.sealed = _read_seal(self.layout, self.store)

    def close(self) -> None:
        """Writes the closing entries and the last checkpoint; a closed run stays closed."""
        if self._writer is None:
            return
        bodies = {log: {closing.member: closing.value} for log, closing in self.layout.closings.items()}
        self._writer.close_run(cast("dict[str, Json]", bodies))
        self._writer.stop()
        self._writer = None

    def __enter__(self) -> Self:
        """The open run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Commits what is waiting and gives the store up."""
        if self._writer is not None:
            self._writer.stop()
        self.store.close()


def open_run(folder: Path, plan: Plan) -> Run:
    """Starts a run in a folder, or takes the one that is there up again.

    A run that was killed goes on from its last committed entry, after everything before it was verified, and its logs
    say that it was taken up again. A closed run is opened for reading.

    Raises:
        Refused: The folder holds a run of another registration, or of another author key.
        StoreLocked: Another process has the run open.
        MissingMaterial: A key of the run is gone.
        EvidenceInvalid: What was committed does not verify.
        StoreFault: The disk failed.
        BadInput: The folder cannot be made.
        KeyRefused: A key that is there is another role's or domain's, or others can read it.
        InvariantBroken: The layout has no registration log of the kernel's.
    """
    if plan.layout.registration is not None or plan.layout.logs[0] != REGISTRATION_LOG:
        msg = (
            "a run begins its evidence with the kernel's registration log; this layout puts the registration elsewhere"
        )
        raise InvariantBroken(msg)
    try:
        (folder / "keys").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the folder {folder}: {error.strerror}"
        raise BadInput(msg, path=str(folder)) from error
    store = SqliteStore(folder / STORE_FILE, plan.layout)
    try:
        if store.size(plan.layout.logs[0].name) == 0:
            return _start(folder / "keys", plan, store)
        return _resume(folder / "keys", plan, store)
    except BaseException:
        store.close()
        raise


def _start(keys: Path, plan: Plan, store: Store) -> Run:
    for draft in keys.glob(".*.key.*"):  # left by a start that was killed while it wrote a key
        draft.unlink()
    signers = {role: _own_key(keys, plan, role, domain) for role, domain in roles_of(plan.layout).items()}
    body = seal_body(plan.lab, plan.layout, plan.document, [signer.public for signer in signers.values()])
    registration, *others = (spec.name for spec in plan.layout.logs)
    state = State.empty(plan.layout)
    writer = _writer(plan, store, signers, state)
    try:
        transaction = writer.transaction()
        transaction.append(registration, body)
        for log in others:
            transaction.append(log, {"kind": "run.opened", "registration": body["registration"]})
        transaction.order.registration = registration_digest(dict(plan.document))
        transaction.commit()
        return Run(plan, store, _read_seal(plan.layout, store), writer)
    except BaseException:
        writer.stop()
        raise


def _resume(keys: Path, plan: Plan, store: Store) -> Run:
    sealed = _read_seal(plan.layout, store)
    if (sealed.lab, sealed.registration) != (plan.lab, registration_digest(dict(plan.document))):
        names = ", ".join(differing_members(sealed.document, plan.document)) or "lab"
        msg = (
            f"{keys.parent} holds the run of another registration: it was sealed as {sealed.registration}, and the "
            f"file now differs in {names}; restore the file, or choose another folder for what is another registration"
        )
        raise Refused(msg, differs=names)
    if sealed.layout != layout_digest(plan.layout):
        msg = (
            f"this folder holds a run whose evidence is laid out otherwise ({sealed.layout}); go on with it in the "
            f"release that began it, or choose another folder"
        )
        raise Refused(msg, differs="layout")
    public = {key.role: key for key in sealed.signers}
    state = recover(store, plan.layout, public, sealed.digests)
    _check_author(keys.parent, plan, public[AUTHOR])
    if _is_closed(plan.layout, store):
        return Run(plan, store, sealed, None)
    signers = {role: _sealed_key(keys, plan, key) for role, key in public.items()}
    sizes = {log: place.sequence for log, place in state.places.items()}
    writer = _writer(plan, store, signers, state)
    try:
        if plan.layout.recovery is not None:
            with writer.transaction() as transaction:
                transaction.append(plan.layout.recovery, {"kind": "run.recovered", "sizes": cast("Json", sizes)})
        return Run(plan, store, sealed, writer)
    except BaseException:
        writer.stop()
        raise


def _writer(plan: Plan, store: Store, signers: Mapping[str, Signer], state: State) -> Writer:
    witness = signers[plan.layout.checkpoint.signer]
    hands = Hands(
        logs={spec.name: signers[spec.signer] for spec in plan.layout.logs},
        witness=witness,
        notes={
            spec.name: NoteSigner(note_origin(plan.lab, witness.public, spec.name), signers[note_role(spec.name)].seed)
            for spec in plan.layout.logs
        },
    )
    return Writer(
        store, plan.layout, hands=hands, clock=plan.clock, state=state, cadence=plan.cadence, extra=plan.extra
    )


def _own_key(keys: Path, plan: Plan, role: str, domain: str) -> Signer:
    path = keys / f"{role}.key"
    if role == AUTHOR and plan.author is not None:
        signer = plan.author
    elif path.exists():  # left by a start that was killed before its first commit
        signer = read_signer(path)
    else:
        signer = Signer.new(role=role, domain=domain, entropy=plan.entropy)
        write_signer(signer, path)
    if (signer.public.role, signer.public.domain) != (role, domain):
        msg = (
            f"this run needs a key for {role} that signs {domain}; the key at hand, {signer.public.key_id}, is for "
            f"{signer.public.role} and signs {signer.public.domain}"
        )
        raise KeyRefused(msg, role=role)
    return signer


def _sealed_key(keys: Path, plan: Plan, sealed: PublicKey) -> Signer:
    path = keys / f"{sealed.role}.key"
    if sealed.role == AUTHOR and plan.author is not None:
        signer = plan.author
    elif path.exists():
        signer = read_signer(path)
    else:
        msg = f"the run's key {sealed.key_id} is missing: expected it at {path}; without it the run cannot go on"
        raise MissingMaterial(msg, role=sealed.role)
    if signer.public != sealed:
        msg = f"the run was sealed for key {sealed.key_id}, and the key at hand is {signer.public.key_id}"
        raise Refused(msg, role=sealed.role)
    return signer


def _check_author(folder: Path, plan: Plan, sealed: PublicKey) -> None:
    """A key that was asked for and would not be used must not pass in silence, in a closed run neither."""
    if plan.author is not None and plan.author.public.raw != sealed.raw:
        msg = (
            f"{folder}: this run was sealed with another author key {encode_public(sealed.raw)}; go on with that key, "
            f"or choose another folder for a new run"
        )
        raise Refused(msg, role=AUTHOR)


def _read_seal(layout: Layout, store: Store) -> Sealed:
    return open_seal(StoreEvidence(store).entries(layout.logs[0].name))


def _is_closed(layout: Layout, store: Store) -> bool:
    for log, closing in layout.closings.items():
        last = next(store.entries(log, max(1, store.size(log))), None)
        entry = canonical.loads_canonical(last.line) if last else None
        if not isinstance(entry, dict) or entry.get(closing.member) != closing.value:
            return False
    return bool(layout.closings)
