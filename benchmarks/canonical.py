"""Canonical bytes: the rate against the PyPI package rfc8785, and byte identity with it.

Usage: python benchmarks/canonical.py

Exit 0 if every limit is kept, 1 if one is missed. The limit on the rate is a ratio of two medians of one run, so that a
slow or busy machine does not decide; blocks of both are interleaved for the same reason.
"""

import hashlib
import math
import statistics
import struct
import sys
import time
from collections.abc import Callable
from typing import Final

import rfc8785
from figures import report

from assay.kernel.canonical import MAX_SAFE_INTEGER, Json, dumps, loads_canonical

LEAST_RATIO: Final = 5.0
ROUNDS: Final = 41
CALLS: Final = 200
DOCUMENTS: Final = 100_000
SEED: Final = "canonical-1"

EVENT: Final[dict[str, Json]] = {
    "version": 1,
    "runId": "run-bench-0001",
    "sequence": 1234,
    "eventType": "message.accepted",
    "subjectId": "message:1234",
    "content": {
        "text": "twelve words of one turn, \u00e9 and a line feed\nas they come",
        "symbols": ["S13", "S04", "S07"],
        "turn": 17,
        "accepted": True,
        "parent": None,
    },
    "recordedAt": "2026-01-01T00:00:00.000Z",
    "writerKeyId": "ed25519:bench-writer",
    "previousEntryHash": "sha256:" + "0123456789abcdef" * 4,
    "entryHash": "sha256:" + "fedcba9876543210" * 4,
    "writerSignature": "ed25519:" + "A" * 86 + "==",
}

NAMES: Final = (
    "a",
    "b",
    "aa",
    "",
    "10",
    "9",
    "\u00e9",
    "z\n",
    '"',
    "\ufb33",
    "\U0001f600",
    "x\U0001f600",
    "evidenceRefs",
)
TEXTS: Final = ("", "plain", "\x00\x1f\x7f\\", "\u20ac\u2028", "\U0001f600", ':1.0,[2e5]"', "x" * 40)


class Draw:
    """A document drawn from the bytes of a hash: the same number, the same document."""

    def __init__(self, number: int) -> None:
        self._bytes = hashlib.shake_128(f"{SEED}:{number}".encode()).digest(1024)
        self._at = 0

    def document(self) -> Json:
        """An object or an array of values, at most four levels deep."""
        return self._container(3)

    def _take(self, count: int) -> int:
        self._at += count
        return int.from_bytes(self._bytes[self._at - count : self._at], "little")

    def _container(self, room: int) -> Json:
        kind, size = divmod(self._take(1), 5)
        if kind % 3:
            return {NAMES[self._take(1) % len(NAMES)]: self._value(room) for _ in range(size + room)}
        return [self._value(room) for _ in range(size + room)]

    def _value(self, room: int) -> Json:
        kind = self._take(1) % 8
        if kind < 2 and room:
            return self._container(room - 1)
        if kind < 4:
            return TEXTS[self._take(1) % len(TEXTS)]
        if kind == 4:
            return (None, True, False)[self._take(1) % 3]
        return self._float() if kind == 5 else self._integer()

    def _integer(self) -> int:
        bits = self._take(1) % 54
        return min(self._take(7) >> (56 - bits), MAX_SAFE_INTEGER) * (-1 if bits % 2 else 1)

    def _float(self) -> float:
        """Any finite double, or one that people write."""
        if self._take(1) % 2:
            return self._take(3) / 1000
        value: float = struct.unpack("<d", self._take(8).to_bytes(8, "little"))[0]
        return value if math.isfinite(value) else 0.5


def time_calls(act: Callable[[], object]) -> float:
    """Seconds a call, over one block of calls."""
    start = time.perf_counter()
    for _ in range(CALLS):
        act()
    return (time.perf_counter() - start) / CALLS


def measure_rate() -> bool:
    """Whether ours is fast enough; prints the rates and their ratio."""
    data = dumps(EVENT)
    acts = (lambda: dumps(EVENT), lambda: rfc8785.dumps(EVENT), lambda: loads_canonical(data))
    rounds = [[time_calls(act) for act in acts] for _ in range(ROUNDS)]
    ours, theirs, reading = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"event of {len(data)} bytes: dumps {1 / ours:,.0f}/s, rfc8785 {1 / theirs:,.0f}/s, ", end="")
    print(f"loads_canonical {reading * 1e6:.1f} microseconds")
    return report("canonical", theirs / ours, LEAST_RATIO, "x of rfc8785")


def measure_identity() -> bool:
    """Whether every drawn document has the same bytes in both; prints how many have."""
    same = 0
    for number in range(DOCUMENTS):
        document = Draw(number).document()
        data = dumps(document)
        same += data == rfc8785.dumps(document)
    return report("canonical identity", same, DOCUMENTS, " documents equal to rfc8785")


if __name__ == "__main__":
    kept = [measure_rate(), measure_identity()]
    sys.exit(0 if all(kept) else 1)
