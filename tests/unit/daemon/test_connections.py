"""Listeners hold out against clients that mean harm."""

import asyncio
from contextlib import suppress
from itertools import pairwise

import pytest
import structlog
from aiohttp import web

from reporter.daemon import connections, server
from reporter.daemon.connections import Connections
from reporter.daemon.server import ListenAddress, Servers

ADDRESS = ListenAddress("report-bind-address", "127.0.0.1", 0)
ASK = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def ok(_request):
    return web.Response(text="ok")


@pytest.fixture(name="port")
async def _port(monkeypatch):
    writers.clear()
    monkeypatch.setattr(server, "Connections", lambda: Connections(most=3, idle_seconds=0.3))
    async with Servers() as servers:
        yield await servers.listen(ADDRESS, {"/ok": ok})
    for writer in writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


writers: list[asyncio.StreamWriter] = []


async def answer(port, sent=ASK):
    """What comes back, and the connection, which stays open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writers.append(writer)
    writer.write(sent)
    try:
        async with asyncio.timeout(5):
            return await reader.readline(), reader, writer
    except ConnectionError:
        return b"", reader, writer


async def test_connections_are_capped(port):
    """One too many is closed; as soon as another one is, there is room again."""
    held = [await answer(port) for _ in range(3)]
    assert all(b"200" in line for line, *_ in held)
    refused, *_ = await answer(port)
    assert refused == b""
    held[0][2].close()
    await held[0][2].wait_closed()
    line, *_ = await answer(port)
    assert b"200" in line


async def test_a_connection_that_asks_for_nothing_is_closed(port):
    """Whether it never asked, asked in part, or asked long ago."""
    for sent in (b"", b"GET /ok HTTP/1.1\r\nX: ", ASK):
        _, reader, _ = await answer(port, sent)
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                await reader.read()


async def test_an_over_long_header_is_one_line_of_the_log(port):
    """It has the cause, and nothing that the client wrote."""
    with structlog.testing.capture_logs() as lines:
        line, *_ = await answer(port, b"GET /ok HTTP/1.1\r\nX: " + b"secret" * 20_000 + b"\r\n\r\n")
    assert b"400" in line
    assert len(lines) <= 1
    assert "secret" not in str(lines)


async def test_one_answer_is_rendered_at_a_time():
    """While many ask for the report, the loop is free for others at least half of the time."""
    loop, began = asyncio.get_running_loop(), []

    async def slow(_request):
        began.append(loop.time())
        await asyncio.sleep(0.05)
        return web.Response()

    lock = asyncio.Lock()
    serve = connections.paced(slow, lock)
    await asyncio.gather(*(serve(None) for _ in range(3)))
    assert min(b - a for a, b in pairwise(began)) >= 0.09
