"""What tenants that mean harm can do to a reporter whose pods they are: its memory, its loop, the other pods.

Six pods serve legal pages of more than a megabyte, three of them with a thousand engines and three with as
many as are read, all of whose numbers change. The period is short, so that ten minutes pass in one.
`python -m tests.bench.hostile` runs it in a process of its own and prints the numbers.
"""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from reporter.daemon.pod_scraping import SampleStore
from reporter.metrics.looks.look import Scrape, Target
from reporter.metrics.pages.reader import PageLimits
from reporter.metrics.pages.reading import read_page
from reporter.metrics.scraping.attempt import Attempts, DirectFetch, Endpoint, FetchLimits
from reporter.metrics.scraping.scraper import Scraper
from reporter.model.instant import Instant
from reporter.model.subject import Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.processes import BenchError
from tests.bench.still_pods import idle_page

_ATTACKERS: Final = 6
_OTHERS: Final = 20
_PERIOD: Final = 3.0
_PERIODS: Final = 13
_LOOKS: Final = 40
"""As many as ten minutes have; those that are missing then are taken in without being fetched."""

_MOST_GROWTH: Final = 120.0
"""MiB: of the chart's limit of 320 the process without pods takes less than 100."""

_MOST_LATE: Final = 1.0
"""Seconds that the event loop, which renews the Lease each 2 s, may be late."""

_MOST_GAP: Final = 2.0
"""Periods between two scrapes of somebody else's pod."""

