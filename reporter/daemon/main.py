"""The daemon: starts, wires and stops its parts.

Each part gets its dependencies in its constructor, so it is made after them. Where two parts need
each other, a value is between them: `due` asks for a pass, `targets_due` for a search for pods to
scrape, and the count of pauses shows the writers that their plan is outdated.
"""

import asyncio
import gc
import os
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from reporter import __version__
from reporter.daemon import logs
from reporter.daemon.evidence import EvidenceReader, EvidenceTask, RequestPace
from reporter.daemon.listeners import Connection, connected, listening
from reporter.daemon.logs import ChangeLog
from reporter.daemon.one_pass import Pass
from reporter.daemon.passes import (
    Heartbeat,
    Passes,
    SelfCheck,
    WriteGate,
    handed_by,
    spare_the_old,
)
from reporter.daemon.pod_scraping import SampleStore, run_scraper, way_to_pods
from reporter.daemon.state import OVERDUE_RESYNCS, PASS_SECONDS, DaemonState, LivePage
from reporter.daemon.writers import Writers
from reporter.diagnosis.signatures import signatures_with
from reporter.kube.client import KubeClient
from reporter.kube.lease import Elector, LeaseTimes
from reporter.kube.live import LiveCluster
from reporter.metrics.samples.sample import Scrape, Target
from reporter.metrics.samples.window import NONE
from reporter.resolution.grace import NOTHING
from reporter.setting_types import ScrapeVia
from reporter.settings import DaemonSettings
from reporter.sinks.alerts import AlertWriter
from reporter.snapshot.snapshot import Learned
from reporter.stacks.stack import outputs_of
from reporter.version import commit


