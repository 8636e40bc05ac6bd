"""Pictures of the page for the documentation: `python -m tests.browser.screenshots FOLDER`."""

import asyncio
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.async_api import Browser, async_playwright, expect

from lab.demo.main import run_demo
from lab.demo.story import Step
from reporter.cli import check
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.view import ReportOrigin
from tests.browser.chromium import launch_options
from tests.browser.opened import opened
from tests.daemon.onlooker import Account
from tests.unit.sinks.page.reports import large

BROKEN = Path(__file__).parents[2] / "examples" / "broken-stack"
SIZES = {390: 844, 1440: 900}
PICTURES = (
    # name, page, width, colours
    ("page-390-light", "broken", 390, "light"),
    ("page-1440-light", "broken", 1440, "light"),
    ("page-1440-dark", "broken", 1440, "dark"),
    ("page-1000-subjects", "large", 1440, "light"),
)
OLD = "page-old"
GONE = 5_000.0
"""Milliseconds that its daemon is gone on that picture."""
CAUSES = 3
"""Of the step of the demo after which its daemon may go, which is the first with so many."""
PATIENCE = 20_000.0
"""Milliseconds for the page to show what an Event has told."""


def broken() -> str:
    """Return the page of the broken example, as `check -o html` writes it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        check.main(["--from", str(BROKEN), "-o", "html"])
    return out.getvalue()


def thousand() -> str:
    """Return the page of a large cluster."""
    report = large(1000, 30)
    return page_html(page_view(report, ReportOrigin(), EpisodeHistory.of(report)))


FILES: Mapping[str, Callable[[], str]] = {"broken": broken, "large": thousand}


class Photographer:
    """Takes the picture of the page of the demo whose daemon is gone, once it has shown causes."""

    def __init__(self, browser: Browser, file: Path) -> None:
        self.browser = browser
        self.file = file
        self.account = Account()
        self.done = False

    async def came(self, page: str) -> None:
        self.page = await opened(self.browser, page, color_scheme="light")

    async def saw(self, step: Step) -> None:
        self.account.take(step)
        if not self.done and len(self.account.reasons) == CAUSES:
            await expect(self.page.locator("#live")).to_contain_text("Live.", timeout=PATIENCE)
            await expect(self.page.locator(".cause")).to_have_count(CAUSES, timeout=PATIENCE)
            self.done = True

    async def saw_it_end(self) -> None:
        await self.page.wait_for_timeout(GONE)
        await expect(self.page.locator("#alarm")).to_be_visible(timeout=PATIENCE)
        await self.page.screenshot(path=self.file)


async def shoot(pages: Mapping[str, Path], folder: Path) -> int:
    """Write the pictures; return 1 if the demo has none to offer."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options())
        for name, page, width, colours in PICTURES:
            size = {"width": width, "height": SIZES[width]}
            tab = await browser.new_page(viewport=size, color_scheme=colours)
            await tab.goto(pages[page].as_uri())
            await tab.screenshot(path=folder / f"{name}.png")
            await tab.close()
        photographer = Photographer(browser, folder / f"{OLD}.png")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = await run_demo(fast=True, onlooker=photographer)
        if photographer.done:
            await photographer.saw_it_end()
        await browser.close()
    if status or not photographer.done:
        sys.stderr.write(f"screenshots: the demo did not come so far\n{out.getvalue()}")
        return 1
    return 0


def main(folder: Path) -> int:
    """Draw the pages and take their pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        pages = {name: Path(temporary, f"{name}.html") for name in FILES}
        for name, draw in FILES.items():
            pages[name].write_text(draw(), "utf-8")
        return asyncio.run(shoot(pages, folder))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
