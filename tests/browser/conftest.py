"""A browser, and the page served to it: by the whole daemon, or from a report that a test makes."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest

from reporter.daemon.listeners import with_page
from reporter.daemon.server import ListenAddress, Pages, Servers, report_routes
from reporter.daemon.state import LivePage, LostWatches
from tests.browser.chromium import launch_options
from tests.daemon.conftest import (  # noqa: F401 - fixtures
    _impatient,
    _inside,
    _no_cluster_around,
    _replicas,
    _stage,
)
from tests.daemon.replica import free_port

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.fixture(name="browser")
async def _browser() -> "AsyncIterator[Browser]":
    # Not at the top: `make test` imports this file, and has no Playwright.
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options())
        yield browser
        await browser.close()


class Served:
    """The report listener with reports of a test."""

    def __init__(self) -> None:
        self.lost_watches: LostWatches | None = None
        self.page = LivePage(lambda: True, lambda: self.lost_watches)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"

    async def start(self) -> "Served":
        address = ListenAddress("report-bind-address", "127.0.0.1", self.port)
        pages = Pages(lambda: None, lambda: None)
        self.page.closed = False
        self._servers = Servers(before_close=self.page.close)
        await self._servers.listen(address, with_page(report_routes(pages), self.page, address))
        return self

    async def stop(self) -> None:
        await self._servers.__aexit__()


@pytest.fixture(name="served")
async def _served() -> AsyncIterator[Callable[..., Served]]:
    """Return what serves a report: `await served(report)`."""
    running: list[Served] = []

    async def serve(*reports: object) -> Served:
        served = await Served().start()
        running.append(served)
        for report in reports:
            served.page.passed(report)
        return served

    yield serve
    for each in running:
        await each.stop()
