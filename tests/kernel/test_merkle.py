"""Trees and proofs: the vectors, the naive model of RFC 9162, and what every forged proof must meet."""

import json
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.kernel.errors import BadProof, MalformedDocument, UnknownVersion, UsageInvalid
from assay.kernel.merkle import (
    RFC6962,
    Frontier,
    Tree,
    TreeScheme,
    domain_separated,
    verify_consistency,
    verify_inclusion,
)

NURSERY = domain_separated("dtsf-merkle-leaf-v1", "dtsf-merkle-node-v1")
SCHEMES = pytest.mark.parametrize("scheme", [RFC6962, NURSERY], ids=lambda scheme: scheme.name)
SIZES = st.integers(0, 70)


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("sha256:"))


def raws(texts: list[str]) -> list[bytes]:
    return [raw(text) for text in texts]


def leaf_hashes(scheme: TreeScheme, count: int) -> list[bytes]:
    return [scheme.leaf(sequence, sha256(b"%d" % sequence).digest()) for sequence in range(1, count + 1)]


@lru_cache(maxsize=8)
def grown(scheme: TreeScheme, count: int) -> Tree:
    tree = Tree(scheme)
    tree.extend(leaf_hashes(scheme, count))
    return tree


def flipped(value: bytes, place: int = 0) -> bytes:
    return bytes([*value[:place], value[place] ^ 1, *value[place + 1 :]])


# The model: the recursive definitions of RFC 9162 sections 2.1.1, 2.1.3.1 and 2.1.4.1, with their names.


def split(count: int) -> int:
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def mth(scheme: TreeScheme, leaves: list[bytes]) -> bytes:
    if not leaves:
        return scheme.empty()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return scheme.node(mth(scheme, leaves[:k]), mth(scheme, leaves[k:]))


def model_path(scheme: TreeScheme, m: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*model_path(scheme, m, leaves[:k]), mth(scheme, leaves[k:])]
    return [*model_path(scheme, m - k, leaves[k:]), mth(scheme, leaves[:k])]


