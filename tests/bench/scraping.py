"""What scraping 1,000 pods costs, and what pods that hang cost the others."""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from reporter.daemon.pod_scraping import CONCURRENCY, SampleStore
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples.sample import Scrape, Target
from reporter.metrics.scraping.attempt import Attempts, DirectFetch
from reporter.metrics.scraping.scraper import Scraper
from reporter.model.subject import Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.processes import BenchError
from tests.bench.still_pods import addresses, idle_page

_PODS: Final = 1000
_HANGING: Final = 50
_PERIODS: Final = 4
_ROUNDS: Final = 3
_MOST_CPU: Final = 3.0
"""A fifth of one processor at the default interval, for a fleet of 1,000 pods."""

_MOST_LATE: Final = 1.1
"""Periods between two scrapes of a pod that answers."""


@dataclass(frozen=True, slots=True)
class Scraping:
    """Seconds.

    Attributes:
        size: of a page, bytes.
        period: from one scrape of a pod to the next.
        cpu: processor time of one round: fetch, read and judge the page of every pod.
        round: how long that took with the default concurrency, one after another without a clock.
        gap: the longest time between two scrapes of a pod that answers, while others hang.
        hanging_gap: the same of those that hang.

    """

    size: int
    period: float
    cpu: float
    round: float
    gap: float
    hanging_gap: float


class _Unobserved:
    def following(self, targets: int) -> None: ...
    def scraped(self, scrape: Scrape) -> None: ...
    def skipped(self, cause: str) -> None: ...


async def measure() -> Scraping:
    """Measure; takes a little more than a minute."""
    settings = FullDaemonSettings()
    cpu, seconds = await _rounds(settings)
    gap, hanging_gap = await _with_hanging(settings)
    size = len(idle_page().encode())
    return Scraping(size, settings.scrape_period, cpu, seconds, gap, hanging_gap)


def render(found: Scraping) -> str:
    """Return the numbers as text."""
    most = found.period * _MOST_LATE
    return "\n".join(
        [
            f"{_PODS} pods with pages of {found.size} bytes, a scrape each {found.period:g} s",
            _line("processor for one round", found.cpu, _MOST_CPU),
            _line("one round as fast as it goes", found.round),
            _line(f"longest time between scrapes, {_HANGING} hang", found.gap, most),
            _line("  of those that hang", found.hanging_gap),
        ]
    )


def _line(name: str, seconds: float, most: float | None = None) -> str:
    verdict = "" if most is None else f"  <= {most:g}  {'met' if seconds <= most else 'NOT met'}"
    return f"{name:44} {seconds:8.2f} s{verdict}"


async def _rounds(settings: FullDaemonSettings) -> tuple[float, float]:
    """Return the least processor time and time of some rounds."""
    async with _pods(0) as targets, _attempts(targets.port) as scrape:
        store = _store(settings)
        free = asyncio.Semaphore(CONCURRENCY)

        async def one(target: Target) -> None:
            async with free:
                result = await scrape(target)
            if result.failure is not None:
                raise BenchError(f"{target.address}: {result.failure} {result.detail}")
            store.scraped(target, result)

        taken = []
        for _ in range(_ROUNDS):
            cpu, began = time.process_time(), time.perf_counter()
            await asyncio.gather(*map(one, targets.all))
            taken.append((time.process_time() - cpu, time.perf_counter() - began))
    return min(each for each, _ in taken), min(each for _, each in taken)


async def _with_hanging(settings: FullDaemonSettings) -> tuple[float, float]:
    """Return the longest gaps of the pods that answer, and of those that hang."""
    times: dict[str, list[float]] = defaultdict(list)
    async with _pods(_HANGING) as targets, _attempts(targets.port) as scrape:
        store = _store(settings)

        async def find() -> tuple[Target, ...]:
            return targets.all

        def tell(target: Target, result: Scrape) -> None:
            store.scraped(target, result)
            times[target.name].append(result.at.boot.total_seconds())

        scraper = Scraper(
            scrape,
            find,
            tell,
            period=settings.scrape_period,
            concurrency=CONCURRENCY,
            targets_due=asyncio.Event(),
            observer=_Unobserved(),
        )
        running = asyncio.create_task(scraper.run())
        await asyncio.wait([running], timeout=_PERIODS * settings.scrape_period)
        ended = time.clock_gettime(time.CLOCK_BOOTTIME)
        running.cancel()
        await asyncio.wait([running])
    gaps = {
        each.name: max(
            (b - a for a, b in pairwise([*times[each.name], ended])), default=ended - targets.began
        )
        for each in targets.all
    }
    hang = {each.name for each in targets.all[-_HANGING:]}
    return (
        max(gap for name, gap in gaps.items() if name not in hang),
        max(gap for name, gap in gaps.items() if name in hang),
    )


@dataclass(frozen=True, slots=True)
class _Targets:
    port: int
    all: tuple[Target, ...]
    began: float


@asynccontextmanager
async def _pods(hanging: int) -> AsyncIterator[_Targets]:
    """Run the pods in a process of their own, so that their processor time is not ours."""
    command = (sys.executable, "-m", "tests.bench.still_pods", str(_PODS), str(hanging))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    try:
        line = await process.stdout.readline() if process.stdout else b""
        if not line:
            raise BenchError("the simulated pods did not start")
        old = datetime.now(UTC) - timedelta(days=1)
        targets = tuple(
            Target(
                namespace="models", name=f"pod-{number}", uid=f"uid-{number}", address=address,
                subject=Subject(INFERENCESET_KIND, "models", "model"), node=f"node-{number // 8}", created=old, ready=True,
                ready_since=old,
            )
            for number, address in enumerate(addresses(_PODS))
        )  # fmt: skip
        yield _Targets(int(line), targets, time.clock_gettime(time.CLOCK_BOOTTIME))
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def _attempts(port: int) -> AsyncIterator[Attempts]:
    async with DirectFetch(port) as fetch:
        with Attempts(fetch, read_page) as attempts:
            yield attempts


def _store(settings: FullDaemonSettings) -> SampleStore:
    return SampleStore(settings, timedelta(seconds=settings.scrape_period), lambda: None)
