"""The daemon: how it starts and how it ends; `wiring` says what it is made of."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Final

import structlog

from reporter import __version__
from reporter.daemon import logs
from reporter.daemon.connection import Connection, connected
from reporter.daemon.garbage import spare_the_old
from reporter.daemon.listeners import listening
from reporter.daemon.pod_scraping import way_to_pods
from reporter.daemon.wiring import Parts, build
from reporter.settings import DaemonSettings
from reporter.version import commit

SWITCH_SECONDS: Final = 0.0005
"""How soon a pass, which runs in a thread, lets the event loop go on; Python's own is 5 ms."""


async def run_daemon(
    settings: DaemonSettings, *, kubeconfig: Path | None = None, context: str | None = None
) -> int:
    """Run until SIGTERM or SIGINT and return the exit status.

    Raises:
        UsageError: an address cannot be used.
        KubeError: there is no usable configuration.

    """
    logs.configure(settings.log_level, settings.log_format)
    sys.setswitchinterval(SWITCH_SECONDS)
    spare_the_old()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with connected(kubeconfig=kubeconfig, context=context) as connection:
        await serve(connection, settings, stop, instance=instance_name())
    return 0


def instance_name() -> str:
    """Return what tells this replica from others: the pod's name, else host and process."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


async def serve(
    connection: Connection, settings: DaemonSettings, stop: asyncio.Event, *, instance: str
) -> None:
    """Watch, evaluate, serve and, while leading, write, until `stop` is set.

    Raises:
        UsageError: an address cannot be used.

    """
    log = structlog.get_logger("daemon")
    via, why = way_to_pods(settings, in_cluster=connection.client.in_cluster)
    settings = settings.model_copy(update={"scrape_via": via})
    parts = build(connection, settings, instance=instance)
    async with listening(settings, connection.metrics, parts.state, page=parts.page):
        log.info(
            "started",
            version=__version__,
            commit=commit(),
            instance=instance,
            server=connection.client.server,
        )
        log.info("scraping_of_pods", via=str(via), why=why)
        work = {
            "cluster": parts.watching.cluster.run(),
            "passes": _passes(parts),
            "self_check": parts.self_check.run(),
            "evidence": parts.evidence.run(),
            "writers": parts.writers.run(),
            "heartbeat": parts.watching.heartbeat.run(),
            "scraper": parts.scrape(),
        }
        await _supervise(stop, work, _election(parts))
    log.info("stopped")


async def _passes(parts: Parts) -> None:
    """Start passes once each kind is listed or declared unknown."""
    # Nearly all that is made until then stays, so that to look for garbage only holds up the loop.
    gc.disable()
    try:
        await parts.watching.cluster.wait_listed()
        # What is decoded from the API holds no cycles and is not tracked; what is left is moved out
        # of the collector's sight, so that it never walks the whole heap while the loop waits.
        gc.freeze()
    finally:
        gc.enable()
    await parts.passes.run()


async def _election(parts: Parts) -> None:
    """Take part in the election, if there is one, until cancelled."""
    due = parts.watching.due

    def stopped() -> None:
        # What waits was planned under a lease that somebody else may hold by now.
        parts.writers.forget()
        due.set()

    if parts.elector is None:
        await asyncio.Event().wait()
    else:
        await parts.elector.run(started=due.set, stopped=stopped)


async def _supervise(
    stop: asyncio.Event,
    work: Mapping[str, Coroutine[object, object, None]],
    election: Coroutine[object, object, None],
) -> None:
    """Run everything until `stop`; if one part ends by itself, all end.

    The lease is released last, when nothing that it guards can run any more.
    """
    leading = asyncio.create_task(election, name="lease")
    running = [asyncio.create_task(each, name=name) for name, each in work.items()]
    stopping = asyncio.create_task(stop.wait(), name="stop")
    try:
        done, _ = await asyncio.wait(
            [leading, *running, stopping], return_when=asyncio.FIRST_COMPLETED
        )
        for task in done - {stopping}:
            task.result()
    finally:
        for task in (*running, stopping):
            task.cancel()
        await asyncio.gather(*running, stopping, return_exceptions=True)
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
