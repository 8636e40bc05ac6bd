"""When Python's collector walks all objects: while nothing moves.

Its third generation holds what has lived for a while. To look through it takes as long as there are
objects, and nothing else of the process runs meanwhile: no watch, no renewal of the Lease. A burst
makes the collector do just that, for it is many new objects that set it off: with a thousand models
that broke and recovered, such walks were the longest blocks of the loop.

There is hardly anything to find. What is decoded from the API and what a pass makes of it holds no
cycles, so that it goes with its last reference. Cycles come from requests, connections and exceptions,
and nearly all of them are so young that the first two generations find them.

So the third generation is never looked through by itself, and on purpose only after a pass that no
change asked for: then nobody waits. A cluster that never rests has its walk all the same, seldom.

To turn the collector off, as some do, would keep what requests leave. To freeze what every pass leaves
makes each walk short, but what is frozen as part of a cycle, such as a connection, is never freed.
"""

import gc
from collections.abc import Callable
from typing import Final

import structlog

from reporter.kube.clock import boot_seconds

EVERY_SECONDS: Final = 600.0
"""Between two walks where the cluster rests."""

LATEST_SECONDS: Final = 6 * 3600.0
"""Where it never rests."""

_NEVER: Final = 1_000_000
"""Collections of the second generation before one of the third."""


def spare_the_old() -> None:
    """Let the collector look only for what is young; `Garbage` sees to the rest."""
    youngest, young, _ = gc.get_threshold()
    gc.set_threshold(youngest, young, _NEVER)


class Garbage:
    """Walks all objects now and then.

    Args:
        seconds: the clock.

    """

    def __init__(self, seconds: Callable[[], float] = boot_seconds) -> None:
        self._seconds = seconds
        self._walked = seconds()
        self._log = structlog.get_logger("garbage")

    def walk(self, *, rests: bool) -> bool:
        """Walk if it is time, and tell whether it was.

        Args:
            rests: whether nothing has changed since the last pass.

        """
        began = self._seconds()
        if began - self._walked < (EVERY_SECONDS if rests else LATEST_SECONDS):
            return False
        found = gc.collect()
        self._walked = self._seconds()
        self._log.debug("garbage_collected", objects=found, seconds=self._walked - began)
        return True
