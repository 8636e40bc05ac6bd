"""Scrapes every target once per period, at an offset derived from the target's uid.

Rules judge windows, so each pod must be scraped at regular times. A pod's offset is a hash of its
uid: it stays the same when other pods come and go, as in Prometheus (scrape/target.go, `offset`).
Timers that start when a pod is found would scrape all pods of a rollout at the same moment, and
waiting for a period after each scrape would let slow pods drift. A missed turn is skipped, not made
up for: otherwise all would come at once after a pause of the process.

Two scrapes of one pod never overlap: a turn is also skipped while the last scrape is running. The
slots are shared fairly: a namespace with many slow pods delays only itself.
"""

import asyncio
import hashlib
import heapq
import itertools
import math
from asyncio import Task, TaskGroup
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

import structlog

from reporter.kube.clock import Now, real_now
from reporter.metrics.samples.sample import Failure, Scrape, Target, wants_token

_SPAN = 2.0**64


class Keyed(Protocol):
    @property
    def key(self) -> str:
        """The key that determines the offset within the period."""


KeyedT = TypeVar("KeyedT", bound=Keyed)


@dataclass(order=True, slots=True)
class _Entry(Generic[KeyedT]):
    due: float
    order: int
    what: KeyedT = field(compare=False)


@dataclass(frozen=True, slots=True)
class Turn(Generic[KeyedT]):
    what: KeyedT
    late: float


class Schedule(Generic[KeyedT]):
    """The coming turns.

    A key has the same offset in every period. So the load is even whatever comes and goes, and
    missed turns are not made up for.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._heap: list[_Entry[KeyedT]] = []
        self._order = itertools.count()

    def add(self, what: KeyedT, now: float) -> None:
        heapq.heappush(self._heap, _Entry(self._next(what, now), next(self._order), what))

    def remove(self, gone: Iterable[KeyedT]) -> None:
        ids = {id(each) for each in gone}
        self._heap = [entry for entry in self._heap if id(entry.what) not in ids]
        heapq.heapify(self._heap)

    def due(self, now: float) -> Iterator[Turn[KeyedT]]:
        """Yield the due turns, at most one for each key, and schedule the next ones."""
        while self._heap and self._heap[0].due <= now:
            entry = self._heap[0]
            turn = Turn(entry.what, now - entry.due)
            next_due = self._next(entry.what, now)
            heapq.heapreplace(self._heap, _Entry(next_due, next(self._order), entry.what))
            yield turn

    def wait(self, now: float) -> float | None:
        return max(0.0, self._heap[0].due - now) if self._heap else None

    def _next(self, what: KeyedT, now: float) -> float:
        phase = place(what.key) * self._period
        number = math.floor((now - phase) / self._period) + 1
        due = phase + number * self._period
        # Rounding may give a time that is not later; a key must not get two turns at once.
        return due if due > now else due + self._period


def place(key: str) -> float:
    """Return a number in [0, 1), a stable and evenly spread hash of the key."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / _SPAN


LATE_SECONDS: Final = 1.0
"""Turns that are later than this are skipped: after a pause of the process all would come at
once."""

_STEP_SECONDS: Final = 0.01
"""Turns closer together than this are taken together."""

CLOSED_SECONDS: Final = 600.0
"""Interval for a picker whose page requires a token, or that timed out twice in a row.

Most pickers require a token by default, and a NetworkPolicy usually blocks the reporter from all of
them.
"""

FOLLOW_SECONDS: Final = 1.0
"""Shortest interval between two searches for targets."""

PATIENCE_SECONDS: Final = 1.0
"""After this time a scrape gives up its slot if another pod waits for one."""

SUSPECT_SHARE: Final = 4
"""One in this many slots is reserved for pods that hang, or that timed out the last time."""


class Observer(Protocol):
    def following(self, targets: int) -> None:
        """Note the number of pods to scrape."""

    def scraped(self, scrape: Scrape) -> None: ...

    def skipped(self, cause: str) -> None:
        """Count a skipped turn: `late`, `busy`, `paused` (the process paused during the scrape), or
        `closed` (a picker that is left alone for a while).
        """


