"""The page on the report listener: for browsers at `/`, its files, the stream of its changes, and how often what is dear is rendered."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from aiohttp import hdrs, web

from reporter.daemon.live_page import LivePage
from reporter.daemon.server import Handler, ListenAddress, check_host
from reporter.sinks.page.document import POLICY, TYPES, asset

Rendering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RenderingPace:
    """One answer at a time, and after each one as long a rest as it took.

    However many ask for the report and the page, health and the Lease have at least every second moment.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._rest = rest
        self._lock = asyncio.Lock()
        self._resting: asyncio.Future[object] | None = None

    def paced(self, handler: Rendering) -> Rendering:
        """Return a handler that keeps this pace."""

        async def serve(request: web.Request) -> web.StreamResponse:
            await self._lock.acquire()
            began = self._clock()
            try:
                if request.transport is None:
                    # Its client left while it waited; nothing is rendered for nobody.
                    return web.Response(status=503)
                return await handler(request)
            finally:
                self._rest_for(self._clock() - began)

        return serve

    def _rest_for(self, seconds: float) -> None:
        """Keep the lock for a rest that the answer does not wait for."""
        self._resting = asyncio.ensure_future(self._rest(seconds))
        self._resting.add_done_callback(lambda _: self._lock.release())


MOST_STREAMS: Final = 32
"""Browsers that may wait for changes at a time; others ask again by themselves."""

ALIVE_SECONDS: Final = 5.0
"""How often a stream says that it is still alive, and how old the newest report is."""

SLOW_SECONDS: Final = 10.0
"""A browser that takes nothing for so long is dropped."""

_NOTHING_YET: Final = "No pass has ended yet.\n"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_AGAIN_MILLISECONDS: Final = 1000
"""How soon a browser asks for a stream again that has ended."""

_STREAM_HEADERS: Final = {
    **_HEADERS,
    "Content-Type": "text/event-stream",
    # nginx would collect the answer until its buffer is full.
    "X-Accel-Buffering": "no",
}


def with_page(
    routes: Mapping[str, Handler],
    page: LivePage,
    address: ListenAddress | None,
    *,
    pace: RenderingPace | None = None,
) -> dict[str, Handler]:
    """Return the routes of the report listener with the page, which keep one pace.

    `/` stays text for clients that do not ask for HTML, such as curl and `status-reporter status`.
    """
    as_text = routes["/"]

    async def root(request: web.Request) -> web.StreamResponse:
        if "text/html" not in request.headers.get("Accept", ""):
            response = await as_text(request)
            response.headers["Vary"] = "Accept"
            return response
        check_host(request, address)
        html = await page.html(request.query.get("q", ""), whole="all" in request.query)
        if html is None:
            # A browser asks again by itself.
            return web.Response(status=503, text=_NOTHING_YET, headers={**_HEADERS, "Refresh": "1"})
        return web.Response(
            body=html,
            content_type="text/html",
            charset="utf-8",
            headers={**_HEADERS, "Vary": "Accept"},
        )

    async def history(request: web.Request) -> web.StreamResponse:
        check_host(request, address)
        body = await asyncio.to_thread(page.history)
        if body is None:
            return web.json_response({"error": "no pass has ended yet"}, status=503)
        return web.Response(body=body, content_type="application/json")

    async def file(request: web.Request, name: str) -> web.StreamResponse:
        check_host(request, address)
        return web.Response(
            text=asset(name), content_type=TYPES[name], charset="utf-8", headers=_HEADERS
        )

    streams = _Streams(page)

    async def stream(request: web.Request) -> web.StreamResponse:
        check_host(request, address)
        if request.method == hdrs.METH_HEAD:
            return web.Response(headers=_STREAM_HEADERS)
        return await streams.serve(request)

    pace = pace or RenderingPace()
    drawn = {**routes, "/": root, "/api/v1/history": history}
    rendered = {path: pace.paced(each) for path, each in drawn.items()}
    files = {f"/{name}": partial(file, name=name) for name in TYPES}
    return {**rendered, **files, "/live": stream}


class _Streams:
    """Server-sent events: each browser has a coroutine of its own that only ever waits.

    What is sent is the version and not the page, so that a browser that is slow skips versions
    and nothing is kept for it.
    """

    def __init__(self, page: LivePage) -> None:
        self._page = page
        self._open = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self._open >= MOST_STREAMS or self._page.closed:
            return web.Response(
                status=503,
                text="Too many pages are open.\n",
                headers={**_HEADERS, "Retry-After": "15"},
            )
        self._open += 1
        try:
            return await self._stream(request)
        finally:
            self._open -= 1

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        try:
            async with asyncio.timeout(SLOW_SECONDS):
                await response.prepare(request)
                await response.write(f"retry: {_AGAIN_MILLISECONDS}\n\n".encode())
            known: str | None = None
            while True:
                known = await self._next(known)
                if self._page.closed:
                    break
                news = self._page.news
                data = f"event: report\ndata: {json.dumps(news)}\n\n" if news else ": waiting\n\n"
                async with asyncio.timeout(SLOW_SECONDS):
                    await response.write(data.encode())
        except (TimeoutError, ConnectionError):
            # It is slow or gone; it will come back by itself.
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _next(self, known: str | None) -> str | None:
        """Wait for another version than `known`, or until it is time to say that all is well."""
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                await self._page.changed(known)
        except TimeoutError:
            pass
        return self._page.version
