"""The real clock, and how far the API server's is ahead of it; everything else is given a `Now`."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from reporter.model.instant import Instant

Now: TypeAlias = Callable[[], Instant]

# Counts suspend and is never set; where the platform has none, monotonic time is the nearest.
_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    return time.clock_gettime(_BOOT)


def real_now() -> Instant:
    return Instant(datetime.now(UTC), timedelta(seconds=boot_seconds()))


_SAMPLES: Final = 9
_FARTHEST: Final = 2.0**37
"""Seconds since 1970 that no clock shows: graces are added to it, and the calendar ends."""


class ClockOffset:
    """The difference of two clocks, from the Date headers of the API server's answers."""

    def __init__(self) -> None:
        self._server_clock: deque[float] = deque(maxlen=_SAMPLES)

    def note(self, date: str) -> None:
        received = boot_seconds()
        try:
            sent = parsedate_to_datetime(date).timestamp()
        except (ValueError, OverflowError):
            return
        if not 0 <= sent < _FARTHEST:
            return
        # The header is cut to whole seconds, so the middle of that second is the best guess.
        self._server_clock.append(sent + 0.5 - received)

    def seconds(self) -> float:
        """Return how far the server's clock is ahead, 0 before the first answer.

        The median is right to about half a second. The server's clock is measured against one that
        is never set: when ours is, that is known at once.
        """
        if not self._server_clock:
            return 0.0
        return statistics.median(self._server_clock) + boot_seconds() - time.time()
