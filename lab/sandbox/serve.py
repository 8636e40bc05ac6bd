"""Runs the sandbox on its own, for the command line."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from lab.sandbox.controllers import Controllers
from lab.sandbox.objects import JSON
from lab.sandbox.sandbox import Sandbox


@contextlib.asynccontextmanager
async def running(
    documents: Iterable[JSON] = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    kubeconfig_path: Path | None = None,
    controllers: bool = True,
    token: str | None = None,
) -> AsyncIterator[Sandbox]:
    """Serve a preloaded sandbox while the context is open."""
    sandbox = Sandbox(token=token)
    sandbox.load(documents)
    await sandbox.start(host, port)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(sandbox.stop)
        if kubeconfig_path is not None:
            sandbox.write_kubeconfig(kubeconfig_path)
        if controllers:
            await stack.enter_async_context(Controllers(sandbox))
        yield sandbox


async def serve(
    documents: Iterable[JSON] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    kubeconfig_path: Path | None = None,
    controllers: bool = True,
    token: str | None = None,
    started: asyncio.Future[Sandbox] | None = None,
) -> None:
    """Serve until cancelled; `started` receives the running sandbox."""
    async with running(
        documents,
        host=host,
        port=port,
        kubeconfig_path=kubeconfig_path,
        controllers=controllers,
        token=token,
    ) as sandbox:
        if started is not None:
            started.set_result(sandbox)
        await asyncio.Event().wait()
