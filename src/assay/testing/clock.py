"""A clock for tests: its time is what it was set to and the steps since, never the machine's."""

from datetime import UTC, datetime, timedelta

from assay.kernel.clock import utc_text

__all__ = ["SteppingClock"]

_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class SteppingClock:
    """A :class:`assay.kernel.clock.Clock` that moves on by one step each time it is read as a date.

    Args:
        start: The first time it tells.
        step_s: Seconds from one reading to the next.
    """

    def __init__(self, start: datetime = _START, step_s: float = 0.001) -> None:
        """Starts at ``start``."""
        self._moment = start
        self._step = timedelta(seconds=step_s)
        self._since_start = 0.0

    def now(self) -> str:
        """The time as RFC 3339 text; the next reading is a step later."""
        text = utc_text(self._moment)
        self._moment += self._step
        return text

    def monotonic(self) -> float:
        """Seconds that were waited with :meth:`advance`; reading a date moves none of them."""
        return self._since_start

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._since_start += seconds
        self._moment += timedelta(seconds=seconds)
