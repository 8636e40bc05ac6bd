"""What it costs when things move: bursts, churn, the first start, a change of the leader."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import aiohttp

from e2e.stack.api import ApiError
from lab.sandbox.objects import Object
from tests.bench.api import Api, Metrics
from tests.bench.as_installed import compile_reporter
from tests.bench.changes import Change, break_picker, mend_picker, picker
from tests.bench.churn import Changing, Churn, churn_of
from tests.bench.cluster import models
from tests.bench.processes import BenchError, Daemon, Memory, daemon
from tests.bench.servers import AT_ONCE, Serve, Server

LATENCY_SECONDS: Final = 0.02
_RESYNC_SECONDS: Final = 60
"""The default, as the cost of what fires is one of time."""

_WITHIN_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.02
_SETTLE_SECONDS: Final = 3.0

Tell = Callable[[str], None]
ItemT = TypeVar("ItemT")

_KAITO: Final = Change(
    "/apis/apps/v1/namespaces/kaito-system/deployments/kaito-workspace",
    "Deployment/kaito-system/kaito-workspace",
    "spec",
    lambda _: {"replicas": 0},
)


@dataclass(frozen=True, slots=True)
class MovingNumbers:
    """All that was measured of one size; times in seconds.

    Attributes:
        ready: from starting the daemon until it is ready.
        burst: all sets break: from the last change to the last Event.
        behind_recoveries: all recover, each request takes longer, and a shared part breaks: to its Event.
        churn: while `CHANGES_PER_SECOND` objects change.
        takeover: from SIGTERM of the leader to the next Event, with a second replica.
        relists: lists after the first one of each kind.
        started: memory once all that is ready was told.
        ended: memory at the end.
        lost: faults that no Event told.
        doubled: Events that tell an episode a second time.
        block_at_start: longest block of the event loop while it starts.
        block_later: longest block of the event loop after that.

    """

    ready: float
    burst: float
    behind_recoveries: float
    churn: Churn
    takeover: float
    relists: int
    started: Memory
    ended: Memory
    lost: int
    doubled: int
    block_at_start: float = 0.0
    block_later: float = 0.0


async def measure_moving(
    sets: int, serve: Serve, churn_seconds: float, *, tell: Tell
) -> MovingNumbers:
    """Measure one size against an API server.

    Raises:
        BenchError: something could not be measured.

    """
    # Here, so that the first start is not the one that compiles.
    compile_reporter()
    try:
        with TemporaryDirectory() as name:
            tell("starting the API server")
            async with serve(sets, Path(name)) as server:
                return await _Moving(server, sets, Path(name), tell).run(churn_seconds)
    except (OSError, aiohttp.ClientError, ApiError) as error:
        # A limit of time is an OSError too.
        raise BenchError(str(error) or "it took too long") from error


class _Moving:
    """The phases of a measurement, one after another."""

    def __init__(self, server: Server, sets: int, folder: Path, tell: Tell) -> None:
        self._server = server
        self._api: Api = server.api
        self._sets = sets
        self._folder = folder
        self._tell = tell
        self._models = models(sets)
        self._chance = random.Random(sets)

    async def run(self, churn_seconds: float) -> MovingNumbers:
        """Measure everything."""
        await break_picker(self._api, self._models[-1])
        began = time.perf_counter()
        async with self._daemon("first") as first:
            numbers = await self._run(first, began, churn_seconds)
        at_start, *later = first.phases
        return replace(numbers, block_at_start=at_start, block_later=max(later))

    async def _run(self, first: Daemon, began: float, churn_seconds: float) -> MovingNumbers:
        ready = await self._is_ready(first)
        related = picker(self._models[-1]).related
        await self._api.wait_firing(1, _WITHIN_SECONDS, related)
        await mend_picker(self._api, self._models[-1])
        await self._api.wait_quiet(_WITHIN_SECONDS)
        await self._nothing_waits(first)
        started, listed = first.memory(), await self._metrics(first)
        self._phase(first, "burst")
        burst = await self._burst()
        # Before anything mends: each set has one Event that fires.
        lost, doubled = self._sets - self._api.firing(), self._doubled()
        await self._nothing_waits(first)
        self._phase(first, "recoveries")
        behind = await self._behind_recoveries()
        await self._nothing_waits(first)
        self._phase(first, "churn")
        churn = await self._churn(first, churn_seconds)
        self._phase(first, "takeover")
        relists = int((await self._metrics(first))["lists"] - listed["lists"])
        ended = first.memory()
        takeover = await self._takeover(first)
        return MovingNumbers(
            ready=ready - began,
            burst=burst,
            behind_recoveries=behind,
            churn=churn,
            takeover=takeover,
            relists=relists,
            started=started,
            ended=ended,
            lost=lost,
            doubled=doubled + self._doubled(),
        )

    @asynccontextmanager
    async def _daemon(self, name: str) -> AsyncIterator[Daemon]:
        kubeconfig = self._server.kubeconfig
        async with daemon(kubeconfig, self._folder, resync=_RESYNC_SECONDS, name=name) as running:
            yield running

    def _phase(self, running: Daemon, name: str) -> None:
        self._tell(name)
        running.next_phase()

    async def _is_ready(self, running: Daemon) -> float:
        async with asyncio.timeout(_WITHIN_SECONDS):
            while not await self._api.ready(running.ready_url):
                running.check()
                await asyncio.sleep(_POLL_SECONDS)
        return time.perf_counter()

    async def _metrics(self, running: Daemon) -> Metrics:
        running.check()
        return await self._api.metrics(running.metrics_url)

    async def _nothing_waits(self, running: Daemon) -> None:
        """Wait until all that is to be written is written, and the last pass has seen it."""
        async with asyncio.timeout(_WITHIN_SECONDS):
            while True:
                await asyncio.sleep(_SETTLE_SECONDS)
                if not (await self._metrics(running))["events_waiting"]:
                    return

    async def _burst(self) -> float:
        await _each(self._models, partial(break_picker, self._api))
        changed = time.perf_counter()
        return await self._api.wait_firing(self._sets, _WITHIN_SECONDS) - changed

    async def _behind_recoveries(self) -> float:
        self._server.latency.seconds = LATENCY_SECONDS
        mending = asyncio.create_task(_each(self._models, partial(mend_picker, self._api)))
        api, sets = self._api, self._sets
        await api.wait_events(lambda: api.firing() < sets, _WITHIN_SECONDS)
        await mending
        began = time.perf_counter()
        sound = (await api.get(_KAITO.path))["spec"]
        await api.patch(_KAITO.path, {"spec": {"replicas": 0}})
        told = await api.wait_firing(1, _WITHIN_SECONDS, _KAITO.related)
        self._server.latency.seconds = 0.0
        await api.patch(_KAITO.path, {"spec": {"replicas": sound["replicas"]}})
        await api.wait_quiet(_WITHIN_SECONDS)
        return told - began

    async def _churn(self, running: Daemon, seconds: float) -> Churn:
        await self._nothing_waits(running)
        # Not right after the phase began: of two signals that wait, the later one is handled first.
        running.pause()
        changing = Changing(self._api, self._models, self._chance)
        began, cpu = time.perf_counter(), running.cpu_seconds()
        faults = await changing.run(seconds)
        share = (running.cpu_seconds() - cpu) / (time.perf_counter() - began)
        await self._api.wait_quiet(_WITHIN_SECONDS)
        await self._nothing_waits(running)
        return churn_of(faults, self._api, share)

    async def _takeover(self, first: Daemon) -> float:
        await self._api.wait_quiet(_WITHIN_SECONDS)
        await self._nothing_waits(first)
        model = self._models[0]
        async with self._daemon("second") as second:
            await self._is_ready(second)
            await asyncio.sleep(_SETTLE_SECONDS)
            began = time.perf_counter()
            first.stop()
            await break_picker(self._api, model)
            return await self._api.wait_firing(1, _WITHIN_SECONDS, picker(model).related) - began

    def _doubled(self) -> int:
        """Return how many Events tell what another one tells that fires too."""
        fire = Counter(map(_told, filter(_fires, self._api.events().values())))
        return sum(count - 1 for count in fire.values())


def _fires(event: Object) -> bool:
    labels = event["metadata"]["labels"]
    return event["type"] == "Warning" and labels["status-reporter.io/state"] == "firing"


def _told(event: Object) -> tuple[str, str]:
    return event["reason"], event["metadata"]["annotations"]["status-reporter.io/subject"]


async def _each(items: Iterable[ItemT], work: Callable[[ItemT], Awaitable[None]]) -> None:
    """Do something with each, several at once."""
    waiting = iter(items)

    async def some() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(some())
