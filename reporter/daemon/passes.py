"""When a pass takes place: on change, when a grace ends, and at least once per resync.

A pass judges the whole cluster, since one cause explains faults of other objects. A controller
reconciles object by object from a work queue that limits the rate per key (client-go,
util/workqueue); here there would be one key, and what has to be limited is the share of the
processor. Three times matter:

- **Soon after a change.** Somebody who repairs something waits for the answer. A change sets
  `due`; changes of the next 50 ms join it, because a rollout touches several objects at once.
- **At the moment a grace ends.** Nothing changes then, so each pass says when the next one is due
  without a change. With a fixed interval only, faults would be told late by up to that interval.
- **Once per resync**, whatever happens: what a pass did not foresee is found then.

Under churn, passes must not follow each other without a pause: the watches and the Lease need the
processor too. A fixed pause after each pass is not good enough: it delays the second change after
an hour of quiet as much as the thousandth of a rollout. So passes spend an allowance that the clock
earns. A pass costs five times the processor time that it took, at least 0.3 s, so that a fault among
many changes is told within half a second. Its wall time is
no measure: where others take the processor, a pass that waits for it would space the next ones out.
What quiet times save up is worth three passes, or 5 s where that is more. Hence a few changes in a
row are answered at once, and in the long run passes take a fifth of the time at most.

A pass runs in a thread, on a frozen snapshot, so that the event loop goes on renewing the Lease.
A pass during which the process stood still is dropped: what it decided rests on old data.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

import structlog

from reporter.daemon.garbage import Garbage
from reporter.daemon.one_pass import Before, Lately, Pass, run_pass
from reporter.daemon.self_check import Passed, SelfCheck, from_nothing
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import EpisodeKey
from reporter.model.instant import Instant
from reporter.resolution.handing_on import NOTHING, Handed
from reporter.settings import DaemonSettings
from reporter.snapshot.snapshot import Snapshot

DEBOUNCE_SECONDS: Final = 0.05
"""Changes come in groups: a rollout touches a Deployment and its pods within milliseconds."""

SHORTEST_SECONDS: Final = 0.3
"""Passes start at most this often under churn."""

SHARE: Final = 5
"""A pass takes at most one part in this many of the time."""

BURST: Final = 3
"""Passes that may follow each other freely after quiet, however long each takes."""

SAVED_SECONDS: Final = 5.0
"""Time for passes that quiet saves up at least: one second of a processor."""


class SnapshotSource(Protocol):
    """Where snapshots come from."""

    def snapshot(self) -> Snapshot:
        """Return the present state; cheap."""

    def index_again(self) -> None:
        """Let the next snapshot take over no order and no index of an earlier one."""


def nothing_scraped(_snapshot: Snapshot) -> Samples:
    """Return the samples of a daemon that scrapes nothing."""
    return NONE


def nothing_handed(_now: Instant) -> Handed:
    """Return what was handed on to a daemon without an election."""
    return NOTHING


def nothing_learned(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without what others said."""
    return snapshot


def nothing_read() -> Mapping[EpisodeKey, tuple[str, ...]]:
    """Return the last lines for a daemon that reads no logs."""
    return {}


class Allowance:
    """Time that passes may take: it is earned by the clock, and what is left is saved up to a limit."""

    def __init__(self, now: float) -> None:
        self._free_at = now

    def spend(self, now: float, seconds: float) -> float:
        """Pay for a pass that began at `now` and took `seconds`; return when the next may begin."""
        price = max(SHORTEST_SECONDS, seconds * SHARE)
        saved = max(price * (BURST - 1), SAVED_SECONDS)
        self._free_at = max(self._free_at, now - saved) + price
        return self._free_at


