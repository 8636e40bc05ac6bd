"""The connections of listeners, bounded in number and idle time, and the one to the API server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from reporter import __version__
from reporter.daemon.passes import server_now
from reporter.kube.client import KubeClient, connect
from reporter.kube.clock import ClockOffset, Now, real_now
from reporter.model.instant import Instant
from reporter.sinks.own_metrics import Metrics
from reporter.version import commit

MOST: Final = 128
"""Most connections of one listener: a browser has six, scrapers, probes and tunnels one each."""

IDLE_SECONDS: Final = 30.0
"""A connection without a request for this long is closed, unless it is being answered."""

ANSWER_SECONDS: Final = 5.0
"""A connection that has been answered for longer may be closed to make room for a new one."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Connections:
    """Counts the connections of one listener and closes those beyond the limit.

    At the limit, a new connection replaces the one that has been idle for longest: no client keeps
    its place for ever by asking again and again. If all are being answered, it replaces the one
    that has been answered for longest: usually a stream of the page, which a browser reopens by
    itself.
    """

    def __init__(
        self,
        most: int = MOST,
        idle_seconds: float = IDLE_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._most = most
        self._answer_seconds = answer_seconds
        self._idle_seconds = idle_seconds
        self._idle: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._open: set[asyncio.BaseTransport] = set()
        self._answered_since: dict[asyncio.BaseTransport, float] = {}

    def opened(self, transport: asyncio.BaseTransport) -> bool:
        """Add a connection and return True; close it and return False if no other can make room."""
        self._open = {each for each in self._open if not each.is_closing()}
        if len(self._open) >= self._most and not self._made_room():
            _close(transport)
            return False
        self._open.add(transport)
        self._wait_for_request(transport)
        return True

    def closed(self, transport: asyncio.BaseTransport) -> None:
        self._open.discard(transport)
        self._answered_since.pop(transport, None)
        self._stop_waiting(transport)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            return await handler(request)
        self._stop_waiting(transport)
        self._answered_since[transport] = asyncio.get_running_loop().time()
        try:
            return await handler(request)
        finally:
            self._answered_since.pop(transport, None)
            if transport in self._open:
                self._wait_for_request(transport)

    def _made_room(self) -> bool:
        oldest = next(iter(self._idle), None) or self._longest_answered()
        if oldest is None:
            return False
        self.closed(oldest)
        _close(oldest)
        return True

    def _longest_answered(self) -> asyncio.BaseTransport | None:
        # In the order in which their answers began.
        oldest = next(iter(self._answered_since.items()), None)
        now = asyncio.get_running_loop().time()
        return oldest[0] if oldest and now - oldest[1] > self._answer_seconds else None

    def _wait_for_request(self, transport: asyncio.BaseTransport) -> None:
        self._stop_waiting(transport)
        loop = asyncio.get_running_loop()
        self._idle[transport] = loop.call_later(self._idle_seconds, _close, transport)

    def _stop_waiting(self, transport: asyncio.BaseTransport) -> None:
        timer = self._idle.pop(transport, None)
        if timer is not None:
            timer.cancel()


class Guarded(asyncio.Protocol):
    def __init__(self, connections: Connections, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._connections = connections
        self._make = protocol
        self._protocol: asyncio.Protocol | None = None
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._connections.opened(transport):
            self._transport = transport
            self._protocol = self._make()
            self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._connections.closed(self._transport)
        if self._protocol is not None:
            self._protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._protocol is not None:
            self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received() if self._protocol is not None else None

    def pause_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.resume_writing()


def _close(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.Transport):
        transport.abort()
    else:
        transport.close()


@dataclass(frozen=True, slots=True)
class Connection:
    client: KubeClient
    now: Now
    metrics: Metrics


@asynccontextmanager
async def connected(
    *, kubeconfig: Path | None = None, context: str | None = None
) -> AsyncIterator[Connection]:
    """Prepare the connection to the API server, without sending a request."""
    offset = ClockOffset()

    def now() -> Instant:
        return server_now(real_now(), offset.seconds())

    metrics = Metrics(__version__, commit(), lambda: now().wall)
    client = await connect(
        kubeconfig=kubeconfig, context=context, observer=metrics.requested, clock_offset=offset
    )
    async with client:
        yield Connection(client, now, metrics)
