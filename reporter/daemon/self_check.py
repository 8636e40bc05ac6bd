"""The daemon checks itself: now and then a pass is made from nothing, and must say what the last one said.

A pass reuses nearly all of what the one before it answered, read and indexed. That is a matter of
speed only; but if it were wrong once, a verdict would stay wrong for as long as the process lives, and
nobody would notice. Tests compare both ways on random changes; this compares them on the cluster
that there is. It gets the very inputs of a pass that has ended, so that a difference is never a matter of
time. It runs in a thread of its own, so no pass waits for it, and begins when nothing waits for a pass;
under churn it begins all the same once it is twice as late.

After a difference nothing is reused: the next pass asks everything again, which corrects the verdict.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog

from reporter.daemon.one_pass import Before, Pass
from reporter.kube.clock import boot_seconds
from reporter.probes.reuse import Answered
from reporter.resolution.records import NO_RECORDS
from reporter.sinks.own_metrics import SelfCheckResult
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

_TOLD: Final = 5
"""Differences that are named in the log; the others are counted."""


class Ask(Protocol):
    """Runs a pass with everything given but what it may reuse."""

    def __call__(self, snapshot: Snapshot, before: Before, /) -> Pass:
        """Return its result."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A pass that has ended.

    Attributes:
        before: what it was given of the pass before it.

    """

    ask: Ask
    snapshot: Snapshot
    before: Before
    done: Pass


class SelfCheck:
    """Checks a pass every so many seconds; the first one after as many.

    Args:
        every: seconds between two checks; 0 is never.
        tell: is given each result.
        changed: asks for a pass, as the last one was wrong.
        seconds: the clock.

    """

    def __init__(
        self,
        every: float,
        *,
        tell: Callable[[SelfCheckResult], None],
        changed: Callable[[], None],
        seconds: Callable[[], float] = boot_seconds,
    ) -> None:
        self._every = every
        self._tell = tell
        self._changed = changed
        self._seconds = seconds
        self._due = seconds() + every
        self._asked: asyncio.Queue[Passed] = asyncio.Queue(maxsize=1)
        self._running = False
        self._distrusts = False
        self._log = structlog.get_logger("self_check")

    def passed(self, passed: Passed, *, busy: bool) -> None:
        """Check a pass if it is time; `busy` says that another pass is due already."""
        late = self._seconds() - self._due
        if not self._every or self._running or late < (self._every if busy else 0):
            return
        self._running = True
        self._asked.put_nowait(passed)

    def take_distrust(self) -> bool:
        """Tell, once, that nothing may be reused, as a difference was found."""
        distrusts, self._distrusts = self._distrusts, False
        return distrusts

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            passed = await self._asked.get()
            try:
                found = await asyncio.to_thread(differences, passed)
            except Exception:  # noqa: BLE001  # logged and counted; passes go on
                self._log.exception("self_check_failed")
                self._tell(SelfCheckResult.FAILED)
            else:
                self._tell(SelfCheckResult.DIFFERENT if found else SelfCheckResult.SAME)
                if found:
                    self._distrust(found)
            del passed
            self._due = self._seconds() + self._every
            self._running = False

    def _distrust(self, found: tuple[str, ...]) -> None:
        self._log.error("self_check_differs", count=len(found), differences=found[:_TOLD])
        self._distrusts = True
        self._changed()


def differences(passed: Passed) -> tuple[str, ...]:
    """Return in what a pass differs from the same pass made from nothing, in words."""
    again = passed.ask(_indexed_again(passed.snapshot), from_nothing(passed.before))
    return tuple(_differences(passed.done, again))


def from_nothing(before: Before) -> Before:
    """Return what a pass is given without what is kept for speed alone."""
    return replace(
        before,
        memory=replace(before.memory, standing={}, steps={}),
        answered=Answered(seen=before.answered.seen),
        records=NO_RECORDS,
    )


def _indexed_again(snapshot: Snapshot) -> Snapshot:
    """Return the same objects in tables without order and indexes, which the pass's thread has."""
    tables = {resource: Table(table.objects) for resource, table in snapshot.tables.items()}
    return replace(snapshot, tables=tables)


def _differences(done: Pass, again: Pass) -> Iterator[str]:
    before, after = done.report, again.report
    yield from _between(
        {(each.reason, str(each.subject), each.involved): each for each in before.findings},
        {(each.reason, str(each.subject), each.involved): each for each in after.findings},
    )
    yield from _between(
        {(each.reason, str(each.subject)): each for each in before.ready},
        {(each.reason, str(each.subject)): each for each in after.ready},
    )
    yield from _between(
        {("status", str(each.object)): each for each in before.derived},
        {("status", str(each.object)): each for each in after.derived},
    )
    yield from _between(_writes(done), _writes(again))
    if before != after or done.mirrors != again.mirrors:
        yield "the report" if before != after else "the mirrors"


def _writes(done: Pass) -> Mapping[tuple[Hashable, ...], object]:
    return {("write", each.purpose.name, each.name): each for each in done.plan.writes}


def _between(
    before: Mapping[tuple[Hashable, ...], object], after: Mapping[tuple[Hashable, ...], object]
) -> Iterable[str]:
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            yield " ".join(map(str, key))
