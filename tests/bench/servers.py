"""The API servers that the daemon is measured against: the sandbox, and a real one with `--real`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from e2e.envtest.binaries import binaries
from e2e.envtest.commands import Access, EnvtestError
from e2e.envtest.control_plane import ControlPlane
from e2e.stack.api import Api as RealApi
from lab.sandbox.objects import Object
from tests.bench.api import Api
from tests.bench.cluster import build
from tests.bench.latency import Latency
from tests.bench.processes import BenchError, sandbox
from tests.bench.still import install_still

AT_ONCE: Final = 32
"""Requests in flight where the benchmark itself fills or changes a cluster."""


@dataclass(frozen=True, slots=True)
class Server:
    """An API server with a cluster of the size asked for.

    Attributes:
        api: by which the cluster is changed and Events are followed, without latency.
        kubeconfig: for the daemon, through `latency`.
        latency: what each of the daemon's requests takes longer.

    """

    api: Api
    kubeconfig: Path
    latency: Latency


_ROOM: Final = ("--service-cluster-ip-range=10.96.0.0/16",)
"""Addresses for the Services of 5,000 InferenceSets, four for each."""

Serve: TypeAlias = Callable[[int, Path], AbstractAsyncContextManager[Server]]


@asynccontextmanager
async def sandbox_server(sets: int, folder: Path) -> AsyncIterator[Server]:
    """Run the sandbox with so many young InferenceSets."""
    direct = folder / "direct.yaml"
    async with sandbox(sets, direct, "young") as url, Api(url) as api:
        latency = Latency(url)
        async with latency.running():
            yield Server(api, _through(latency, direct, folder / "kubeconfig"), latency)


@asynccontextmanager
async def real_server(sets: int, folder: Path) -> AsyncIterator[Server]:
    """Run etcd and kube-apiserver with so many InferenceSets, and without controllers.

    Raises:
        BenchError: there are no programs, or they do not start.

    """
    plane = ControlPlane(binaries(), folder, flags=_ROOM)
    try:
        await asyncio.to_thread(plane.start)
        await _install(plane.admin, sets)
        direct = plane.admin.write_kubeconfig(folder / "direct.yaml")
        latency = Latency(plane.admin.url)
        async with Api(plane.admin.url, plane.admin) as api, latency.running():
            yield Server(api, _through(latency, direct, folder / "kubeconfig"), latency)
    except EnvtestError as error:
        raise BenchError(str(error)) from error
    finally:
        await asyncio.to_thread(plane.stop)


async def _install(access: Access, sets: int) -> None:
    async with RealApi(access) as admin:
        try:
            await install_still(admin, _installable(build(sets)), AT_ONCE)
        except ExceptionGroup as refused:
            raise BenchError(f"cannot install it: {refused.exceptions[0]}") from refused


def _installable(documents: Iterable[Object]) -> list[Object]:
    return [each for each in documents if each["kind"] != "Event"]


def _through(latency: Latency, direct: Path, path: Path) -> Path:
    """Write the kubeconfig of somebody who reaches the server through the latency."""
    config = yaml.safe_load(direct.read_text(encoding="utf-8"))
    for each in config["clusters"]:
        each["cluster"]["server"] = latency.url
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path
