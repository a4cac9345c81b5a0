"""Merkle trees over the entries of a log: roots, inclusion proofs and consistency proofs.

One tree shape (RFC 9162 section 2.1, the same as RFC 6962: split at the largest power of two below the size) under
two ways of hashing, chosen by a :class:`TreeScheme`. :class:`Frontier` streams leaves and keeps only what the next
root needs; :class:`Tree` keeps every perfect subtree and makes proofs. The verifying functions are pure: they
return nothing, or raise :class:`~assay.kernel.errors.BadProof` naming what differed.

Hashes are raw 32-byte strings throughout. A leaf's index is its entry's sequence minus one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from assay.kernel.canonical import Json
from assay.kernel.errors import BadProof, MalformedDocument, UnknownVersion, UsageInvalid
from assay.kernel.shape import read_object

__all__ = [
    "HASH_BYTES",
    "RFC6962",
    "Frontier",
    "Tree",
    "TreeScheme",
    "domain_separated",
    "verify_consistency",
    "verify_inclusion",
]

HASH_BYTES = 32
_COUNT_BITS = 64
_LEAF_MARK = b"\x00"
_NODE_MARK = b"\x01"
# Plain characters, so that no domain imitates the mark after it; short, so that a hostile one cannot multiply the work.
_DOMAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeScheme:
    """How leaves and inner nodes are hashed; use :data:`RFC6962` or :func:`domain_separated`, or read one from JSON.

    The prefixes of leaves and of nodes differ, so that no node can be passed off as a leaf.
    """

    name: Literal["rfc6962", "domain-separated"]
    leaf_prefix: bytes
    node_prefix: bytes

    def leaf(self, sequence: int, entry_hash: bytes) -> bytes:
        """The leaf hash of one entry (32 bytes).

        Args:
            sequence: The entry's place in its log, from 1; only the domain-separated scheme hashes it.
            entry_hash: The entry's own hash, 32 bytes.

        Raises:
            UsageInvalid: The hash is not 32 bytes, or the sequence is not an unsigned 64-bit number.
        """
        if len(entry_hash) != HASH_BYTES:
            raise _not_a_hash(entry_hash, "an entry hash")
        if self.name == "rfc6962":
            return sha256(self.leaf_prefix + entry_hash).digest()
        try:
            counted = sequence.to_bytes(8, "big")
        except OverflowError as error:
            msg = f"a sequence must fit in an unsigned 64-bit number; got {sequence:#x}"
            raise UsageInvalid(msg) from error
        return sha256(self.leaf_prefix + counted + entry_hash).digest()

    def leaves(self, first: int, entry_hashes: bytes) -> list[bytes]:
        """The leaf hashes of consecutive entries, as :meth:`leaf` gives them one by one.

        Args:
            first: The sequence of the first entry.
            entry_hashes: The entries' hashes, 32 bytes each, in one piece.

        Raises:
            UsageInvalid: As :meth:`leaf`.
        """
        starts = range(0, len(entry_hashes), HASH_BYTES)
        if self.name != "rfc6962" or len(entry_hashes) % HASH_BYTES:
            pieces = (entry_hashes[start : start + HASH_BYTES] for start in starts)
            return [self.leaf(sequence, piece) for sequence, piece in enumerate(pieces, start=first)]
        prefix = self.leaf_prefix
        return [sha256(prefix + entry_hashes[start : start + HASH_BYTES]).digest() for start in starts]

    def node(self, left: bytes, right: bytes) -> bytes:
        """The hash of the node above two subtrees (32 bytes each)."""
        return sha256(self.node_prefix + left + right).digest()

    def empty(self) -> bytes:
        """The root of a tree without leaves: the digest of nothing, under the node prefix where domains are used."""
        return sha256(b"" if self.name == "rfc6962" else self.node_prefix).digest()

    def to_json(self) -> dict[str, Json]:
        """The scheme as the JSON object that :meth:`from_json` reads."""
        if self.name == "rfc6962":
            return {"scheme": self.name}
        leaf_domain, node_domain = self.leaf_prefix[:-1].decode(), self.node_prefix[:-1].decode()
        return {"scheme": self.name, "leafDomain": leaf_domain, "nodeDomain": node_domain}

    @classmethod
    def from_json(cls, value: Json) -> "TreeScheme":
        """The scheme that a parsed JSON value declares.

        Raises:
            UnknownVersion: A scheme of another name.
            MalformedDocument: Anything else that :meth:`to_json` would not have written.
        """
        name = value.get("scheme") if isinstance(value, dict) else None
        if name == "rfc6962":
            read_object(value, "tree scheme", {"scheme": str})
            return RFC6962
        if isinstance(name, str) and name != "domain-separated":
            msg = f"tree scheme {name!r:.80} is not known here; known are 'rfc6962' and 'domain-separated'"
            raise UnknownVersion(msg)
        fields = read_object(value, "tree scheme", {"scheme": str, "leafDomain": str, "nodeDomain": str})
        return domain_separated(str(fields["leafDomain"]), str(fields["nodeDomain"]))


RFC6962 = TreeScheme(name="rfc6962", leaf_prefix=_LEAF_MARK, node_prefix=_NODE_MARK)
"""The scheme of RFC 6962 section 2.1 with the entry hash as leaf input, which public transparency tooling reads."""


def domain_separated(leaf_domain: str, node_domain: str) -> TreeScheme:
    """A scheme that puts a domain text before the leaf and node marks, and binds each leaf to its sequence.

    leaf = SHA-256(leaf_domain, 00, sequence as uint64 big-endian, entry hash); node = SHA-256(node_domain, 01, left,
    right); the empty tree's root is SHA-256(node_domain, 01).

    Raises:
        MalformedDocument: A domain that is not 1 to 100 plain characters.
    """
    for domain in (leaf_domain, node_domain):
        if not _DOMAIN.fullmatch(domain):
            msg = f"a tree domain is 1 to 100 letters, digits or any of '._/-', got {domain!r:.120}"
            raise MalformedDocument(msg, reason="tree-scheme")
    return TreeScheme(
        name="domain-separated",
        leaf_prefix=leaf_domain.encode() + _LEAF_MARK,
        node_prefix=node_domain.encode() + _NODE_MARK,
    )


class Frontier:
    """The growing right edge of a tree: takes leaves one by one in O(log n) memory and gives the root so far."""

    __slots__ = ("_peaks", "_prefix", "_scheme", "_size")

    def __init__(self, scheme: TreeScheme) -> None:
        self._scheme = scheme
        self._prefix = scheme.node_prefix
        self._peaks: list[bytes] = []
        self._size = 0

    @property
    def size(self) -> int:
        """How many leaves were appended."""
        return self._size

    def append(self, leaf_hash: bytes) -> None:
        """Adds one leaf; about one node hash per call on average.

        Raises:
            UsageInvalid: The leaf hash is not 32 bytes; the frontier is unchanged.
        """
        if len(leaf_hash) != HASH_BYTES:
            raise _not_a_hash(leaf_hash, "a leaf hash")
        peaks, node, carry = self._peaks, leaf_hash, self._size
        # Each trailing one bit of the size is a perfect subtree that the new leaf completes, as a carry does in adding.
        while carry & 1:
            node = sha256(self._prefix + peaks.pop() + node).digest()
            carry >>= 1
        peaks.append(node)
        self._size += 1

    def extend(self, leaf_hashes: bytes | Iterable[bytes]) -> None:
        """Adds leaves in order, given one by one or as the plain concatenation of their hashes; they are held at once.

        Raises:
            UsageInvalid: A leaf hash that is not 32 bytes; the frontier is unchanged.
        """
        nodes = list(_each_hash(leaf_hashes))
        wrong = next((leaf_hash for leaf_hash in nodes if len(leaf_hash) != HASH_BYTES), None)
        if wrong is not None:
            raise _not_a_hash(wrong, "a leaf hash")
        prefix, peaks, carry, edge = self._prefix, self._peaks, self._size, list[bytes]()
        self._size += len(nodes)
        # Level by level: what is left over at a level is its new peak, and pairs go up.
        while nodes:
            if carry & 1:
                nodes.insert(0, peaks.pop())
            if len(nodes) & 1:
                edge.append(nodes.pop())
            pairs = range(0, len(nodes), 2)
            nodes = [sha256(prefix + nodes[start] + nodes[start + 1]).digest() for start in pairs]
            carry >>= 1
        peaks.extend(reversed(edge))

    def root(self) -> bytes:
        """The root over all leaves so far (32 bytes)."""
        return _fold_peaks(self._scheme, self._peaks)

    def copy(self) -> "Frontier":
        """An independent frontier in the same state, to go back to or to try leaves on."""
        twin = Frontier(self._scheme)
        twin._peaks, twin._size = self._peaks.copy(), self._size
        return twin


class Tree:
    """A whole tree in memory (about 64 bytes a leaf): roots and proofs at any size it has had."""

    __slots__ = ("_levels", "_scheme")

    def __init__(self, scheme: TreeScheme) -> None:
        self._scheme = scheme
        # Level k holds the roots of the perfect subtrees of 2^k leaves, left to right.
        self._levels: list[bytearray] = [bytearray()]

    @property
    def size(self) -> int:
        """How many leaves were appended."""
        return len(self._levels[0]) // HASH_BYTES

    def append(self, leaf_hash: bytes) -> None:
        """Adds one leaf; about one node hash per call on average.

        Raises:
            UsageInvalid: The leaf hash is not 32 bytes; the tree is unchanged.
        """
        if len(leaf_hash) != HASH_BYTES:
            raise _not_a_hash(leaf_hash, "a leaf hash")
        levels, prefix, carry, height = self._levels, self._scheme.node_prefix, self.size, 0
        levels[0] += leaf_hash
        while carry & 1:
            node = sha256(prefix + levels[height][-2 * HASH_BYTES :]).digest()
            carry >>= 1
            height += 1
            if height == len(levels):
                levels.append(bytearray())
            levels[height] += node

    def extend(self, leaf_hashes: bytes | Iterable[bytes]) -> None:
        """Adds leaves in order; the same contract as :meth:`Frontier.extend`."""
        for leaf_hash in _each_hash(leaf_hashes):
            self.append(leaf_hash)

    def root(self, size: int | None = None) -> bytes:
        """The root over the first ``size`` leaves (all of them if not given), 32 bytes.

        Raises:
            UsageInvalid: The tree has never had that size.
        """
        upto = self.size if size is None else size
        self._require_size(upto)
        return self._range_root(0, upto)

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """The path from leaf ``index`` to the root over the first ``size`` leaves (RFC 9162 section 2.1.3.1).

        Raises:
            UsageInvalid: The tree has never had that size, or that size has no such leaf.
        """
        self._require_size(size)
        if not 0 <= index < size:
            msg = f"a tree of {size} leaves has no leaf {index}; indices count from 0"
            raise UsageInvalid(msg)
        path, _ = self._siblings(index, size, 0)
        return path

    def consistency(self, first: int, second: int) -> list[bytes]:
        """The path that shows the first ``first`` of ``second`` leaves unchanged (RFC 9162 section 2.1.4.1).

        Empty where the sizes are equal or the first is zero.

        Raises:
            UsageInvalid: The tree has never had one of the sizes, or the first is the larger.
        """
        self._require_size(second)
        if not 0 <= first <= second:
            msg = f"consistency leads from a size to a larger one; got {first} to {second}"
            raise UsageInvalid(msg)
        if first == 0:
            return []
        path, low = self._siblings(first - 1, second, first)
        # A first tree that is one perfect subtree is not in the path: the checker already holds its root.
        return [self._range_root(low, first), *path] if low else path

    def _siblings(self, index: int, size: int, end: int) -> tuple[list[bytes], int]:
        """The subtrees beside the way down to a leaf, lowest first, and where the subtree it led to begins.

        The way goes on to the leaf itself, or to a subtree that ends just before leaf ``end``.
        """
        low, high = 0, size
        path: list[bytes] = []
        while high - low > 1 and high != end:
            middle = low + _split(high - low)
            if index < middle:
                path.append(self._range_root(middle, high))
                high = middle
            else:
                path.append(self._range_root(low, middle))
                low = middle
        path.reverse()
        return path, low

    def _require_size(self, size: int) -> None:
        if not 0 <= size <= self.size:
            msg = f"this tree has {self.size} leaves; it cannot answer for size {size}"
            raise UsageInvalid(msg)

    def _range_root(self, low: int, high: int) -> bytes:
        peaks: list[bytes] = []
        for height in reversed(range((high - low).bit_length())):
            if (high - low) >> height:
                place = (low >> height) * HASH_BYTES
                peaks.append(bytes(self._levels[height][place : place + HASH_BYTES]))
                low += 1 << height
        return _fold_peaks(self._scheme, peaks)


def verify_inclusion(
    scheme: TreeScheme, leaf_hash: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> None:
    """Returns if ``path`` proves that ``leaf_hash`` is leaf ``index`` (from 0) of the tree of ``size`` leaves.

    Source: RFC 9162 section 2.1.3.2.

    Raises:
        BadProof: It does not: no such leaf, a path of the wrong length, a hash that is not 32 bytes, another root.
    """
    _require_hashes(leaf_hash, root, *path)
    _require_counts(index, size)
    if not 0 <= index < size:
        msg = f"a tree of {size} leaves has no leaf {index}; indices count from 0"
        raise BadProof(msg, index=index, size=size)
    fn, sn, node = index, size - 1, leaf_hash
    what = f"the path of leaf {index} of {size}"
    for sibling in path:
        if sn == 0:
            raise _wrong_length(what, "too many", path)
        if fn & 1 or fn == sn:
            node = scheme.node(sibling, node)
            fn, sn = _drop_zero_bits(fn, sn)
        else:
            node = scheme.node(node, sibling)
        fn, sn = fn >> 1, sn >> 1
    if sn:
        raise _wrong_length(what, "too few", path)
    _require_root(what, node, root)


def verify_consistency(
    scheme: TreeScheme, first: int, second: int, first_root: bytes, second_root: bytes, path: Sequence[bytes]
) -> None:
    """Returns if ``path`` proves that the tree of ``second`` leaves begins with the tree of ``first`` leaves.

    Both roots are bound. Equal sizes need equal roots and no path. From size zero the first root must be the empty
    tree's, no path is allowed, and nothing is said about the second root.

    Source: RFC 9162 section 2.1.4.2.

    Raises:
        BadProof: It does not: sizes in the wrong order, a path of the wrong length, a hash that is not 32 bytes, or
            another first or second root.
    """
    _require_hashes(first_root, second_root, *path)
    _require_counts(first, second)
    if not 0 <= first <= second:
        msg = f"consistency leads from a size to a larger one; got {first} to {second}"
        raise BadProof(msg, first=first, second=second)
    what = f"the path from size {first} to {second}"
    if first == 0:
        _require_root("a tree without leaves", scheme.empty(), first_root)
    if first in {0, second}:
        if path:
            raise _wrong_length(what, "too many", path)
        if first == second:
            _require_root(f"the same tree of {first} leaves", first_root, second_root)
        return
    old, new = _climb_both(scheme, first, second, first_root, path)
    _require_root(f"{what}, at its old end,", old, first_root)
    _require_root(f"{what}, at its new end,", new, second_root)


def _climb_both(
    scheme: TreeScheme, first: int, second: int, first_root: bytes, path: Sequence[bytes]
) -> tuple[bytes, bytes]:
    """The old and the new root that a path leads to, for 0 < first < second."""
    what = f"the path from size {first} to {second}"
    # A first tree that is one perfect subtree is a node of the second; its root is known and left out of the path.
    hashes = path if first & (first - 1) else [first_root, *path]
    if not hashes:
        raise _wrong_length(what, "too few", path)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if sn == 0:
            raise _wrong_length(what, "too many", path)
        if fn & 1 or fn == sn:
            old, new = scheme.node(sibling, old), scheme.node(sibling, new)
            fn, sn = _drop_zero_bits(fn, sn)
        else:
            new = scheme.node(new, sibling)
        fn, sn = fn >> 1, sn >> 1
    if sn:
        raise _wrong_length(what, "too few", path)
    return old, new


def _drop_zero_bits(fn: int, sn: int) -> tuple[int, int]:
    """Both numbers shifted right until the first is odd or zero: levels where a lone right edge has no sibling."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


