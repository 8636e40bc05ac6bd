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

    def paced(self, handler: Handler) -> Handler:
        """Return a handler that keeps this pace."""

        async def serve(request: web.Request) -> web.StreamResponse:
            async with self._lock:
                if request.transport is None:
                    # Its client left while it waited; nothing is rendered for nobody.
                    return web.Response(status=503)
                began = self._clock()
                try:
                    return await handler(request)
                finally:
                    await self._rest(self._clock() - began)

        return serve
