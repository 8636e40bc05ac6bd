"""One scrape, from the request to the page."""

import asyncio
import threading

import pytest

from reporter.metrics.pages.reader import UnreadablePage
from reporter.metrics.pages.reading import Page
from reporter.metrics.samples.sample import Failure
from reporter.metrics.scraping.attempt import Attempts
from reporter.metrics.scraping.targets import ScrapeFailed
from tests.unit.kube.collection import virtual_now
from tests.unit.metrics.scraping.servers import target

BODY = b"vllm:num_requests_running 3.0\n"


def attempts(fetch, read=lambda _: Page()):
    return Attempts(fetch, read, now=virtual_now)


@pytest.mark.looptime
async def test_a_page_has_the_time_of_its_request():

    async def fetch(_):
        await asyncio.sleep(2.0)
        return BODY

    await asyncio.sleep(100.0)
    with attempts(fetch) as scrape:
        found = await scrape(target())
    assert found.at.boot.total_seconds() == pytest.approx(100.0)
    assert found.seconds == pytest.approx(2.0)
    assert found.page == Page()
    assert found.failure is None


@pytest.mark.looptime
async def test_a_failure_has_its_words_and_its_time():

    async def fetch(_):
        await asyncio.sleep(5.0)
        raise ScrapeFailed(Failure.STATUS, "503")

    with attempts(fetch) as scrape:
        found = await scrape(target())
    assert (found.page, found.failure, found.detail) == (None, Failure.STATUS, "503")
    assert found.seconds == pytest.approx(5.0)


async def test_an_unreadable_page_is_a_failure():

    async def fetch(_):
        return BODY

    def read(body):
        raise UnreadablePage("holds a NUL byte")

    with attempts(fetch, read) as scrape:
        found = await scrape(target())
    assert (found.page, found.failure) == (None, Failure.UNREADABLE)
    assert found.detail == "holds a NUL byte"


async def test_pages_are_read_beside_the_loop():
    """A page made to be slow must not keep the Lease from being renewed."""
    release = threading.Event()

    async def fetch(_):
        return BODY

    def read(body):
        assert threading.current_thread() is not threading.main_thread()
        assert release.wait(10)
        return Page()

    with attempts(fetch, read) as scrape:
        scraping = asyncio.create_task(scrape(target()))
        await asyncio.sleep(0.05)
        assert not scraping.done()
        release.set()
        assert (await scraping).page == Page()
