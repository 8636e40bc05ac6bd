"""The page while the demo tells its story: opened once, at the start."""

from playwright.async_api import expect

from lab.demo.main import run_demo
from tests.browser.opened import opened
from tests.daemon.onlooker import Account
from tests.daemon.replica import until

SECONDS = 20.0


class Watching:
    """Somebody with the page open, who never touches it."""

    def __init__(self, browser):
        self.browser = browser
        self.account = Account()
        self.seen = []

    async def came(self, page):
        self.page = await opened(self.browser, page)
        # It may have been opened before the first pass.
        await expect(self.page.locator("#live")).to_contain_text("Live.", timeout=1000 * SECONDS)
        await self.page.evaluate("window.loadedOnce = true")

    async def saw(self, step):
        self.account.take(step)

        async def shown():
            texts = await self.page.locator(".cause h3").all_text_contents()
            return sorted(texts) == sorted(self.account.reasons)

        # Their order is that of whom they hit, which the story does not tell.
        await until(shown, "the page shows what fires")
        for each in step.over:
            ended = self.page.locator("#day li", has_text=each.reason)
            await expect(ended.locator(".bars .over")).not_to_have_count(0)
        self.seen.append(self.account.reasons)


async def test_the_page_follows_the_story_without_reload(browser):
    """Each fault of the demo appears, those that are mended go, and it is the same page."""
    watching = Watching(browser)
    assert await run_demo(fast=True, onlooker=watching) == 0
    assert len(watching.seen) == 6
    assert watching.seen[0] == []
    assert await watching.page.evaluate("window.loadedOnce")


async def test_what_has_ended_moves_to_the_last_day(browser):
    """A slow download and a full cache begin and end."""
    watching = Watching(browser)
    assert await run_demo("runtime", fast=True, onlooker=watching) == 0
    assert watching.seen[-1] == []
    assert await watching.page.evaluate("window.loadedOnce")