def model_subproof(scheme: TreeScheme, m: int, leaves: list[bytes], complete: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if complete else [mth(scheme, leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*model_subproof(scheme, m, leaves[:k], complete), mth(scheme, leaves[k:])]
    return [*model_subproof(scheme, m - k, leaves[k:], False), mth(scheme, leaves[:k])]


@pytest.fixture(scope="module")
def chained(vectors):
    return json.loads((vectors / "evidence/merkle.json").read_text())


@pytest.fixture(scope="module")
def public(shared):
    return json.loads(shared("vectors/evidence/real/rfc6962_ct.json").read_text())


@pytest.fixture(scope="module")
def public_tree(public):
    tree = Tree(RFC6962)
    tree.extend(sha256(b"\x00" + bytes.fromhex(text)).digest() for text in public["inputs_hex"])
    return tree


class TestVectors:
    def test_leaf_hashes_come_from_the_chained_events(self, chained):
        leaves = [NURSERY.leaf(event["sequence"], raw(event["entryHash"])) for event in chained["events"]]
        assert leaves == raws(chained["leaf_hashes"])

    def test_empty_roots(self, chained):
        assert NURSERY.empty() == raw(chained["empty_root"]["domain_separated"])
        assert RFC6962.empty() == raw(chained["empty_root"]["rfc6962"])

    def test_roots_at_every_size(self, chained):
        leaves, roots = raws(chained["leaf_hashes"]), chained["roots"]
        frontier, tree = Frontier(NURSERY), Tree(NURSERY)
        tree.extend(b"".join(leaves))
        assert len(roots) == len(leaves) + 1
        for size in range(len(roots)):
            assert frontier.root() == raw(roots[str(size)]) == tree.root(size)
            if size < len(leaves):
                frontier.append(leaves[size])

    def test_inner_nodes(self, chained):
        leaves = raws(chained["leaf_hashes"])
        for place, expected in chained["nodes"].items():
            low, high = map(int, place.split(".."))
            frontier = Frontier(NURSERY)
            frontier.extend(leaves[low:high])
            assert frontier.root() == raw(expected)

    def test_inclusion_paths_are_made_and_accepted(self, chained):
        tree = Tree(NURSERY)
        tree.extend(raws(chained["leaf_hashes"]))
        for case in chained["inclusion"]:
            index, size, path = case["leafIndex"], case["treeSize"], raws(case["path"])
            assert tree.inclusion(index, size) == path
            verify_inclusion(NURSERY, raw(case["leafHash"]), index, size, path, raw(case["root"]))

    def test_consistency_paths_are_made_and_accepted(self, chained):
        tree = Tree(NURSERY)
        tree.extend(raws(chained["leaf_hashes"]))
        for case in chained["consistency"]:
            first, second, path = case["fromSize"], case["toSize"], raws(case["path"])
            assert tree.consistency(first, second) == path
            verify_consistency(NURSERY, first, second, raw(case["fromRoot"]), raw(case["toRoot"]), path)

    def test_vectors_of_one_scheme_fail_under_the_other(self, chained):
        for case in chained["inclusion"]:
            if case["path"]:
                with pytest.raises(BadProof):
                    verify_inclusion(
                        RFC6962,
                        raw(case["leafHash"]),
                        case["leafIndex"],
                        case["treeSize"],
                        raws(case["path"]),
                        raw(case["root"]),
                    )


class TestPublicTree:
    """The eight leaves that public log implementations share; their leaf inputs are plain bytes, not entry hashes."""

    def test_roots(self, public, public_tree):
        leaves = raws(public["leaf_hashes"])
        for size, expected in public["roots"].items():
            frontier = Frontier(RFC6962)
            frontier.extend(leaves[: int(size)])
            assert frontier.root() == raw(expected) == public_tree.root(int(size))

    def test_inclusion(self, public, public_tree):
        leaves = raws(public["leaf_hashes"])
        for case in public["inclusion"]:
            index, size, path = case["leaf_index"], case["tree_size"], raws(case["path"])
            assert public_tree.inclusion(index, size) == path
            verify_inclusion(RFC6962, leaves[index], index, size, path, raw(case["root"]))

    def test_consistency(self, public, public_tree):
        roots = public["roots"]
        for case in public["consistency"]:
            first, second, path = case["first"], case["second"], raws(case["path"])
            assert public_tree.consistency(first, second) == path
            verify_consistency(RFC6962, first, second, raw(roots[str(first)]), raw(roots[str(second)]), path)


class TestModel:
    @SCHEMES
    def test_all_small_roots_and_proofs_are_the_models(self, scheme):
        for size in range(20):
            leaves = leaf_hashes(scheme, size)
            tree = grown(scheme, 20)
            assert tree.root(size) == mth(scheme, leaves)
            for index in range(size):
                assert tree.inclusion(index, size) == model_path(scheme, index, leaves)
            for first in range(1, size + 1):
                assert tree.consistency(first, size) == model_subproof(scheme, first, leaves, True)

    @SCHEMES
    @given(size=SIZES, data=st.data())
    def test_proofs_are_the_models_and_verify(self, scheme, size, data):
        tree, leaves = grown(scheme, 70), leaf_hashes(scheme, size)
        root = mth(scheme, leaves)
        assert tree.root(size) == root
        first = data.draw(st.integers(0, size), label="first")
        path = tree.consistency(first, size)
        assert path == (model_subproof(scheme, first, leaves, True) if first else [])
        verify_consistency(scheme, first, size, mth(scheme, leaves[:first]), root, path)
        if size:
            index = data.draw(st.integers(0, size - 1), label="index")
            path = tree.inclusion(index, size)
            assert path == model_path(scheme, index, leaves)
            verify_inclusion(scheme, leaves[index], index, size, path, root)

    @SCHEMES
    @given(cuts=st.lists(SIZES, max_size=6), joined=st.booleans())
    def test_a_frontier_gives_the_root_of_the_tree_however_leaves_arrive(self, scheme, cuts, joined):
        leaves, frontier = leaf_hashes(scheme, 70), Frontier(scheme)
        for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 70], strict=True):
            frontier.extend(b"".join(leaves[low:high]) if joined else iter(leaves[low:high]))
            assert (frontier.size, frontier.root()) == (high, grown(scheme, 70).root(high))

    @given(size=SIZES, more=st.integers(1, 20))
    def test_a_copy_is_independent(self, size, more):
        leaves, frontier = leaf_hashes(NURSERY, 90), Frontier(NURSERY)
        frontier.extend(leaves[:size])
        root, twin = frontier.root(), frontier.copy()
        twin.extend(leaves[size : size + more])
        assert (frontier.size, frontier.root()) == (size, root)
        frontier.extend(leaves[size : size + more])
        assert (frontier.size, frontier.root()) == (twin.size, twin.root())


