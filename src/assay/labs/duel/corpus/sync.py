"""Keeping up with a corpus that others publish: a revision is served only after every byte of it was checked.

Whatever is wrong with a newer one, the last that was checked goes on being served, and says that it is stale and why.
"""

from dataclasses import dataclass
from hashlib import sha256

from assay.kernel.errors import AssayError, EvidenceInvalid, InvariantBroken, MissingMaterial
from assay.labs.duel.corpus.corpus import Corpus, open_corpus, read_lines, read_pointer
from assay.labs.duel.corpus.manifests import POINTER, Manifest, walk_back
from assay.objects.protocol import ObjectStore

__all__ = ["CorpusSync", "Stale", "check_corpus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Why the corpus that is served is not the published one.

    Args:
        code: The kind of the fault.
        reason: What was expected and what came.
    """

    code: str
    reason: str


class CorpusSync:
    """The last corpus that was checked whole. Call :meth:`refresh` between duels only.

    Args:
        store: Where it is published.
        pinned: The digest of a manifest that every corpus has to be, or to descend from; None trusts the first pointer.
    """

    def __init__(self, store: ObjectStore, *, pinned: str | None = None) -> None:
        """Reads nothing yet."""
        self._store = store
        self._pinned = pinned
        self._served: Corpus | None = None
        self._stale: Stale | None = None

    @property
    def corpus(self) -> Corpus:
        """The corpus that is served.

        Raises:
            MissingMaterial: None was ever checked; the message says why.
        """
        if self._served is None:
            why = self._stale.reason if self._stale else "it was not looked for"
            msg = f"there is no corpus to serve: {why}"
            raise MissingMaterial(msg)
        return self._served

    @property
    def stale(self) -> Stale | None:
        """Why the served corpus is not the published one; None where it is."""
        return self._stale

    def refresh(self) -> bool:
        """Whether another revision is served than before; a fault changes nothing but :attr:`stale`."""
        try:
            found = self._look()
        except InvariantBroken:
            raise
        except AssayError as fault:
            self._stale = Stale(code=fault.code, reason=fault.message)
            return False
        self._stale = None
        if found is None:
            return False
        self._served = found
        return True

    def _look(self) -> Corpus | None:
        pointer = read_pointer(self._store)
        if pointer is None:
            msg = f"there is no {POINTER}"
            raise MissingMaterial(msg)
        digest = sha256(pointer).hexdigest()
        if self._served is not None and self._served.manifest_sha256 == digest:
            return None
        corpus = open_corpus(self._store, digest)
        self._check_descent(digest, corpus.manifest)
        check_corpus(self._store, corpus)
        return corpus

    def _check_descent(self, digest: str, manifest: Manifest) -> None:
        """The whole chain is there, and what was served or pinned before is part of it."""
        chain = {digest, *(before for before, _ in walk_back(self._store, manifest))}
        for known in (self._pinned, self._served.manifest_sha256 if self._served else None):
            if known is not None and known not in chain:
                msg = f"the published manifest {digest} does not come after {known}, which was served or pinned before"
                raise EvidenceInvalid(msg)


def check_corpus(store: ObjectStore, corpus: Corpus) -> None:
    """Reads every chunk that a corpus needs, one at a time.

    Raises:
        NoSuchObject: One is missing.
        EvidenceInvalid: One is not what the manifest says of it.
    """
    for shard in corpus.manifest.active:
        read_lines(store, shard)
