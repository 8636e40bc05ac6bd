"""The whole way, from simulated pods to pages: every misbehaviour, all at once, on real sockets."""

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack, suppress

import pytest
from prometheus_client import CollectorRegistry

from lab.simulation import Misbehaviour, ModelPod, Phase
from reporter.metrics.looks.look import Failure
from reporter.metrics.pages.names import DOWNLOAD_REMAINING
from reporter.metrics.pages.reading import read_page
from reporter.metrics.scraping.attempt import Attempts, DirectFetch, Endpoint, FetchLimits
from reporter.metrics.scraping.scraper import Scraper
from reporter.sinks.own_metrics import ScrapeMetrics
from tests.unit.metrics.scraping.servers import target

DEADLINE_SECONDS = 60.0

LIMITS = FetchLimits(seconds=DEADLINE_SECONDS)
IMPATIENT = FetchLimits(seconds=1.0)

OUTCOMES = {
    Misbehaviour.HANG: Failure.TIMEOUT,
    Misbehaviour.HANG_MIDWAY: Failure.TIMEOUT,
    Misbehaviour.RESET_AT_ONCE: Failure.RESET,
    Misbehaviour.RESET_MIDWAY: Failure.TRUNCATED,
    Misbehaviour.CLOSE_AT_ONCE: Failure.RESET,
    Misbehaviour.SLOW_DRIP: Failure.TIMEOUT,
    Misbehaviour.ENDLESS_BODY: Failure.TOO_LARGE,
    Misbehaviour.HUGE_PAGE: Failure.TOO_LARGE,
    Misbehaviour.LONG_LINE: None,
    Misbehaviour.LONG_HEADER: Failure.UNREADABLE,
    Misbehaviour.GZIP: Failure.ENCODED,
    Misbehaviour.GZIP_BOMB: Failure.ENCODED,
    Misbehaviour.TRUNCATED: Failure.TRUNCATED,
    Misbehaviour.TRUNCATED_CHUNKED: Failure.TRUNCATED,
    Misbehaviour.CHUNKED: None,
    Misbehaviour.NO_FINAL_NEWLINE: None,
    Misbehaviour.CARRIAGE_RETURNS: None,
    Misbehaviour.BYTE_ORDER_MARK: None,
    Misbehaviour.INVALID_UTF8: None,
    Misbehaviour.WRONG_CHARSET: None,
    Misbehaviour.NUL: Failure.UNREADABLE,
    Misbehaviour.BAD_LINE: None,
    Misbehaviour.BAD_LINES: Failure.UNREADABLE,
    Misbehaviour.DUPLICATE_SERIES: None,
    Misbehaviour.EMPTY: Failure.EMPTY,
    Misbehaviour.NOT_HTTP: Failure.UNREADABLE,
    Misbehaviour.NO_CONTENT_TYPE: None,
    Misbehaviour.JSON: Failure.UNSUPPORTED,
    Misbehaviour.HTML: Failure.UNSUPPORTED,
    Misbehaviour.SERVER_ERROR: Failure.STATUS,
    Misbehaviour.UNAVAILABLE: Failure.STATUS,
    Misbehaviour.NOT_FOUND: Failure.STATUS,
    Misbehaviour.REDIRECT: Failure.STATUS,
}


def test_every_misbehaviour_is_known():
    """A new one needs its row."""
    assert OUTCOMES.keys() == set(Misbehaviour)


@pytest.mark.parametrize("kind", Misbehaviour)
async def test_misbehaviour(kind):
    """Each is a page or the failure of its class, and nothing else comes out."""
    limits = IMPATIENT if OUTCOMES[kind] is Failure.TIMEOUT else LIMITS
    async with ModelPod() as pod, ModelPod() as other:
        pod.misbehave(kind, location=other.url)
        async with DirectFetch(Endpoint(port=pod.port), limits) as fetch:
            with Attempts(fetch, read_page) as scrape:
                found = await scrape(target(address=pod.host))
        assert other.requests == 0
    assert found.failure is OUTCOMES[kind]
    assert (found.page is None) == (found.failure is not None)
    assert found.page is None or found.page.vllm


@pytest.mark.parametrize("phase", [Phase.DOWNLOADING, Phase.SERVING])
async def test_pages_of_a_life(phase):
    """The page before vLLM serves, over HTTP/1.0, and the one of its engine."""
    async with ModelPod() as pod:
        pod.become(phase)
        async with DirectFetch(Endpoint(port=pod.port), LIMITS) as fetch:
            with Attempts(fetch, read_page) as scrape:
                found = await scrape(target(address=pod.host))
    assert found.page is not None
    assert found.page.vllm == (phase is Phase.SERVING)
    downloading = found.page.pod.gauge(DOWNLOAD_REMAINING) not in {None, 0.0}
    assert downloading == (phase is Phase.DOWNLOADING)


def told(name, scrapes) -> bool:
    """Tell whether a pod has shown what it is; a busy machine may time out on anybody at times."""
    failures = [scrape.failure for scrape in scrapes]
    if name.startswith("well-"):
        return failures.count(None) >= 2
    return OUTCOMES[Misbehaviour(name)] in failures


@pytest.mark.long
async def test_none_delays_another():
    """One pod of each kind and as many that are well, with few slots and a short period."""
    registry = CollectorRegistry()
    seen = defaultdict(list)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(ModelPod(host="127.0.1.1"))
        targets = [target("well-1", first.host)]
        for number, kind in enumerate(Misbehaviour, 2):
            for name, host in ((kind.value, "127.0.2"), (f"well-{number}", "127.0.1")):
                pod = ModelPod(host=f"{host}.{number}", port=first.port)
                await stack.enter_async_context(pod)
                pod.misbehave(kind if name == kind.value else None, location=first.url)
                targets.append(target(name, pod.host))

        enough = asyncio.Event()

        def note(target, scrape):
            seen[target.name].append(scrape)
            if all(told(each.name, seen[each.name]) for each in targets):
                enough.set()

        async def find():
            return targets

        fetch = DirectFetch(Endpoint(port=first.port), IMPATIENT)
        await stack.enter_async_context(fetch)
        scraper = Scraper(
            stack.enter_context(Attempts(fetch, read_page)),
            find,
            note,
            period=2.0,
            concurrency=8,
            targets_due=asyncio.Event(),
            observer=ScrapeMetrics(registry),
        )
        running = asyncio.create_task(scraper.run())
        async with asyncio.timeout(DEADLINE_SECONDS):
            await enough.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    ok = registry.get_sample_value("status_reporter_scrapes_total", {"outcome": "ok"})
    timeouts = registry.get_sample_value("status_reporter_scrapes_total", {"outcome": "timeout"})
    assert ok == sum(scrape.page is not None for each in seen.values() for scrape in each)
    assert timeouts >= 3
    assert registry.get_sample_value("status_reporter_scrape_targets") == len(targets)
    assert registry.get_sample_value("status_reporter_scrape_bad_lines_total") > 0
