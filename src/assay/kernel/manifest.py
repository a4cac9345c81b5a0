"""A bundle's manifest: what kind of bundle it is, its layout, the keys that signed it, and the digest of every file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.errors import MalformedDocument, UnknownVersion
from assay.kernel.keys import PublicKey
from assay.kernel.layout import CheckpointSpec, Closing, Layout, LogSpec, RegistrationFile, check_path
from assay.kernel.merkle import TreeScheme
from assay.kernel.paths import TakenPaths
from assay.kernel.shape import read_list, read_object, read_texts

__all__ = ["MANIFEST", "FileEntry", "Manifest", "read_layout", "read_manifest"]

MANIFEST = "manifest.json"
_KIND = "assay.bundle"
_VERSION = 1
_NULL = type(None)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a bundle: its size in bytes and its plain SHA-256 in hex, as `sha256sum` prints it."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says of itself; every line of it is checked against the evidence."""

    lab: str
    layout: Layout
    signers: tuple[PublicKey, ...]
    files: Mapping[str, FileEntry]

    def dumps(self) -> bytes:
        """The manifest's bytes: canonical JSON and a line feed."""
        files: list[Json] = [
            {"path": path, "size": entry.size, "sha256": entry.sha256} for path, entry in self.files.items()
        ]
        document: dict[str, Json] = {
            "kind": _KIND,
            "version": _VERSION,
            "lab": self.lab,
            "layout": self.layout.to_json(),
            "signers": [key.to_json() for key in self.signers],
            "files": files,
        }
        return canonical.dumps(document) + b"\n"

    def key(self, role: str) -> PublicKey:
        """The key of a role.

        Raises:
            MalformedDocument: No key has it.
        """
        for key in self.signers:
            if key.role == role:
                return key
        msg = f"{MANIFEST}: no key for the role {role}"
        raise MalformedDocument(msg, reason="keys", role=role)


def read_manifest(data: bytes) -> Manifest:
    """The manifest that some bytes state.

    Raises:
        MalformedDocument: They are not canonical, or not laid out as a manifest.
        UnknownVersion: Another version of the format.
        KeyRefused: A key that must not be used.
    """
    if not data.endswith(b"\n"):
        msg = f"{MANIFEST}: expected canonical JSON and one line feed"
        raise MalformedDocument(msg, reason="not-canonical")
    value = canonical.loads_canonical(data[:-1])
    if isinstance(value, dict) and value.get("kind") == _KIND and value.get("version") != _VERSION:
        msg = f"{MANIFEST}: bundle format version {value.get('version')!r}; this release reads version {_VERSION}"
        raise UnknownVersion(msg, version=value.get("version"))
    fields = read_object(
        value,
        MANIFEST,
        {"kind": str, "version": int, "lab": str, "layout": dict, "signers": list, "files": list},
    )
    if fields["kind"] != _KIND:
        msg = f"{MANIFEST}: expected kind {_KIND}, got {fields['kind']!r}"
        raise MalformedDocument(msg, reason="kind")
    return Manifest(
        lab=cast("str", fields["lab"]),
        layout=read_layout(fields["layout"]),
        signers=_read_signers(fields["signers"]),
        files=_read_files(fields["files"]),
    )


def _read_signers(value: Json) -> tuple[PublicKey, ...]:
    keys = tuple(PublicKey.from_json(item, f"{MANIFEST} signers") for item in read_list(value, "signers"))
    for attribute in ("role", "key_id", "raw"):
        if len({getattr(key, attribute) for key in keys}) != len(keys):
            msg = f"{MANIFEST}: two signers share a {attribute}; every role has a key of its own"
            raise MalformedDocument(msg, reason="keys")
    return keys


def _read_files(value: Json) -> dict[str, FileEntry]:
    files: dict[str, FileEntry] = {}
    taken = TakenPaths([MANIFEST])
    for number, item in enumerate(read_list(value, "files")):
        fields = read_object(item, f"{MANIFEST} files[{number}]", {"path": str, "size": int, "sha256": str})
        path = check_path(cast("str", fields["path"]))
        other = taken.conflict(path)
        if other is not None:
            msg = f"{MANIFEST}: {path} cannot lie where {other} is"
            raise MalformedDocument(msg, reason="files", path=path)
        taken.extend([path])
        files[path] = FileEntry(cast("int", fields["size"]), cast("str", fields["sha256"]))
    return files


def read_layout(value: Json) -> Layout:
    """The layout that a manifest states.

    Raises:
        MalformedDocument: It is not a layout, or one that cannot be.
        UnknownVersion: It names a tree scheme this release does not know.
    """
    where = f"{MANIFEST} layout"
    members = {"logs": list, "checkpoint": dict, "tree": dict, "registration": (dict, _NULL), "closings": dict}
    fields = read_object(value, where, {**members, "recovery": (str, _NULL), "attachments": (str, _NULL)})
    closings = cast("dict[str, Json]", fields["closings"])
    return Layout(
        logs=tuple(_read_log(item) for item in read_list(fields["logs"], where)),
        checkpoint=_read_checkpoint_spec(fields["checkpoint"]),
        tree=TreeScheme.from_json(fields["tree"]),
        registration=_read_registration(fields["registration"]),
        closings={log: _read_closing(item) for log, item in closings.items()},
        recovery=cast("str | None", fields["recovery"]),
        attachments=cast("str | None", fields["attachments"]),
    )


def _read_log(value: Json) -> LogSpec:
    members = {"name": str, "file": str, "domain": str, "signer": str, "link": str}
    fields = cast("dict[str, str]", read_object(value, f"{MANIFEST} log", members))
    return LogSpec(**fields)


def _read_checkpoint_spec(value: Json) -> CheckpointSpec:
    where = f"{MANIFEST} checkpoint"
    fields = read_object(
        value, where, {"domain": str, "signer": str, "heads": dict, "registration": str, "extra": list}
    )
    heads = cast("dict[str, Json]", fields["heads"])
    return CheckpointSpec(
        domain=cast("str", fields["domain"]),
        signer=cast("str", fields["signer"]),
        heads={log: read_texts(path, f"{where} heads") for log, path in heads.items()},
        registration=cast("str", fields["registration"]),
        extra=read_texts(fields["extra"], f"{where} extra"),
    )


def _read_registration(value: Json) -> RegistrationFile | None:
    if value is None:
        return None
    fields = cast("dict[str, str]", read_object(value, f"{MANIFEST} registration", {"file": str, "domain": str}))
    return RegistrationFile(file=check_path(fields["file"]), domain=fields["domain"])


def _read_closing(value: Json) -> Closing:
    fields = cast("dict[str, str]", read_object(value, f"{MANIFEST} closing", {"member": str, "value": str}))
    return Closing(member=fields["member"], value=fields["value"])
