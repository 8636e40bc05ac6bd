"""The real clock, and its offset from the API server's; all other code is passed a `Now`."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from reporter.model.instant import Instant

Now: TypeAlias = Callable[[], Instant]

# Counts suspend and is never set. Platforms without it get monotonic time, the closest substitute.
_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    return time.clock_gettime(_BOOT)


def real_now() -> Instant:
    return Instant(datetime.now(UTC), timedelta(seconds=boot_seconds()))


_SAMPLES: Final = 9
_FARTHEST: Final = 2.0**37
"""Seconds since 1970. Later dates are ignored: adding a grace to them could overflow datetime."""


class ClockOffset:
    """The offset between two clocks, measured from the Date headers of the API server's answers."""

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
        # The header is truncated to seconds, so the middle of that second is the best guess.
        self._server_clock.append(sent + 0.5 - received)

    def seconds(self) -> float:
        """Return by how many seconds the server's clock is ahead; 0 before the first answer.

        The median is accurate to about half a second. Samples are taken against boot time, which
        nobody can set, so the offset is right at once when our wall clock is set.
        """
        if not self._server_clock:
            return 0.0
        return statistics.median(self._server_clock) + boot_seconds() - time.time()
