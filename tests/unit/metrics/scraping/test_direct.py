"""Scraping by IP: every misbehaviour is a failure of its class, in time, and goes no further."""

import asyncio
import gzip
import tracemalloc
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from reporter.metrics.samples.sample import Failure
from reporter.metrics.scraping.attempt import AnswerReader, DirectFetch, FetchLimits, url_of
from reporter.metrics.scraping.targets import ScrapeFailed
from tests.unit.metrics.scraping import servers
from tests.unit.metrics.scraping.servers import PAGE, answer, raw, serving, target

LIMITS = FetchLimits(seconds=30.0, bytes=100_000)
"""For what ends by itself: nothing but a deadline that does not count comes near it."""
IMPATIENT = FetchLimits(seconds=0.2, bytes=100_000)
"""For what would never end."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


async def fetched(port: int, *, limits: FetchLimits = LIMITS, address: str = "127.0.0.1") -> bytes:
    async with DirectFetch(port, limits) as fetch:
        return await fetch(target(address=address))


async def failed(port: int, **options: object) -> ScrapeFailed:
    with pytest.raises(ScrapeFailed) as caught:
        await fetched(port, **options)
    return caught.value


GOOD = {
    "as vLLM answers": answer(),
    "OpenMetrics": answer(content_type="application/openmetrics-text; version=1.0.0"),
    "type in capitals": answer(content_type="Text/Plain"),
    "no type": answer(content_type=None),
    "identity": answer(headers="Content-Encoding: identity\r\n"),
    "HTTP/1.0 that ends with the connection": raw(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE),
    "chunked": raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
async def test_pages(name):
    """What the two front ends, and KAITO's server before them, may send is read."""
    async with serving(GOOD[name]) as server:
        assert await fetched(server.port) == PAGE


async def _half(writer):
    writer.write(HEAD + b"Content-Length: 1000\r\n\r\n" + PAGE)
    await servers.hang(writer)