def inclusion_forgeries(scheme: TreeScheme, index: int, size: int):
    tree, leaf = grown(scheme, 40), leaf_hashes(scheme, 40)[index]
    path, root = tree.inclusion(index, size), tree.root(size)
    for place in range(len(path)):
        for byte in (0, 31):
            yield (leaf, index, size, [*path[:place], flipped(path[place], byte), *path[place + 1 :]], root)
        yield (leaf, index, size, [*path[:place], *path[place + 1 :]], root)
        yield (leaf, index, size, [*path[:place], path[place], *path[place:]], root)
        yield (leaf, index, size, [*path[:place], path[place][:31], *path[place + 1 :]], root)
        if place and path[place] != path[place - 1]:
            yield (leaf, index, size, [*path[: place - 1], path[place], path[place - 1], *path[place + 1 :]], root)
    yield (leaf, index, size, [*path, root], root)
    yield (flipped(leaf), index, size, path, root)
    yield (leaf + b"\x00", index, size, path, root)
    yield (leaf, index, size, path, flipped(root))
    yield (leaf, index, size, path, root + b"\x00")
    yield (leaf, index, size, path, b"")
    if size > 1:
        yield (root, index, size, path, leaf)
    for wrong in {-1, index - 1, index + 1, index ^ 1, size, size + 1} - {index}:
        yield (leaf, wrong, size, path, root)


def consistency_forgeries(scheme: TreeScheme, first: int, second: int):
    tree = grown(scheme, 40)
    old, new, path = tree.root(first), tree.root(second), tree.consistency(first, second)
    for place in range(len(path)):
        for byte in (0, 31):
            yield (first, second, old, new, [*path[:place], flipped(path[place], byte), *path[place + 1 :]])
        yield (first, second, old, new, [*path[:place], *path[place + 1 :]])
        yield (first, second, old, new, [*path[:place], path[place] + b"\x00", *path[place + 1 :]])
        if place:
            yield (first, second, old, new, [*path[: place - 1], path[place], path[place - 1], *path[place + 1 :]])
    yield (first, second, old, new, [*path, new])
    yield (first, second, flipped(old), new, path)
    yield (first, second, old[:31], new, path)
    yield (first, second, old, new + b"\x00", path)
    if first:
        yield (first, second, old, flipped(new), path)
    if 0 < first < second:
        yield (first, second, old, old, path)
    if first != second:
        yield (second, first, new, old, path)
        yield (first, second, new, old, path)
        yield (-1, second, old, new, path)
    for wrong in {first - 1, first + 1} - {0, -1, second}:
        yield (wrong, second, old, new, path)


