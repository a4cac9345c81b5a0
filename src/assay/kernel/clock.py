"""Time, passed in: nothing in Assay reads the wall clock except through a :class:`Clock`."""

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "utc_text"]


class Clock(Protocol):
    """Where a run gets its time from."""

    def now(self) -> str:
        """The current time as RFC 3339 text in UTC with milliseconds, e.g. ``2026-08-24T21:30:01.000Z``."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go backwards, for intervals and timeouts."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> str:
        """The machine's time as RFC 3339 text in UTC with milliseconds."""
        return utc_text(datetime.now(UTC))

    def monotonic(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()


def utc_text(moment: datetime) -> str:
    """RFC 3339 text in UTC with milliseconds (RFC 3339 section 5.6).

    Args:
        moment: An aware time; a naive one is a programming error and raises ``ValueError``.
    """
    if moment.tzinfo is None:
        msg = "a time without an offset cannot be recorded"
        raise ValueError(msg)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
