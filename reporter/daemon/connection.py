"""The way to the API server, with what is measured on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from reporter import __version__
from reporter.daemon.server_clock import ServerClock
from reporter.kube.client import KubeClient, connect
from reporter.kube.clock import ClockOffset, real_now
from reporter.sinks.own_metrics import Metrics
from reporter.version import commit


@dataclass(frozen=True, slots=True)
class Connection:
    """The bottom of a daemon.

    Attributes:
        client: makes all requests.
        clock: tells the API server's time, from the answers to them.
        metrics: counts them, and what the parts of the daemon do.

    """

    client: KubeClient
    clock: ServerClock
    metrics: Metrics


@asynccontextmanager
async def connected(
    *, kubeconfig: Path | None = None, context: str | None = None
) -> AsyncIterator[Connection]:
    """Open the connection to the API server; sends no request.

    Raises:
        ConfigurationError: there is no usable configuration.

    """
    offset = ClockOffset()
    clock = ServerClock(real_now, offset.seconds)
    metrics = Metrics(__version__, commit(), lambda: clock.now().wall)
    client = await connect(
        kubeconfig=kubeconfig, context=context, observer=metrics.requested, clock_offset=offset
    )
    async with client:
        yield Connection(client, clock, metrics)
