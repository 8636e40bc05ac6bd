"""The daemon checks itself: now and then a pass is made from nothing, and must say what the last one said.

A pass reuses nearly all of what the one before it answered, read and indexed. If that were wrong once,
a verdict would stay wrong for as long as the process lives, and nobody would notice. The check gets the
very inputs of a pass that has ended, so that a difference is never a matter of time. It runs in a thread
of its own when nothing waits for a pass; under churn it begins all the same once it is twice as late.
After a difference the next pass reuses nothing, which corrects the verdict.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterator
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
    def __call__(self, snapshot: Snapshot, before: Before, /) -> Pass: ...


@dataclass(frozen=True, slots=True)
class Passed:
    ask: Ask
    snapshot: Snapshot
    before: Before
    done: Pass


class SelfCheck:
    """Checks a pass every so many seconds, never with 0; the first one after as many."""

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
        distrusts, self._distrusts = self._distrusts, False
        return distrusts

    async def run(self) -> None:
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
                    told = found[:_TOLD]
                    self._log.error("self_check_differs", count=len(found), differences=told)
                    self._distrusts = True
                    self._changed()
            del passed
            self._due = self._seconds() + self._every
            self._running = False


def differences(passed: Passed) -> tuple[str, ...]:
    snapshot = passed.snapshot
    # The same objects without order and indexes, which the pass's thread has.
    tables = {resource: Table(table.objects) for resource, table in snapshot.tables.items()}
    again = passed.ask(replace(snapshot, tables=tables), from_nothing(passed.before))
    return tuple(_differences(passed.done, again))


def from_nothing(before: Before) -> Before:
    return replace(
        before,
        memory=replace(before.memory, standing={}, steps={}),
        answered=Answered(seen=before.answered.seen),
        records=NO_RECORDS,
    )


def _differences(done: Pass, again: Pass) -> Iterator[str]:
    before, after = _said(done), _said(again)
    for key in after | before:  # findings before writes
        if before.get(key) != after.get(key):
            yield " ".join(map(str, key))
    if done.report != again.report or done.mirrors != again.mirrors:
        yield "the report" if done.report != again.report else "the mirrors"


def _said(done: Pass) -> dict[tuple[Hashable, ...], object]:
    report = done.report
    return {
        **{(each.reason, str(each.subject), each.involved): each for each in report.findings},
        **{(each.reason, str(each.subject)): each for each in report.ready},
        **{("status", str(each.object)): each for each in report.derived},
        **{("write", each.purpose.name, each.name): each for each in done.plan.writes},
    }
