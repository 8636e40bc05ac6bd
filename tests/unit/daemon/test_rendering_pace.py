"""What is dear to render leaves the event loop to health and the Lease."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from reporter.daemon.listeners import RenderingPace, with_page
from reporter.daemon.server import ListenAddress, Pages, Servers, health_routes, report_routes
from reporter.daemon.state import LivePage

ANY = ListenAddress("report-bind-address", "127.0.0.1", 0)
HTML = {"Accept": "text/html"}
SECONDS = 7.0


class Rendering:
    """Counts what is rendered; each takes seven seconds, and after it the test says when to go on."""

    def __init__(self):
        self.rendered = []
        self.now = 0.0
        self.rests = asyncio.Queue()
        self.pace = RenderingPace(lambda: self.now, self.rest)
        self.page = LivePage(lambda: True)
        self.page.html = self.html
        self.pages = Pages(self.as_json, lambda: self.render("text").decode())

    def render(self, what):
        self.rendered.append(what)
        self.now += SECONDS
        return what.encode()

    def as_json(self):
        return self.render("json")

    async def html(self, _query, **_how):
        return self.render("html")

    async def rest(self, seconds):
        go_on = asyncio.Event()
        await self.rests.put((seconds, go_on))
        await go_on.wait()


@pytest.fixture(name="rendering")
async def _rendering():
    return Rendering()


async def test_health_answers_while_page_and_report_are_asked_for_without_pause(rendering):
    """After each page or report the loop is free for as long as it took; nothing else is rendered then."""
    async with Servers(before_close=rendering.page.close) as servers, asyncio.timeout(30):
        routes = with_page(report_routes(rendering.pages), rendering.page, ANY, pace=rendering.pace)
        report = f"http://127.0.0.1:{await servers.listen(ANY, routes)}"
        health = f"http://127.0.0.1:{await servers.listen(ANY, health_routes(lambda: None, lambda: None))}/healthz"
        async with aiohttp.ClientSession() as session:

            async def ask(path, headers):
                async with session.get(report + path, headers=headers) as answer:
                    return answer.status

            asked = [
                asyncio.ensure_future(ask(path, headers))
                for path, headers in [("/", HTML), ("/api/v1/report", {}), ("/", {})] * 4
            ]
            for turn in range(1, len(asked) + 1):
                seconds, go_on = await rendering.rests.get()
                for _ in range(3):
                    async with session.get(health) as answer:
                        assert answer.status == 200
                assert (len(rendering.rendered), seconds) == (turn, SECONDS)
                go_on.set()
            assert await asyncio.gather(*asked) == [200] * len(asked)
    assert sorted(rendering.rendered) == ["html"] * 4 + ["json"] * 4 + ["text"] * 4


async def test_nothing_is_rendered_for_clients_that_left(rendering):
    """Those who ask and leave at once would otherwise have all their answers rendered one day."""

    class Gone:
        transport = None

    async def handler(_request):
        rendering.render("json")
        return web.Response()

    await rendering.pace.paced(handler)(Gone())
    assert rendering.rendered == []


async def test_an_answer_does_not_wait_for_the_rest_after_it(rendering):
    """Only what is asked for next does; otherwise each answer would take twice as long."""

    class Client:
        transport = object()

    async def handler(_request):
        return web.Response(body=rendering.render("json"))

    ask = rendering.pace.paced(handler)
    async with asyncio.timeout(30):
        assert (await ask(Client())).status == 200
        _, go_on = await rendering.rests.get()
        after = asyncio.create_task(ask(Client()))
        for _ in range(5):
            await asyncio.sleep(0)
        assert rendering.rendered == ["json"]
        go_on.set()
        assert (await after).status == 200
    assert rendering.rendered == ["json", "json"]
