"""When a pass takes place: on change, when a grace ends, and at least once per resync.

A pass judges the whole cluster, since one cause explains faults of other objects. Its share of the
processor has to be limited:

- **Soon after a change.** A change sets `due`; changes of the next 50 ms join it, because a rollout
  touches several objects at once.
- **At the moment a grace ends.** Nothing changes then, so each pass says when the next one is due.
- **Once per resync**, whatever happens, to find what no pass has foreseen.

Under churn the watches and the Lease need the processor too. A fixed pause after each pass would
delay the second change after an hour of quiet as much as the thousandth of a rollout. So passes
spend an allowance that grows with time: a pass costs three times the processor time that it took,
at least 0.3 s. Quiet times save up at most three passes, or 5 s if that is more. So a few changes
in a row are handled at once, and in the long run passes take at most a third of the time.

A pass runs in a thread, on a frozen snapshot, so that the event loop keeps renewing the Lease. A
pass during which the process was paused is dropped: its decisions depend on old data.

Python's collector walks all objects while nothing else runs, and a burst of new objects triggers
it. There is hardly anything to find: decoded objects and the results of a pass have no cycles, and
those of requests and exceptions are young. So the third generation is collected only after a pass
that no change asked for, when nothing waits; in a cluster that never rests, it is collected rarely.
Freezing the objects of every pass would keep connections for ever.
"""

import asyncio
import gc
import math
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

import structlog

from reporter.daemon.one_pass import Before, Pass, RecentWrites, run_pass
from reporter.kube.clock import boot_seconds
from reporter.kube.lease import Elector
from reporter.kube.live import LiveCluster
from reporter.metrics.samples.window import PodSamples
from reporter.model.finding import EpisodeKey
from reporter.model.instant import Instant, parse_rfc3339
from reporter.probes.reuse import Answered
from reporter.resolution.grace import NOTHING, Handed, take_over
from reporter.resolution.records import NO_RECORDS
from reporter.settings import DaemonSettings
from reporter.sinks.own_metrics import SelfCheckResult
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

_LOGGED: Final = 5
"""Most differences that are named in the log; the others are only counted."""


Ask: TypeAlias = Callable[[Snapshot, Before], Pass]


@dataclass(frozen=True, slots=True)
class Passed:
    ask: Ask
    snapshot: Snapshot
    before: Before
    done: Pass


@dataclass(eq=False)
class SelfCheck:
    """Repeats a pass from scratch every `every` seconds (0: never) and compares the results.

    A pass reuses nearly everything that the one before it answered, read and indexed. If that were
    wrong once, a verdict would stay wrong as long as the process lives, unnoticed. The check gets
    the inputs of a pass that has ended, so that time alone makes no difference. It runs in a thread
    when no pass is due; under churn it runs anyway once it is `every` seconds late. After a
    difference the next pass reuses nothing, which corrects the verdict.
    """

    every: float = 600.0
    _: KW_ONLY
    tell: Callable[[SelfCheckResult], None]
    changed: Callable[[], None]
    seconds: Callable[[], float] = boot_seconds

    def __post_init__(self) -> None:
        self._due = self.seconds() + self.every
        self._asked: asyncio.Queue[Passed] = asyncio.Queue(maxsize=1)
        self._running = False
        self._distrusts = False
        self._log = structlog.get_logger("self_check")

    def passed(self, passed: Passed, *, busy: bool) -> None:
        """Check a pass if it is time; `busy` says that another pass is due already."""
        late = self.seconds() - self._due
        if not self.every or self._running or late < (self.every if busy else 0):
            return
        self._running = True
        self._asked.put_nowait(passed)

    def take_distrust(self) -> bool:
        distrusts, self._distrusts = self._distrusts, False
        return distrusts

    async def run(self) -> None:
        while True:
            passed = await self._asked.get()
            try:
                found = await asyncio.to_thread(differences, passed)
            except Exception:  # noqa: BLE001  # logged and counted; passes go on
                self._log.exception("self_check_failed")
                self.tell(SelfCheckResult.FAILED)
            else:
                self.tell(SelfCheckResult.DIFFERENT if found else SelfCheckResult.SAME)
                if found:
                    self._log.error(
                        "self_check_differs", count=len(found), differences=found[:_LOGGED]
                    )
                    self._distrusts = True
                    self.changed()
            del passed
            self._due = self.seconds() + self.every
            self._running = False


