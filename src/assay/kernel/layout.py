"""What a lab declares about its evidence, as data: logs, checkpoints, the tree scheme and where things lie in a bundle.

The kernel has one default for each; a lab that needs another layout declares it, and a bundle's manifest carries the
declaration, so that a bundle can be checked where its lab is not installed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from assay.kernel.canonical import Json
from assay.kernel.errors import InvariantBroken, MalformedDocument
from assay.kernel.merkle import RFC6962, TreeScheme
from assay.kernel.paths import RESERVED, TakenPaths

__all__ = ["CheckpointSpec", "Closing", "Layout", "LogSpec", "RegistrationFile", "default_layout"]

ENVELOPE = ("sequence", "recordedAt", "writerKeyId", "entryHash", "writerSignature")
REGISTRATION_DOMAIN = "assay-registration-v1"
HEAD_MEMBERS = ("treeSize", "merkleRoot", "lastEntryHash")
CHECKPOINT_MEMBERS: Mapping[str, type] = {
    "version": int,
    "checkpointSequence": int,
    "previousCheckpointHash": str,
    "createdAt": str,
    "witnessKeyId": str,
    "checkpointHash": str,
    "witnessSignature": str,
}
# A layout may come from a hostile manifest: its size bounds what every step does for each log.
_MAX_LOGS = 64
_MAX_HEAD_DEPTH = 4
_STORE_TABLES = frozenset({"checkpoints", "files", "forks"})
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SEGMENT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_PATH = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT}){{0,7}}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
_DOMAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


def _check_domain(domain: str) -> None:
    if not _DOMAIN.fullmatch(domain):
        _refuse(f"expected a domain of plain characters, got {domain!r:.120}")


def _check_role(role: str) -> None:
    # A role names a key file.
    if not _NAME.fullmatch(role):
        _refuse(f"expected a plain name for a signing role, got {role!r:.120}")


def _require_distinct(what: str, values: Sequence[object]) -> None:
    if len(set(values)) != len(values):
        _refuse(f"every {what} must be used once, got {values}")


def _refuse(msg: str) -> NoReturn:
    raise MalformedDocument(msg, reason="layout")


def note_role(log: str) -> str:
    """The role of the key that signs a log's published head."""
    return f"note-{log}"


