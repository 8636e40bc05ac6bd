"""A network between a client and the API server that can fail as networks do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from enum import Enum, auto
from typing import Self
from urllib.parse import urlsplit

_BYTES = 65_536


class Network(Enum):
    """What happens to connections."""

    WELL = auto()
    """Bytes pass."""

    REFUSED = auto()
    """New connections are closed at once."""

    HUNG = auto()
    """Connections stay open and are accepted, but nothing passes: packets are dropped."""


class TcpProxy:
    """Forwards connections to the host and port of a URL."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._network = asyncio.Event()
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._network.set()
        self._server = await asyncio.start_server(self._start, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{self._target.scheme}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    def become(self, network: Network) -> None:
        """Change what happens from now on, to open connections as well.

        Data that came in while it hung passes once the network works, as resent packets do.
        """
        self._refuses = network is Network.REFUSED
        if network is Network.HUNG:
            self._network.clear()
        else:
            self._network.set()

    def strand(self) -> None:
        """Let the open connections hang for good, like a NAT that forgot them; new ones pass."""
        self._network.clear()
        self._network = asyncio.Event()
        self._network.set()

    def cut(self) -> int:
        """Reset every open connection and return their number."""
        count = len(self._writers) // 2
        for writer in tuple(self._writers):
            writer.transport.abort()
        return count

    @property
    def connections(self) -> int:
        return len(self._writers) // 2

    def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None or not self._server.is_serving():
            writer.transport.abort()
            return
        task = asyncio.create_task(self._accepted(reader, writer))
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)
        # A task that is cancelled before its first step closes nothing itself.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._kept(writer):
            if self._refuses:
                return
            network = self._network
            await network.wait()
            try:
                far_reader, far = await asyncio.open_connection(
                    self._target.hostname, self._target.port
                )
            except OSError:
                return
            async with self._kept(far), asyncio.TaskGroup() as tasks:
                tasks.create_task(_pass_on(reader, far, network))
                tasks.create_task(_pass_on(far_reader, writer, network))

    @contextlib.asynccontextmanager
    async def _kept(self, writer: asyncio.StreamWriter) -> AsyncIterator[None]:
        self._writers.add(writer)
        try:
            yield
        finally:
            self._writers.discard(writer)
            writer.transport.abort()


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, network: asyncio.Event
) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_BYTES):
            await network.wait()
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()
