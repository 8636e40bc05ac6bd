"""The daemon's listeners: metrics, health, and the report; their connections are bounded."""

import asyncio
import ipaddress
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

import structlog
from aiohttp import web, web_response
from prometheus_client import Metric, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from reporter.errors import UsageError
from reporter.metrics.samples.sample import PodName
from reporter.setting_types import bind_address

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOST: Final = 128
"""Most connections of one listener: a browser has six, scrapers, probes and tunnels one each."""

IDLE_SECONDS: Final = 30.0
"""A connection without a request for this long is closed, unless it is being answered."""

ANSWER_SECONDS: Final = 5.0
"""A connection that has been answered for longer may be closed to make room for a new one."""


@dataclass(eq=False)
class Connections:
    """Counts the connections of one listener and closes those beyond the limit.

    At the limit, a new connection replaces the one that has been idle for longest: no client keeps
    its place for ever by asking again and again. If all are being answered, it replaces the one
    that has been answered for longest: usually a stream of the page, which a browser reopens by
    itself.
    """

    most: int = MOST
    idle_seconds: float = IDLE_SECONDS
    answer_seconds: float = ANSWER_SECONDS

    def __post_init__(self) -> None:
        self._idle: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._open: set[asyncio.BaseTransport] = set()
        self._answered_since: dict[asyncio.BaseTransport, float] = {}

    def opened(self, transport: asyncio.BaseTransport) -> bool:
        """Add a connection and return True; close it and return False if no other can make room."""
        for each in [each for each in self._open if each.is_closing()]:
            self._forget(each)
        if len(self._open) >= self.most and not self._made_room():
            _close(transport)
            return False
        self._open.add(transport)
        self._wait_for_request(transport)
        return True

    def _forget(self, transport: asyncio.BaseTransport) -> None:
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
        self._forget(oldest)
        _close(oldest)
        return True

    def _longest_answered(self) -> asyncio.BaseTransport | None:
        # In the order in which their answers began.
        oldest = next(iter(self._answered_since.items()), None)
        now = asyncio.get_running_loop().time()
        return oldest[0] if oldest and now - oldest[1] > self.answer_seconds else None

    def _wait_for_request(self, transport: asyncio.BaseTransport) -> None:
        self._stop_waiting(transport)
        loop = asyncio.get_running_loop()
        self._idle[transport] = loop.call_later(self.idle_seconds, _close, transport)

    def _stop_waiting(self, transport: asyncio.BaseTransport) -> None:
        timer = self._idle.pop(transport, None)
        if timer is not None:
            timer.cancel()


@dataclass(eq=False)
class Admission(asyncio.Protocol):
    """Hands a connection to the protocol that answers it, if there is room."""

    connections: Connections
    protocol: Callable[[], asyncio.Protocol]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.connections.opened(transport):
            answering = self.protocol()
            transport.set_protocol(answering)
            answering.connection_made(transport)


def _close(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.Transport):
        transport.abort()
    else:
        transport.close()


_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_SHUTDOWN_SECONDS: Final = 1.0
_BACKLOG: Final = 128

_ANSWERS: Final = 8
"""Most concurrent answers of the metrics listener: each may have megabytes; scrapers are few."""

_ANSWER_SECONDS: Final = 10.0
_PIECE: Final = 64 * 1024

LOG_SECONDS: Final = 60.0
"""Time between two log lines about failed requests; each line counts those that were skipped."""

_LOCKED_DOWN: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_NOT_SCRAPED: Final = (
    "this pod was not scraped: it does not run, has no address or one outside of the nodes' "
    "podCIDRs,"
    " lacks the label that names its subject, its subject does not exist, or scraping is off"
)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address of the listener of a setting; an empty host means every interface.

    `names` are further host names that the report listener accepts.
    """

    setting: str
    host: str
    port: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "*"
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, setting: str, text: str) -> "ListenAddress | None":
        """Parse `:8080`, `127.0.0.1:8082` or `[::1]:8082`; None for `0`: do not listen."""
        try:
            parts = bind_address(text)
        except ValueError:
            raise UsageError(
                f"--{setting}: {text!r} is not an address; allowed: host:port, :port, or 0 for off"
            ) from None
        return cls(setting, *parts) if parts else None


@dataclass(frozen=True, slots=True)
class Pages:
    report_json: Callable[[], bytes | None]
    report_text: Callable[[], str | None]
    pod_json: Callable[[PodName], bytes | None] = lambda _: None
    pod_text: Callable[[PodName], str | None] = lambda _: None


class Servers:
    def __init__(
        self,
        before_close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._before_close = before_close
        # Not a logger of the process: its count and its time belong to these listeners.
        self._logger = logging.Logger("reporter.listeners")  # noqa: LOG001
        self._logger.addHandler(_FewLines(clock))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._before_close()
        await self._stack.aclose()

    async def listen(
        self, address: ListenAddress | None, routes: Mapping[str, Handler]
    ) -> int | None:
        if address is None:
            return None
        connections = Connections()
        app = web.Application(middlewares=[connections.middleware])
        app.on_response_prepare.append(_lock_down)
        for path, handler in routes.items():
            app.router.add_get(path, handler)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS, logger=self._logger
        )
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        serve = runner.server
        if serve is None:
            raise RuntimeError("the listener was not set up")
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: Admission(connections, serve),
                address.host or None,
                address.port,
                backlog=_BACKLOG,
            )
        except OSError as error:
            raise UsageError(
                f"--{address.setting}: cannot listen on {address}: {_cause(error)}; "
                "choose another address, or 0 to turn the listener off"
            ) from None
        self._stack.callback(server.close)
        return int(server.sockets[0].getsockname()[1])


class _FewLines(logging.Handler):
    """Logs failed requests: one line per `LOG_SECONDS`, without anything that the client wrote."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(logging.WARNING)
        self._clock = clock
        self._due = clock()
        self._unlogged = 0

    def emit(self, record: logging.LogRecord) -> None:
        now = self._clock()
        if now < self._due:
            self._unlogged += 1
            return
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger("daemon").warning(
            "request_failed",
            cause=type(error).__name__ if error is not None else record.levelname.lower(),
            unlogged=self._unlogged,
        )
        self._due, self._unlogged = now + LOG_SECONDS, 0