def check_path(path: str) -> str:
    """The path itself, if it is one a bundle may hold: relative, no ``..``, plain characters, at most eight deep.

    Raises:
        MalformedDocument: It is not.
    """
    if not _PATH.fullmatch(path):
        msg = f"expected a plain relative path inside the bundle, got {path!r}"
        raise MalformedDocument(msg, reason="path", path=path)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec:
    """One log: an ordered, signed, hash-chained list of entries.

    Args:
        name: How the log is called everywhere (its tree, its proofs, its notes).
        file: Where its entries lie in a bundle, one a line.
        domain: The domain of its entry hashes; its key signs this domain only.
        signer: The role of the key that signs it.
        link: The member of an entry that holds the hash of the entry before it.
        table: The table of the store that holds it.
    """

    name: str
    file: str
    domain: str
    signer: str
    link: str = "previousEntryHash"
    table: str = ""

    def __post_init__(self) -> None:
        """Refuses names that could not be a file, a table, a domain or a role."""
        object.__setattr__(self, "table", self.table or "log_" + self.name.lower().replace("-", "_"))
        if not (_NAME.fullmatch(self.name) and _IDENTIFIER.fullmatch(self.table) and _DOMAIN.fullmatch(self.domain)):
            msg = f"a log needs a plain name, table and domain, got {self.name!r}, {self.table!r}, {self.domain!r}"
            raise MalformedDocument(msg, reason="log-spec")
        if self.table in _STORE_TABLES or self.table.startswith("sqlite_"):
            msg = f"log {self.name}: the table {self.table} is the store's own"
            raise MalformedDocument(msg, reason="log-spec")
        _check_role(self.signer)
        check_path(self.file)
        if self.link in ENVELOPE or not _NAME.fullmatch(self.link):
            msg = f"log {self.name}: the link member cannot be called {self.link!r}"
            raise MalformedDocument(msg, reason="log-spec")

    @property
    def envelope(self) -> tuple[str, ...]:
        """The members of an entry that the writer fills in and a body must not hold."""
        return (*ENVELOPE, self.link)

    def to_json(self) -> dict[str, Json]:
        """The declaration as a manifest carries it (the table is the store's own affair)."""
        return {
            "name": self.name,
            "file": self.file,
            "domain": self.domain,
            "signer": self.signer,
            "link": self.link,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSpec:
    """How a checkpoint is laid out.

    Args:
        domain: The domain of checkpoint hashes.
        signer: The role of the witness key.
        heads: For each log, the path of member names that leads to its tree head; a log that is not named here lies
            under ``("trees", name)``.
        registration: The member that holds the registration's digest.
        extra: Members a lab adds, whose values the run gives once at its start.
    """

    domain: str = "assay-checkpoint-v1"
    signer: str = "witness"
    heads: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    registration: str = "registration"
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses names that are not plain, heads that lie too deep, and members that share a name."""
        _check_domain(self.domain)
        _check_role(self.signer)
        _require_distinct("checkpoint member", [*CHECKPOINT_MEMBERS, self.registration, *self.extra])
        names = [self.registration, *self.extra, *(name for path in self.heads.values() for name in path)]
        deepest = max(map(len, self.heads.values()), default=0)
        if deepest > _MAX_HEAD_DEPTH or not all(map(_NAME.fullmatch, names)):
            _refuse(f"checkpoint members need plain names, and tree heads lie at most {_MAX_HEAD_DEPTH} deep")

    def check_heads(self, logs: Iterable[str]) -> None:
        """Returns if every log's tree head has a place of its own.

        Raises:
            MalformedDocument: Two logs share one, or one is the place of another member.
        """
        taken = TakenPaths([*CHECKPOINT_MEMBERS, self.registration, *self.extra])
        for path in map(self.head_path, logs):
            if not path or taken.conflict("/".join(path)):
                _refuse(f"a tree head cannot lie at {path}: no such place, or that of another member")
            taken.extend(["/".join(path)])

    def head_path(self, log: str) -> tuple[str, ...]:
        """The path of member names that leads to a log's tree head."""
        return self.heads.get(log, ("trees", log))

    def to_json(self) -> dict[str, Json]:
        """The declaration as a manifest carries it."""
        return {
            "domain": self.domain,
            "signer": self.signer,
            "heads": {log: list(path) for log, path in self.heads.items()},
            "registration": self.registration,
            "extra": list(self.extra),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The entry that ends a log: the last one the last checkpoint covers holds ``value`` under ``member``."""

    member: str = "kind"
    value: str = "run.closed"

    def to_json(self) -> dict[str, Json]:
        """The declaration as a manifest carries it."""
        return {"member": self.member, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationFile:
    """A registration that lies in a file of its own instead of the kernel's registration log."""

    file: str
    domain: str

    def __post_init__(self) -> None:
        """Refuses what is no plain path or no plain domain."""
        check_path(self.file)
        _check_domain(self.domain)

    def to_json(self) -> dict[str, Json]:
        """The declaration as a manifest carries it."""
        return {"file": self.file, "domain": self.domain}


REGISTRATION_LOG = LogSpec(
    name="registration", file="registration.jsonl", domain="assay-registration-entry-v1", signer="author"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Everything a lab declares about its evidence.

    Args:
        logs: The logs of a run, in the order in which they are exported.
        checkpoint: How a checkpoint is laid out.
        tree: The Merkle scheme of every log.
        registration: ``None`` where the first log is the kernel's registration log, else the file that holds it.
        closings: For each log that must be closed, the entry that closes it.
        recovery: The log that takes the entry written when a run is taken up again, or ``None``.
        attachments: The log whose entries commit the files attached to the run, or ``None`` where there are none.
    """

    logs: tuple[LogSpec, ...]
    checkpoint: CheckpointSpec = field(default_factory=CheckpointSpec)
    tree: TreeScheme = RFC6962
    registration: RegistrationFile | None = None
    closings: Mapping[str, Closing] = field(default_factory=dict[str, Closing])
    recovery: str | None = None
    attachments: str | None = None

    def __post_init__(self) -> None:
        """Refuses no logs or too many, names of logs that are not declared, and anything that would be two things."""
        if not 0 < len(self.logs) <= _MAX_LOGS:
            _refuse(f"expected 1 to {_MAX_LOGS} logs, got {len(self.logs)}")
        for attribute in ("name", "file", "table", "signer"):
            _require_distinct(attribute, [getattr(spec, attribute) for spec in self.logs])
        names = {spec.name for spec in self.logs}
        optional = {name for name in (self.recovery, self.attachments) if name is not None}
        strangers = (set(self.closings) | set(self.checkpoint.heads) | optional) - names
        if strangers:
            _refuse(f"the layout names logs it does not declare: {sorted(strangers)}")
        taken = TakenPaths(RESERVED)
        for path in self.files:
            if taken.conflict(path):
                _refuse(f"{path} cannot lie where {taken.conflict(path)} is; choose another place")
            taken.extend([path])
        # Logs of one kind may share a domain, since each has a key of its own; a checkpoint is never an entry.
        if self.checkpoint.domain in {spec.domain for spec in self.logs}:
            _refuse(f"checkpoints need a domain that no log has, got {self.checkpoint.domain}")
        self._check_registration()
        signers = [self.checkpoint.signer, *(spec.signer for spec in self.logs), *map(note_role, names)]
        _require_distinct("signer", signers)
        self.checkpoint.check_heads(names)

    def _check_registration(self) -> None:
        # The kernel's seal commits the layout: whoever keeps its registration elsewhere must not pass for sealed.
        own = {spec.domain for spec in self.logs[0 if self.registration else 1 :]}
        own |= {self.checkpoint.domain, *([self.registration.domain] if self.registration else [])}
        if own & {REGISTRATION_LOG.domain, REGISTRATION_DOMAIN}:
            _refuse("the domains of sealed registrations are the kernel's own")
        if self.registration is not None and self.checkpoint.domain == CheckpointSpec().domain:
            _refuse("checkpoints under the kernel's domain name a sealed registration; this layout has a file instead")

    @property
    def files(self) -> tuple[str, ...]:
        """Where the logs lie in a bundle, and the registration if it has a file of its own."""
        own = (self.registration.file,) if self.registration else ()
        return (*(spec.file for spec in self.logs), *own)

    def log(self, name: str) -> LogSpec:
        """The declaration of one log.

        Raises:
            InvariantBroken: The lab writes to a log it never declared.
        """
        for spec in self.logs:
            if spec.name == name:
                return spec
        msg = f"no log {name!r} is declared; the layout has {[spec.name for spec in self.logs]}"
        raise InvariantBroken(msg)

    def to_json(self) -> dict[str, Json]:
        """The declaration as a manifest carries it."""
        return {
            "logs": [spec.to_json() for spec in self.logs],
            "checkpoint": self.checkpoint.to_json(),
            "tree": self.tree.to_json(),
            "registration": self.registration.to_json() if self.registration else None,
            "closings": {log: closing.to_json() for log, closing in self.closings.items()},
            "recovery": self.recovery,
            "attachments": self.attachments,
        }


def default_layout(lab: str, logs: tuple[str, ...]) -> Layout:
    """The kernel's own layout for a lab with the named logs: a registration log, then theirs, all of them closed.

    The last log takes what is said of the run itself: that it was taken up again, and which files are attached.
    """
    specs = (
        REGISTRATION_LOG,
        *(
            LogSpec(name=name, file=f"logs/{name}.jsonl", domain=f"assay-{lab}-{name}-entry-v1", signer=f"{name}-log")
            for name in logs
        ),
    )
    closings = {spec.name: Closing() for spec in specs}
    return Layout(logs=specs, closings=closings, recovery=logs[-1], attachments=logs[-1])
