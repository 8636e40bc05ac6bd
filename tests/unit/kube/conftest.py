"""A client for a scripted server, made from a kubeconfig as in life."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from reporter.kube.client import KubeClient, RequestObserver, connect
from tests.unit.kube.scripted import Handler, kubeconfig, serving


@pytest.fixture
def client_for(tmp_path: Path):
    """Open a client for a handler: `async with client_for(handler) as client`."""

    @asynccontextmanager
    async def open_client(
        handler: Handler, observer: RequestObserver = lambda *_: None, **user: object
    ) -> AsyncIterator[KubeClient]:
        async with serving(handler) as server:
            path = kubeconfig(tmp_path / "config", server, user or None)
            async with await connect(kubeconfig=path, observer=observer) as client:
                yield client

    return open_client


@pytest.fixture(autouse=True)
def no_cluster_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kubeconfig and no proxy of the machine that runs the tests."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as server:
        yield server
