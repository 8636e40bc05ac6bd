"""Faults of the network between the replicas and the API server."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from e2e.chaos.cluster import Cluster
from e2e.chaos.replica import Replica
from e2e.envtest.tcp_proxy import Network

_CUT_SECONDS: Final = 1.0


@asynccontextmanager
async def cut_repeatedly(cluster: Cluster) -> AsyncIterator[None]:
    """Connections are reset once a second, as if a load balancer were being replaced."""
    cutting = asyncio.create_task(_cut(cluster))
    try:
        yield
    finally:
        cutting.cancel()


async def _cut(cluster: Cluster) -> None:
    while True:
        cluster.cut()
        await asyncio.sleep(_CUT_SECONDS)


@asynccontextmanager
async def refused(cluster: Cluster) -> AsyncIterator[None]:
    """Connections end and new ones are refused."""
    with _all_become(cluster.replicas, Network.REFUSED):
        cluster.cut()
        yield


@asynccontextmanager
async def both_partitioned(cluster: Cluster) -> AsyncIterator[None]:
    """Packets of both replicas are dropped."""
    with _all_become(cluster.replicas, Network.HUNG):
        yield


@asynccontextmanager
async def leader_partitioned(cluster: Cluster) -> AsyncIterator[None]:
    """Packets of the leader are dropped, in both directions."""
    with _all_become([cluster.first], Network.HUNG):
        yield


@asynccontextmanager
async def stranded(cluster: Cluster) -> AsyncIterator[None]:
    """Open connections hang for good and are never reset, as behind a NAT that forgot them."""
    for replica in cluster.replicas:
        replica.network.strand()
    yield


@contextmanager
def _all_become(replicas: Iterable[Replica], fault: Network) -> Iterator[None]:
    networks = [replica.network for replica in replicas]
    for network in networks:
        network.become(fault)
    try:
        yield
    finally:
        for network in networks:
            network.become(Network.WELL)
