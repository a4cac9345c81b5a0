"""Random bits that anyone can draw again: Philox4x64-10, keyed by a registered seed and a name.

A draw depends on nothing but the seed, the name and the position, so a stream is a pure function of its registration
and streams of different names never disturb one another. The whole contract, from key to shuffle, is published as
``docs/spec/vectors/random.json``.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), section 3.3. The order of
blocks (the first is the image of counter 1) is that of numpy's ``Philox`` bit generator.
"""

import hashlib
from typing import Final, TypeAlias, TypeVar

from assay.kernel import canonical
from assay.kernel.errors import BadInput, MalformedDocument

__all__ = ["MAX_BOUND", "MAX_SEED", "WORDS", "Block", "Key", "Stream", "derive_key", "philox4x64", "require_bound"]

Key: TypeAlias = tuple[int, int]
Block: TypeAlias = tuple[int, int, int, int]
Item = TypeVar("Item")

MAX_SEED: Final = 2**53 - 1
MAX_BOUND: Final = 2**63
WORDS: Final = 2**64

_DOMAIN: Final = b"assay-random-v1\x00"
_MASK: Final = WORDS - 1
_ROUNDS: Final = 10
# The multipliers and Weyl increments of Random123, the paper's own implementation.
_MULTIPLIERS: Final = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_INCREMENTS: Final = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def derive_key(seed: int, name: str) -> Key:
    """The Philox key of the stream *name* under *seed*: two 64-bit words.

    They are the first 16 bytes, as two little-endian integers, of SHA-256 over ``assay-random-v1``, a zero byte and
    the RFC 8785 text of ``[seed, name]``.

    Args:
        seed: A whole number from 0 to 2^53 - 1, so that it survives any JSON reader.
        name: What the draws are for; any text that RFC 8785 can carry.

    Raises:
        BadInput: The seed is not such a number, or the name is not text that JSON can carry.

    >>> [f"{word:016x}" for word in derive_key(7, "bootstrap")]
    ['c1d4a934ca72f6af', '4c69a1a14e620be0']
    """
    if type(seed) is not int or not 0 <= seed <= MAX_SEED:
        msg = f"a random seed is a whole number from 0 to 2^53 - 1, not {seed!r}; register one in that range"
        raise BadInput(msg)
    if type(name) is not str:
        msg = f"the name of a random stream is text, not {type(name).__name__}"
        raise BadInput(msg)
    try:
        text = canonical.dumps([seed, name])
    except MalformedDocument as error:
        msg = f"the name of a random stream is text that JSON can carry, which {name!r} is not: {error}"
        raise BadInput(msg) from error
    digest = hashlib.sha256(_DOMAIN + text).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def philox4x64(counter: Block, key: Key) -> Block:
    """The four 64-bit words that ten rounds of Philox4x64 make of one counter.

    Args:
        counter: Four 64-bit words, least significant first.
        key: Two 64-bit words.

    >>> [f"{word:016x}" for word in philox4x64((0, 0, 0, 0), (0, 0))]
    ['16554d9eca36314c', 'db20fe9d672d0fdc', 'd7e772cee186176b', '7e68b68aec7ba23b']
    """
    a, b, c, d = counter
    left, right = key
    for _ in range(_ROUNDS):
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (second >> 64) ^ b ^ left, second & _MASK, (first >> 64) ^ d ^ right, first & _MASK
        left, right = (left + _INCREMENTS[0]) & _MASK, (right + _INCREMENTS[1]) & _MASK
    return a, b, c, d


def require_bound(bound: int) -> int:
    """*bound* itself, if words below 2^64 can be reduced to it.

    Raises:
        BadInput: It is not a whole number from 1 to 2^63.

    >>> require_bound(6)
    6
    """
    if type(bound) is not int or not 1 <= bound <= MAX_BOUND:
        msg = f"a bound for random draws is a whole number from 1 to 2^63, not {bound!r}"
        raise BadInput(msg)
    return bound


class Stream:
    """The random words of one seed and one name, in order from the first.

    ``assay.stats.draws`` draws the same words and the same bounded numbers in bulk, equal bit for bit.

    >>> stream = Stream(7, "bootstrap")
    >>> [stream.below(6) for _ in range(8)], stream.position
    ([5, 0, 5, 2, 5, 2, 2, 5], 8)
    """

    def __init__(self, seed: int, name: str) -> None:
        self._key = derive_key(seed, name)
        self._position = 0
        self._block: Block = (0, 0, 0, 0)

    @property
    def key(self) -> Key:
        """The Philox key, see :func:`derive_key`."""
        return self._key

    @property
    def position(self) -> int:
        """How many 64-bit words have been drawn so far, refused ones included."""
        return self._position

    def next64(self) -> int:
        """The next word: a whole number below 2^64, all equally likely.

        Word *p* (from 0) is word ``p mod 4`` of the block whose counter is ``p // 4 + 1``.
        """
        block, lane = divmod(self._position, 4)
        if lane == 0:
            self._block = philox4x64((block + 1, 0, 0, 0), self._key)
        self._position += 1
        return self._block[lane]

    def below(self, bound: int) -> int:
        """A whole number from 0 to ``bound - 1``, all exactly equally likely.

        A word at or above the largest multiple of *bound* within 2^64 is thrown away and the next one is drawn; the
        result is the word modulo *bound*. A bound of 1 uses up a word too.

        Raises:
            BadInput: *bound* is not a whole number from 1 to 2^63.
        """
        limit = WORDS - WORDS % require_bound(bound)
        word = self.next64()
        while word >= limit:
            word = self.next64()
        return word % bound

    def uniform(self) -> float:
        """A multiple of 2^-53 in [0, 1), all equally likely: the top 53 bits of one word."""
        return (self.next64() >> 11) * 2.0**-53

    def draw_bytes(self, count: int) -> bytes:
        """*count* bytes of the next words, each word little-endian; what is left of the last word is thrown away.

        Raises:
            BadInput: *count* is negative or not a whole number.
        """
        if type(count) is not int or count < 0:
            msg = f"a number of random bytes is a whole number from 0, not {count!r}"
            raise BadInput(msg)
        words = (self.next64() for _ in range(-(-count // 8)))
        return b"".join(word.to_bytes(8, "little") for word in words)[:count]

    def shuffle(self, items: list[Item]) -> None:
        """Puts *items* in an order drawn from all orders, in place.

        Fisher and Yates from the end: for i from ``len(items) - 1`` down to 1, item i changes places with item
        ``below(i + 1)``.
        """
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
