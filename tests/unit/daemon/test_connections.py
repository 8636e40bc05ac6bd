"""Listeners hold out against clients that mean harm."""

import asyncio
from contextlib import suppress

import pytest
import structlog
from aiohttp import web

from reporter.daemon import server
from reporter.daemon.server import LOG_SECONDS, Connections, ListenAddress, Servers
from tests.clock import Clock

ADDRESS = ListenAddress("report-bind-address", "127.0.0.1", 0)
ASK = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"
OVER_LONG = b"GET /ok HTTP/1.1\r\nX: " + b"secret" * 20_000 + b"\r\n\r\n"


async def ok(_request):
    return web.Response(text="ok")


@pytest.fixture(name="clock")
def _clock():
    return Clock()


class Slow:
    """What `/slow` does: its answers come when `due` is set."""

    def __init__(self):
        self.due = asyncio.Event()
        self.asked = asyncio.Semaphore(0)

    async def answer(self, _request):
        self.asked.release()
        await self.due.wait()
        return web.Response(text="ok")


@pytest.fixture(name="slow")
async def _slow():
    return Slow()


@pytest.fixture(name="idle_seconds")
def _idle_seconds():
    return 3600.0


@pytest.fixture(name="answer_seconds")
def _answer_seconds():
    return 3600.0


@pytest.fixture(name="port")
async def _port(monkeypatch, clock, slow, idle_seconds, answer_seconds):
    writers.clear()
    monkeypatch.setattr(server, "Connections", lambda: Connections(3, idle_seconds, answer_seconds))
    async with Servers(clock=clock) as servers:
        yield await servers.listen(ADDRESS, {"/ok": ok, "/slow": slow.answer})
    for writer in writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


writers: list[asyncio.StreamWriter] = []


async def connected(port, sent=ASK):
    """A connection over which this was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writers.append(writer)
    writer.write(sent)
    return reader, writer


async def line(reader):
    """The first line that comes, empty where the connection is closed instead."""
    try:
        async with asyncio.timeout(5):
            return await reader.readline()
    except ConnectionError:
        return b""


async def answer(port, sent=ASK):
    """What comes back, and the connection, which stays open."""
    reader, writer = await connected(port, sent)
    return await line(reader), reader, writer


async def is_closed(reader):
    """Wait until all has come and the connection is closed."""
    async with asyncio.timeout(5):
        with suppress(ConnectionError):
            await reader.read()
    return True


async def test_a_new_connection_takes_the_place_of_the_one_that_is_idle_for_longest(port):
    """To ask again keeps a place for a while only: whoever comes is answered."""
    held = [await answer(port) for _ in range(3)]
    _, reader, writer = held[0]
    await reader.readuntil(b"\r\n\r\nok")
    writer.write(ASK)
    assert b"200" in await line(reader)
    assert b"200" in (await answer(port))[0]
    assert await is_closed(held[1][1])
    assert b"200" in (await answer(port))[0]
    assert await is_closed(held[2][1])
    assert b"200" in (await answer(port))[0]
    assert await is_closed(held[0][1])


@pytest.mark.parametrize("answer_seconds", [0.2])
async def test_who_waits_for_long_makes_room(port, slow):
    """All places taken by streams, or by who pretends to wait, keep nobody out: the oldest goes."""
    held = [await connected(port, ASK.replace(b"ok", b"slow", 1)) for _ in range(3)]
    for _ in held:
        await slow.asked.acquire()
    await asyncio.sleep(0.3)
    assert b"200" in (await answer(port))[0]
    assert await is_closed(held[0][0])
    slow.due.set()
    assert b"200" in await line(held[1][0])


async def test_connections_are_capped(port, slow):
    """While all are being answered one too many is closed, and those that wait get their answers."""
    held = [await connected(port, ASK.replace(b"ok", b"slow", 1)) for _ in range(3)]
    for _ in held:
        await slow.asked.acquire()
    refused, *_ = await answer(port)
    assert refused == b""
    slow.due.set()
    for reader, _ in held:
        assert b"200" in await line(reader)
    assert b"200" in (await answer(port))[0]


@pytest.mark.parametrize("idle_seconds", [0.05])
async def test_a_connection_that_asks_for_nothing_is_closed(port):
    """Whether it never asked, asked in part, or asked long ago."""
    for sent in (b"", b"GET /ok HTTP/1.1\r\nX: ", ASK):
        _, reader, _ = await answer(port, sent)
        assert await is_closed(reader)


async def test_an_over_long_header_is_one_line_of_the_log(port):
    """It has the cause, and nothing that the client wrote."""
    with structlog.testing.capture_logs() as lines:
        refused, *_ = await answer(port, OVER_LONG)
    assert b"400" in refused
    assert [(each["event"], each["cause"]) for each in lines] == [("request_failed", "LineTooLong")]
    assert "secret" not in str(lines)


async def test_many_over_long_headers_are_few_lines_of_the_log(port, clock):
    """One line in a while, and the next one says how many had none."""
    with structlog.testing.capture_logs() as lines:
        for _ in range(10):
            await answer(port, OVER_LONG)
        assert [each["unlogged"] for each in lines] == [0]
        clock.now += LOG_SECONDS
        for _ in range(3):
            await answer(port, OVER_LONG)
    assert [each["unlogged"] for each in lines] == [0, 9]