def differences(passed: Passed) -> tuple[str, ...]:
    snapshot = passed.snapshot
    # The same objects without the order and the indexes of the pass.
    tables = {resource: Table(table.objects) for resource, table in snapshot.tables.items()}
    again = passed.ask(replace(snapshot, tables=tables), from_nothing(passed.before))
    return tuple(_differences(passed.done, again))


def from_nothing(before: Before) -> Before:
    return replace(
        before,
        memory=replace(before.memory, cached_ready={}, steps={}),
        answered=Answered(seen=before.answered.seen),
        records=NO_RECORDS,
    )


def _differences(done: Pass, again: Pass) -> Iterator[str]:
    before, after = _results(done), _results(again)
    for key in after | before:  # findings before writes
        if before.get(key) != after.get(key):
            yield " ".join(map(str, key))
    if done.report != again.report or done.mirrors != again.mirrors:
        yield "the report" if done.report != again.report else "the mirrors"


def _results(done: Pass) -> dict[tuple[Hashable, ...], object]:
    report = done.report
    return {
        **{(each.reason, str(each.subject), each.involved): each for each in report.findings},
        **{(each.reason, str(each.subject)): each for each in report.ready},
        **{("status", str(each.object)): each for each in report.derived},
        **{("write", each.purpose.name, each.name): each for each in done.plan.writes},
    }


DEBOUNCE_SECONDS: Final = 0.05
"""Changes come in groups: a rollout touches a Deployment and its pods within milliseconds."""

SHORTEST_SECONDS: Final = 0.3
"""Least time between the starts of two passes under churn."""

SHARE: Final = 3
"""A pass takes at most one part in this many of the time."""

BURST: Final = 3
"""Passes that may follow each other without a pause after quiet, however long each takes."""

SAVED_SECONDS: Final = 5.0
"""Allowance that quiet can always save up: one second of processor time."""


class Allowance:
    """Time that passes may take: it grows with the clock, and is saved up to a limit.

    All of it is there at the start: the first pass is the longest, and a replica that begins to
    lead soon after it must report new faults at once.
    """

    def __init__(self) -> None:
        self._free_at = -math.inf

    def spend(self, now: float, seconds: float) -> float:
        """Pay for a pass that began at `now` and took `seconds`; return when the next may begin."""
        price = max(SHORTEST_SECONDS, seconds * SHARE)
        saved = max(price * (BURST - 1), SAVED_SECONDS)
        self._free_at = max(self._free_at, now - saved) + price
        return self._free_at


@dataclass(eq=False)
class Passes:
    """Runs passes one after another and publishes each result.

    Setting `due` asks for a pass: something has changed. `pauses` counts the pauses of the process;
    the result of a pass with a pause in it is dropped, as it depends on old data.
    """

    source: LiveCluster
    _: KW_ONLY
    settings: DaemonSettings
    instance: str
    now: Callable[[], Instant]
    due: asyncio.Event
    pauses: Callable[[], int]
    leading: Callable[[], bool]
    recent_writes: Callable[[], RecentWrites]
    samples: Callable[[Snapshot], PodSamples]
    publish: Callable[[Pass], Awaitable[None]]
    self_check: SelfCheck
    handed: Callable[[Instant], Handed] = lambda _now: NOTHING
    last_lines: Callable[[], Mapping[EpisodeKey, tuple[str, ...]]] = dict
    evidence: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot

    def __post_init__(self) -> None:
        self.to_hand_on: str | None = None
        """Text for the Lease, written by the elector; None before the first pass: keep the old."""
        self._led = False
        self._before = Before()
        self._thread = ThreadPoolExecutor(1, "passes")
        self._log = structlog.get_logger("passes")

    async def run(self) -> None:
        """Run passes for ever; a pass that fails is logged, and the next one is tried."""
        loop = asyncio.get_running_loop()
        allowance, garbage, settled = Allowance(), Garbage(), False
        while True:
            self.due.clear()
            began = loop.time()
            wait: timedelta | None = None
            try:
                done = await self._pass()
                if done is None:
                    continue
                wait = done.next_in
                cost = done.processor_seconds
                if not settled:
                    # Results of the first pass are kept: the collector need not walk them.
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
        pauses = self.pauses()
        before = self._before
        if self.self_check.take_distrust():
            # Stored, so that the mistake does not return if this pass is dropped or fails.
            self._before = before = from_nothing(before)
            self.source.index_again()
        snapshot = self.evidence(self.source.snapshot())
        now, leading = self.now(), self.leading()
        ask = partial(
            run_pass,
            recent_writes=self.recent_writes(),
            now=now,
            settings=self.settings,
            instance=self.instance,
            samples=self.samples(snapshot),
            leading=leading,
            # A replica that has led for a pass knows better. A new leader may have made its last
            # pass before the elector read it.
            handed=NOTHING if leading and self._led else self.handed(now),
            last_lines=self.last_lines(),
        )
        loop = asyncio.get_running_loop()
        # In its own thread, so that it does not queue behind what listeners render.
        done = await loop.run_in_executor(self._thread, ask, snapshot, before)
        if self.pauses() != pauses:
            return None
        self._before, self._led, self.to_hand_on = done.after, leading, done.to_hand_on
        await self.publish(done)
        self.self_check.passed(Passed(ask, snapshot, before, done), busy=self.due.is_set())
        return done

    async def _pause(self, began: float, wait: timedelta | None) -> bool:
        """Sleep until something changes (True), or until a grace ends or a resync has passed since
        `began` (False).
        """
        longest = float(self.settings.resync_seconds)
        if wait is not None:
            longest = min(longest, wait.total_seconds())
        try:
            async with asyncio.timeout_at(began + longest):
                await self.due.wait()
        except TimeoutError:
            return False
        return True


