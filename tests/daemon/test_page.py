"""The page of a running daemon, as browsers ask for it."""

import asyncio
import json
import re
import socket

import aiohttp
import pytest

from reporter.daemon import listeners
from reporter.daemon.server import ListenAddress, Pages, Servers, report_routes
from reporter.daemon.state import LivePage, LostWatches
from reporter.model.report import Mute, MuteFault, UnknownResource
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.sinks.page.document import POLICY
from tests.daemon.replica import PATIENCE_SECONDS, free_port, until
from tests.daemon.stage import KAITO
from tests.unit.sinks.page.reports import KAITO as KAITO_REASON
from tests.unit.sinks.page.reports import finding, large, later, report

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Stream:
    """A browser's end of `/live`."""

    def __init__(self, url):
        self.url = url

    async def __aenter__(self):
        self.session = await aiohttp.ClientSession().__aenter__()
        self.answer = await self.session.get(self.url)
        return self

    async def __aexit__(self, *_):
        self.answer.close()
        await self.session.close()

    async def next(self):
        """Return what the next event says, None at the end of the stream."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self.answer.content:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
        return None

    async def other_than(self, version):
        """Return the next event of another version."""
        while (told := await self.next()) is not None and told["version"] == version:
            pass
        return told


async def page_of(replica, path="/"):
    status, text = await replica.get("report", path, headers=HTML)
    assert status == 200
    return text


@pytest.mark.quick
async def test_a_fault_appears_on_the_page_and_in_the_stream(stage, inside, monkeypatch):
    """The stream says that something changed as soon as the pass has ended."""
    monkeypatch.setattr(listeners, "ALIVE_SECONDS", 2 * PATIENCE_SECONDS)
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    await replica.passes(1)
    assert "Nothing fires" in await page_of(replica)
    async with Stream(f"http://127.0.0.1:{replica.ports['report']}/live") as stream:
        assert stream.answer.headers["Content-Type"] == "text/event-stream"
        first = await stream.next()
        stage.scale_kaito(0)
        second = await stream.other_than(first["version"])
        assert second["version"] != first["version"]
        await stage.told(KAITO)
        text = await page_of(replica)
        assert "1 cause fires" in text
        assert f'href="#reason-{KAITO[0]}"' in text
        stage.scale_kaito(1)

        async def cleared():
            return "Nothing fires" in await page_of(replica)

        await until(cleared, "the page is clear")
    strip = (await page_of(replica)).partition('id="day"')[2]
    assert KAITO[0] in strip.replace("<wbr>", "")
    assert 'class="over"' in strip


async def test_the_page_says_that_the_api_server_is_away_before_anything_is_unknown(stage, inside):
    """What it shows stands still: the time of the report alone would make it look new."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()

    async def says_lost():
        return "The API server is out of reach" in await page_of(replica)

    async def says_nothing_of_it():
        return "may be missing here" not in await page_of(replica)

    await until(says_nothing_of_it, "all is confirmed")
    async with Stream(f"http://127.0.0.1:{replica.ports['report']}/live") as stream:
        assert (await stream.next())["lost"] is False
        await stage.down()
        await until(says_lost, "the page says so")
        while not (await stream.next())["lost"]:
            pass
        text = await page_of(replica)
        # Who was told to be ready stays so; who was not yet has no verdict.
        assert re.search(r"Nothing fires, but (not everything is|\d+ subjects? ha(s|ve) no)", text)
        assert 'id="unknown"' not in text
        await stage.up()
        await until(says_nothing_of_it, "all is confirmed again")
        while (await stream.next())["lost"]:
            pass


@pytest.mark.parametrize("accept", [{}, {"Accept": "*/*"}, {"Accept": "text/plain"}])
async def test_who_does_not_ask_for_html_gets_text(served, accept):
    """Curl and `status-reporter status` go on as they did."""
    status, headers, text = await served.get("/", **accept)
    assert (status, text) == (200, "the text")
    assert headers["Content-Type"].startswith("text/plain")
    assert headers["Vary"] == "Accept"


