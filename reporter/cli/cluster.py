"""The live cluster, for commands that only look."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from reporter.cli.configure import ProgramSettings
from reporter.kube.client import KubeClient, connect
from reporter.kube.errors import ConnectionFailed, KubeError, NotJson, Unauthorized
from reporter.kube.live import LiveCluster
from reporter.snapshot.snapshot import Snapshot

_LISTED_SECONDS: Final = 30.0


@asynccontextmanager
async def watched_cluster(
    settings: ProgramSettings, on_change: Callable[[], None] = lambda: None
) -> AsyncIterator[LiveCluster]:
    """Watch the cluster; it is yielded once each kind is listed or declared unknown.

    Args:
        settings: the way to the cluster, and what is read of it.
        on_change: called whenever a snapshot would differ.

    Raises:
        KubeError: there is no usable configuration, or nobody answers who lets us in.

    """
    async with await connect(kubeconfig=settings.kubeconfig, context=settings.context) as client:
        await _require_answer(client)
        cluster = LiveCluster(client, settings, on_change=on_change)
        watching = asyncio.create_task(cluster.run())
        listed = asyncio.create_task(cluster.wait_listed())
        try:
            await asyncio.wait(
                (watching, listed),
                timeout=_LISTED_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if watching.done():
                watching.result()
            yield cluster
        finally:
            for task in (watching, listed):
                task.cancel()
            await asyncio.gather(watching, listed, return_exceptions=True)


async def _require_answer(client: KubeClient) -> None:
    """Ask once for what everybody may read: watches would only try again and again.

    Raises:
        KubeError: there is no API server, or it does not know us; the message names it.

    """
    try:
        await client.request("GET", "/version", verb="get", resource="version")
    except (ConnectionFailed, NotJson, Unauthorized) as error:
        raise KubeError(f"{client.server}: {error}") from None
    except KubeError:
        # It is there; the watches will show what it lets us read.
        return


async def read_cluster(settings: ProgramSettings) -> Snapshot:
    """Return the cluster as it is now.

    Raises:
        KubeError: there is no usable configuration, or nobody answers who lets us in.

    """
    async with watched_cluster(settings) as cluster:
        return cluster.snapshot()
