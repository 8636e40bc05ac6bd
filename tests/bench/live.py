"""The daemon against the sandbox, both real and each in a process of its own."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp

from tests.bench.api import Api, Metrics
from tests.bench.changes import break_picker, measure_changes, mend_picker
from tests.bench.cluster import models
from tests.bench.daemon_process import RESYNC_SECONDS, Phase
from tests.bench.processes import BenchError, Daemon, Memory, daemon, sandbox

DELAYS: Final = (0.0, 0.005)
"""Added to each answer of the sandbox, in seconds."""

RESYNCS: Final = 3
_BROKEN: Final = 10
"""Endpoint pickers that are broken together; so many Events are refreshed at each resync."""

_ALONE_SECONDS: Final = 30.0
"""For how long nobody looks at the daemon: a poll of API discovery falls into it."""
_WITHIN_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1

Requests = dict[str, int]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Quiet:
    """What happened during some resyncs.

    Attributes:
        requests: to the API server, by verb and resource.
        passes: how many passes took place.
        pass_seconds: mean time of a pass.

    """

    requests: Requests
    passes: int
    pass_seconds: float


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """All that was measured of one size; times in seconds.

    Attributes:
        start: from starting the daemon to its being ready.
        started: memory when everything had been listed.
        ended: memory at the end.
        listing: requests until then.
        steady: some resyncs in which nothing fired.
        idle: part of one processor that the daemon uses while nothing fires and nobody measures it.
        firing: some resyncs in which `fired` Events fired.
        fired: how many.
        changes: from a change to its Event, by the milliseconds added to each answer.
        relisting: requests after all history was lost, until all was confirmed again.
        relist: how long that took.
        phases: how the event loop kept time, by phase.

    """

    start: float
    started: Memory
    ended: Memory
    listing: Requests
    steady: Quiet
    idle: float
    firing: Quiet
    fired: int
    changes: dict[str, list[float]]
    relisting: Requests
    relist: float
    phases: dict[str, Phase] = field(default_factory=dict)


async def measure_live(sets: int, changes: int, tell: Tell) -> LiveNumbers:
    """Measure one size.

    Raises:
        BenchError: something could not be measured.

    """
    try:
        return await _measure(sets, changes, tell)
    except (OSError, aiohttp.ClientError) as error:
        # A limit of time is an OSError too.
        raise BenchError(str(error) or "it took too long") from error


async def _measure(sets: int, changes: int, tell: Tell) -> LiveNumbers:
    with TemporaryDirectory() as name:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        tell("starting the sandbox")
        async with sandbox(sets, kubeconfig) as url, Api(url) as api:
            tell("starting the daemon")
            began = time.perf_counter()
            async with daemon(kubeconfig, folder) as running:
                measurement = _Measurement(api, running, sets, tell)
                numbers = await measurement.run(began, changes)
            phases = dict(zip(measurement.phases, running.phases, strict=True))
            return replace(numbers, phases=phases)


class _Measurement:
    """The phases of a measurement, one after another."""

    def __init__(self, api: Api, running: Daemon, sets: int, tell: Tell) -> None:
        self.phases = ["start"]
        self._api = api
        self._daemon = running
        self._sets = sets
        self._tell = tell

    async def run(self, began: float, changes: int) -> LiveNumbers:
        """Measure everything."""
        await self._until("ready", self._is_ready)
        start = time.perf_counter() - began
        await self._until("leading", self._is_leading)
        listing = await self._metrics()
        # What is told at first is no part of the steady state.
        await asyncio.sleep(RESYNC_SECONDS)
        self._phase("steady")
        started = self._daemon.memory()
        steady = await self._quiet()
        idle = await self._idle()
        latencies = {}
        for delay in DELAYS:
            added = f"{delay * 1000:.0f} ms"
            self._phase(f"changes, {added} added")
            async with self._api.slow(delay):
                latencies[added] = await measure_changes(self._api, self._sets, changes)
        self._phase("firing")
        fired, firing = await self._firing()
        self._phase("relist")
        relist, relisting = await self._relist()
        return LiveNumbers(
            start=start,
            started=started,
            ended=self._daemon.memory(),
            listing=_requests(listing),
            steady=steady,
            idle=idle,
            firing=firing,
            fired=fired,
            changes=latencies,
            relisting=relisting,
            relist=relist,
        )

    def _phase(self, name: str) -> None:
        self._tell(name)
        self._daemon.next_phase()
        self.phases.append(name)

    async def _metrics(self) -> Metrics:
        self._daemon.check()
        return await self._api.metrics(self._daemon.metrics_url)

    async def _is_ready(self) -> bool:
        return await self._api.ready(self._daemon.ready_url)

    async def _is_leading(self) -> bool:
        return (await self._metrics())["leader"] == 1

    async def _until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        try:
            async with asyncio.timeout(_WITHIN_SECONDS):
                while not await holds():
                    self._daemon.check()
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise BenchError(f"the daemon was not {what} in {_WITHIN_SECONDS:.0f} s") from None

    async def _quiet(self) -> Quiet:
        before = await self._metrics()
        await asyncio.sleep(RESYNCS * RESYNC_SECONDS)
        after = (await self._metrics()).since(before)
        passes = int(after["pass_duration_seconds_count"])
        return Quiet(
            requests=_requests(after),
            passes=passes,
            pass_seconds=after["pass_duration_seconds_sum"] / max(passes, 1),
        )

    async def _idle(self) -> float:
        self._daemon.look_away()
        began, cpu = time.perf_counter(), self._daemon.cpu_seconds()
        await asyncio.sleep(_ALONE_SECONDS)
        return (self._daemon.cpu_seconds() - cpu) / (time.perf_counter() - began)

    async def _firing(self) -> tuple[int, Quiet]:
        broken = models(self._sets)[:_BROKEN]
        for each in broken:
            await break_picker(self._api, each)
        await self._api.wait_firing(len(broken), _WITHIN_SECONDS)
        # The first refresh may come within the first resync.
        await asyncio.sleep(RESYNC_SECONDS)
        quiet = await self._quiet()
        for each in broken:
            await mend_picker(self._api, each)
        await self._api.wait_quiet(_WITHIN_SECONDS)
        # Each is told to be ready again.
        await asyncio.sleep(RESYNC_SECONDS)
        return len(broken), quiet

    async def _relist(self) -> tuple[float, Requests]:
        """Let all history expire and all connections break, so that everything is listed again."""
        before, began = await self._metrics(), time.perf_counter()
        wanted = before["lists"]
        await self._api.admin("POST", "compact")
        await self._api.admin("POST", "watches/cut")

        async def confirmed() -> bool:
            now = await self._metrics()
            return now["lists"] >= 2 * wanted and now["watch_confirmed"] == now["resource_state"]

        await self._until("confirmed", confirmed)
        seconds = time.perf_counter() - began
        return seconds, _requests((await self._metrics()).since(before))


def _requests(metrics: Metrics) -> Requests:
    return {f"{verb} {name}": count for (verb, name), count in sorted(metrics.requests.items())}