BAD = {
    "hangs": (servers.hang, Failure.TIMEOUT, "no complete answer"),
    "drips": (servers.drip, Failure.TIMEOUT, "no complete answer"),
    "hangs in the body": (_half, Failure.TIMEOUT, "no complete answer"),
    "resets": (servers.reset, Failure.RESET, ""),
    "closes": (raw(b""), Failure.RESET, "no answer"),
    "endless": (servers.endless, Failure.TOO_LARGE, "more than 100000 bytes"),
    "declares too much": (answer(length=100_001), Failure.TOO_LARGE, "more than 100000 bytes"),
    "500": (answer(status="500 Internal Server Error"), Failure.STATUS, "500"),
    "404": (answer(status="404 Not Found"), Failure.STATUS, "404"),
    "204": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), Failure.STATUS, "204"),
    "empty": (answer(b""), Failure.EMPTY, ""),
    "shorter than declared": (answer(length=len(PAGE) + 1), Failure.TRUNCATED, ""),
    "chunks without an end": (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nvllm:"), Failure.TRUNCATED, ""),
    "gzip": (answer(gzip.compress(PAGE), headers="Content-Encoding: gzip\r\n"), Failure.ENCODED, ""),
    "HTML": (answer(content_type="text/html"), Failure.UNSUPPORTED, ""),
    "JSON": (answer(content_type="application/json"), Failure.UNSUPPORTED, ""),
    "protobuf": (answer(content_type="application/vnd.google.protobuf"), Failure.UNSUPPORTED, ""),
    "not HTTP": (raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), Failure.UNREADABLE, "not HTTP"),
    "huge header": (raw(HEAD + b"X: " + b"x" * 100_000 + b"\r\n\r\n"), Failure.UNREADABLE, "not HTTP"),
    "length that is none": (raw(HEAD + b"Content-Length: many\r\n\r\n" + PAGE), Failure.UNREADABLE, "not HTTP"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_misbehaviour(name):
    """Each kind has its failure, and those that would go on for ever have an end."""
    behaviour, failure, detail = BAD[name]
    async with asyncio.timeout(LIMITS.seconds), serving(behaviour) as server:
        limits = IMPATIENT if failure is Failure.TIMEOUT else LIMITS
        error = await failed(server.port, limits=limits)
    assert (error.failure, error.detail) == (failure, detail)


async def test_nobody_listens():
    """As with vLLM until its engine is built."""
    async with serving(servers.hang) as server:
        pass
    error = await failed(server.port)
    assert (error.failure, error.detail) == (Failure.REFUSED, "")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect"])
async def test_redirects_are_not_followed(status):
    """A pod must not send us to where it could not go itself."""
    async with serving(answer()) as other:
        location = f"Location: http://127.0.0.1:{other.port}/latest/meta-data\r\n"
        async with serving(answer(status=status, headers=location)) as server:
            error = await failed(server.port)
        assert error.failure is Failure.STATUS
        assert error.detail == f"{status[:3]}, redirects are not followed"
        assert other.requests == []


async def test_a_bomb_is_not_unpacked():
    """A page that grows a thousandfold costs what was sent, which is nothing: it is refused."""
    bomb = gzip.compress(b"\0" * 64 * 2**20)
    async with serving(answer(bomb, headers="Content-Encoding: gzip\r\n")) as server:
        tracemalloc.start()
        try:
            error = await failed(server.port)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert error.failure is Failure.ENCODED
    assert peak < 2**22


async def test_the_request(monkeypatch):
    """It asks for the simple format, uncompressed, on a connection of its own, of the pod itself."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with serving(answer(headers="Set-Cookie: a=b\r\n")) as server:
        async with DirectFetch(server.port, LIMITS) as fetch:
            await fetch(target())
            await fetch(target())
        head, *lines = server.requests[1].decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    assert head == "GET /metrics HTTP/1.1"
    assert headers["Accept"] == "text/plain;version=0.0.4, */*;q=0.1"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["Connection"].lower() == "close"
    assert "Cookie" not in headers
    assert "Authorization" not in headers


def test_addresses_of_ipv6_are_in_brackets():
    tls = target(address="fd00::1", scheme="https")
    assert str(url_of(tls, 8000)) == "https://[fd00::1]:8000/metrics"
    assert str(url_of(target(address="10.0.0.1"), 8000)) == "http://10.0.0.1:8000/metrics"


def test_a_pod_has_its_own_port_or_the_one_of_the_settings():
    """Pods of different stacks serve their pages on different ports."""
    assert url_of(target(port=8123), 5000).port == 8123
    assert url_of(target(), 5000).port == 5000


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(1500):
        if holds():
            return
        await asyncio.sleep(0.02)
    pytest.fail("did not come about")


async def test_large_bodies_wait_for_each_other():
    """So many at once would fill the memory: two are taken beyond a megabyte, small ones always."""
    limits = FetchLimits(seconds=30.0, bytes=4 * 2**20)
    gate = asyncio.Event()

    async def large(writer: servers.Writer) -> None:
        writer.write(HEAD + b"\r\n" + b"#" * 2**20 + b"\n" * 2**17)
        await writer.drain()
        await gate.wait()

    async with (
        serving(large) as held,
        serving(answer(b"#" * 2**20 + b"\n")) as third,
        serving(answer()) as small,
        AsyncExitStack() as stack,
    ):
        reader = AnswerReader(limits.bytes)
        fetches = {}
        for server in (held, third, small):
            fetch = DirectFetch(server.port, limits, reader)
            fetches[server.port] = await stack.enter_async_context(fetch)
        holding = [asyncio.create_task(fetches[held.port](target())) for _ in range(2)]
        await _until(lambda: reader.full)
        waiting = asyncio.create_task(fetches[third.port](target()))
        assert await fetches[small.port](target()) == PAGE
        await asyncio.sleep(0.2)
        assert not waiting.done()
        gate.set()
        assert len(await waiting) == 2**20 + 1
        await asyncio.gather(*holding)
