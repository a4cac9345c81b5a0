"""Writes docs/spec/vectors/random.json, the known answers of Assay's random source.

python tools/make_random_vectors.py                   writes the file
python tools/make_random_vectors.py --check           exits 1 if the file is not what would be written
python tools/make_random_vectors.py --check FILE      the same for another file
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from assay.kernel.random import Block, Key, Stream, philox4x64

PATH: Final = Path(__file__).resolve().parent.parent / "docs" / "spec" / "vectors" / "random.json"

ONES: Final = 2**64 - 1
BLOCKS: Final[tuple[tuple[Block, Key], ...]] = (
    ((0, 0, 0, 0), (0, 0)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES)),
    # The digits of pi, as in Random123's own known answers.
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
    ),
)
STREAMS: Final = (
    (0, ""),
    (7, "bootstrap"),
    (20260810, "sign-flip"),
    (2**53 - 1, 'quotes " \\ / and \u0000\u0001\u001f\u007f'),
    (1, "caf\u00e9 \u4e2d\u6587 \U0001f600 \u2028"),
)
# The last two refuse a quarter and, the most there can be, a third of all words.
BOUNDS: Final = (1, 2, 6, 11, 1000, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 3 * 2**61, 2**64 // 3 + 1)

RULES: Final = {
    "key": "the first 16 bytes, as two little-endian 64-bit words, of SHA-256 over the UTF-8 text 'assay-random-v1', "
    "one zero byte, and the RFC 8785 text of [seed, name]; the seed is a whole number from 0 to 2^53 - 1",
    "words": "word p (from 0) is word p mod 4 of the Philox4x64-10 block of counter [p // 4 + 1, 0, 0, 0] under the "
    "key; counters, keys and blocks are listed least significant word first",
    "below": "draw a word; while it is at least 2^64 - (2^64 mod n) draw another; the result is the word mod n; "
    "1 <= n <= 2^63",
    "uniform": "(word >> 11) * 2^-53",
    "bytes": "words one after another, each little-endian, cut to the length; the rest of the last word is lost",
    "shuffle": "for i from n - 1 down to 1: j = below(i + 1), and items i and j change places",
    "text": "words are 16 hexadecimal digits, numbers drawn below a bound are decimal text; every list starts at the "
    "first word of its stream, and position counts the words used by then",
}


def main(arguments: Sequence[str]) -> int:
    """The exit status after writing or checking the file."""
    parser = argparse.ArgumentParser(description="Write the known answers of Assay's random source.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file differs")
    parser.add_argument("file", nargs="?", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    path: Path = options.file
    if options.check:
        return int(not path.exists() or path.read_text(encoding="utf-8") != render())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(), encoding="utf-8")
    return 0


def render() -> str:
    """The text of the file."""
    document = {
        "what": "known answers of assay.kernel.random: Philox4x64-10 keyed by a seed and a name",
        "rules": RULES,
        "blocks": [_describe_block(counter, key) for counter, key in BLOCKS],
        "streams": [_describe_stream(seed, name) for seed, name in STREAMS],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _describe_block(counter: Block, key: Key) -> dict[str, list[str]]:
    return {"counter": _hex(counter), "key": _hex(key), "block": _hex(philox4x64(counter, key))}


def _describe_stream(seed: int, name: str) -> dict[str, object]:
    words, uniform, shuffled = Stream(seed, name), Stream(seed, name), Stream(seed, name)
    items = list(range(20))
    shuffled.shuffle(items)
    return {
        "seed": seed,
        "name": name,
        "key": _hex(words.key),
        "words": _hex([words.next64() for _ in range(10)]),
        "below": [_describe_below(Stream(seed, name), bound) for bound in BOUNDS],
        "uniform": [uniform.uniform() for _ in range(5)],
        "bytes": Stream(seed, name).draw_bytes(13).hex(),
        "shuffle": {"items": len(items), "order": items, "position": shuffled.position},
    }


def _describe_below(stream: Stream, bound: int) -> dict[str, object]:
    picks = [str(stream.below(bound)) for _ in range(12)]
    return {"bound": str(bound), "picks": picks, "position": stream.position}


def _hex(words: Sequence[int]) -> list[str]:
    return [f"{word:016x}" for word in words]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