class TestForgeries:
    """A checker that accepted any of these would be worth nothing."""

    @SCHEMES
    def test_no_forged_inclusion_verifies(self, scheme):
        met = 0
        for size in range(1, 18):
            for index in range(size):
                for leaf, at, of, path, root in inclusion_forgeries(scheme, index, size):
                    met += 1
                    with pytest.raises(BadProof):
                        verify_inclusion(scheme, leaf, at, of, path, root)
        assert met > 3000

    @SCHEMES
    def test_no_forged_consistency_verifies(self, scheme):
        met = 0
        for second in range(18):
            for first in range(second + 1):
                for old_size, new_size, old, new, path in consistency_forgeries(scheme, first, second):
                    met += 1
                    with pytest.raises(BadProof):
                        verify_consistency(scheme, old_size, new_size, old, new, path)
        assert met > 2000

    @SCHEMES
    @given(index=st.integers(0, 39), wrong=st.integers(0, 10**20))
    @example(index=0, wrong=2**64)
    def test_a_wrong_size_never_makes_a_longer_or_shorter_path_fit(self, scheme, index, wrong):
        tree, leaf = grown(scheme, 40), leaf_hashes(scheme, 40)[index]
        path = tree.inclusion(index, 40)
        if wrong <= index or path_shape(index, wrong) != path_shape(index, 40):
            with pytest.raises(BadProof):
                verify_inclusion(scheme, leaf, index, wrong, path, tree.root(40))

    @SCHEMES
    @given(first=st.integers(1, 39), path=st.lists(st.binary(min_size=32, max_size=32), max_size=10))
    def test_random_paths_are_refused(self, scheme, first, path):
        tree = grown(scheme, 40)
        with pytest.raises(BadProof):
            verify_consistency(scheme, first, 40, tree.root(first), tree.root(40), path)

    def test_a_leaf_cannot_pass_for_the_node_of_the_same_bytes(self):
        tree = grown(NURSERY, 2)
        with pytest.raises(BadProof):
            verify_inclusion(NURSERY, tree.root(1), 0, 1, [], tree.root(2))

    def test_a_tree_that_was_rewritten_is_not_consistent(self):
        honest, rewritten = leaf_hashes(NURSERY, 12), leaf_hashes(NURSERY, 12)
        rewritten[3] = flipped(rewritten[3])
        before, after = Tree(NURSERY), Tree(NURSERY)
        before.extend(honest[:7])
        after.extend(rewritten)
        with pytest.raises(BadProof, match="old end"):
            verify_consistency(NURSERY, 7, 12, before.root(), after.root(), after.consistency(7, 12))
        verify_consistency(NURSERY, 7, 12, after.root(7), after.root(), after.consistency(7, 12))

    def test_the_message_says_what_differed(self):
        tree = grown(NURSERY, 12)
        path, root = tree.consistency(7, 12), tree.root(12)
        with pytest.raises(BadProof, match="new end") as caught:
            verify_consistency(NURSERY, 7, 12, tree.root(7), flipped(root), path)
        assert caught.value.details == {"reached": f"sha256:{root.hex()}", "claimed": f"sha256:{flipped(root).hex()}"}
        with pytest.raises(BadProof, match="too few"):
            verify_consistency(NURSERY, 7, 12, tree.root(7), root, path[:-1])
        with pytest.raises(BadProof, match="too many"):
            verify_consistency(NURSERY, 7, 12, tree.root(7), root, [*path, root])
        with pytest.raises(BadProof, match="too many"):
            verify_inclusion(NURSERY, leaf_hashes(NURSERY, 1)[0], 0, 12, [*tree.inclusion(0, 12), root], root)
        with pytest.raises(BadProof, match="31 bytes"):
            verify_inclusion(NURSERY, root[1:], 0, 1, [], root)


def path_shape(index: int, size: int) -> list[bool]:
    """Which side each sibling stands on, from the leaf up."""
    if size == 1:
        return []
    k = split(size)
    return [*path_shape(index, k), False] if index < k else [*path_shape(index - k, size - k), True]


