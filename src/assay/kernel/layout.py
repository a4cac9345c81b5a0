"""What a lab declares about its evidence, as data: logs, checkpoints, the tree scheme and where things lie in a bundle.

The kernel has one default for each; a lab that needs another layout declares it, and a bundle's manifest carries the
declaration, so that a bundle can be checked where its lab is not installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.kernel.canonical import Json
from assay.kernel.errors import InvariantBroken, MalformedDocument
from assay.kernel.merkle import RFC6962, TreeScheme

__all__ = ["CheckpointSpec", "Closing", "Layout", "LogSpec", "RegistrationFile", "default_layout"]

ENVELOPE = ("sequence", "recordedAt", "writerKeyId", "entryHash", "writerSignature")
HEAD_MEMBERS = ("treeSize", "merkleRoot", "lastEntryHash")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SEGMENT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_PATH = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT}){{0,7}}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
_DOMAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


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
        """Refuses names that could not be a file, a table or a domain."""
        object.__setattr__(self, "table", self.table or "log_" + self.name.lower().replace("-", "_"))
        if not (_NAME.fullmatch(self.name) and _IDENTIFIER.fullmatch(self.table) and _DOMAIN.fullmatch(self.domain)):
            msg = f"a log needs a plain name, table and domain, got {self.name!r}, {self.table!r}, {self.domain!r}"
            raise MalformedDocument(msg, reason="log-spec")
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
        """Refuses two logs that share a name, file, table, domain or signer."""
        for attribute in ("name", "file", "table", "domain", "signer"):
            values = [getattr(spec, attribute) for spec in self.logs]
            if len(set(values)) != len(values):
                msg = f"every log needs a {attribute} of its own, got {values}"
                raise MalformedDocument(msg, reason="layout")
        names = {spec.name for spec in self.logs}
        optional = {name for name in (self.recovery, self.attachments) if name is not None}
        strangers = (set(self.closings) | set(self.checkpoint.heads) | optional) - names
        if strangers:
            msg = f"the layout names logs it does not declare: {sorted(strangers)}"
            raise MalformedDocument(msg, reason="layout")
        if self.checkpoint.signer in {spec.signer for spec in self.logs}:
            msg = "the witness key must not be a log's key"
            raise MalformedDocument(msg, reason="layout")

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
