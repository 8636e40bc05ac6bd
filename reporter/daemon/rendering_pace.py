"""How fast what is dear to render is answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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

    def paced(self, handler: Handler) -> Handler:
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
