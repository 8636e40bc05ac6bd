"""A model pod on the network: serves its metrics page over HTTP, or misbehaves."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from http import HTTPMethod
from typing import Final, Self

from lab.simulation.engine import Load
from lab.simulation.metrics_page import CONTENT_TYPE, render
from lab.simulation.misbehaviour import HttpAnswer, Misbehaviour, misbehave, page_answer, send
from lab.simulation.pod_life import Download, Life, Phase, Unreachable

_REQUEST_SECONDS: Final = 10.0
_CLIENT_ERRORS: Final = (
    ConnectionError,
    TimeoutError,
    ValueError,
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
)
"""Errors of clients that disconnect, stall, or do not speak HTTP; they get no answer."""

_PATHS: Final = ("/metrics", "/metrics/")
_HEALTH: Final = "/health"
"""vLLM answers this path with an empty body, unless its engine is dead."""


def _unix_clock() -> Callable[[], float]:
    """Return a clock of Unix seconds that never goes back."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class ModelPod:
    """A simulated vLLM pod, which serves `/metrics` while entered and is healthy at first.

    Args:
        host: a loopback address; each pod may have its own (127.0.0.0/8), and the same port.
        port: 0 for any free port.
        listener: a listening socket, in place of host and port; closed at the end.
        clock: returns Unix seconds; drives the life of the pod.

    Attributes:
        url: the URL of the page.
        requests: number of requests for the page.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        listener: socket.socket | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.requests = 0
        self._clock = clock or _unix_clock()
        self.life = Life(self._clock())
        self._socket = listener or _listener(host, port)
        self._socket.setblocking(False)
        self.host, self.port, *_ = self._socket.getsockname()
        self.url = f"http://{self.host}:{self.port}/metrics"
        self._misbehaviour: Misbehaviour | None = None
        self._location = ""
        self._listens = True
        self._turn = asyncio.Lock()
        self._connections: dict[asyncio.Task[None], socket.socket] = {}

    async def __aenter__(self) -> Self:
        self._follow_life()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._set_accepting(wanted=False)
        self._socket.close()
        tasks = [*self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Aborted transports close their sockets in the next turn of the loop.
        await asyncio.sleep(0)

    def become(self, phase: Phase, **parameters: float) -> None:
        """Enter a phase now; `parameters` override fields of its behaviour."""
        self.life.become(phase, self._clock(), **parameters)
        self._follow_life()

    def misbehave(self, kind: Misbehaviour | None, *, location: str = "") -> None:
        """Misbehave from the next request on, or stop with None; `location` is for redirects."""
        self._misbehaviour = kind
        self._location = location

    def page(self) -> str:
        self.life.advance(self._clock())
        return render(self.life)

    def _follow_life(self) -> None:
        """Listen and accept, or neither, depending on the behaviour."""
        wanted = not isinstance(self.life.behaviour, Unreachable)
        if wanted and not self._listens:
            self._socket.listen()
        self._set_accepting(wanted=wanted)
        if self._listens and not wanted:
            # We keep the address, and the kernel refuses connections to it.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._listens = wanted

    def _set_accepting(self, *, wanted: bool) -> None:
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_reader(self._socket, self._accept)
        else:
            loop.remove_reader(self._socket)

    def _accept(self) -> None:
        with suppress(BlockingIOError, ConnectionAbortedError):
            connection, _ = self._socket.accept()
            task = asyncio.get_running_loop().create_task(self._serve(connection))
            self._connections[task] = connection
            task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        # A task that is cancelled before its first step does not close its socket.
        self._connections.pop(task).close()

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            async with self._turn if self._is_downloading() else nullcontext():
                await self._answer(reader, writer)
            writer.close()
            await writer.wait_closed()
        except _CLIENT_ERRORS:
            pass
        finally:
            # Unread data would otherwise keep the connection open.
            writer.transport.abort()

    def _is_downloading(self) -> bool:
        return isinstance(self.life.behaviour, Download)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_REQUEST_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.decode("latin-1").split(" ", maxsplit=2)
        answer = self._answer_to(target.partition("?")[0])
        if method == HTTPMethod.HEAD:
            writer.write(answer.head())
        else:
            await send(answer, reader, writer)

    def _answer_to(self, path: str) -> HttpAnswer:
        text = self.page()
        version = "HTTP/1.0" if self._is_downloading() else "HTTP/1.1"
        right = page_answer(text, CONTENT_TYPE, version)
        if path == _HEALTH and isinstance(self.life.behaviour, Load):
            return page_answer("", "text/plain")
        if path not in _PATHS:
            return misbehave(Misbehaviour.NOT_FOUND, right, "")
        self.requests += 1
        if self._misbehaviour is None:
            return right
        return misbehave(self._misbehaviour, right, self._location)


def _listener(host: str, port: int) -> socket.socket:
    """Return a listening socket that keeps its port when it stops listening."""
    if port:
        return socket.create_server((host, port))
    # The kernel frees a port that it chose when listening ends, but not a requested port.
    with socket.socket() as chosen:
        chosen.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        chosen.bind((host, port))
        return socket.create_server(chosen.getsockname(), reuse_port=True)