# By default aiohttp names its own version and Python's, even in answers that it makes itself.
web_response.SERVER_SOFTWARE = "status-reporter"  # type: ignore[attr-defined]  # imported


async def _lock_down(_request: web.Request, response: web.StreamResponse) -> None:
    """Forbid caching, type sniffing and framing of every answer, refusals included."""
    for name, value in _LOCKED_DOWN.items():
        response.headers.setdefault(name, value)


def _cause(error: OSError) -> str:
    """Return the system's message; asyncio wraps it in a longer one."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error)).lower()


class _Collected(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> tuple[Metric, ...]:
        return self._metrics


@dataclass(eq=False)
class MetricsPage:
    """The page of the metrics listener, rendered in its own thread, once for all concurrent
    requests.

    Metrics that name subjects are rendered once per report. Few answers are sent at a time, each in
    pieces: data that a client does not read must neither fill our memory nor delay a pass or probe.
    """

    metrics: Collector
    of_subjects: Collector
    report: Callable[[], object]

    def __post_init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "metrics")
        self._written: tuple[object, bytes] = (None, b"")
        self._writing: asyncio.Task[bytes] | None = None
        self._answers = 0

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self._answers >= _ANSWERS:
            text = "Too many requests at once; try again.\n"
            return web.Response(status=503, text=text, headers={"Retry-After": "1"})
        self._answers += 1
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self._send(request)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("a client did not read its answer") from None
        finally:
            self._answers -= 1

    async def _send(self, request: web.Request) -> web.StreamResponse:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        body = await asyncio.shield(self._writing)
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
        response.content_length = len(body)
        await response.prepare(request)
        for start in range(0, len(body), _PIECE):
            await response.write(body[start : start + _PIECE])
        return response

    async def _write(self) -> bytes:
        # Collected here, as this reads state of the event loop.
        collected, report = _Collected(self.metrics.collect()), self.report()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._page, collected, report)

    def _page(self, collected: Collector, report: object) -> bytes:
        known, of_subjects = self._written
        if known is not report or report is None:
            of_subjects = generate_latest(self.of_subjects)
            self._written = (report, of_subjects)
        return generate_latest(collected) + of_subjects


def health_routes(
    unhealthy: Callable[[], str | None], not_ready: Callable[[], str | None]
) -> dict[str, Handler]:
    """Return the routes of the health listener; each function returns a problem, or None."""

    def route(ask: Callable[[], str | None]) -> Handler:
        async def serve(_request: web.Request) -> web.StreamResponse:
            cause = ask()
            if cause is None:
                return web.Response(text="ok\n")
            return web.Response(status=503, text=f"{cause}\n")

        return serve

    return {"/healthz": route(unhealthy), "/readyz": route(not_ready)}


def answer(
    body: bytes | str | None, missing: str, *, status: int = 503, is_json: bool = True
) -> web.Response:
    """Return JSON if the body is bytes, text if it is a text; without a body, what is missing."""
    match body:
        case None if is_json:
            return web.json_response({"error": missing}, status=status)
        case None:
            return web.Response(status=status, text=f"{missing}\n")
        case bytes():
            return web.Response(body=body, content_type="application/json")
        case str():
            return web.Response(text=body)


def report_routes(pages: Pages) -> dict[str, Handler]:
    """Return the routes of the report listener, which names the faults of all tenants."""

    def route(
        render: Callable[[web.Request], bytes | str | None], status: int, missing: str
    ) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            is_json = request.path.startswith("/api/")
            return answer(render(request), missing, status=status, is_json=is_json)

        return serve

    def pod_of(request: web.Request) -> PodName:
        return request.match_info["namespace"], request.match_info["name"]

    return {
        "/api/v1/report": route(lambda _: pages.report_json(), 503, "no pass has ended yet"),
        "/": route(lambda _: pages.report_text(), 503, "No pass has ended yet."),
        "/api/v1/pods/{namespace}/{name}": route(
            lambda request: pages.pod_json(pod_of(request)), 404, _NOT_SCRAPED
        ),
        "/pods/{namespace}/{name}": route(
            lambda request: pages.pod_text(pod_of(request)), 404, _NOT_SCRAPED
        ),
    }


def named_only(handler: Handler, address: ListenAddress | None) -> Handler:
    """Return a handler that refuses a request whose Host is neither loopback nor one of `address`.

    Otherwise a website in an operator's browser could read the report through its own host name
    that resolves to the loopback address (DNS rebinding).
    """

    async def serve(request: web.Request) -> web.StreamResponse:
        if not _is_named(request.host, address):
            text = "This name is not served here; use kubectl port-forward.\n"
            raise web.HTTPForbidden(text=text)
        return await handler(request)

    return serve


def _is_named(host: str, address: ListenAddress | None) -> bool:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name.lower() in _LOCAL_NAMES:
        return True
    if address is None:
        return False
    own = _ip(address.host)
    is_local = address.host == "localhost" or (own is not None and own.is_loopback)
    return name.lower() in {address.host, *address.names} or (not is_local and bool(_ip(name)))


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
