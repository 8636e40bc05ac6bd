"""Faults of the leading replica's process."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from e2e.chaos.cluster import Cluster


@asynccontextmanager
async def leader_killed(cluster: Cluster) -> AsyncIterator[None]:
    """The leader is killed without notice."""
    cluster.first.send(signal.SIGKILL)
    yield


@asynccontextmanager
async def leader_paused(cluster: Cluster) -> AsyncIterator[None]:
    """The leader does not run, as on a suspended machine, and then continues."""
    cluster.first.send(signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.first.send(signal.SIGCONT)


@asynccontextmanager
async def clock_ahead(cluster: Cluster) -> AsyncIterator[None]:
    """The leader's clock is set an hour ahead, and then right again."""
    cluster.first.set_clock(+3600)
    try:
        yield
    finally:
        cluster.first.set_clock(0)


@asynccontextmanager
async def clock_behind(cluster: Cluster) -> AsyncIterator[None]:
    """The leader's clock is set an hour back, and then right again."""
    cluster.first.set_clock(-3600)
    try:
        yield
    finally:
        cluster.first.set_clock(0)
