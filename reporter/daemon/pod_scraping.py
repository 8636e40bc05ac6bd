"""How the daemon scrapes: the settings, the cluster and the scraper put together."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.kube.client import KubeClient
from reporter.kube.live import LiveCluster
from reporter.metrics.looks.scrape import Scrape
from reporter.metrics.looks.target import Target
from reporter.metrics.pages.limits import PageLimits
from reporter.metrics.pages.reading import read_page
from reporter.metrics.scraping.answer import FetchLimits
from reporter.metrics.scraping.attempt import Attempts, Fetch
from reporter.metrics.scraping.direct import DirectFetch, Endpoint
from reporter.metrics.scraping.proxied import MOST_AT_ONCE, ProxiedFetch
from reporter.metrics.scraping.scraper import Observer, Scraper
from reporter.metrics.scraping.targets import find_targets
from reporter.setting_types import ScrapeVia
from reporter.settings import DaemonSettings, EvaluationSettings

Tell = Callable[[Target, Scrape], None]
_NOT_SOUGHT: Final = object()


def way_to_pods(settings: DaemonSettings, *, in_cluster: bool) -> tuple[ScrapeVia, str]:
    """Return how pods are scraped, and why so.

    Outside of the cluster pod addresses lead nowhere, and the API server's pod proxy is a right to any
    GET of any pod: it is for asking, not for assuming. So nothing is scraped, and nothing is told of that.
    """
    if settings.scrape_via is not ScrapeVia.AUTO:
        return settings.scrape_via, "as --scrape-via says"
    return (ScrapeVia.DIRECT, "in the cluster") if in_cluster else (ScrapeVia.OFF, _OUTSIDE)


_OUTSIDE: Final = (
    "outside of the cluster pods cannot be reached, so slow downloads and runtime reasons are not told; "
    "--scrape-via apiserver-proxy reads them with the right to get pods/proxy"
)


async def run_scraper(
    client: KubeClient,
    cluster: LiveCluster,
    settings: DaemonSettings,
    *,
    tell: Tell,
    targets_due: asyncio.Event,
    observer: Observer,
    pauses: Callable[[], int],
) -> None:
    """Scrape the pods of the cluster, as the settings say, until cancelled.

    Args:
        client: for the API server's pod proxy.
        cluster: where the pods are from.
        settings: whether, how, how often and within what limits.
        tell: is given what came of each scrape.
        targets_due: set when the pods to scrape may be other ones.
        observer: is told of everything, for metrics.
        pauses: how often the process has paused.

    """
    if settings.scrape_via is ScrapeVia.OFF:
        await asyncio.Event().wait()
    async with _fetching(client, settings) as fetch:
        read = partial(read_page, limits=PageLimits(series=settings.scrape_max_series))
        with Attempts(fetch, read) as attempts:
            scraper = Scraper(
                attempts,
                Finder(cluster, settings).find,
                tell,
                period=settings.scrape_period,
                concurrency=_concurrency(settings),
                targets_due=targets_due,
                observer=observer,
                pauses=pauses,
            )
            await scraper.run()


@asynccontextmanager
async def _fetching(client: KubeClient, settings: DaemonSettings) -> AsyncIterator[Fetch]:
    endpoint = Endpoint(settings.scrape_scheme, settings.scrape_port, settings.scrape_path)
    limits = FetchLimits(settings.scrape_timeout_seconds, settings.scrape_max_bytes)
    async with AsyncExitStack() as stack:
        if settings.scrape_via is ScrapeVia.APISERVER_PROXY:
            yield ProxiedFetch(client, endpoint, limits)
        else:
            yield await stack.enter_async_context(DirectFetch(endpoint, limits))


def _concurrency(settings: DaemonSettings) -> int:
    if settings.scrape_via is ScrapeVia.APISERVER_PROXY:
        return min(settings.scrape_concurrency, MOST_AT_ONCE)
    return settings.scrape_concurrency


class Finder:
    """Finds targets among the pods of a cluster, if these have changed."""

    def __init__(self, cluster: LiveCluster, settings: EvaluationSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._sought: object = _NOT_SOUGHT

    async def find(self) -> tuple[Target, ...] | None:
        """Return the targets; None if they are the same as the last time, or unknown."""
        snapshot = self._cluster.snapshot()
        pods = snapshot.tables.get(PODS)
        if pods is self._sought:
            return None
        # In a thread, as a pass does: to order the pods of a large cluster takes a while.
        targets = await asyncio.to_thread(find_targets, snapshot, self._settings)
        if targets is not None:
            self._sought = pods
        return targets