@pytest.mark.parametrize("path", ["/", "/page.css", "/page.js", "/icon.svg"])
async def test_every_answer_is_locked_down(served, path):
    status, headers, _ = await served.get(path, **HTML)
    assert status == 200
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/api/v1/report", {}, 200),
        ("GET", "/api/v1/pods/a/b", {}, 404),
        ("GET", "/nowhere", HTML, 404),
        ("POST", "/", HTML, 405),
        ("GET", "/", {"Host": "attacker.example"}, 403),
    ],
)
async def test_what_is_no_page_is_not_taken_for_one(served, method, path, *, headers, expected):
    """Text, JSON and refusals: not kept, not guessed at, nothing loaded, in no frame."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, served.url + path[1:], headers=headers) as answer,
    ):
        assert answer.status == expected
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_a_stream_is_asked_for_by_its_head(served, monkeypatch):
    """The answer ends, holds nothing, and takes no place; nginx is told not to collect the rest."""
    monkeypatch.setattr(listeners, "MOST_STREAMS", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    asked = "{} /live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    writer.write((asked.format("HEAD") + asked.format("GET")).encode())
    async with asyncio.timeout(PATIENCE_SECONDS):
        first = await reader.readuntil(b"\r\n\r\n")
        second = await reader.readline()
    writer.close()
    assert first.startswith(b"HTTP/1.1 200 ")
    assert b"text/event-stream" in first
    assert b"X-Accel-Buffering: no" in first
    assert second.startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("path", ["/", "/page.css", "/page.js", "/icon.svg", "/live"])
async def test_nothing_is_served_under_another_name(served, path):
    status, _, text = await served.get(path, **HTML, Host="attacker.example")
    assert status == 403
    assert KAITO_REASON not in text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8082", 200),
        ("localhost:4711", 200),
        ("LOCALHOST", 200),
        ("[::1]:8082", 200),
        ("attacker.example:8082", 403),
        ("127.0.0.1.attacker.example", 403),
        ("localhost.attacker.example", 403),
        ("192.0.2.7", 403),
        ("", 403),
        ("status.example.com", 200),
        ("status.example.com:80", 200),
        ("Status.Example.com", 200),
        ("example.com", 403),
        ("status.example.com.attacker.example", 403),
    ],
)
async def test_this_machine_and_the_name_of_a_proxy_are_served(serve, host, status):
    """A page in a browser cannot read it by a name of its own that resolves to loopback."""
    served = await serve(report(), names=("status.example.com",))
    for path in ("/", "/api/v1/report"):
        answer, _, _ = await served.get(path, **HTML, Host=host)
        assert answer == status


async def test_before_the_first_pass_the_page_says_so(serve):
    early = await serve(None)
    status, headers, text = await early.get("/", **HTML)
    assert (status, text) == (503, "No pass has ended yet.\n")
    assert headers["Refresh"] == "1"
    async with Stream(early.url + "live") as stream:
        early.page.passed(report())
        assert (await stream.next())["version"] == early.page.version


async def test_streams_are_bounded_and_their_places_are_given_back(served, monkeypatch):
    """One browser too many is asked to come again; a place that is left is free."""
    monkeypatch.setattr(listeners, "MOST_STREAMS", 2)
    async with Stream(served.url + "live") as one:
        await one.next()
        async with Stream(served.url + "live") as two:
            await two.next()
            status, headers, _ = await served.get("/live")
            assert (status, headers["Retry-After"]) == (503, "15")
        monkeypatch.setattr(listeners, "ALIVE_SECONDS", 0.05)

        async def free():
            async with Stream(served.url + "live") as again:
                return again.answer.status == 200

        # The place is given back when the next word to the one who left fails.
        served.page.passed(later(1, finding(KAITO_REASON)))
        served.page.passed(later(2))
        await until(free, "a place is free")


async def test_a_stream_says_that_it_is_alive(served, monkeypatch):
    """The same version again, so that one sees how old the page is."""
    monkeypatch.setattr(listeners, "ALIVE_SECONDS", 0.05)
    async with Stream(served.url + "live") as stream:
        first = await stream.next()
        second = await stream.next()
    assert second["version"] == first["version"]
    assert second["age"] >= first["age"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mutes": (Mute(ObjectRef("v1", "Namespace", "", "team"), (KAITO_REASON,)),)},
        {"mute_faults": (MuteFault(ObjectRef("v1", "Namespace", "", "team"), "no reason"),)},
        {"unknown": (UnknownResource("pods", "forbidden"),)},
        {"ready_ones": [CLUSTER]},
        {"subjects": (CLUSTER,)},
    ],
)
async def test_what_else_the_page_says_makes_another_version(serve, changes):
    """An open page shows it without being asked."""
    served = await serve(report())
    first = served.page.version
    served.page.passed(later(1))
    assert served.page.version == first
    served.page.passed(later(2, **changes))
    assert served.page.version != first


async def test_what_is_out_of_reach_makes_another_version_once():
    """An open page says it without being asked, and is not loaded again while it lasts."""
    losses = (None, LostWatches(3.0), LostWatches(4.5), LostWatches(5.0, ("pods",)), None)
    told = iter(losses)
    page = LivePage(lambda: True, lambda: next(told))
    versions = []
    for second in range(5):
        page.passed(later(second))
        versions.append(page.version)
    assert versions[1] == versions[2]
    assert len(set(versions)) == 4


async def test_streams_end_when_the_daemon_stops(serve):
    served = await serve(report())
    async with Stream(served.url + "live") as stream:
        await stream.next()
        began = asyncio.get_running_loop().time()
        await served.stop()
        assert await stream.next() is None
    assert asyncio.get_running_loop().time() - began < 0.9


async def test_who_takes_nothing_delays_nobody_and_is_dropped(served, monkeypatch):
    """A browser that never reads: passes go on, and its place is given to another one."""
    monkeypatch.setattr(listeners, "MOST_STREAMS", 1)
    monkeypatch.setattr(listeners, "SLOW_SECONDS", 0.2)
    monkeypatch.setattr(listeners, "ALIVE_SECONDS", 0.0)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect(("127.0.0.1", served.port))
        deaf.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")

        async def status():
            async with Stream(served.url + "live") as stream:
                return stream.answer.status

        async def refused():
            return await status() == 503

        async def let_in():
            return await status() == 200

        await until(refused, "the deaf one has the only place")
        began = asyncio.get_running_loop().time()
        served.page.passed(later(1))
        assert asyncio.get_running_loop().time() - began < 0.1
        await until(let_in, "the deaf one is dropped")


async def test_long_lists_are_cut_unless_all_is_asked_for(serve):
    """A page for a browser stays small; what is left out is found by its name."""
    served = await serve(large(1000, 0))
    _, _, short = await served.get("/", **HTML)
    _, _, whole = await served.get("/?all=1", **HTML)
    _, _, found = await served.get("/?q=model-0839", **HTML)
    assert ("model-0839" in short, "model-0839" in whole) == (False, True)
    assert re.findall(r'data-words="([^"]+/model[^"]+)"', found) == ["team-39/model-0839"]
    assert 'href="?all=1"' in short
    assert "show all" not in whole


async def test_a_page_is_drawn_once_for_all_who_ask(served, monkeypatch):
    """A thousand subjects, many browsers: the loop goes on and the work is done once."""
    drawn = []
    draw = listeners.LivePage.html.__globals__["_draw"]
    monkeypatch.setitem(
        listeners.LivePage.html.__globals__,
        "_draw",
        lambda state, **how: drawn.append(state) or draw(state, **how),
    )
    served.page.passed(large(1000, 500))
    answers = await asyncio.gather(*(served.get("/", **HTML) for _ in range(10)))
    assert {status for status, _, _ in answers} == {200}
    assert len({text for _, _, text in answers}) == 1
    assert len(drawn) == 1


class Served:
    """The report listener with reports of a test."""

    def __init__(self):
        self.page = LivePage(lambda: True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._servers = Servers(before_close=self.page.close)

    async def start(self, names=()):
        address = ListenAddress("report-bind-address", "127.0.0.1", self.port, names)
        pages = Pages(lambda: b"{}", lambda: "the text")
        routes = report_routes(pages)
        await self._servers.listen(address, listeners.with_page(routes, self.page, address))
        return self

    async def stop(self):
        await self._servers.__aexit__()

    async def get(self, path, **headers):
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url + path[1:], headers=headers) as answer,
        ):
            return answer.status, answer.headers, await answer.text()


@pytest.fixture(name="serve")
async def _serve():
    running = []

    async def serve(first, **how):
        served = await Served().start(**how)
        running.append(served)
        if first is not None:
            served.page.passed(first)
        return served

    yield serve
    for each in running:
        await each.stop()


@pytest.fixture(name="served")
async def _served(serve):
    return await serve(report(finding(KAITO_REASON)))
