"""Integers of any size in int64 arrays, so that exact sums run at array speed."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["IntegerArray", "join_chunks", "join_limbs", "split_limbs"]

IntegerArray: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
"""int64 where every value is below 2^53 in size (and so is exactly a double), Python integers otherwise."""

_BITS: Final = 32
_CHUNK: Final = 2**16
_EXACT_DOUBLE: Final = 2**53


def split_limbs(values: Sequence[int], largest: int) -> NDArray[np.int64]:
    """*values* as rows of limbs, least significant first, to be added up limb by limb.

    Args:
        values: Integers of any size, shape (n,).
        largest: A bound on the size of any number that the caller will make of them. Below 2^53 one limb is enough;
            otherwise a limb has 32 bits, which leaves room for sums of up to 2^31 terms.

    Returns:
        int64 array (limbs, n). All limbs but the last are never negative.

    >>> split_limbs([2**40 + 5, -1], 2**60).tolist()
    [[5, 4294967295], [256, -1]]
    """
    if largest < _EXACT_DOUBLE:
        return np.array([values], dtype=np.int64)
    count = max((value.bit_length() for value in values), default=0) // _BITS + 1
    mask = (1 << _BITS) - 1
    rows = [[value >> _BITS * limb & mask for value in values] for limb in range(count - 1)]
    return np.array([*rows, [value >> _BITS * (count - 1) for value in values]], dtype=np.int64)


def join_limbs(limbs: NDArray[np.int64]) -> IntegerArray:
    """The integers that rows of limbs, or sums of them, stand for.

    Args:
        limbs: int64 array (limbs, n) made from :func:`split_limbs` by additions along its columns.

    Returns:
        Array (n,): int64 if there is one limb, else Python integers.

    >>> join_limbs(split_limbs([2**40 + 5, -1], 2**60)).tolist()
    [1099511627781, -1]
    """
    if len(limbs) == 1:
        return limbs[0]
    whole = limbs[-1].astype(object)
    for limb in limbs[-2::-1]:
        whole = whole * 2**_BITS + limb.astype(object)
    return whole


def join_chunks(limbs: NDArray[np.int64]) -> Iterator[tuple[slice, IntegerArray]]:
    """As :func:`join_limbs`, some columns at a time, because Python integers take much more memory than their limbs.

    Yields:
        Which columns they are, and their integers.

    >>> [(part.start, whole.tolist()) for part, whole in join_chunks(split_limbs([3, 4], 4))]
    [(0, [3, 4])]
    """
    columns = limbs.shape[1]
    step = columns if len(limbs) == 1 else _CHUNK
    for start in range(0, columns, max(step, 1)):
        part = slice(start, min(start + step, columns))
        yield part, join_limbs(limbs[:, part])