class Passes:
    """Runs passes one after another and publishes each result.

    Whoever sets `due` asks for a pass: something has changed. `pauses` counts the pauses of the
    process; a pass that one fell into is forgotten, for what it decided rests on old data.
    """

    def __init__(
        self,
        source: SnapshotSource,
        *,
        settings: DaemonSettings,
        instance: str,
        now: Callable[[], Instant],
        due: asyncio.Event,
        pauses: Callable[[], int],
        leading: Callable[[], bool],
        lately: Callable[[], Lately],
        samples: Callable[[Snapshot], Samples],
        publish: Callable[[Pass], Awaitable[None]],
        self_check: SelfCheck,
        handed: Callable[[Instant], Handed] = nothing_handed,
        last_lines: Callable[[], Mapping[EpisodeKey, tuple[str, ...]]] = nothing_read,
        evidence: Callable[[Snapshot], Snapshot] = nothing_learned,
    ) -> None:
        """Make them.

        Args:
            source: where snapshots come from.
            settings: of the daemon.
            instance: which replica this is.
            now: the API server's time.
            due: asks for a pass.
            pauses: how often the process has paused.
            leading: whether this replica writes.
            lately: what was written lately.
            samples: what was scraped.
            publish: is given each result.
            self_check: compares with a pass from nothing now and then.
            handed: what the process that led before handed on.
            last_lines: what was read of containers that crashed.
            evidence: joins what others said of what is at fault.
        """
        self._source = source
        self._settings = settings
        self._instance = instance
        self._now = now
        self._due = due
        self._pauses = pauses
        self._leading = leading
        self._lately = lately
        self._samples = samples
        self._publish = publish
        self._handed = handed
        self._last_lines = last_lines
        self._evidence = evidence
        self._led = False
        self._self_check = self_check
        self._before = Before()
        self._thread = ThreadPoolExecutor(1, "passes")
        self._log = structlog.get_logger("passes")

    async def run(self) -> None:
        """Run passes until cancelled. A pass that fails is logged and the next one tried."""
        loop = asyncio.get_running_loop()
        allowance, garbage, settled = Allowance(loop.time()), Garbage(), False
        while True:
            self._due.clear()
            began = loop.time()
            wait: timedelta | None = None
            try:
                done = await self._pass()
                if done is None:
                    continue
                wait = done.next_in
                cost = done.processor_seconds
                if not settled:
                    # What the first pass made is kept and reused: the collector need not walk it.
                    gc.freeze()
                    settled = True
            except Exception:  # noqa: BLE001  # logged; /healthz fails when no pass ends
                self._log.exception("pass_failed")
                cost = SHORTEST_SECONDS
            changed = await self._pause(began, wait)
            garbage.walk(rests=not changed)
            earliest = allowance.spend(began, cost)
            await asyncio.sleep(max(DEBOUNCE_SECONDS, earliest - loop.time()))

    async def _pass(self) -> Pass | None:
        pauses = self._pauses()
        before = self._before
        if self._self_check.take_distrust():
            # Kept, so that a pass that is dropped or fails does not bring the mistake back.
            self._before = before = from_nothing(before)
            self._source.index_again()
        snapshot = self._evidence(self._source.snapshot())
        now, leading = self._now(), self._leading()
        ask = partial(
            run_pass,
            lately=self._lately(),
            now=now,
            settings=self._settings,
            instance=self._instance,
            samples=self._samples(snapshot),
            leading=leading,
            # Who has led for a pass knows better. Who has not may have passed before the elector read it.
            handed=NOTHING if leading and self._led else self._handed(now),
            last_lines=self._last_lines(),
        )
        loop = asyncio.get_running_loop()
        # A thread of its own: what listeners render in others' must not be before it in a queue.
        done = await loop.run_in_executor(self._thread, ask, snapshot, before)
        if self._pauses() != pauses:
            return None
        self._before, self._led = done.after, leading
        await self._publish(done)
        self._self_check.passed(Passed(ask, snapshot, before, done), busy=self._due.is_set())
        return done

    async def _pause(self, began: float, wait: timedelta | None) -> bool:
        """Sleep until something changes, a grace ends, or a resync has passed since `began`.

        Returns:
            Whether something has changed.

        """
        longest = float(self._settings.resync_seconds)
        if wait is not None:
            longest = min(longest, wait.total_seconds())
        try:
            async with asyncio.timeout_at(began + longest):
                await self._due.wait()
        except TimeoutError:
            return False
        return True