_NAMES: Final = (
    "num_requests_running", "num_requests_waiting", "generation_tokens_total", "prompt_tokens_total",
    "num_preemptions_total", "prefix_cache_queries_total", "request_success_total", "kv_cache_usage_perc",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """What it did.

    Attributes:
        growth: of the process, MiB.
        late: the longest that the event loop was late, seconds; other programs on the machine make it so too.
        busy: the longest that the event loop itself worked in one go, seconds of processor time.
        gap: the longest time between two scrapes of somebody else's pod, in periods.
        cpu: processor time, seconds for each period.
        waited: for how long its threads waited for a processor that others had, seconds for each period.
        given_up: looks that were given up.

    """

    growth: float
    late: float
    busy: float
    gap: float
    cpu: float
    waited: float
    given_up: int


async def measure() -> Attack:
    """Measure in a process of its own, whose memory nothing else has filled."""
    command = (sys.executable, "-m", "tests.bench.hostile")
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise BenchError("the attack could not be played")
    return msgspec.json.decode(out, type=Attack)


def render(found: Attack) -> str:
    """Return the numbers as text."""
    lines = (
        ("memory that it takes", found.growth, "MiB", _MOST_GROWTH),
        ("event loop late by", found.late, "s", _MOST_LATE),
        ("event loop itself at work for", found.busy, "s", None),
        ("longest time between scrapes of others", found.gap, "periods", _MOST_GAP),
        ("processor for one period", found.cpu, "s", None),
        ("waited for one that others had", found.waited, "s", None),
        ("looks given up", found.given_up, "", None),
    )
    return "\n".join(
        [f"{_ATTACKERS} pods that mean harm beside {_OTHERS} others, {_PERIODS} periods"]
        + [_line(*each) for each in lines]
    )


def _line(name: str, value: float, unit: str, most: float | None) -> str:
    verdict = "" if most is None else f"  <= {most:g}  {'met' if value <= most else 'NOT met'}"
    return f"{name:44} {value:8.2f} {unit}{verdict}"


def hostile_page(engines: int, series: int, number: int) -> str:
    """Return a page whose numbers are others each time."""
    lines = []
    for engine in range(engines):
        lines += [f'vllm:{name}{{engine="{engine}"}} {number + engine}' for name in _NAMES]
        lines += [
            f'vllm:time_to_first_token_seconds_bucket{{engine="{engine}",le="{bound}"}} {number + bound}'
            for bound in range(series)
        ]
        most = number + series
        lines += [
            f'vllm:time_to_first_token_seconds_bucket{{engine="{engine}",le="+Inf"}} {most}',
            f'vllm:time_to_first_token_seconds_count{{engine="{engine}"}} {most}',
            f'vllm:time_to_first_token_seconds_sum{{engine="{engine}"}} {most}',
        ]
    return "\n".join(lines) + "\n"


async def _serve(stack: AsyncExitStack) -> int:
    """Serve the pages by their path; the number in it says whose it is."""
    scraped: dict[str, int] = defaultdict(int)
    pages = {
        (large, number): hostile_page(1000, 16, number) if large else hostile_page(64, 270, number)
        for large in (False, True)
        for number in range(2)
    }

    async def page(request: web.Request) -> web.Response:
        pod = request.transport.get_extra_info("sockname")[0] if request.transport else ""
        scraped[pod] += 1
        number = int(pod.rpartition(".")[2])
        if number > _ATTACKERS:
            return web.Response(text=idle_page())
        return web.Response(text=pages[bool(number % 2), scraped[pod] % 2])

    app = web.Application()
    app.router.add_get("/metrics", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "0.0.0.0", 0)
    await site.start()
    return int(runner.addresses[0][1])


def _target(number: int) -> Target:
    namespace = "hostile" if number <= _ATTACKERS else "models"
    old = datetime.now(UTC) - timedelta(days=1)
    return Target(
        namespace=namespace, name=f"pod-{number}", uid=f"uid-{number}", address=f"127.78.0.{number}",
        subject=Subject(INFERENCESET_KIND, namespace, "model"), node="node", created=old, ready=True, ready_since=old,
    )  # fmt: skip


class _Unobserved:
    def following(self, targets: int) -> None: ...
    def scraped(self, scrape: Scrape) -> None: ...
    def skipped(self, cause: str) -> None: ...


async def _attacked(port: int) -> Attack:
    settings = FullDaemonSettings()
    given_up: list[int] = []
    # The looks are judged as if they were as far apart as in a daemon.
    store = SampleStore(settings, timedelta(seconds=_PERIOD), lambda: None, gave_up=given_up.append)
    times: dict[str, list[float]] = defaultdict(list)
    targets = tuple(map(_target, range(1, _ATTACKERS + _OTHERS + 1)))

    async def find() -> tuple[Target, ...]:
        return targets

    async def tell(target: Target, scrape: Scrape) -> None:
        times[target.name].append(scrape.at.boot.total_seconds())
        await store.scraped_aside(target, scrape)

    limits = FetchLimits(settings.scrape_timeout_seconds, settings.scrape_max_bytes)
    before, cpu, waited = _memory(), time.process_time(), _waited()
    async with DirectFetch(Endpoint(port=port), limits) as fetch:
        # With the limit of time that a daemon has.
        read = partial(read_page, limits=PageLimits(clock=time.thread_time))
        with Attempts(fetch, read) as attempts:
            scraper = Scraper(
                attempts, find, tell, period=_PERIOD, concurrency=settings.scrape_concurrency,
                targets_due=asyncio.Event(), observer=_Unobserved(),
            )  # fmt: skip
            running = asyncio.create_task(scraper.run())
            late, busy = await _latest(_PERIOD * _PERIODS)
            running.cancel()
            await asyncio.wait([running])
    cpu, waited = time.process_time() - cpu, _waited() - waited
    for number in range(_PERIODS, _LOOKS):
        page = read_page(hostile_page(64, 270, number).encode())
        at = Instant(datetime.now(UTC), timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME)))
        for target in targets[:_ATTACKERS]:
            store.scraped(target, Scrape(at=at, page=page))
    growth = _memory() - before
    others = [each.name for each in targets[_ATTACKERS:]]
    gap = max(b - a for name in others for a, b in pairwise(times[name]))
    return Attack(
        growth,
        late,
        busy,
        gap=gap / _PERIOD,
        cpu=cpu / _PERIODS,
        waited=waited / _PERIODS,
        given_up=sum(given_up),
    )


async def _latest(seconds: float) -> tuple[float, float]:
    """Return how late the event loop was at most, and for how long it was at work itself."""
    ends, late, busy = time.monotonic() + seconds, 0.0, 0.0
    while (now := time.monotonic()) < ends:
        worked = time.thread_time()
        await asyncio.sleep(0.05)
        late = max(late, time.monotonic() - now - 0.05)
        busy = max(busy, time.thread_time() - worked)
    return late, busy


def _memory() -> float:
    """Return what the process holds in memory, MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def _waited() -> float:
    """Return for how long all threads were ready and had no processor, seconds (Linux, sched-stats)."""
    tasks = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[1]) for each in tasks) / 1e9


async def _serve_until_closed() -> None:
    async with AsyncExitStack() as stack:
        sys.stdout.write(f"{await _serve(stack)}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


async def _main() -> None:
    """Serve in another process, whose memory and time are not ours."""
    command = (sys.executable, "-m", "tests.bench.hostile", "serve")
    pods = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stdin=PIPE)
    try:
        line = await pods.stdout.readline() if pods.stdout else b""
        found = await _attacked(int(line))
    finally:
        pods.terminate()
        await pods.wait()
    sys.stdout.buffer.write(msgspec.json.encode(asdict(found)))


if __name__ == "__main__":
    asyncio.run(_serve_until_closed() if sys.argv[1:] else _main())
