"""One scrape: fetch a page, read it, and say what came of it."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, Self

from reporter.kube.clock import Now, real_now
from reporter.metrics.looks.scrape import Failure, Scrape
from reporter.metrics.looks.target import Target
from reporter.metrics.pages.page import Page, UnreadablePage
from reporter.metrics.scraping.failures import ScrapeFailed
from reporter.metrics.scraping.slots import FairSlots


class Fetch(Protocol):
    """Fetches a page by one of the ways."""

    def __call__(self, target: Target) -> Awaitable[bytes]:
        """Return the page of a pod.

        Raises:
            ScrapeFailed: there is none.

        """


class Attempts:
    """Scrapes pods.

    Pages are read in a thread, one after another: a page of real size takes a millisecond, but one
    that is made to be slow may take as long as the limits let it, and the event loop renews the
    Lease. A single thread, because Python runs one at a time anyhow; namespaces take turns.
    """

    def __init__(self, fetch: Fetch, read: Callable[[bytes], Page], *, now: Now = real_now) -> None:
        """Make one that fetches with `fetch` and reads bodies with `read`."""
        self._fetch = fetch
        self._read = read
        self._now = now
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._turns = FairSlots(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, target: Target) -> Scrape:
        """Scrape a pod; whatever goes wrong with it is part of the answer."""
        at = self._now()
        try:
            body = await self._fetch(target)
            seconds = self._since(at.boot.total_seconds())
            return Scrape(at=at, seconds=seconds, page=await self._page(target, body))
        except ScrapeFailed as failed:
            seconds = self._since(at.boot.total_seconds())
            return Scrape(at=at, seconds=seconds, failure=failed.failure, detail=failed.detail)

    def _since(self, boot: float) -> float:
        return max(0.0, self._now().boot.total_seconds() - boot)

    async def _page(self, target: Target, body: bytes) -> Page:
        loop = asyncio.get_running_loop()
        try:
            async with self._turns.of(target.namespace):
                return await loop.run_in_executor(self._reading, self._read, body)
        except UnreadablePage as error:
            raise ScrapeFailed(Failure.UNREADABLE, str(error)) from None
