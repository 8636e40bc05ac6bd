"""Pods as a scraper meets them: servers that write what a test tells them to."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from reporter.metrics.samples.sample import Target
from reporter.model.subject import Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND

Writer = asyncio.StreamWriter
Behaviour = Callable[[Writer], Awaitable[None]]

PAGE = b'vllm:num_requests_running{engine="0"} 3.0\n'
TEXT = "text/plain; version=1.0.0; charset=utf-8"


@dataclass
class Server:
    """A server and the requests that it got."""

    port: int
    requests: list[bytes] = field(default_factory=list)


def answer(
    body: bytes = PAGE,
    *,
    status: str = "200 OK",
    content_type: str | None = TEXT,
    length: int | None = None,
    headers: str = "",
) -> Behaviour:
    """Answer and close."""
    kind = "" if content_type is None else f"Content-Type: {content_type}\r\n"
    head = f"HTTP/1.1 {status}\r\n{kind}{headers}Content-Length: "
    return raw(f"{head}{len(body) if length is None else length}\r\n\r\n".encode() + body)


def raw(data: bytes) -> Behaviour:
    """Write bytes and close."""

    async def behave(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()

    return behave


async def hang(_: Writer) -> None:
    """Accept, and say nothing."""
    await asyncio.Event().wait()


async def drip(writer: Writer) -> None:
    """Send a byte now and then, for ever: no timeout of single reads would ever end it."""
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {TEXT}\r\n\r\n".encode())
    while True:
        writer.write(b"#")
        await writer.drain()
        await asyncio.sleep(0.01)


async def endless(writer: Writer) -> None:
    """Send comments for ever, as fast as they are taken."""
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {TEXT}\r\n\r\n".encode())
    while True:
        writer.write(b"# noise\n" * 8192)
        await writer.drain()


async def reset(writer: Writer) -> None:
    """Answer half and reset the connection."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@asynccontextmanager
async def serving(
    behaviour: Behaviour, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Server]:
    """Serve; every connection gets the behaviour after its request."""
    found = Server(port)

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                found.requests.append(await reader.readuntil(b"\r\n\r\n"))
                await behaviour(writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.ensure_future(handle(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, host, port)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the transports close


def target(name: str = "pod-0", address: str = "127.0.0.1", **fields: object) -> Target:
    """A pod to scrape."""
    subject = Subject(INFERENCESET_KIND, "n", "qwen")
    known = {"namespace": "n", "name": name, "uid": name, "address": address, "subject": subject}
    return Target(**known | fields)
