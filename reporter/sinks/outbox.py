"""One outbox for all that is written to the API server.

The problem. Events, their mirrors, statuses and role Events wait for an API server that is slow,
overloaded, starting, or refuses. Meanwhile the cluster changes, so what waits may no longer be
true, and another replica may take the lease, so it may no longer be written.

The choice. What waits is a plan, and a new plan replaces it: each pass derives what is still to be
written from what the watch brings. So nothing is lost, nothing outdated is repeated, the queue
cannot grow, and a restart needs no recovery. The lease is asked for before each request, not when
a write is queued. After a failure the whole outbox waits, longer each time and at least as long as
Retry-After says, as the fault is nearly always the server's and not the write's. Refusals are
remembered by the writer, which knows whether they hold for an object, its words or a namespace.

What does not work, or is not needed:

- A durable queue. It would repeat what was true before the restart, and the Events and statuses
  themselves say what was written. Only role Events are news that no later pass derives; they are
  added to those that wait, and counted when they are lost.
- To retry a write until it succeeds. The fault may be repaired meanwhile, and a conflict would
  only conflict again. What failed goes back into the plan that it came from, and is forgotten with
  that plan.
- A lock for each object. The key of an entry is enough: if several requests may be in flight
  (`concurrency`), those of one key still go one by one and in order.

What libraries do, and why it is not enough here:

- client-go's EventBroadcaster (tools/record/event.go) drops what exceeds 1,000 waiting Events. A
  write that gets no answer is tried 12 times, 10 s apart, and those behind it wait. An answer that
  refuses ends it, so a right that is granted later comes too late. Its spam filter
  (tools/record/events_cache.go) drops all but 25 Events for an object, and one in 5 min after that.
- kopf (_core/engines/posting.py, _cogs/clients/events.py) has an unbounded queue and sends one
  request at a time; one that fails is logged and forgotten.
- client-go's workqueue (util/workqueue) is a queue of keys, and no key is worked on twice at once;
  `Entry.key` follows it. But it backs off for each key (5 ms to 1,000 s), so a server that is down
  is asked for every waiting key. It knows nothing of Retry-After: rest/with_retry.go sleeps inside
  the request, where the lease may run out. Nor can a plan replace what waits.
- controller-runtime's priority queue (pkg/controller/priorityqueue) adds strict priorities: a low
  one waits for ever while higher ones come. Here the plan is in order of priority, and `_order` is
  the place for a rule that also counts how long a write has waited.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, TypeVar

import structlog

from reporter.kube.errors import KubeError
from reporter.sinks.setbacks import Backoff, loop_time, retry_after

_SHORTEST_SLEEP: Final = 0.001
"""Less is due now: a clock need not tell two moments apart that are so close."""

W = TypeVar("W")


class Retry(Enum):
    """Whether a write is tried again: not at all, at its place, or behind the others."""

    NO = auto()
    IN_PLACE = auto()
    LAST = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[W]):
    """A write that waits.

    Attributes:
        key: what is written to; its writes are made one by one, in order.
        write: what is written.
        spacing: seconds from one write that can wait to the next; 0 for one that cannot.

    """

    key: Hashable
    write: W
    spacing: float = 0.0


class Outbox(ABC, Generic[W]):
    """Makes the writes that wait: in order, and never without the lease."""

    def __init__(self, name: str, may_write: Callable[[], bool], *, concurrency: int = 1) -> None:
        """Make one.

        Args:
            name: of its log.
            may_write: asked before each write; what waits is dropped where it says no.
            concurrency: most requests in flight.
        """
        self._may_write = may_write
        self._concurrency = concurrency
        self._queue: list[Entry[W]] = []
        self._in_flight: list[Entry[W]] = []
        self._wakeup = asyncio.Event()
        self._backoff = Backoff()
        self._resume_at = 0.0
        self._spaced_at = 0.0
        self._log = structlog.get_logger(name)

    @abstractmethod
    async def _send(self, write: W) -> Retry:
        """Make a write, note what became of it, and say whether it is tried again."""

    def _is_made(self, _: W) -> bool:
        """Tell whether a write needs no request, as a plan older than our last answer asks for it."""
        return False

    def _due(self, _: W) -> float:
        """Return when a write may be made at the earliest, by the event loop's time."""
        return 0.0

    def _order(self) -> Iterable[Entry[W]]:
        """Return what waits; the first that is due is made first."""
        return self._queue

    @property
    def waiting(self) -> int:
        """How many writes are not made yet."""
        return len(self._queue) + len(self._in_flight)

    def drop(self) -> None:
        """Forget the writes that wait: what they rest on is not to be trusted any more."""
        self._queue = []

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._concurrency):
                workers.create_task(self._work())

    def _replace(self, entries: Iterable[Entry[W]]) -> None:
        self._queue = list(entries)
        self._wakeup.set()

    def _fail(self, event: str, error: KubeError) -> None:
        """Pause after a failure, and log it once."""
        wait = self._pause(error)
        if self._backoff.is_news(error):
            self._log.warning(event, wait_seconds=round(wait, 1), error=str(error))

    def _pause(self, error: KubeError) -> float:
        """Make no write for a while, longer after each failure; return how long, in seconds."""
        wait = max(self._backoff.next(), retry_after(error))
        self._resume_at = loop_time() + wait
        return wait

    async def _work(self) -> None:
        while True:
            self._wakeup.clear()
            entry, delay = self._next(loop_time())
            if entry is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._wakeup.wait()
            elif self._is_made(entry.write):
                self._queue.remove(entry)
            elif self._may_write():
                await self._make(entry)
            else:
                self.drop()

    def _next(self, now: float) -> tuple[Entry[W] | None, float | None]:
        """Return what to write now, else the seconds until something is due, None if nothing waits."""
        soon = now + _SHORTEST_SLEEP
        if self._queue and self._resume_at > soon:
            return None, self._resume_at - now
        taken = {entry.key for entry in self._in_flight}
        first = math.inf
        for entry in self._order():
            if entry.key in taken:
                continue
            due = self._spaced_at if entry.spacing else 0.0
            if due <= soon:
                due = max(due, self._due(entry.write))
            if due <= soon:
                return entry, 0.0
            taken.add(entry.key)
            first = min(first, due)
        return None, first - now if first < math.inf else None

    async def _make(self, entry: Entry[W]) -> None:
        queue, place = self._queue, self._queue.index(entry)
        del queue[place]
        self._in_flight.append(entry)
        if entry.spacing:
            self._spaced_at = loop_time() + entry.spacing
        try:
            retry = await self._send(entry.write)
        finally:
            self._in_flight.remove(entry)
            self._wakeup.set()
        # A plan that came meanwhile has replaced the queue, and what failed of the old one with it.
        if retry is Retry.IN_PLACE:
            queue.insert(place, entry)
        elif retry is Retry.LAST:
            queue.append(entry)
