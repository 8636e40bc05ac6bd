"""How the daemon scrapes, and the samples of all pods: written by the scraper, read by passes."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from functools import partial
from operator import is_
from typing import Final

import structlog
import yarl

from reporter.catalogue.resources import NODES, PODS, SERVICES
from reporter.kube.client import KubeClient
from reporter.kube.live import LiveCluster
from reporter.metrics.pages.reader import PageLimits
from reporter.metrics.pages.reading import read_page
from reporter.metrics.samples import window
from reporter.metrics.samples.sample import PodName, Scrape, Target, sample_of
from reporter.metrics.scraping import attempt
from reporter.metrics.scraping.scraper import FairSlots, Scraper
from reporter.metrics.scraping.targets import FoundTargets, find, picker_rows, pod_addresses
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.probes.runtime.judge import judge, longest_window, objectives
from reporter.setting_types import ScrapeVia
from reporter.settings import DaemonSettings, EvaluationSettings
from reporter.sinks.own_metrics import ScrapeMetrics
from reporter.snapshot.snapshot import Snapshot

Tell = Callable[[Target, Scrape], Awaitable[None]]


def way_to_pods(settings: DaemonSettings, *, in_cluster: bool) -> tuple[ScrapeVia, str]:
    """Return how pods are scraped, and why.

    Outside the cluster pod addresses are unreachable, and the right to use the API server's pod
    proxy allows any GET to any pod, so it is only used on request. By default nothing is scraped
    then, and no reason that needs metrics is reported.
    """
    if settings.scrape_via is not ScrapeVia.AUTO:
        return settings.scrape_via, "as --scrape-via says"
    return (ScrapeVia.DIRECT, "in the cluster") if in_cluster else (ScrapeVia.OFF, _OUTSIDE)


_OUTSIDE: Final = (
    "pods cannot be reached from outside the cluster, so slow downloads and runtime reasons are "
    "not reported; --scrape-via apiserver-proxy reads them with the right to get pods/proxy"
)


CONCURRENCY: Final = 32
"""How many pods are scraped at once by their IPs."""


async def run_scraper(
    client: KubeClient,
    cluster: LiveCluster,
    settings: DaemonSettings,
    *,
    tell: Tell,
    targets_due: asyncio.Event,
    observer: ScrapeMetrics,
    pauses: Callable[[], int],
) -> None:
    if settings.scrape_via is ScrapeVia.OFF:
        await asyncio.Event().wait()
    page = PageLimits(clock=time.thread_time)
    concurrency = CONCURRENCY
    async with AsyncExitStack() as stack:
        fetch: attempt.Fetch
        if settings.scrape_via is ScrapeVia.APISERVER_PROXY:
            fetch = attempt.ProxiedFetch(client, settings.scrape_port)
            concurrency = attempt.MOST_AT_ONCE
        else:
            fetch = await stack.enter_async_context(attempt.DirectFetch(settings.scrape_port))
        servers = await server_addresses(client.server)
        finder = Finder(cluster, settings, servers, refusing=observer.refusing)
        read = partial(read_page, limits=page)
        with attempt.Attempts(fetch, read) as attempts:
            scraper = Scraper(
                attempts,
                finder.find,
                tell,
                period=settings.scrape_period,
                concurrency=concurrency,
                targets_due=targets_due,
                observer=observer,
                pauses=pauses,
            )
            await scraper.run()


async def server_addresses(server: str) -> frozenset[str]:
    """Return the addresses of the API server: that of its Service, and those of its host name."""
    url = yarl.URL(server)
    host = url.host or ""
    found = {host, os.environ.get("KUBERNETES_SERVICE_HOST", "")}
    with suppress(OSError, UnicodeError):
        loop = asyncio.get_running_loop()
        found.update(str(each[4][0]) for each in await loop.getaddrinfo(host, url.port))
    return frozenset(found)


@dataclass(eq=False)
class Finder:
    cluster: LiveCluster
    settings: EvaluationSettings
    servers: Iterable[str] = ()
    _: KW_ONLY
    refusing: Callable[[int], None] = lambda _: None
    _sought: Sequence[object] = ()

    async def find(self) -> tuple[Target, ...] | None:
        snapshot = self.cluster.snapshot()
        tables = [snapshot.tables.get(each) for each in self._read()]
        if len(tables) == len(self._sought) and all(map(is_, tables, self._sought)):
            return None
        # In a thread, like a pass: sorting the pods of a large cluster takes a while.
        found = await asyncio.to_thread(self._found, snapshot)
        if found is None:
            return None
        self._sought = tables
        self.refusing(found.refused)
        return found.targets

    def _found(self, snapshot: Snapshot) -> FoundTargets | None:
        return find(snapshot, self.settings, pod_addresses(snapshot, self.servers))

    def _read(self) -> Iterator[Resource[KubeObject]]:
        yield PODS
        yield NODES
        for stack in self.settings.known_stacks:
            yield from stack.subjects
        if rows := picker_rows(self.settings):
            yield SERVICES
            for row in rows:
                yield from row.pools


_SPARE: Final = 0.9
"""Share of the limit that stays in use after samples are dropped, so that this is not repeated at
once."""

_log = structlog.get_logger("scraper")


@dataclass(eq=False)
class SampleStore:
    """Judges a pod after each scrape, and asks for a pass if the verdict has changed."""

    settings: EvaluationSettings
    period: timedelta
    due: Callable[[], None]
    _: KW_ONLY
    dropped: Callable[[int], None] = lambda _: None

    def __post_init__(self) -> None:
        self._keep = longest_window(self.settings)
        self._objectives = objectives(self.settings)
        self._pods: dict[PodName, window.Judged] = {}
        self._bytes = 0
        # One thread, as Python runs only one at a time anyway.
        self._judging = ThreadPoolExecutor(1, thread_name_prefix="samples")
        self._turns = FairSlots(1)

    def scraped(self, target: Target, scrape: Scrape) -> None:
        self._take(target.pod, self._judge(target, scrape))

    async def scraped_aside(self, target: Target, scrape: Scrape) -> None:
        """Store a scrape, and judge it in a thread: the event loop has to renew the Lease."""
        loop = asyncio.get_running_loop()
        async with self._turns.of(target.namespace):
            judged = await loop.run_in_executor(self._judging, self._judge, target, scrape)
        self._take(target.pod, judged)

    def close(self) -> None:
        self._judging.shutdown(wait=False, cancel_futures=True)

    def _judge(self, target: Target, scrape: Scrape) -> window.Judged:
        known = self._pods.get(target.pod)
        history = known.history if known else window.History(self.period)
        history = history.with_sample(sample_of(target, scrape, self._objectives), self._keep)
        history = window.within(window.weighed(history), window.POD_BYTES)
        before = known.verdict if known else None
        verdict = judge(history, before, self.settings)
        # By the identical object, probes see that nothing has changed.
        return window.Judged(
            history, before if before is not None and verdict == before else verdict
        )

    def _take(self, pod: PodName, judged: window.Judged) -> None:
        known = self._pods.get(pod)
        before = known.verdict if known else None
        self._put(pod, judged)
        if self._bytes > window.ALL_BYTES:
            self._drop_oldest()
        # Explanations of inconclusive reasons change often, and do not change what a pass decides.
        if before is None or _decisive(before) != _decisive(judged.verdict):
            self.due()

    def _put(self, pod: PodName, judged: window.Judged) -> None:
        known = self._pods.get(pod)
        self._bytes += judged.history.bytes - (known.history.bytes if known else 0)
        dropped = judged.history.dropped - (known.history.dropped if known else 0)
        if dropped > 0:
            self.dropped(dropped)
            if known is None or not known.history.dropped:
                _log.warning("looks_given_up", namespace=pod[0], pod=pod[1])
        self._pods[pod] = judged

    def _drop_oldest(self) -> None:
        """Halve the largest histories, the largest first, until all fit."""
        largest = sorted(self._pods, key=lambda pod: -self._pods[pod].history.bytes)
        for pod in largest:
            if self._bytes <= window.ALL_BYTES * _SPARE:
                return
            known = self._pods[pod]
            kept = window.within(known.history, known.history.bytes // 2)
            self._put(pod, replace(known, history=kept))

    def judged(self, pod: PodName) -> window.Judged | None:
        return self._pods.get(pod)

    def samples(self, snapshot: Snapshot) -> window.PodSamples:
        if snapshot.known(PODS):
            pods = snapshot[PODS]
            for name in [name for name in self._pods if pods.get(*name) is None]:
                self._bytes -= self._pods.pop(name).history.bytes
        return window.PodSamples(scraping=True, pods=dict(self._pods))


def _decisive(verdict: window.PodVerdict) -> tuple[object, ...]:
    return verdict.faults, verdict.inconclusive, verdict.failing, verdict.in_service
