"""A network that takes a while for each request, and for nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

_BYTES: Final = 65_536


class Latency:
    """Forwards connections to one address; what a client sends arrives `seconds` later.

    A connection carries one request at a time, so each takes that much longer, and frames of watches
    do not. TLS passes through it.

    Attributes:
        url: by which the server is reached with the latency.
        seconds: what is added; may be changed at any time.

    """

    def __init__(self, target: str) -> None:
        self.url = ""
        self.seconds = 0.0
        self._target = urlsplit(target)
        self._tasks: set[asyncio.Task[None]] = set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError):
            far_reader, far = await asyncio.open_connection(
                self._target.hostname, self._target.port
            )
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pass_on(reader, far, late=True))
                    tasks.create_task(self._pass_on(far_reader, writer, late=False))
            finally:
                far.transport.abort()
        writer.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, late: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BYTES):
                if late and self.seconds:
                    await asyncio.sleep(self.seconds)
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Forward while the context is open."""
        server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f"{self._target.scheme}://127.0.0.1:{port}"
        try:
            yield
        finally:
            server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
