"""Secret bytes that are no secret: keys that come out the same each time a test is run, and are worth nothing."""

from collections.abc import Callable

from assay.kernel.random import Stream

__all__ = ["drawn_entropy"]


def drawn_entropy(seed: int, name: str = "test-keys") -> Callable[[int], bytes]:
    """A source of key material for :class:`assay.kernel.run.Plan` and :class:`assay.kernel.keys.Signer`, in order.

    Args:
        seed: A whole number from 0 to 2^53 - 1.
        name: What the bytes are for; streams of different names differ.
    """
    return Stream(seed, name).draw_bytes