class TestEdges:
    @SCHEMES
    def test_nothing_is_consistent_with_every_tree(self, scheme):
        for size in range(5):
            assert grown(scheme, 5).consistency(0, size) == []
            verify_consistency(scheme, 0, size, scheme.empty(), grown(scheme, 5).root(size), [])

    @SCHEMES
    def test_from_size_zero_the_first_root_is_the_empty_one_and_no_path_is_allowed(self, scheme):
        root = grown(scheme, 5).root()
        with pytest.raises(BadProof, match="without leaves"):
            verify_consistency(scheme, 0, 5, root, root, [])
        with pytest.raises(BadProof, match="too many"):
            verify_consistency(scheme, 0, 5, scheme.empty(), root, [root])
        with pytest.raises(BadProof):
            verify_consistency(scheme, 0, 0, scheme.empty(), root, [])

    @SCHEMES
    def test_equal_sizes_need_equal_roots_and_no_path(self, scheme):
        root = grown(scheme, 5).root()
        verify_consistency(scheme, 5, 5, root, root, [])
        with pytest.raises(BadProof, match="same tree of 5"):
            verify_consistency(scheme, 5, 5, root, grown(scheme, 5).root(4), [])
        with pytest.raises(BadProof, match="too many"):
            verify_consistency(scheme, 5, 5, root, root, [root])

    @SCHEMES
    def test_a_longer_tree_needs_a_path(self, scheme):
        for first in (3, 4):
            with pytest.raises(BadProof, match="too few"):
                verify_consistency(scheme, first, 5, grown(scheme, 5).root(first), grown(scheme, 5).root(), [])

    def test_numbers_beyond_64_bits_are_refused_whatever_their_length(self):
        for count in (2**64, 10**5000, -(10**5000)):
            with pytest.raises(BadProof, match="64 bits"):
                verify_inclusion(RFC6962, bytes(32), 0, count, [], bytes(32))
            with pytest.raises(BadProof, match="64 bits"):
                verify_consistency(RFC6962, 1, count, bytes(32), bytes(32), [])

    def test_an_empty_tree_includes_nothing(self):
        with pytest.raises(BadProof, match="no leaf 0"):
            verify_inclusion(RFC6962, RFC6962.empty(), 0, 0, [], RFC6962.empty())

    @pytest.mark.parametrize(
        "ask",
        [
            lambda tree: tree.root(6),
            lambda tree: tree.root(-1),
            lambda tree: tree.inclusion(0, 6),
            lambda tree: tree.inclusion(5, 5),
            lambda tree: tree.inclusion(-1, 5),
            lambda tree: tree.inclusion(0, 0),
            lambda tree: tree.consistency(0, 6),
            lambda tree: tree.consistency(4, 3),
            lambda tree: tree.consistency(-1, 3),
        ],
    )
    def test_a_tree_refuses_what_it_never_was(self, ask: Callable[[Tree], object]):
        with pytest.raises(UsageInvalid):
            ask(grown(RFC6962, 5))

    @pytest.mark.parametrize("kind", [Frontier, Tree])
    def test_leaves_of_another_length_are_refused_and_change_nothing(self, kind):
        growing = kind(RFC6962)
        growing.append(bytes(32))
        for wrong in (b"", bytes(31), bytes(33)):
            with pytest.raises(UsageInvalid, match="32 bytes"):
                growing.append(wrong)
        with pytest.raises(UsageInvalid, match="pieces of 32 bytes"):
            growing.extend(bytes(65))
        assert (growing.size, growing.root()) == (1, bytes(32))

    def test_a_bad_leaf_leaves_the_frontier_as_it_was(self):
        frontier = Frontier(RFC6962)
        frontier.append(sha256(b"a").digest())
        before = frontier.root()
        with pytest.raises(UsageInvalid):
            frontier.extend([bytes(32), bytes(31)])
        assert (frontier.size, frontier.root()) == (1, before)


