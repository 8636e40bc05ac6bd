"""The daemon: what is wired to what, how it starts and how it ends."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from reporter import __version__
from reporter.daemon import logs
from reporter.daemon.clock import ServerClock
from reporter.daemon.heartbeat import Heartbeat
from reporter.daemon.live_page import LivePage
from reporter.daemon.one_pass import Pass
from reporter.daemon.page_routes import with_page
from reporter.daemon.passes import Passes, nothing_scraped
from reporter.daemon.samples import SampleStore
from reporter.daemon.scraping import run_scraper
from reporter.daemon.server import (
    Address,
    Handler,
    Pages,
    Probes,
    Servers,
    health_routes,
    metrics_routes,
    report_routes,
)
from reporter.daemon.state import DaemonState
from reporter.daemon.writers import Writers
from reporter.kube.client import KubeClient, connect
from reporter.kube.clock import real_now
from reporter.kube.lease import Elector, LeaseTimes
from reporter.kube.live import LiveCluster
from reporter.metrics.looks.scrape import Scrape
from reporter.metrics.looks.target import Target
from reporter.setting_types import ScrapeVia
from reporter.settings import DaemonSettings
from reporter.sinks.metrics import Metrics
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
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    client = await connect(kubeconfig=kubeconfig, context=context)
    async with client:
        await serve(client, settings, stop)
    return 0


def instance_name() -> str:
    """Return what tells this replica from others: the pod's name, else host and process."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


async def serve(client: KubeClient, settings: DaemonSettings, stop: asyncio.Event) -> None:
    """Watch, evaluate, serve and, while leading, write, until `stop` is set."""
    log = structlog.get_logger("daemon")
    instance = instance_name()
    clock = ServerClock(real_now, lambda: client.clock_offset_seconds)
    metrics = Metrics(__version__, commit(), lambda: clock.now().wall)
    client.observe(metrics.requested)
    due = asyncio.Event()
    cluster = LiveCluster(client, settings)
    elector = Elector(
        client,
        name=settings.leader_election_id,
        identity=instance,
        times=LeaseTimes(
            settings.lease_duration_seconds,
            settings.renew_deadline_seconds,
            settings.retry_period_seconds,
        ),
    )
    state = DaemonState(cluster, elector if settings.leader_elect else None, settings)

    def paused() -> None:
        cluster.unconfirm_all()
        writers.drop()
        due.set()

    heartbeat = Heartbeat(paused)

    def may_write() -> bool:
        heartbeat.pauses()
        return state.may_write()

    writers = Writers(client, cluster, metrics, may_write=may_write, changed=due.set)
    state.writers = writers
    page = LivePage(state.leading, state.silence)
    changes = logs.ChangeLog()

    def publish(done: Pass) -> None:
        state.passed(done)
        page.passed(done.report, done.records)
        metrics.passed(done.seconds, done.report.now.timestamp())
        changes.note(done.report)
        writers.offer(done)

    def stopped_leading() -> None:
        # What waits was planned under a lease that somebody else may hold by now.
        writers.forget()
        due.set()

    store = SampleStore(settings, timedelta(seconds=settings.scrape_period), due.set)
    state.judged = store.judged

    def scraped(target: Target, scrape: Scrape) -> None:
        logs.note_scrape(target, scrape)
        store.scraped(target, scrape)

    passes = Passes(
        cluster,
        writers.lately,
        clock.now,
        settings,
        instance,
        due,
        heartbeat.pauses,
        publish,
        store.samples if settings.scrape_via is not ScrapeVia.OFF else nothing_scraped,
        state.leading,
    )
    metrics.attach(state)
    async with Servers() as servers:
        await _listen(servers, settings, metrics, state, page)
        log.info(
            "started", version=__version__, commit=commit(), instance=instance, server=client.server
        )
        await _supervise(
            stop,
            {
                "cluster": cluster.run(),
                "passes": _passes(cluster, passes, due),
                "writers": writers.run(),
                "heartbeat": heartbeat.run(),
                "scraper": run_scraper(
                    client,
                    cluster,
                    settings,
                    scraped,
                    observer=metrics.scrapes,
                    pauses=heartbeat.pauses,
                ),
            },
            elector.run(started=due.set, stopped=stopped_leading)
            if settings.leader_elect
            else asyncio.Event().wait(),
        )
    log.info("stopped")


async def _supervise(
    stop: asyncio.Event,
    tasks: dict[str, Coroutine[object, object, None]],
    lease: Coroutine[object, object, object],
) -> None:
    """Run everything until `stop`; if one part ends by itself, all end.

    The lease is released last, when nothing that it guards can run any more.
    """
    leading = asyncio.create_task(lease, name="lease")
    running = [asyncio.create_task(work, name=name) for name, work in tasks.items()]
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


async def _passes(cluster: LiveCluster, passes: Passes, due: asyncio.Event) -> None:
    """Start passes once each kind is listed or declared unknown; then on every change."""
    await cluster.wait_listed()
    # What is decoded from the API holds no cycles and is not tracked; what is left is moved out
    # of the collector's sight, so that it never walks the whole heap while the loop waits.
    gc.freeze()
    cluster.on_change(due.set)
    await passes.run()


async def _listen(
    servers: Servers,
    settings: DaemonSettings,
    metrics: Metrics,
    state: DaemonState,
    page: LivePage,
) -> None:
    report_address = Address.parse("report-bind-address", settings.report_bind_address)
    pages = Pages(state.report_json, state.report_text, state.pod_json, state.pod_text)
    log = structlog.get_logger("daemon")

    async def listen(address: Address | None, routes: dict[str, Handler]) -> None:
        port = await servers.listen(address, routes)
        if address is not None and port is not None:
            # The port is the system's choice where the setting says 0.
            log.info("listening", setting=address.setting, address=str(replace(address, port=port)))

    probes = Probes(unhealthy=state.unhealthy, not_ready=state.not_ready)
    await listen(
        Address.parse("metrics-bind-address", settings.metrics_bind_address),
        metrics_routes(metrics),
    )
    await listen(
        Address.parse("health-probe-bind-address", settings.health_probe_bind_address),
        health_routes(probes),
    )
    routes = with_page(report_routes(pages, report_address), page, report_address)
    await listen(report_address, routes)
    servers.before_close(page.close)
