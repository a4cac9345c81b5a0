"""The random source: known answers, equality with numpy's raw Philox words, and the rules on top of them."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.kernel.random import MAX_BOUND, MAX_SEED, WORDS, Block, Key, Stream, derive_key, philox4x64

REPOSITORY = Path(__file__).resolve().parents[2]
PUBLISHED: dict[str, Any] = json.loads((REPOSITORY / "docs/spec/vectors/random.json").read_text(encoding="utf-8"))
ONES = WORDS - 1

seeds = st.integers(0, MAX_SEED)
names = st.text(st.characters(exclude_categories=["Cs"]))


class Tool(Protocol):
    def main(self, arguments: Sequence[str]) -> int: ...


def load_tool() -> Tool:
    spec = importlib.util.spec_from_file_location("make_random_vectors", REPOSITORY / "tools/make_random_vectors.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Tool", module)


def words_of(texts: list[str]) -> list[int]:
    return [int(text, 16) for text in texts]


# The three published by Random123 (file kat_vectors, generator philox4x64, 10 rounds).
@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
        ),
        (
            (ONES, ONES, ONES, ONES),
            (ONES, ONES),
            (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
        ),
        (
            (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0x452821E638D01377, 0xBE5466CF34E90C6C),
            (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
        ),
    ],
)
def test_published_known_answers(counter: Block, key: Key, block: Block) -> None:
    assert philox4x64(counter, key) == block


@given(seeds, names)
def test_words_are_those_of_numpy(seed: int, name: str) -> None:
    stream = Stream(seed, name)
    generator = np.random.Philox(key=np.array(stream.key, dtype=np.uint64), counter=0)
    assert [stream.next64() for _ in range(11)] == generator.random_raw(11).tolist()
    assert stream.position == 11


def test_key_reads_the_digest_of_the_canonical_text() -> None:
    # echo -ne 'assay-random-v1\0[7,"bootstrap"]' | sha256sum
    digest = bytes.fromhex("aff672ca34a9d4c1e00b624ea1a1694c")
    assert derive_key(7, "bootstrap") == (
        int.from_bytes(digest[:8], "little"),
        int.from_bytes(digest[8:], "little"),
    )


@given(seeds, names, names)
def test_streams_of_different_names_differ(seed: int, left: str, right: str) -> None:
    assert (derive_key(seed, left) == derive_key(seed, right)) == (left == right)


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1, True, 1.0, "1", None])
def test_refuses_seeds_that_json_may_not_carry(seed: Any) -> None:
    with pytest.raises(BadInput, match="seed"):
        Stream(seed, "x")


@pytest.mark.parametrize("name", [None, b"x", 7, "\ud800"])
def test_refuses_names_that_json_may_not_carry(name: Any) -> None:
    with pytest.raises(BadInput, match="name"):
        Stream(0, name)


@pytest.mark.parametrize("bound", [0, -1, MAX_BOUND + 1, True, 2.0, None])
def test_refuses_bounds_out_of_range(bound: Any) -> None:
    stream = Stream(0, "x")
    with pytest.raises(BadInput, match="bound"):
        stream.below(bound)
    assert stream.position == 0


@given(seeds, st.one_of(st.integers(1, 100), st.integers(1, MAX_BOUND)))
def test_bounded_draws_follow_the_rejection_rule(seed: int, bound: int) -> None:
    stream, words = Stream(seed, "x"), Stream(seed, "x")
    drawn = stream.below(bound)
    seen = [words.next64() for _ in range(stream.position)]
    limit = WORDS // bound * bound
    assert all(word >= limit for word in seen[:-1])
    assert seen[-1] < limit
    assert drawn == seen[-1] % bound


def test_rejection_really_happens_and_shifts_what_follows() -> None:
    stream = Stream(7, "x")
    for _ in range(300):
        assert 0 <= stream.below(WORDS // 3 + 1) <= WORDS // 3
    # A third of all words is refused, so about 450 are used; four standard deviations are 60.
    assert 390 < stream.position < 510


# The first words of these streams are above two thirds of 2^64: half of one is a bound with just two whole multiples.
@pytest.mark.parametrize(("seed", "refused"), [(10, True), (11, True), (0, False), (1, False)])
def test_the_least_refused_word_is_the_multiple_itself(seed: int, refused: bool) -> None:
    word = Stream(seed, "edge").next64()
    bound = word // 2 if refused else word // 2 + 1
    assert WORDS // bound * bound == (word if refused else word + 1)
    edge = Stream(seed, "edge")
    edge.below(bound)
    assert (edge.position > 1) == refused


def test_a_bound_of_one_uses_a_word() -> None:
    stream = Stream(7, "x")
    assert [stream.below(1), stream.position] == [0, 1]


@given(seeds)
def test_uniform_is_the_top_53_bits(seed: int) -> None:
    stream, words = Stream(seed, "x"), Stream(seed, "x")
    drawn = stream.uniform()
    assert drawn == (words.next64() >> 11) / 2**53
    assert 0 <= drawn < 1


@given(seeds, st.integers(0, 40))
def test_bytes_are_words_in_little_endian_order(seed: int, count: int) -> None:
    stream, words = Stream(seed, "x"), Stream(seed, "x")
    drawn = stream.draw_bytes(count)
    assert drawn == b"".join(words.next64().to_bytes(8, "little") for _ in range(6))[:count]
    assert stream.position == (count + 7) // 8


@pytest.mark.parametrize("count", [-1, 1.0, True])
def test_refuses_a_number_of_bytes_that_is_none(count: Any) -> None:
    with pytest.raises(BadInput, match="bytes"):
        Stream(0, "x").draw_bytes(count)


@given(seeds, st.lists(st.integers(), max_size=30))
def test_shuffle_keeps_the_items_and_uses_one_draw_less(seed: int, items: list[int]) -> None:
    stream = Stream(seed, "x")
    shuffled = list(items)
    stream.shuffle(shuffled)
    assert sorted(shuffled) == sorted(items)
    assert stream.position == max(0, len(items) - 1)


def test_shuffle_reaches_all_orders_about_equally_often() -> None:
    stream = Stream(7, "orders")
    counts: dict[str, int] = {}
    for _ in range(2400):
        items = list("abcd")
        stream.shuffle(items)
        counts["".join(items)] = counts.get("".join(items), 0) + 1
    # 24 orders, 100 expected of each; chi-squared with 23 degrees of freedom stays under 50 in 99.9% of cases.
    assert len(counts) == 24
    assert sum((count - 100) ** 2 for count in counts.values()) / 100 < 50


@pytest.mark.parametrize("case", PUBLISHED["blocks"])
def test_published_blocks(case: dict[str, list[str]]) -> None:
    a, b, c, d = words_of(case["counter"])
    left, right = words_of(case["key"])
    assert list(philox4x64((a, b, c, d), (left, right))) == words_of(case["block"])


@pytest.mark.parametrize("case", PUBLISHED["streams"], ids=lambda case: str(case["seed"]))
def test_published_streams_by_numpy_alone(case: dict[str, Any]) -> None:
    key = np.array(words_of(case["key"]), dtype=np.uint64)
    words: list[int] = np.random.Philox(key=key, counter=0).random_raw(64).tolist()
    assert words[: len(case["words"])] == words_of(case["words"])
    assert [(word >> 11) / 2**53 for word in words[:5]] == case["uniform"]
    assert np.array(words[:2], dtype="<u8").tobytes()[:13].hex() == case["bytes"]
    for draw in case["below"]:
        bound = int(draw["bound"])
        used = words[: draw["position"]]
        picks = [word % bound for word in used if word < WORDS // bound * bound]
        assert picks == [int(pick) for pick in draw["picks"]]


@pytest.mark.parametrize("case", PUBLISHED["streams"], ids=lambda case: str(case["seed"]))
def test_published_streams(case: dict[str, Any]) -> None:
    stream = Stream(case["seed"], case["name"])
    assert list(stream.key) == words_of(case["key"])
    order = list(range(case["shuffle"]["items"]))
    stream.shuffle(order)
    assert order == case["shuffle"]["order"]
    assert stream.position == case["shuffle"]["position"]


def test_published_file_is_what_its_tool_writes() -> None:
    assert load_tool().main(["--check"]) == 0


def test_the_tool_notices_a_changed_file(tmp_path: Path) -> None:
    tool, path = load_tool(), tmp_path / "random.json"
    assert tool.main(["--check", str(path)]) == 1
    assert tool.main([str(path)]) == 0
    assert tool.main(["--check", str(path)]) == 0
    path.write_text(path.read_text(encoding="utf-8").replace("4", "5", 1), encoding="utf-8")
    assert tool.main(["--check", str(path)]) == 1
