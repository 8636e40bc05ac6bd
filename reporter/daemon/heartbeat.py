"""Notices that the process was stopped, suspended or starved, before anything else acts on it."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from reporter.kube.clock import boot_seconds

PAUSE_SECONDS: Final = 5.0
"""A process that did not run for longer than this trusts nothing it knows."""

_BEAT_SECONDS: Final = 1.0


class Heartbeat:
    """Tells how often the process has paused.

    Before old knowledge is used, `pauses` must be asked: after a pause the event loop wakes all
    tasks at once, in no useful order.
    """

    def __init__(
        self, paused: Callable[[], None], seconds: Callable[[], float] = boot_seconds
    ) -> None:
        """Make one that calls `paused` once after each pause, told by a clock in `seconds`."""
        self._paused = paused
        self._seconds = seconds
        self._last = seconds()
        self._pauses = 0
        self._log = structlog.get_logger("daemon")

    def pauses(self) -> int:
        """Return how many pauses there were, one that has ended just now included."""
        now = self._seconds()
        stood_still, self._last = now - self._last, now
        if stood_still > PAUSE_SECONDS:
            self._pauses += 1
            self._log.warning("process_paused", seconds=round(stood_still, 1))
            self._paused()
        return self._pauses

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self.pauses()
            await asyncio.sleep(_BEAT_SECONDS)
