"""Scrapes every target once in a period, spread over it by the target's uid.

Rules judge windows, so each pod needs looks at regular times. The place of a pod in the period is a
hash of its uid: it stays the same when other pods come and go, as with Prometheus
(scrape/target.go, `offset`). Timers that start when a pod is found would put all pods of a rollout
in one moment, and to wait for a period after each scrape lets slow pods drift. A turn that is
missed is left out: made up for, all would come at once after a pause of the process.

Two looks at one pod never overlap: a turn that comes while the last scrape still runs is left out
too. What may run at once is shared fairly: a namespace with many slow pods waits for itself.
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
from reporter.metrics.looks.look import Failure, Scrape, Target, wants_token

_SPAN = 2.0**64


class Keyed(Protocol):
    @property
    def key(self) -> str:
        """Where in the period its turns are follows from this."""


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
    """The turns to come.

    They lie on a grid: the same place of each period for the same key. So the load is even
    whatever comes and goes, and turns that were missed are not made up for.
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
        """Yield the turns that have come, each at most once, and plan the next ones."""
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
        # Rounding may give a moment that is not later; nobody gets two turns at once.
        return due if due > now else due + self._period


def place(key: str) -> float:
    """Return a number from 0 to below 1, always the same for the same key, evenly spread."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / _SPAN


LATE_SECONDS: Final = 1.0
"""A turn that comes later than this is left out: after a pause of the process all would come at
once."""

_STEP_SECONDS: Final = 0.01
"""Turns that come closer together than this are taken at once."""

CLOSED_SECONDS: Final = 600.0
"""A picker whose page wants a token, or that hangs again and again, is asked this often.

Most want one by default, and a NetworkPolicy that keeps the reporter from pickers keeps it from
all.
"""

FOLLOW_SECONDS: Final = 1.0
"""Targets are looked for at most this often under churn."""

PATIENCE_SECONDS: Final = 1.0
"""After this a scrape gives its slot to another pod that waits for one."""

SUSPECT_SHARE: Final = 4
"""One part in this many of the slots is for pods that hang, or timed out the last time."""


class Observer(Protocol):
    def following(self, targets: int) -> None:
        """Note how many pods there are to scrape."""

    def scraped(self, scrape: Scrape) -> None: ...

    def skipped(self, cause: str) -> None:
        """Count a turn left out: `late`, `busy`, one that fell into a pause: `paused`, or one of a
        picker that is left alone for a while: `closed`.
        """


@dataclass(slots=True, eq=False)
class _Followed:
    """`closed_until` is when it is asked again, by the boot clock, where it is left alone."""

    target: Target
    suspect: bool = False
    closed_until: float = 0.0
    task: Task[None] | None = None

    @property
    def key(self) -> str:
        return self.target.uid


class Scraper:
    """Scrapes while `run` runs.

    A pod has one turn in each period and is never asked twice at once: if its last scrape is still
    under way, or waits for a slot, the turn is left out.

    Namespaces that wait share the slots fairly. A pod that hangs for a second loses its slot to a
    pod that waits, and is asked again, with all its time, in a few slots that are kept for such
    pods, until it answers. With 1,000 pods, 32 slots and 15 s, of which 50 hang for 5 s, these
    share 8 slots, a scrape of each about every 30 s; the other 950, of 50 ms, need 48 of the 360
    slot-seconds that 24 slots have in a period.
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
        """`scrape` ends within a limit of its own; where `find` gives None, the targets stay.

        What `tell` returns is waited for in the pod's slot. `concurrency` is at least 2. What one
        of the `pauses` of the process fell into says nothing of a pod.
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
        """Scrape; give up, and return False, once it takes long and somebody else waits."""
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
        told = self._tell(target, scrape)
        if told is not None:
            await told

    def _note_closed(self, followed: _Followed, scrape: Scrape, *, hangs: bool) -> None:
        """Leave a picker alone for a while whose page is not for us."""
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
    """As many slots as given; one that gets free goes to the namespace that holds the fewest.

    As long as nobody waits each namespace may hold all of them. Among those that hold equally many
    the one is next that has held slots for the shortest time: a page that is made to be slow takes
    a turn as a hundred others do. Time counts as in start-time fair queueing (Goyal, Vin and Cheng,
    1996): who comes later begins where the others are, neither behind nor ahead of them.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._used: dict[str, float] = {}
        self._now = 0.0
        """What those have used whose turn it is; less than that is not made up for."""

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
            # Namespaces stand in the order in which they began to wait, and `min` takes the first.
            name = min(self._waiting, key=lambda each: (self._held[each], self._begins(each)))
            granted = self._waiting[name][0]
            self._forget(name, granted)
            if not granted.done():
                self._grant(name)
                granted.set_result(None)
        if not self._waiting:
            self._settle()

    def _settle(self) -> None:
        kept = {
            name: used
            for name, used in self._used.items()
            if used > self._now or name in self._held
        }
        self._used = kept

    def _forget(self, namespace: str, granted: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(namespace, deque())
        if granted not in waiting:
            return
        waiting.remove(granted)
        del self._waiting[namespace]
        if waiting:
            self._waiting[namespace] = waiting  # behind those who wait already
