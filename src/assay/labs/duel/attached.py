"""The corpus inside a bundle: the manifest that the contract names, and the index that the manifest names."""

from dataclasses import dataclass
from hashlib import sha256

from assay.kernel.canonical import Json
from assay.kernel.errors import AssayError, EvidenceInvalid
from assay.labs.duel.corpus.corpus import check_rows
from assay.labs.duel.corpus.index import Index
from assay.labs.duel.corpus.index import read_index as read_parquet
from assay.labs.duel.corpus.manifests import read_manifest
from assay.labs.duel.logs import INDEX_FILE, MANIFEST_FILE
from assay.labs.duel.registration import DuelContract
from assay.verifier.lab import Evidence

__all__ = ["AttachedIndex", "read_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedIndex:
    """The index of the corpus, and what a verdict tells of the corpus."""

    index: Index
    told: dict[str, Json]


def read_index(contract: DuelContract, evidence: Evidence) -> AttachedIndex:
    """The index that the contract's corpus has.

    Raises:
        EvidenceInvalid: An attached file is not the one that the contract, or the manifest, names.
    """
    manifest_bytes = evidence.file(MANIFEST_FILE)
    _check_digest(MANIFEST_FILE, manifest_bytes, contract.corpus.manifest)
    index_bytes = evidence.file(INDEX_FILE)
    try:
        manifest = read_manifest(manifest_bytes)
        _check_digest(INDEX_FILE, index_bytes, manifest.index.sha256)
        index = read_parquet(index_bytes)
        check_rows(manifest, index)
    except EvidenceInvalid:
        raise
    except AssayError as problem:
        msg = f"the attached corpus cannot be read: {problem.message}"
        raise EvidenceInvalid(msg) from problem
    told: dict[str, Json] = {
        "manifest": contract.corpus.manifest,
        "epoch": manifest.corpus_epoch,
        "viewSpec": manifest.view_spec,
        "turns": len(index.turn_ids),
    }
    return AttachedIndex(index=index, told=told)


def _check_digest(path: str, data: bytes, expected: str) -> None:
    found = sha256(data).hexdigest()
    if found != expected:
        msg = f"{path}: expected the file with SHA-256 {expected}, got {found}"
        raise EvidenceInvalid(msg, path=path)
