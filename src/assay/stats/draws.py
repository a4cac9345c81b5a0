"""The draws of :class:`assay.kernel.random.Stream` in bulk: arrays that are equal to it bit for bit.

Only numpy's raw Philox words are used, which a named generator keeps from version to version; none of its
distributions, which may change.
"""

import numpy as np
from numpy.typing import NDArray

from assay.kernel.errors import BadInput
from assay.kernel.random import WORDS, Key, require_bound

__all__ = ["Draws"]


class Draws:
    """A stream's words from *position* on; every call goes on where the last one stopped.

    So a long run of draws can be taken in pieces of any size, and two readers can start at two places.

    Args:
        key: The ``key`` of a :class:`~assay.kernel.random.Stream`.
        position: How many words of the stream to leave out.

    Raises:
        BadInput: *position* is negative.

    >>> from assay.kernel.random import Stream
    >>> stream = Stream(7, "bootstrap")
    >>> Draws(stream.key).below(6, 8).tolist() == [stream.below(6) for _ in range(8)]
    True
    """

    def __init__(self, key: Key, position: int = 0) -> None:
        if position < 0:
            msg = f"a position in a random stream is a whole number from 0, not {position}"
            raise BadInput(msg)
        self._key = np.array(key, dtype=np.uint64)
        self._position = position

    @property
    def position(self) -> int:
        """How many words of the stream lie behind, refused ones included."""
        return self._position

    def raw(self, count: int) -> NDArray[np.uint64]:
        """The next words.

        Returns:
            uint64 array (count,).

        Raises:
            BadInput: *count* is negative.
        """
        if count < 0:
            msg = f"a number of draws is a whole number from 0, not {count}"
            raise BadInput(msg)
        block, lane = divmod(self._position, 4)
        # numpy counts up before each block, so the generator set to `block` gives the block of counter block + 1.
        words = np.random.Philox(counter=block, key=self._key).random_raw(lane + count)[lane:]
        self._position += count
        return words

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """The next numbers from 0 to ``bound - 1``, all exactly equally likely, by the rejection rule of the stream.

        Returns:
            int64 array (count,).

        Raises:
            BadInput: *bound* is not a whole number from 1 to 2^63, or *count* is negative.
        """
        highest = np.uint64(WORDS - WORDS % require_bound(bound) - 1)
        kept = [self._accept(highest, count)]
        # Drawing exactly what is still missing means that no word past the last accepted one is ever consumed.
        while missing := count - sum(map(len, kept)):
            kept.append(self._accept(highest, missing))
        words = kept[0] if len(kept) == 1 else np.concatenate(kept)
        return (words % np.uint64(bound)).astype(np.int64)

    def _accept(self, highest: np.uint64, count: int) -> NDArray[np.uint64]:
        words = self.raw(count)
        accepted = words <= highest
        return words if accepted.all() else words[accepted]
