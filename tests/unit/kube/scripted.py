"""A scripted API server on a real socket, and kubeconfigs for it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

Handler = Callable[[web.Request], web.StreamResponse | Awaitable[web.StreamResponse]]


def kubeconfig(path: Path, server: str, user: dict[str, object] | None = None) -> Path:
    """Write a kubeconfig for `server`."""
    user = {"token": "secret-token-of-a-test"} if user is None else user
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    return path


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """Serve `handler` for every path on a free loopback port; gives the base URL."""

    async def handle(request: web.Request) -> web.StreamResponse:
        answer = handler(request)
        return await answer if isawaitable(answer) else answer

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


def status(code: int, reason: str, message: str = "m", **details: object) -> web.Response:
    """Return a Status object as the API server writes it."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return web.json_response({**body, "details": details}, status=code)