class Daemon:
    """The parts, made in the order of their dependencies."""

    def __init__(self, connection: Connection, settings: DaemonSettings, *, instance: str) -> None:
        client = connection.client
        self.metrics = metrics = connection.metrics
        self.due, targets_due = asyncio.Event(), asyncio.Event()
        due = self.due.set

        def changed() -> None:
            due()
            targets_due.set()

        self.cluster = cluster = LiveCluster(client, settings, on_change=changed)

        def paused() -> None:
            cluster.unconfirm_all()
            due()

        self.heartbeat = Heartbeat(paused)
        pauses = self.heartbeat.pauses
        self.elector = elector = self._elector(client, settings, instance)
        leading = elector.is_leader if elector is not None else lambda: True
        self.gate = gate = WriteGate(leading, pauses)
        self.writers = writers = Writers(
            client,
            cluster,
            metrics,
            alerts=AlertWriter(
                settings,
                may_write=gate.may_write,
                observe=metrics.alerts_sent,
                now=lambda: connection.now().wall,
            ),
            outputs=outputs_of(settings),
            may_write=gate.may_write,
            changed=due,
        )
        period = timedelta(seconds=settings.scrape_period)
        store = SampleStore(settings, period, due, dropped=metrics.scrapes.dropped)

        def scraped(target: Target, scrape: Scrape) -> Awaitable[None]:
            logs.note_scrape(target, scrape)
            return store.scraped_aside(target, scrape)

        self.scrape = partial(
            run_scraper,
            client,
            cluster,
            settings,
            tell=scraped,
            targets_due=targets_due,
            observer=metrics.scrapes,
            pauses=pauses,
        )
        self.state = DaemonState(settings, cluster, writers, leading=leading, judged=store.judged)
        overdue = OVERDUE_RESYNCS * settings.resync_seconds + PASS_SECONDS
        self.page = LivePage(leading, self.state.lost_watches, overdue_seconds=overdue)
        signatures = signatures_with(settings.log_signatures) if settings.pod_logs else ()
        turn = RequestPace().turn
        reader = EvidenceReader(client, Learned(), signatures, cluster.served_version, turn)
        self.evidence = EvidenceTask(reader, leading, due, logs=settings.pod_logs)
        self.changes = ChangeLog()
        self.self_check = SelfCheck(tell=metrics.self_checked, changed=due)
        self.passes = Passes(
            cluster,
            settings=settings,
            instance=instance,
            now=connection.now,
            due=self.due,
            pauses=pauses,
            leading=leading,
            recent_writes=writers.recent_writes,
            samples=(lambda _: NONE) if settings.scrape_via is ScrapeVia.OFF else store.samples,
            publish=self.publish,
            self_check=self.self_check,
            handed=(lambda _: NOTHING) if elector is None else partial(handed_by, elector),
            last_lines=self.evidence.last_lines,
            evidence=self.evidence.joined,
        )

    def _elector(
        self, client: KubeClient, settings: DaemonSettings, instance: str
    ) -> Elector | None:
        if not settings.leader_elect:
            return None
        return Elector(
            client,
            name=settings.leader_election_id,
            # As in client-go's examples: a pod keeps its name when its container restarts.
            identity=f"{instance}_{secrets.token_hex(4)}",
            times=LeaseTimes(settings.lease_duration_seconds),
            hand_on=lambda: self.passes.to_hand_on,
        )

    async def publish(self, done: Pass) -> None:
        """Hand the result of a pass to the writers and to everything that shows it.

        In three steps, the last in a thread: with thousands of new faults each takes tens of
        milliseconds, and the event loop must run in between.
        """
        self.state.passed(done)
        self.metrics.passed(done.seconds, done.report.now.timestamp())
        self.evidence.passed(done.wanted, done.crashes)
        if self.gate.outdated:
            # A plan may replace only some queues; nothing from before a pause may stay in others.
            self.writers.drop()
        self.gate.planned()
        self.writers.offer(done)
        await asyncio.sleep(0)
        seen = done.after.memory.changes.changes
        self.page.passed(done.report, done.records, (each.change for each in seen))
        await asyncio.to_thread(self.changes.note, done.report)

    async def run(self, stop: asyncio.Event) -> None:
        """Run everything until `stop`; if one part ends by itself, all end.

        The lease is released last, when nothing that it guards runs any more.
        """
        work = {
            "cluster": self.cluster.run(),
            "passes": self._passes(),
            "self_check": self.self_check.run(),
            "evidence": self.evidence.run(),
            "writers": self.writers.run(),
            "heartbeat": self.heartbeat.run(),
            "scraper": self.scrape(),
        }
        leading = asyncio.create_task(self._election(), name="lease")
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

    async def _passes(self) -> None:
        """Start passes once each kind is listed or declared unknown."""
        # Nearly all objects made until then stay, so collecting garbage would only block the loop.
        gc.disable()
        try:
            await self.cluster.wait_listed()
            # Decoded API objects have no cycles and are not tracked. The rest is frozen, so that
            # the collector never walks the whole heap while the loop waits.
            gc.freeze()
        finally:
            gc.enable()
        await self.passes.run()

    async def _election(self) -> None:
        def stopped() -> None:
            # Queued writes were planned under a lease that another replica may hold by now.
            self.writers.forget()
            self.due.set()

        if self.elector is None:
            await asyncio.Event().wait()
        else:
            await self.elector.run(started=self.due.set, stopped=stopped)


SWITCH_SECONDS: Final = 0.0005
"""How soon a pass, which runs in a thread, yields to the event loop; Python's default is 5 ms."""


async def run_daemon(
    settings: DaemonSettings, *, kubeconfig: Path | None = None, context: str | None = None
) -> int:
    logs.configure(settings.log_level)
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
    """Return the identity of this replica: the pod's name, or host and process."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


async def serve(
    connection: Connection, settings: DaemonSettings, stop: asyncio.Event, *, instance: str
) -> None:
    """Watch, evaluate, serve and, while leading, write, until `stop` is set."""
    log = structlog.get_logger("daemon")
    via, why = way_to_pods(settings, in_cluster=connection.client.in_cluster)
    settings = settings.model_copy(update={"scrape_via": via})
    daemon = Daemon(connection, settings, instance=instance)
    async with listening(settings, connection, daemon.state, page=daemon.page):
        log.info(
            "started",
            version=__version__,
            commit=commit(),
            instance=instance,
            server=connection.client.server,
        )
        log.info("scraping_of_pods", via=str(via), why=why)
        await daemon.run(stop)
    log.info("stopped")
