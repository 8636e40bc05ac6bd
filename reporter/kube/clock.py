"""The real clock; everything else is given a `Now`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from reporter.model.instant import Instant

Now: TypeAlias = Callable[[], Instant]
"""Tells the present moment on both clocks."""

# Counts suspend and is never set; where the platform has none, monotonic time is the nearest.
_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Seconds on a clock that counts suspend and is never set."""
    return time.clock_gettime(_BOOT)


def real_now() -> Instant:
    """Return the present moment."""
    return Instant(datetime.now(UTC), timedelta(seconds=boot_seconds()))
