"""One fault in a cluster, its outcome, and the outcomes as a table."""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

from e2e.chaos.bounds import Form
from e2e.chaos.cluster import Cluster, Foundation, cluster
from e2e.chaos.faults import Fault
from e2e.chaos.judges import doubled, late_writes, lost, told_at, untrue, writers
from e2e.envtest.audit import requests

_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Outcome:
    """The outcome of a fault; every tuple is empty if all is as promised.

    Attributes:
        fault: what was done.
        lasted: its duration, in seconds.
        recovery: seconds until everything was reported and one replica led; None if never.
        bound: what is promised, in seconds.
        untrue: false reports.
        lost: missing reports.
        doubled: repeated reports.
        late: writes in another replica's term.
        writers: the replicas that wrote, in turn.
        leaders: the final leaders, if they are wrong.
    """

    fault: Fault
    lasted: float
    recovery: float | None
    bound: float
    untrue: Sequence[str]
    lost: Sequence[str]
    doubled: Sequence[str]
    late: Sequence[str]
    writers: Sequence[str]
    leaders: Sequence[str]

    @property
    def problems(self) -> list[str]:
        """Everything that is not as promised."""
        found = [*self.untrue, *self.lost, *self.doubled, *self.late, *self.leaders]
        if self.recovery is None or self.recovery > self.bound:
            took = "never came" if self.recovery is None else f"took {self.recovery:.1f} s"
            found.append(f"recovery {took}; the bound is {self.bound:.0f} s")
        return found


async def conduct(fault: Fault, base: Foundation, form: Form) -> Outcome:
    """Inflict a fault on a cluster and judge what the replicas reported."""
    async with cluster(base, form, moves_clock=fault.moves_clock) as scene:
        right = _right(fault, scene)
        async with Leaders(scene) as elected:
            began, ended = await _last(fault, scene, form)
            bound = fault.bound(form, ended - began)
            since = began if fault.takes_over else ended
            await _recovered(scene, elected, right, deadline=since + bound + _PATIENCE_SECONDS)
            await scene.quiet()
        leaders = elected.present
        led_at = elected.since if leaders in right else None
        versions = tuple(scene.observer.versions)
        told = told_at(versions, scene.truths, since)
        recovery = None if told is None or led_at is None else max(told, led_at, since) - since
        asked = tuple(requests(base.plane.audit_log, since=scene.audited_from))
        return Outcome(
            fault=fault,
            lasted=ended - began,
            recovery=recovery,
            bound=bound,
            untrue=untrue(versions, scene.truths, fault.allowed),
            lost=lost(versions, scene.truths),
            doubled=doubled(versions),
            late=[
                f"{each.pod}: {each.verb} {each.name} ({each.at})" for each in late_writes(asked)
            ],
            writers=writers(asked),
            leaders=[] if leaders in right else [f"in the end {leaders or 'nobody'} leads"],
        )


async def _last(fault: Fault, scene: Cluster, form: Form) -> tuple[float, float]:
    """Let a fault last; return when it began and ended."""
    began = time.time()
    async with AsyncExitStack() as ending:
        await fault.strikes(scene, ending)
        if fault.reached:
            await scene.change()
        await asyncio.sleep(began + fault.lasts(form) - time.time())
    ended = time.time()
    if not fault.reached:
        await scene.change()
    return began, ended


async def _recovered(
    scene: Cluster, elected: "Leaders", right: Collection[Sequence[str]], *, deadline: float
) -> None:
    """Wait until everything is reported and the right replica leads, or until it is too late."""
    while time.time() < deadline:
        if elected.present in right and not lost(scene.observer.versions, scene.truths):
            return
        await asyncio.sleep(_POLL_SECONDS)


_PATIENCE_SECONDS: Final = 30.0
"""A late recovery is still measured for this long."""


def _right(fault: Fault, scene: Cluster) -> list[list[str]]:
    """Return the replicas that may lead in the end."""
    second = [scene.second.name]
    return [second] if fault.takes_over else [[scene.first.name], second]


class Leaders:
    """Records the leaders while entered.

    Attributes:
        present: the replicas that claim to lead.
        since: when that was first seen, in seconds since the epoch.
    """

    def __init__(self, scene: Cluster) -> None:
        self.present: Sequence[str] = ()
        self.since = time.time()
        self._scene = scene
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _follow(self) -> None:
        while True:
            leaders = await self._scene.leaders()
            if leaders != self.present:
                self.present, self.since = leaders, time.time()
            await asyncio.sleep(_POLL_SECONDS)


_HEAD = ("fault", "lasted", "recovery", "bound", "false", "lost", "doubled", "writers", "late")


def table(outcomes: Iterable[Outcome], form: Form) -> str:
    """Return a table with a row for each outcome, and the settings that it was measured with."""
    rows = [_HEAD, tuple("---" if cell == "fault" else "---:" for cell in _HEAD)]
    rows += [_row(outcome) for outcome in outcomes]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((_settings(form), "", *lines))


def _row(outcome: Outcome) -> tuple[str, ...]:
    recovery = "never" if outcome.recovery is None else f"{outcome.recovery:.1f} s"
    return (
        outcome.fault.text,
        f"{outcome.lasted:.0f} s",
        recovery,
        f"{outcome.bound:.0f} s",
        str(len(outcome.untrue)),
        str(len(outcome.lost)),
        str(len(outcome.doubled)),
        ", ".join(each.removeprefix("replica-") for each in outcome.writers) or "none",
        str(len(outcome.late)),
    )


def _settings(form: Form) -> str:
    lease = form.lease
    return (
        f"Lease {lease.duration:g} s, renew deadline {lease.renew_deadline:g} s, retry period "
        f"{lease.retry:g} s, resync {form.resync} s, grace {form.grace} s."
    )