def handed_by(elector: Elector, now: Instant) -> Handed:
    left = elector.left_by_another
    if left is None:
        return NOTHING
    try:
        renewed = parse_rfc3339(left.renewed)
    except ValueError:
        return NOTHING
    return take_over(left.text, renewed, now.wall)


@dataclass(eq=False)
class WriteGate:
    """Open while this replica leads and the process has not paused since the newest plan was made.
    After a pause the cluster may have changed and another replica may lead, so an earlier plan must
    not be carried out.
    """

    leading: Callable[[], bool]
    pauses: Callable[[], int]

    def __post_init__(self) -> None:
        self._planned_after = self.pauses()

    @property
    def outdated(self) -> bool:
        return self.pauses() != self._planned_after

    def may_write(self) -> bool:
        return not self.outdated and self.leading()

    def planned(self) -> None:
        self._planned_after = self.pauses()


PAUSE_SECONDS: Final = 5.0
"""A process that was paused for longer than this trusts none of its data."""

_BEAT_SECONDS: Final = 1.0


@dataclass(eq=False)
class Heartbeat:
    """Counts the pauses of the process.

    Call `pauses` before using older data: after a pause the event loop wakes all tasks at once, in
    no useful order.
    """

    paused: Callable[[], None]
    seconds: Callable[[], float] = boot_seconds

    def __post_init__(self) -> None:
        self._last = self.seconds()
        self._pauses = 0
        self._log = structlog.get_logger("daemon")

    def pauses(self) -> int:
        """Return the number of pauses, including one that has just ended."""
        now = self.seconds()
        stood_still, self._last = now - self._last, now
        if stood_still > PAUSE_SECONDS:
            self._pauses += 1
            self._log.warning("process_paused", seconds=round(stood_still, 1))
            self.paused()
        return self._pauses

    async def run(self) -> None:
        while True:
            self.pauses()
            await asyncio.sleep(_BEAT_SECONDS)


CORRECTED_ABOVE_SECONDS: Final = 5.0
"""Timestamps of objects come from other clocks; a smaller difference does not matter."""


def server_now(now: Instant, offset_seconds: float) -> Instant:
    """Return the API server's time if ours is off by more than 5 s, or else ours."""
    if abs(offset_seconds) <= CORRECTED_ABOVE_SECONDS:
        return now
    return replace(now, wall=now.wall + timedelta(seconds=offset_seconds))


EVERY_SECONDS: Final = 600.0
"""Time between two full collections while the cluster rests."""

LATEST_SECONDS: Final = 6 * 3600.0
"""The same if it never rests."""

_NEVER: Final = 1_000_000
"""Collections of the second generation before one of the third."""


def spare_the_old() -> None:
    """Let the collector walk only young objects; `Garbage` collects the rest."""
    youngest, young, _ = gc.get_threshold()
    gc.set_threshold(youngest, young, _NEVER)


class Garbage:
    def __init__(self, seconds: Callable[[], float] = boot_seconds) -> None:
        self._seconds = seconds
        self._walked = seconds()
        self._log = structlog.get_logger("garbage")

    def walk(self, *, rests: bool) -> bool:
        """Collect all garbage if it is time; return whether it was."""
        began = self._seconds()
        if began - self._walked < (EVERY_SECONDS if rests else LATEST_SECONDS):
            return False
        found = gc.collect()
        self._walked = self._seconds()
        self._log.debug("garbage_collected", objects=found, seconds=self._walked - began)
        return True
