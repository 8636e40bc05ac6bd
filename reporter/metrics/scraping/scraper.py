"""Scrapes every target once in a period, on a clock of its own."""

import asyncio
from asyncio import Task, TaskGroup
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from reporter.kube.clock import Now, real_now
from reporter.metrics.looks.scrape import Failure, Scrape, wants_token
from reporter.metrics.looks.target import Target
from reporter.metrics.scraping.schedule import Schedule, Turn
from reporter.metrics.scraping.slots import FairSlots

LATE_SECONDS: Final = 1.0
"""A turn that comes later than this is left out: after a pause of the process all would come at
once."""

_STEP_SECONDS: Final = 0.01
"""Turns that come closer together than this are taken at once."""

CLOSED_SECONDS: Final = 600.0
"""A picker whose page wants a token, or that hangs again and again, is asked this often.

Most want one by default, and a NetworkPolicy that keeps the reporter from pickers keeps it from all.
"""

FOLLOW_SECONDS: Final = 1.0
"""Targets are looked for at most this often under churn."""

PATIENCE_SECONDS: Final = 1.0
"""After this a scrape gives its slot to another pod that waits for one."""

SUSPECT_SHARE: Final = 4
"""One part in this many of the slots is for pods that hang, or timed out the last time."""


class Observer(Protocol):
    """Is told of everything, for metrics."""

    def following(self, targets: int) -> None:
        """Note how many pods there are to scrape."""

    def scraped(self, scrape: Scrape) -> None:
        """Note what came of a scrape."""

    def skipped(self, cause: str) -> None:
        """Count a turn left out: `late`, `busy`, one that fell into a pause: `paused`, or one of a
        picker that is left alone for a while: `closed`.
        """


@dataclass(slots=True, eq=False)
class _Followed:
    """A pod that is scraped; `target` is as fresh as the snapshot.

    `closed_until` is when it is asked again, by the boot clock, where it is left alone.
    """

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
    under way, or waits for a slot, the turn is left out. So a pod that refuses is asked as
    often as one that answers.

    Slots bound how many are scraped at once; namespaces that wait share them fairly. A pod that hangs would hold one for the whole timeout.
    So after a second it loses it to a pod that waits, and is asked again, with all its time, in a
    few slots that are kept for such pods; there it stays until it answers. With 1,000 pods, 32 slots and
    15 s, of which 50 hang for 5 s: they share 8 slots, a scrape of each about every 30 s, and the
    other 950, of 50 ms, need 48 of the 360 slot-seconds that 24 slots have in a period.
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
        """Make one.

        Args:
            scrape: scrapes one pod, and ends within a time limit of its own.
            find: finds the targets; None leaves them as they are.
            tell: is given each result, with the target as it was when the scrape began; what it returns
                is waited for in the pod's slot.
            period: seconds from one scrape of a pod to the next.
            concurrency: how many pods are scraped at once, at least 2.
            targets_due: set when the targets may have changed.
            observer: told of everything.
            pauses: how often the process has paused; what a pause fell into says nothing of a pod.
            now: the clock.

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
        """Scrape until cancelled; nothing is under way any more when this has ended."""
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
