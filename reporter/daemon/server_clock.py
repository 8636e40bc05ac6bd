"""The moment of a pass, corrected by the API server's clock."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from reporter.model.instant import Instant

CORRECTED_ABOVE_SECONDS: Final = 5.0
"""Timestamps of objects come from other clocks; below this the difference does not matter."""


class ServerClock:
    """Tells the time as the API server does, where ours is off by more than 5 s."""

    def __init__(self, now: Callable[[], Instant], offset_seconds: Callable[[], float]) -> None:
        self._now = now
        self._offset_seconds = offset_seconds

    def now(self) -> Instant:
        """Return the present moment."""
        instant = self._now()
        offset = self._offset_seconds()
        if abs(offset) <= CORRECTED_ABOVE_SECONDS:
            return instant
        return replace(instant, wall=instant.wall + timedelta(seconds=offset))
