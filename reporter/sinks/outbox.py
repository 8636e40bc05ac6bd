"""One outbox for everything that is written to the API server.

Events, their mirrors and statuses must wait while the API server is slow, overloaded, starting, or
refuses writes. Meanwhile the cluster changes, so a queued write may no longer be true, and another
replica may take the lease, so it may no longer be allowed.

Therefore the queue is a plan, and a new plan replaces it: each pass derives the remaining writes
from what the watch delivers. Nothing is lost, nothing outdated is repeated, the queue cannot grow,
and a restart needs no recovery. The lease is checked before each request, not when a write is
queued. After a failure the whole outbox waits, longer each time and at least as long as Retry-After
says, because nearly always the server is at fault and not the write. The writer remembers refusals,
as it knows whether one applies to an object, its wording or a namespace.

A durable queue would repeat what was true before the restart. Retrying a write until it succeeds is
wrong too: the fault may be repaired meanwhile, and a conflict would only conflict again. A failed
write goes back into its plan, and is forgotten with it. If several requests may be in flight
(`concurrency`), those of one key still go one at a time and in order.

Other libraries: client-go's EventBroadcaster (tools/record/event.go) drops Events beyond 1,000 that
wait, holds up all behind one without an answer, and forgets refused ones, so that a permission
granted later comes too late. kopf (_core/engines/posting.py) logs and forgets failed ones.
client-go's workqueue never handles a key twice at once, like `Entry.key` here; but it backs off per
key, ignores Retry-After (rest/with_retry.go sleeps inside the request, where the lease may run
out), and no plan can replace its queue. In controller-runtime's priority queue a low priority waits
for ever while higher ones arrive; here every `_EACH`th write is the one that has waited longest,
once it has waited more than `PATIENCE_SECONDS`.

Times are those of the event loop.
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

from reporter.kube.errors import ApiStatusError, Backoff, Invalid, KubeError

_SHORTEST_SLEEP: Final = 0.001
"""A write due sooner is due now: a clock may not resolve so short a time."""

PATIENCE_SECONDS: Final = 30.0
"""How long a write waits behind more important ones before it gets a share of the requests."""

_EACH: Final = 8

W = TypeVar("W")


class Pace:
    def __init__(self, per_second: float) -> None:
        self._spacing = 1 / per_second
        self.due = 0.0

    def spend(self, now: float) -> None:
        self.due = now + self._spacing


class Retry(Enum):
    """Whether to retry a write: not at all, in its place, or behind the others."""

    NO = auto()
    IN_PLACE = auto()
    LAST = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[W]):
    """A queued write. Writes of one `key` go one at a time, in order. Without a `pace` a write is
    urgent and not throttled.
    """

    key: Hashable
    write: W
    pace: Pace | None = None
    not_before: float = 0.0

    @property
    def due(self) -> float:
        return max(self.not_before, self.pace.due if self.pace else 0.0)


class Outbox(ABC, Generic[W]):
    """Sends the queued writes in order, and never without the lease."""

    def __init__(self, name: str, may_write: Callable[[], bool], *, concurrency: int = 1) -> None:
        self._may_write = may_write
        self._concurrency = concurrency
        self._queue: list[Entry[W]] = []
        self._in_flight: list[Entry[W]] = []
        self._wakeup = asyncio.Event()
        self._backoff = retry_delay()
        self._resume_at = 0.0
        self._waits_since: dict[Hashable, float] = {}
        self._made = 0
        self._term = 0
        self._name = name
        self._log = structlog.get_logger(name)

    @abstractmethod
    async def _send(self, write: W) -> Retry: ...

    def _is_made(self, _: W) -> bool:
        """Tell whether a write needs no request: its plan may be older than our last answer."""
        return False

    def _due(self, _: W) -> float:
        return 0.0

    def _order(self) -> Iterable[Entry[W]]:
        return self._queue

    @property
    def waiting(self) -> int:
        """Number of unfinished writes, without those planned for later."""
        now = loop_time()
        return sum(entry.not_before <= now for entry in self._queue) + len(self._in_flight)

    def drop(self) -> None:
        self._queue = []

    def forget(self) -> None:
        """Forget queued and past writes: another replica may lead by now."""
        self.drop()
        self._term += 1

    async def run(self) -> None:
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._concurrency):
                workers.create_task(self._work(), name=f"{self._name} writer")

    def _replace(self, entries: Iterable[Entry[W]]) -> None:
        self._queue = list(entries)
        now, before = loop_time(), self._waits_since
        self._waits_since = {
            entry.key: max(before.get(entry.key, now), entry.not_before) for entry in self._queue
        }
        self._wakeup.set()

    def _fail(self, event: str, error: KubeError) -> None:
        """Pause all writes. Concurrent requests that fail together count as one failure."""
        now, wait = loop_time(), retry_after(error)
        if self._resume_at <= now:
            wait = max(wait, self._backoff.next())
        self._resume_at = max(self._resume_at, now + wait)
        if self._backoff.is_new(error):
            self._log.warning(event, wait_seconds=round(wait, 1), error=str(error))

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
                # A plan after a burst has a thousand of these; let other tasks run.
                await asyncio.sleep(0)
            elif self._may_write():
                await self._make(entry)
            else:
                self.drop()

    def _next(self, now: float) -> tuple[Entry[W] | None, float | None]:
        """Return an entry to write now, or else the seconds until one is due, or None."""
        soon = now + _SHORTEST_SLEEP
        if self._queue and self._resume_at > soon:
            return None, self._resume_at - now
        taken = {entry.key for entry in self._in_flight}
        earliest = math.inf
        for entry in self._order_now(now):
            if entry.key in taken:
                continue
            due = entry.due
            if due <= soon:
                due = max(due, self._due(entry.write))
            if due <= soon:
                return entry, 0.0
            taken.add(entry.key)
            earliest = min(earliest, due)
        return None, earliest - now if earliest < math.inf else None

    def _order_now(self, now: float) -> Iterable[Entry[W]]:
        """Return the queue in its order; every `_EACH`th time, with the longest-waiting first."""
        long_ago = now - PATIENCE_SECONDS
        is_turn = self._made % _EACH == _EACH - 1
        if not is_turn or min(self._waits_since.values(), default=now) >= long_ago:
            return self._order()

        def since(entry: Entry[W]) -> float:
            return min(self._waits_since.get(entry.key, now), long_ago)

        return sorted(self._order(), key=since)

    async def _make(self, entry: Entry[W]) -> None:
        queue, place = self._queue, self._queue.index(entry)
        del queue[place]
        self._in_flight.append(entry)
        self._made += 1
        self._waits_since.pop(entry.key, None)
        if entry.pace is not None:
            entry.pace.spend(loop_time())
        try:
            retry = await self._send(entry.write)
        finally:
            self._in_flight.remove(entry)
            self._wakeup.set()
        # If a new plan has replaced the queue meanwhile, the retry is dropped with the old one.
        if retry is Retry.IN_PLACE:
            queue.insert(place, entry)
        elif retry is Retry.LAST:
            queue.append(entry)


REFUSED_SECONDS: Final = 60.0
"""How long a write is not retried after the API server refused it."""

DOUBTED_SECONDS: Final = 5.0
"""The same after a first refusal that may be temporary: a starting API server answers 403 until it
has read its roles, and the watch delivers what a write conflicted with."""

BACKOFF_FIRST: Final = 0.5

ANYTHING: Final = object()
"""Matches any content of a write."""

K = TypeVar("K", bound=Hashable)


def loop_time() -> float:
    return asyncio.get_running_loop().time()


def retry_after(error: KubeError) -> float:
    return (error.retry_after or 0.0) if isinstance(error, ApiStatusError) else 0.0


def retry_delay(longest: float = 30.0) -> Backoff:
    """Return delays that grow until a write succeeds. They have no jitter: only the leader writes,
    so no other client retries in step with it.
    """
    return Backoff(loop_time, first=BACKOFF_FIRST, most=longest, jitter=0.0, quiet=math.inf)


class Refused(Generic[K]):
    """Writes that the API server would refuse again, each left alone for a while."""

    def __init__(self) -> None:
        self._left: dict[K, tuple[object, float]] = {}
        self._known: dict[K, float] = {}

    def tidy(self) -> None:
        now = loop_time()
        self._left = {key: each for key, each in self._left.items() if each[1] > now}
        self._known = {key: until for key, until in self._known.items() if until > now}

    def covers(self, key: K, says: object = ANYTHING) -> bool:
        left, until = self._left.get(key, (None, 0.0))
        return until > loop_time() and (left is ANYTHING or left == says)

    def leave(self, key: K, says: object = ANYTHING, seconds: float = REFUSED_SECONDS) -> None:
        """Leave a write alone while it says the same, or by default whatever it says."""
        self._left[key] = says, loop_time() + seconds

    def note(self, key: K, says: object, error: KubeError) -> bool:
        """Record a refusal; return whether it is the first in a while."""
        is_first = key not in self._known
        self._known[key] = loop_time() + 2 * REFUSED_SECONDS
        doubted = is_first and not isinstance(error, Invalid)
        self.leave(key, says, DOUBTED_SECONDS if doubted else REFUSED_SECONDS)
        return is_first