def _split(size: int) -> int:
    """The largest power of two below a size of at least two."""
    return 1 << ((size - 1).bit_length() - 1)


def _fold_peaks(scheme: TreeScheme, peaks: Sequence[bytes]) -> bytes:
    """The root over perfect subtrees of falling size, or the empty root."""
    if not peaks:
        return scheme.empty()
    node = peaks[-1]
    for left in reversed(peaks[:-1]):
        node = scheme.node(left, node)
    return node


def _each_hash(leaf_hashes: bytes | Iterable[bytes]) -> Iterable[bytes]:
    if not isinstance(leaf_hashes, bytes):
        return leaf_hashes
    if len(leaf_hashes) % HASH_BYTES:
        msg = f"leaf hashes in one string come in pieces of {HASH_BYTES} bytes; got {len(leaf_hashes)} bytes in all"
        raise UsageInvalid(msg)
    return (leaf_hashes[start : start + HASH_BYTES] for start in range(0, len(leaf_hashes), HASH_BYTES))


def _not_a_hash(value: bytes, what: str) -> UsageInvalid:
    return UsageInvalid(f"{what} is {HASH_BYTES} bytes; got {len(value)} bytes")


def _require_hashes(*values: bytes) -> None:
    for value in values:
        if len(value) != HASH_BYTES:
            msg = f"every hash of a proof, its leaf and its roots is {HASH_BYTES} bytes; got one of {len(value)} bytes"
            raise BadProof(msg)


def _require_counts(*values: int) -> None:
    # Bounds the loops over a size's bits, and keeps numbers out of messages that cannot be printed.
    if any(value.bit_length() > _COUNT_BITS for value in values):
        msg = f"sizes and indices of a proof fit in {_COUNT_BITS} bits; got a larger one"
        raise BadProof(msg)


def _wrong_length(what: str, verdict: Literal["too many", "too few"], path: Sequence[bytes]) -> BadProof:
    return BadProof(f"{what} has {len(path)} hashes, {verdict} for these sizes", pathLength=len(path))


def _require_root(what: str, reached: bytes, claimed: bytes) -> None:
    if reached != claimed:
        msg = f"{what} has root sha256:{reached.hex()}, but sha256:{claimed.hex()} is claimed"
        raise BadProof(msg, reached=f"sha256:{reached.hex()}", claimed=f"sha256:{claimed.hex()}")
