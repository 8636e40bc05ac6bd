"""The daemon against the sandbox, both real and each in a process of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp

from tests.bench.api import Api, Metrics
from tests.bench.changes import break_picker, measure_changes, mend_picker
from tests.bench.cluster import models
from tests.bench.daemon_process import RESYNC_SECONDS
from tests.bench.processes import BenchError, Daemon, daemon, sandbox

DELAY_SECONDS: Final = 0.005
"""Added to each answer of the sandbox while changes are timed."""

_RESYNCS: Final = 3
_BROKEN: Final = 10
"""Endpoint pickers that are broken together; so many Events are refreshed at each resync."""

_WITHIN_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """Measurements of one size.

    Attributes:
        steady: requests during some resyncs in which nothing fires, without Lease and discovery.
        firing: the same while Events fire, without their refreshes either.
        changes: seconds from each change to its Event.
        block: longest block of the event loop after the start, seconds.

    """

    steady: int
    firing: int
    changes: list[float]
    block: float


async def measure_live(sets: int, changes: int, tell: Tell) -> LiveNumbers:
    """Measure one size.

    Raises:
        BenchError: something could not be measured.

    """
    try:
        with TemporaryDirectory() as name:
            folder = Path(name)
            kubeconfig = folder / "kubeconfig"
            tell("starting the sandbox")
            async with sandbox(sets, kubeconfig) as url, Api(url) as api:
                tell("starting the daemon")
                async with daemon(kubeconfig, folder) as running:
                    measurement = _Measurement(api, running, sets, tell)
                    steady, times, firing = await measurement.run(changes)
                return LiveNumbers(steady, firing, times, max(running.phases[1:]))
    except (OSError, aiohttp.ClientError) as error:
        # TimeoutError is an OSError too.
        raise BenchError(str(error) or "it took too long") from error


class _Measurement:
    """The phases of a measurement, one after another."""

    def __init__(self, api: Api, running: Daemon, sets: int, tell: Tell) -> None:
        self._api = api
        self._daemon = running
        self._sets = sets
        self._tell = tell

    async def run(self, changes: int) -> tuple[int, list[float], int]:
        """Return the requests at rest, the times of changes, and the requests while Events fire."""
        await self._until("ready", lambda: self._api.ready(self._daemon.ready_url))
        await self._until("leading", self._is_leading)
        # The first Events are not part of the steady state.
        await asyncio.sleep(RESYNC_SECONDS)
        self._phase("steady")
        steady = await self._undue_requests()
        self._phase("changes")
        async with self._api.slow(DELAY_SECONDS):
            times = await measure_changes(self._api, self._sets, changes)
        self._phase("firing")
        return steady, times, await self._firing()

    def _phase(self, name: str) -> None:
        self._tell(name)
        self._daemon.next_phase()

    async def _metrics(self) -> Metrics:
        self._daemon.check()
        return await self._api.metrics(self._daemon.metrics_url)

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

    async def _undue_requests(self) -> int:
        """Count the requests of some resyncs other than for Lease, discovery and refreshes."""
        before = await self._metrics()
        await asyncio.sleep(_RESYNCS * RESYNC_SECONDS)
        requests = (await self._metrics()).requests - before.requests
        due = {("update", "leases"), ("get", "discovery"), ("patch", "events")}
        return sum(count for key, count in requests.items() if key not in due)

    async def _firing(self) -> int:
        broken = models(self._sets)[:_BROKEN]
        for each in broken:
            await break_picker(self._api, each)
        await self._api.wait_firing(len(broken), _WITHIN_SECONDS)
        # The first refresh may come within the first resync.
        await asyncio.sleep(RESYNC_SECONDS)
        undue = await self._undue_requests()
        for each in broken:
            await mend_picker(self._api, each)
        await self._api.wait_quiet(_WITHIN_SECONDS)
        return undue
