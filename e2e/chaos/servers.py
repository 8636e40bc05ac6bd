"""Faults of the servers."""

import asyncio
import shutil
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from e2e.chaos.cluster import Cluster
from e2e.chaos.records import Key, Truth
from e2e.envtest.control_plane import ControlPlane, Server
from lab.demo.story import CODE
from tests.daemon.replica import until

_WORKSPACES: Final = "workspaces.kaito.sh"
_UNDONE: Final = Key("inferencesetInfraProvisioningFailed", f"inferenceset/{CODE}/qwen2-5-coder-7b")
_WRITES: Final = 300
"""The minimum number of versions that the cluster goes back."""


@asynccontextmanager
async def api_server_killed(cluster: Cluster) -> AsyncIterator[None]:
    """The API server is killed, as if its machine were lost."""
    await asyncio.to_thread(cluster.plane.api_server.kill)
    try:
        yield
    finally:
        await _start(cluster.plane, cluster.plane.api_server)


@asynccontextmanager
async def etcd_stopped(cluster: Cluster) -> AsyncIterator[None]:
    """The API server runs without etcd."""
    await asyncio.to_thread(cluster.plane.etcd.stop)
    try:
        yield
    finally:
        await _start(cluster.plane, cluster.plane.etcd)


async def _start(plane: ControlPlane, *servers: Server) -> None:
    # Not in a thread: servers end with the thread that started them.
    for server in servers:
        server.start()
    await asyncio.to_thread(plane.wait)


@asynccontextmanager
async def restored(cluster: Cluster) -> AsyncIterator[None]:
    """The cluster is restored to its state before many changes, with one fault of the stack."""
    plane = cluster.plane
    await asyncio.to_thread(_copy, plane)
    undone = Truth(_UNDONE, time.time(), undone=True)
    cluster.truths.append(undone)
    await _quota_exceeded(cluster)
    await until(lambda: _is_told(cluster), "the fault that will be undone is told")
    await _write_much(cluster)
    yield
    for server in (plane.api_server, plane.etcd):
        await asyncio.to_thread(server.kill)
    cluster.truths.remove(undone)
    cluster.truths.append(replace(undone, until=time.time()))
    cluster.observer.begin_again()
    await asyncio.to_thread(_put_back, plane)
    await _start(plane, plane.etcd, plane.api_server)


async def _quota_exceeded(cluster: Cluster) -> None:
    await cluster.stack.condition(
        _WORKSPACES, CODE, "qwen2-5-coder-7b",
        says=("NodeClaimReady", "False", "SubscriptionQuotaReached", "quota exceeded"),
    )  # fmt: skip


def _is_told(cluster: Cluster) -> bool:
    return any(each.key == _UNDONE and each.live for each in cluster.observer.versions)


async def _write_much(cluster: Cluster) -> None:
    for number in range(_WRITES):
        patch = {"metadata": {"annotations": {"chaos/number": str(number)}}}
        await cluster.api.patch("namespaces", CODE, patch)


def _copy(plane: ControlPlane) -> None:
    """Copy the data as of one moment, as a killed etcd would leave it."""
    plane.etcd.send(signal.SIGSTOP)
    try:
        shutil.copytree(plane.folder / "etcd", plane.folder / "etcd-before")
    finally:
        plane.etcd.send(signal.SIGCONT)


def _put_back(plane: ControlPlane) -> None:
    shutil.rmtree(plane.folder / "etcd")
    (plane.folder / "etcd-before").rename(plane.folder / "etcd")
