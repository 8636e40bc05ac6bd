"""Serves the metrics page of a vLLM pod."""

import socket
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiohttp import web

PORT: Final = 5000
"""The port of KAITO's vLLM pods."""

_PAGES: Final = Path(__file__).parent / "pages"
_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def page(name: str) -> str:
    """Return a sample page: `serving`, or `downloading` as before the weights are there."""
    return (_PAGES / f"{name}.prom").read_text()


def loopback() -> socket.socket:
    """Return a socket that listens on a free port of loopback."""
    return socket.create_server(("127.0.0.1", 0))


class PageServer:
    """Answers `GET /metrics`; serves while entered.

    Args:
        listener: a listening socket, which is closed at the end.

    Attributes:
        page: what is served.
        requests: how many were answered.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.page = page("serving")
        self.requests = 0
        self._listener = listener
        host, self.port, *_ = listener.getsockname()
        self.url = f"http://{host}:{self.port}/metrics"
        app = web.Application()
        app.router.add_get("/metrics", self._answer)
        self._runner = web.AppRunner(app)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.SockSite(self._runner, self._listener).start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()
        self._listener.close()

    async def _answer(self, request: web.Request) -> web.Response:
        del request
        self.requests += 1
        headers = {"Content-Type": _CONTENT_TYPE}
        return web.Response(text=self.page, headers=headers)