@dataclass(slots=True, eq=False)
class _Followed:
    """`closed_until`: until then the pod is left alone, in seconds on the boot clock."""

    target: Target
    suspect: bool = False
    closed_until: float = 0.0
    task: Task[None] | None = None

    @property
    def key(self) -> str:
        return self.target.uid


class Scraper:
    """Scrapes while `run` runs.

    A pod has one turn in each period, which is skipped if its last scrape is still running or waits
    for a slot.

    Waiting namespaces share the slots fairly. A pod that hangs for a second loses its slot to a
    waiting pod, and is scraped again with the full timeout in a few slots that are reserved for
    such pods, until it answers. Example: 1,000 pods, 32 slots, a period of 15 s, and 50 pods that
    hang for 5 s. Those share 8 slots, with a scrape of each about every 30 s; the other 950, at 50
    ms each, need 48 of the 360 slot-seconds that 24 slots have in a period.
    """

    def __init__(
        self,
        scrape: Callable[[Target], Awaitable[Scrape]],
        find: Callable[[], Awaitable[Iterable[Target] | None]],
        tell: Callable[[Target, Scrape], Awaitable[None] | None],
        *,
        period: float,
        concurrency: int,
        targets_due: asyncio.Event,
        observer: Observer,
        pauses: Callable[[], int] = lambda: 0,
        now: Now = real_now,
    ) -> None:
        """`scrape` must have its own timeout; if `find` returns None, the targets stay.

        An awaitable from `tell` is awaited within the pod's slot. `concurrency` is at least 2.
        `pauses` counts pauses of the process; a scrape during which it changes is discarded.
        """
        self._scrape = scrape
        self._find = find
        self._tell = tell
        self._observer = observer
        self._pauses = pauses
        self._now = now
        suspects = max(1, concurrency // SUSPECT_SHARE)
        self._suspects = FairSlots(suspects)
        self._others = FairSlots(max(1, concurrency - suspects))
        self._followed: dict[tuple[str, str, str], _Followed] = {}
        self._schedule = Schedule[_Followed](period)
        self._targets_due = targets_due
        self._planned = asyncio.Event()
        self._log = structlog.get_logger("scraper")

    async def run(self) -> None:
        async with TaskGroup() as tasks:
            tasks.create_task(self._follow(), name="targets")
            await self._take_turns(tasks)

    async def _follow(self) -> None:
        while True:
            self._targets_due.clear()
            try:
                targets = await self._find()
            except Exception:  # noqa: BLE001  # logged; the targets stay as they were
                self._log.exception("targets_not_found")
                targets = None
            if targets is not None:
                self._set(targets)
            await asyncio.sleep(FOLLOW_SECONDS)
            await self._targets_due.wait()

    def _set(self, targets: Iterable[Target]) -> None:
        wanted = {(each.namespace, each.name, each.uid): each for each in targets}
        gone = [self._followed.pop(key) for key in self._followed.keys() - wanted.keys()]
        if gone:
            self._schedule.remove(gone)
        for followed in gone:
            if followed.task is not None:
                followed.task.cancel()
        now = self._seconds()
        for key, target in wanted.items():
            known = self._followed.get(key)
            if known is not None:
                known.target = target
            else:
                self._followed[key] = new = _Followed(target)
                self._schedule.add(new, now)
        self._observer.following(len(self._followed))
        self._planned.set()

    async def _take_turns(self, tasks: TaskGroup) -> None:
        while True:
            self._planned.clear()
            for turn in self._schedule.due(self._seconds()):
                self._take(turn, tasks)
            wait = self._schedule.wait(self._seconds())
            try:
                async with asyncio.timeout(wait if wait is None else max(wait, _STEP_SECONDS)):
                    await self._planned.wait()
            except TimeoutError:
                continue

    def _take(self, turn: Turn[_Followed], tasks: TaskGroup) -> None:
        followed = turn.what
        if turn.late > LATE_SECONDS:
            self._observer.skipped("late")
        elif followed.task is not None and not followed.task.done():
            self._observer.skipped("busy")
        elif self._seconds() < followed.closed_until:
            self._observer.skipped("closed")
        else:
            followed.task = tasks.create_task(self._attempt(followed))

    async def _attempt(self, followed: _Followed) -> None:
        try:
            if not followed.suspect and await self._scraped_soon(followed):
                return
            followed.suspect = True
            async with self._suspects.of(followed.target.namespace):
                await self._finish(followed, self._scrape(followed.target))
        except Exception:  # noqa: BLE001  # logged; costs the other pods nothing
            target = followed.target
            self._log.exception("scrape_broke", namespace=target.namespace, pod=target.name)

    async def _scraped_soon(self, followed: _Followed) -> bool:
        """Scrape; give up and return False if it takes long while another pod waits."""
        async with self._others.of(followed.target.namespace):
            scraping = asyncio.ensure_future(self._finish(followed, self._scrape(followed.target)))
            try:
                while not scraping.done():
                    await asyncio.wait([scraping], timeout=PATIENCE_SECONDS)
                    if self._others.locked():
                        break
                if scraping.done():
                    scraping.result()
                return scraping.done()
            finally:
                scraping.cancel()
                await asyncio.wait([scraping])

    async def _finish(self, followed: _Followed, scraping: Awaitable[Scrape]) -> None:
        target = followed.target
        pauses = self._pauses()
        scrape = await scraping
        if self._pauses() != pauses:
            self._observer.skipped("paused")
            return
        hung, followed.suspect = followed.suspect, scrape.failure is Failure.TIMEOUT
        self._note_closed(followed, scrape, hangs=hung and followed.suspect)
        self._observer.scraped(scrape)
        judged = self._tell(target, scrape)
        if judged is not None:
            await judged

    def _note_closed(self, followed: _Followed, scrape: Scrape, *, hangs: bool) -> None:
        """Leave a picker alone for a while if its page hangs or requires a token."""
        target = followed.target
        closed = hangs or wants_token(scrape.failure, scrape.detail)
        if target.picked is None or not closed:
            followed.closed_until = 0.0
            return
        if not followed.closed_until:
            why = "does not answer" if hangs else "wants a token"
            self._log.info(
                "picker_page_closed", namespace=target.namespace, pod=target.name, why=why
            )
        followed.closed_until = self._seconds() + CLOSED_SECONDS

    def _seconds(self) -> float:
        return self._now().boot.total_seconds()


class FairSlots:
    """A fixed number of slots; a free slot goes to the waiting namespace that holds the fewest.

    While no other namespace waits, one may hold all slots. Of namespaces that hold equally many,
    the one that has used slots for the shortest time is next, so a page crafted to be slow costs
    its namespace as much as a hundred others. Time is counted as in start-time fair queueing
    (Goyal, Vin and Cheng, 1996): a newcomer starts level with the others, neither behind nor ahead.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._used: dict[str, float] = {}
        self._now = 0.0
        """The virtual time: used seconds of the namespace that was last granted a slot. A namespace
        that has used less counts from here."""

    def locked(self) -> bool:
        return self._free <= 0

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        await self._acquire(namespace)
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._used[namespace] += asyncio.get_running_loop().time() - began
            self._release(namespace)

    async def _acquire(self, namespace: str) -> None:
        if self._free > 0:
            self._grant(namespace)
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release(namespace)
            else:
                self._forget(namespace, granted)
            raise

    def _grant(self, namespace: str) -> None:
        self._free -= 1
        self._held[namespace] += 1
        self._now = self._used[namespace] = self._begins(namespace)

    def _begins(self, namespace: str) -> float:
        return max(self._now, self._used.get(namespace, 0.0))

    def _release(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        self._free += 1
        while self._free > 0 and self._waiting:
            # Namespaces are in the order in which they started to wait; `min` takes the first.
            name = min(self._waiting, key=lambda each: (self._held[each], self._begins(each)))
            granted = self._waiting[name][0]
            self._forget(name, granted)
            if not granted.done():
                self._grant(name)
                granted.set_result(None)
        if not self._waiting:
            self._settle()

    def _settle(self) -> None:
        used = self._used.items()
        self._used = {name: at for name, at in used if at > self._now or name in self._held}

    def _forget(self, namespace: str, granted: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(namespace, deque())
        if granted not in waiting:
            return
        waiting.remove(granted)
        del self._waiting[namespace]
        if waiting:
            self._waiting[namespace] = waiting  # move it to the end of the queue