class TestSchemes:
    @pytest.mark.parametrize("scheme", [RFC6962, domain_separated("leaf", "node")])
    def test_leaves_in_one_piece_are_the_leaves_one_by_one(self, scheme):
        entries = [sha256(bytes([number])).digest() for number in range(5)]
        one_by_one = [scheme.leaf(sequence, entry) for sequence, entry in enumerate(entries, start=7)]
        assert scheme.leaves(7, b"".join(entries)) == one_by_one
        with pytest.raises(UsageInvalid):
            scheme.leaves(7, bytes(33))

    def test_leaf_and_node_formulas(self):
        scheme, entry, other = domain_separated("leaf", "node"), sha256(b"a").digest(), sha256(b"b").digest()
        assert scheme.leaf(258, entry) == sha256(b"leaf\x00" + bytes([0, 0, 0, 0, 0, 0, 1, 2]) + entry).digest()
        assert scheme.node(entry, other) == sha256(b"node\x01" + entry + other).digest()
        assert scheme.empty() == sha256(b"node\x01").digest()
        assert RFC6962.leaf(258, entry) == sha256(b"\x00" + entry).digest() == RFC6962.leaf(1, entry)
        assert RFC6962.node(entry, other) == sha256(b"\x01" + entry + other).digest()
        assert RFC6962.empty() == sha256(b"").digest()

    @SCHEMES
    def test_a_leaf_takes_whole_hashes_only(self, scheme):
        with pytest.raises(UsageInvalid, match="an entry hash is 32 bytes"):
            scheme.leaf(1, bytes(31))

    @pytest.mark.parametrize("sequence", [-1, 2**64])
    def test_a_bound_sequence_fits_in_64_bits(self, sequence):
        with pytest.raises(UsageInvalid, match="64-bit"):
            NURSERY.leaf(sequence, bytes(32))

    @SCHEMES
    def test_json_goes_both_ways(self, scheme):
        document = scheme.to_json()
        assert TreeScheme.from_json(json.loads(json.dumps(document))) == scheme
        assert TreeScheme.from_json(document).to_json() == document

    def test_json_forms(self):
        assert RFC6962.to_json() == {"scheme": "rfc6962"}
        assert NURSERY.to_json() == {
            "scheme": "domain-separated",
            "leafDomain": "dtsf-merkle-leaf-v1",
            "nodeDomain": "dtsf-merkle-node-v1",
        }

    @pytest.mark.parametrize("name", ["rfc9162", "", "RFC6962", "domain-separated-v2"])
    def test_an_unknown_scheme_cannot_be_decided(self, name):
        with pytest.raises(UnknownVersion, match="known are"):
            TreeScheme.from_json({"scheme": name, "anything": 1})

    @pytest.mark.parametrize(
        "document",
        [
            None,
            [],
            "rfc6962",
            {},
            {"scheme": None},
            {"scheme": ["rfc6962"]},
            {"scheme": "rfc6962", "leafDomain": "a"},
            {"scheme": "domain-separated"},
            {"scheme": "domain-separated", "leafDomain": "a"},
            {"scheme": "domain-separated", "leafDomain": "a", "nodeDomain": 1},
            {"scheme": "domain-separated", "leafDomain": "", "nodeDomain": "b"},
            {"scheme": "domain-separated", "leafDomain": "a", "nodeDomain": "b", "more": 1},
            {"scheme": "domain-separated", "leafDomain": "a\x01", "nodeDomain": "b"},
            {"scheme": "domain-separated", "leafDomain": "a", "nodeDomain": "b" * 101},
            {"scheme": "domain-separated", "leafDomain": "a", "nodeDomain": "\ud800"},
        ],
    )
    def test_a_malformed_scheme_is_refused(self, document):
        with pytest.raises(MalformedDocument):
            TreeScheme.from_json(document)
