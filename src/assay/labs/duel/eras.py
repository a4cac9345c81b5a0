"""Which reading of the original rules applies to a contract.

Contract versions up to 14 ran on the public network; what they did, holes included, is kept to the bit so that their
verdicts replay. Later versions are ours and read every hole the way that is safe for whoever relies on the verdict.
"""

from enum import Enum

__all__ = ["FIRST_SAFE_VERSION", "NEWEST_VERSION", "Era", "era_of"]

FIRST_SAFE_VERSION = 15
"""The first contract version with the safe reading; version 14 is the last that the facts describe."""


NEWEST_VERSION = 15
"""The newest contract version whose rules this release knows."""


class Era(Enum):
    """Whose reading of the rules applies."""

    NETWORK = "network"
    SAFE = "safe"


def era_of(version: int) -> Era:
    """The era of a contract version."""
    return Era.SAFE if version >= FIRST_SAFE_VERSION else Era.NETWORK
