"""Tampering with bundles: what an attacker would do to one, at every depth of repair.

A test opens a sound bundle as a :class:`Forgery`, edits its parts, repairs as much as the attacker it plays could
repair (nothing, digests, hashes, links, signatures under stolen or fresh keys), writes it and expects the verifier to
name what is wrong.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias, cast

from assay.kernel import canonical
from assay.kernel.bundle import (
    checkpoint_path,
    consistency_pairs,
    consistency_path,
    inclusion_path,
    note_path,
    proven_sequences,
)
from assay.kernel.canonical import Json
from assay.kernel.container import open_container, read_whole
from assay.kernel.digests import ZERO, hash_bytes, to_raw, to_text
from assay.kernel.keys import Signer, encode_signature
from assay.kernel.layout import Layout, LogSpec
from assay.kernel.manifest import MANIFEST, read_manifest
from assay.kernel.merkle import Tree
from assay.kernel.notes import NoteSigner, tree_head
from assay.kernel.roles import note_origin, note_role, roles_of
from assay.testing.lines import replace_texts, write_files

__all__ = ["Forgery", "Keys", "Members", "fresh_keys", "open_forgery"]

Members: TypeAlias = dict[str, Json]
Keys: TypeAlias = Mapping[str, Signer]
_ENTRY_SEAL = ("entryHash", "writerSignature")
_POINT_SEAL = ("checkpointHash", "witnessSignature")


def fresh_keys(layout: Layout, entropy: Callable[[int], bytes] = secrets.token_bytes) -> dict[str, Signer]:
    """A key for every role of a layout, as whoever starts a run of his own would have."""
    return {role: Signer.new(role=role, domain=domain, entropy=entropy) for role, domain in roles_of(layout).items()}


def open_forgery(path: Path) -> "Forgery":
    """A sound bundle, folder or zip, taken apart.

    Raises:
        AssayError: It is not laid out as a bundle.
    """
    container = open_container(path)
    bare = read_manifest(read_whole(container[MANIFEST]))
    data = {name: read_whole(container[name]) for name in (MANIFEST, *bare.files)}
    layout, manifest = bare.layout, _members(data.pop(MANIFEST))
    logs = {spec.name: [_members(line) for line in data.pop(spec.file).splitlines()] for spec in layout.logs}
    checkpoints = dict(enumerate(_members(data.pop(name)) for name in _under("checkpoints", data)))
    proofs = {name: _members(data.pop(name)) for name in _under("proofs", data)}
    notes = {name: data.pop(name).decode() for name in _under("notes", data)}
    return Forgery(layout, manifest, logs, checkpoints, proofs, notes, data)


def _under(folder: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.startswith(f"{folder}/")]


def _members(data: bytes) -> Members:
    return cast("Members", canonical.loads(data))  # a sound bundle holds objects only


@dataclass(slots=True)
class Forgery:
    """A bundle in pieces, all of them there to be edited; nothing is repaired unless a method is asked to.

    Args:
        layout: The layout the bundle was written with.
        manifest: The manifest's members.
        logs: The entries of every log; entry k is at position k − 1.
        checkpoints: The checkpoints by their number.
        proofs: The proofs by their path.
        notes: The signed notes by their path.
        files: Every other file by its path.
        overrides: The last word on single files by path: their bytes as they are, or ``None`` to leave one out.
    """

    layout: Layout
    manifest: Members
    logs: dict[str, list[Members]]
    checkpoints: dict[int, Members]
    proofs: dict[str, Members]
    notes: dict[str, str]
    files: dict[str, bytes]
    overrides: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    def contents(self) -> dict[str, bytes]:
        """Every file but the manifest, in the order of an export."""
        made: dict[str, bytes] = {}
        for spec in self.layout.logs:
            made[spec.file] = b"".join(map(_line, self.logs[spec.name]))
        made |= {checkpoint_path(number): _line(point) for number, point in self.checkpoints.items()}
        made |= {path: _line(proof) for path, proof in self.proofs.items()}
        made |= {path: note.encode() for path, note in self.notes.items()}
        made |= self.files
        made |= {path: data for path, data in self.overrides.items() if data is not None}
        return {path: data for path, data in made.items() if self.overrides.get(path, b"") is not None}

    def write(self, to: Path, *, fix_manifest: bool = True) -> Path:
        """Writes the bundle, a zip where ``to`` ends in ``.zip``, else a folder; returns ``to``.

        With ``fix_manifest`` the manifest lists the files as they now are; otherwise it is what it was, or was made.
        """
        contents = self.contents()
        if fix_manifest:
            self.manifest["files"] = [
                {"path": path, "size": len(data), "sha256": sha256(data).hexdigest()}
                for path, data in contents.items()
                if path != MANIFEST
            ]
        write_files({MANIFEST: _line(self.manifest), **contents}, to)
        return to

    def spec(self, log: str) -> LogSpec:
        """The declaration of one log."""
        return self.layout.log(log)

    def entry(self, log: str, number: int) -> Members:
        """One entry by its number from 1."""
        return self.logs[log][number - 1]

    def rehash(self, log: str, number: int) -> None:
        """Makes the hash of one entry that of its content."""
        entry = self.entry(log, number)
        content = {name: value for name, value in entry.items() if name not in _ENTRY_SEAL}
        entry["entryHash"] = to_text(hash_bytes(self.spec(log).domain, canonical.dumps(content)))

    def relink(self, log: str, first: int = 1, *, renumber: bool = False) -> None:
        """Links and hashes the entries from ``first`` on anew, and numbers them if asked; signatures stay."""
        previous = self.entry(log, first - 1)["entryHash"] if first > 1 else ZERO
        for number in range(first, len(self.logs[log]) + 1):
            entry = self.entry(log, number)
            entry[self.spec(log).link] = previous
            if renumber:
                entry["sequence"] = number
            self.rehash(log, number)
            previous = entry["entryHash"]

    def resign(self, log: str, signer: Signer, numbers: Iterable[int] | None = None) -> None:
        """Signs the stated hashes of some entries, or of all of them, with a key."""
        for number in numbers or range(1, len(self.logs[log]) + 1):
            entry = self.entry(log, number)
            signature = signer.sign(signer.public.domain, to_raw(cast("str", entry["entryHash"])))
            entry["writerSignature"] = encode_signature(signature)

    def head(self, number: int, log: str) -> Members:
        """What one checkpoint says of one log, to be read or edited."""
        value: Json = self.checkpoints[number]
        for name in self.layout.checkpoint.head_path(log):
            value = cast("Members", value)[name]  # the layout says that heads lie under objects
        return cast("Members", value)

    def size(self, number: int, log: str) -> int:
        """How many entries of a log one checkpoint covers."""
        return cast("int", self.head(number, log)["treeSize"])

    def recount(self, number: int) -> None:
        """Makes roots and last hashes of one checkpoint those of the logs at the sizes that it states."""
        for log in self.logs:
            size = self.size(number, log)
            last = self.entry(log, size)["entryHash"] if size else ZERO
            self.head(number, log).update(merkleRoot=to_text(self._tree(log).root(size)), lastEntryHash=last)

    def seal_checkpoints(self, witness: Signer, first: int = 0) -> None:
        """Chains, hashes and signs the checkpoints from ``first`` on anew, whatever they state."""
        for number in sorted(self.checkpoints):
            if number < first:
                continue
            point = self.checkpoints[number]
            before = self.checkpoints.get(number - 1)
            point["previousCheckpointHash"] = before["checkpointHash"] if before else ZERO
            point["witnessKeyId"] = witness.public.key_id
            content = {name: value for name, value in point.items() if name not in _POINT_SEAL}
            digest = hash_bytes(self.layout.checkpoint.domain, canonical.dumps(content))
            point["checkpointHash"] = to_text(digest)
            point["witnessSignature"] = encode_signature(witness.sign(witness.public.domain, digest))

    def reprove(self) -> None:
        """Makes every proof that the checkpoints call for, from the logs as they are, and no other."""
        self.proofs.clear()
        last = max(self.checkpoints)
        for log in self.logs:
            tree = self._tree(log)
            sizes = [self.size(number, log) for number in sorted(self.checkpoints)]
            for first, second in consistency_pairs(sizes):
                path = [to_text(step) for step in tree.consistency(sizes[first], sizes[second])]
                proof: Members = {"log": log, "fromCheckpoint": first, "toCheckpoint": second, "path": [*path]}
                self.proofs[consistency_path(log, first, second)] = proof
            for sequence in proven_sequences(sizes[-1]):
                path = [to_text(step) for step in tree.inclusion(sequence - 1, sizes[-1])]
                proof = {"log": log, "sequence": sequence, "checkpoint": last, "path": [*path]}
                self.proofs[inclusion_path(log, sequence, last)] = proof

    def _tree(self, log: str) -> Tree:
        tree = Tree(self.layout.tree)
        for number, entry in enumerate(self.logs[log], start=1):
            tree.append(self.layout.tree.leaf(number, to_raw(cast("str", entry["entryHash"]))))
        return tree

    def renote(self, keys: Keys) -> None:
        """Publishes what the last checkpoint says of every log under the note keys."""
        witness = keys[self.layout.checkpoint.signer].public
        for log in sorted(self.logs):
            origin = note_origin(cast("str", self.manifest["lab"]), witness, log)
            head = self.head(max(self.checkpoints), log)
            text = tree_head(origin, cast("int", head["treeSize"]), to_raw(cast("str", head["merkleRoot"])))
            self.notes[note_path(log)] = NoteSigner(origin, keys[note_role(log)].seed).sign(text)

    def repair(self, keys: Keys) -> None:
        """Makes checkpoints, proofs and notes those of the logs as they are, with stolen or own keys."""
        for number in self.checkpoints:
            self.recount(number)
        self.seal_checkpoints(keys[self.layout.checkpoint.signer])
        self.reprove()
        self.renote(keys)

    def reseal(self, keys: Keys) -> None:
        """Makes the whole bundle one of other keys: a new seal, and every entry, checkpoint, proof and note anew.

        Entries that name hashes of entries before them are rewritten with it, so that nothing inside gives it away.
        """
        signers: list[Json] = [signer.public.to_json() for signer in keys.values()]
        self.manifest["signers"] = signers
        self.logs[self.layout.logs[0].name][0]["signers"] = signers
        changed: dict[str, str] = {}
        for spec in self.layout.logs:
            self._reseal_log(spec, keys[spec.signer], changed)
        self.repair(keys)

    def _reseal_log(self, spec: LogSpec, signer: Signer, changed: dict[str, str]) -> None:
        before = ZERO
        for number, entry in enumerate(self.logs[spec.name], start=1):
            old = cast("str", entry["entryHash"])
            self.logs[spec.name][number - 1] = entry = cast("Members", replace_texts(entry, changed))
            entry.update({spec.link: before, "writerKeyId": signer.public.key_id})
            self.rehash(spec.name, number)
            changed[old] = before = cast("str", entry["entryHash"])
        self.resign(spec.name, signer)

    def cut(self, number: int) -> None:
        """Cuts the bundle back to a checkpoint, as anyone can: logs, proofs and files to what it covers.

        The notes of the cut heads are gone with the later ones; only who holds the note keys makes new ones.
        """
        self.checkpoints = {each: point for each, point in self.checkpoints.items() if each <= number}
        for log, entries in self.logs.items():
            del entries[self.size(number, log) :]
        kept = {str(entry.get("path")) for entries in self.logs.values() for entry in entries}
        self.files = {path: data for path, data in self.files.items() if path in kept}
        self.notes.clear()
        self.reprove()


def _line(members: Members) -> bytes:
    return canonical.dumps(members) + b"\n"
