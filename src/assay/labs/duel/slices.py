"""Which turns of the corpus a duel is played on: drawn by a beacon that nobody knew before and the challenger's key.

Every stratum is as likely as any other, so that a group's share of a slice is its share of the strata. The order of the
rows is part of the contract: the same rows in another order give another slice (facts 4).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from random import Random  # noqa: TID251 - the registered seed fixes this generator, and replay needs it bit for bit
from typing import Final

from assay.kernel.errors import BadInput

__all__ = ["draw", "slice_digest", "slice_seed", "stratum_of", "turn_id_of"]

_PHASE: Final = re.compile(r"func_basic|func_pm|lm_rewrite|lm_modify|combine_|pr_[0-9]+")


def slice_seed(beacon: str, hotkey: str, index: int = 0) -> int:
    """The seed of a slice, from 0 to 2^64 − 1.

    Args:
        beacon: A text that nobody could know before the models were fixed, such as a block hash with its ``0x``.
        hotkey: The challenger's key as text.
        index: 0 for the duel's own slice, above it for further ones.

    Raises:
        BadInput: A text holds a lone surrogate, or the index is negative.
    """
    if index < 0:
        msg = f"slices are counted from 0, got {index}"
        raise BadInput(msg)
    material = f"{beacon}{hotkey}|slice{index}" if index else f"{beacon}{hotkey}"
    return int.from_bytes(blake2b(_encode(material), digest_size=8).digest(), "little")


def stratum_of(row: Mapping[str, object]) -> str:
    """The stratum of an index row or a view record: its own, else that of its repository and phase.

    >>> stratum_of({"traj_id": "org__repo.1a2b3c4d.pr_12__abcd1234"})
    'org__repo|pr_12'
    """
    stratum = row.get("stratum")
    return str(stratum) if stratum else stratum_of_trajectory(str(row.get("traj_id") or ""))


def stratum_of_trajectory(trajectory: str) -> str:
    """The stratum of a trajectory that has none of its own."""
    if not trajectory:
        return "unknown|other"
    phase = _PHASE.search(trajectory)
    return f"{trajectory.partition('.')[0]}|{phase.group() if phase else 'other'}"


def turn_id_of(row: Mapping[str, object]) -> str:
    """The id of an index row: its own, else its trajectory's with the number of the turn."""
    own = row.get("turn_id")
    return str(own) if own else f"{row.get('traj_id')}:{row.get('turn_idx')}"


def draw(strata: Sequence[str], n: int, seed: int) -> list[int]:
    """The row numbers of a slice, in the order of play.

    Args:
        strata: The stratum of each row, in the order of the index.
        n: How many turns the slice has; no number above that of the rows gives more than all rows, none below 1 any.
        seed: As :func:`slice_seed` gives it.
    """
    generator = Random(seed)  # noqa: S311 - who may know the seed when is the beacon's affair
    if n >= len(strata):
        every = list(range(len(strata)))
        generator.shuffle(every)
        return every
    groups = _group(strata)
    for rows in groups.values():
        generator.shuffle(rows)
    names = sorted(groups)
    generator.shuffle(names)
    drawn = _deal([groups[name] for name in names], n)
    generator.shuffle(drawn)
    return drawn


def _group(strata: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for row, stratum in enumerate(strata):
        groups.setdefault(stratum, []).append(row)
    return groups


def _deal(groups: Sequence[list[int]], n: int) -> list[int]:
    """The first row of each group, then the second of each that has one, and so on until there are n."""
    drawn: list[int] = []
    turn = 0
    while len(drawn) < n:
        for rows in groups:
            if turn < len(rows):
                drawn.append(rows[turn])
                if len(drawn) == n:
                    break
        turn += 1
    return drawn


def slice_digest(turn_ids: Iterable[str]) -> str:
    """SHA-256 over the ids of a slice, each followed by a line feed, in hex.

    Raises:
        BadInput: An id holds a lone surrogate.
    """
    digest = sha256()
    for turn_id in turn_ids:
        digest.update(_encode(turn_id) + b"\n")
    return digest.hexdigest()


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        msg = f"expected a text that UTF-8 can hold, got a lone surrogate at {error.start} of {text!a:.80}"
        raise BadInput(msg) from error
