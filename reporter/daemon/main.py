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
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from reporter import __version__
from reporter.daemon import logs
from reporter.daemon.connections import Connection, connected
from reporter.daemon.evidence import EvidenceReader, EvidenceTask, RequestPace
from reporter.daemon.listeners import listening
from reporter.daemon.passes import (
    Heartbeat,
    Passes,
    Publisher,
    SelfCheck,
    WriteGate,
    handed_by,
    spare_the_old,
)
from reporter.daemon.pod_scraping import SampleStore, run_scraper, way_to_pods
from reporter.daemon.state import OVERDUE_RESYNCS, PASS_SECONDS, DaemonState, LivePage
from reporter.daemon.writers import Writers
from reporter.diagnosis.signatures import signatures_with
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

Work = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    due: asyncio.Event
    cluster: LiveCluster
    heartbeat: Heartbeat
    elector: Elector | None
    writers: Writers
    scrape: Work
    passes: Passes
    evidence: EvidenceTask
    self_check: SelfCheck
    state: DaemonState
    page: LivePage


def build(connection: Connection, settings: DaemonSettings, *, instance: str) -> Parts:
    client, metrics = connection.client, connection.metrics
    due, targets_due = asyncio.Event(), asyncio.Event()

    def changed() -> None:
        due.set()
        targets_due.set()

    cluster = LiveCluster(client, settings, on_change=changed)

    def paused() -> None:
        cluster.unconfirm_all()
        due.set()

    heartbeat = Heartbeat(paused)
    pauses = heartbeat.pauses
    elector = None
    if settings.leader_elect:
        elector = Elector(
            client,
            name=settings.leader_election_id,
            # As in client-go's examples: a pod keeps its name when its container restarts.
            identity=f"{instance}_{secrets.token_hex(4)}",
            times=LeaseTimes(settings.lease_duration_seconds),
            hand_on=lambda: passes.to_hand_on,
        )
    leading = elector.is_leader if elector is not None else lambda: True
    gate = WriteGate(leading, pauses)
    writers = Writers(
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
        changed=due.set,
    )
    store = SampleStore(
        settings,
        timedelta(seconds=settings.scrape_period),
        due.set,
        dropped=metrics.scrapes.dropped,
    )

    def scraped(target: Target, scrape: Scrape) -> Awaitable[None]:
        logs.note_scrape(target, scrape)
        return store.scraped_aside(target, scrape)

    state = DaemonState(settings, cluster, writers, leading=leading, judged=store.judged)
    overdue = OVERDUE_RESYNCS * settings.resync_seconds + PASS_SECONDS
    page = LivePage(leading, state.lost_watches, overdue_seconds=overdue)
    signatures = signatures_with(settings.log_signatures) if settings.pod_logs else ()
    turn = RequestPace().turn
    reader = EvidenceReader(client, Learned(), signatures, cluster.served_version, turn)
    evidence = EvidenceTask(reader, leading, due.set, logs=settings.pod_logs)
    publisher = Publisher(
        state=state,
        page=page,
        metrics=metrics,
        gate=gate,
        writers=writers,
        evidence=evidence,
    )
    self_check = SelfCheck(tell=metrics.self_checked, changed=due.set)
    passes = Passes(
        cluster,
        settings=settings,
        instance=instance,
        now=connection.now,
        due=due,
        pauses=pauses,
        leading=leading,
        recent_writes=writers.recent_writes,
        samples=(lambda _: NONE) if settings.scrape_via is ScrapeVia.OFF else store.samples,
        publish=publisher.publish,
        self_check=self_check,
        handed=(lambda _: NOTHING) if elector is None else partial(handed_by, elector),
        last_lines=evidence.last_lines,
        evidence=evidence.joined,
    )
    return Parts(
        due=due,
        cluster=cluster,
        heartbeat=heartbeat,
        elector=elector,
        writers=writers,
        scrape=partial(
            run_scraper,
            client,
            cluster,
            settings,
            tell=scraped,
            targets_due=targets_due,
            observer=metrics.scrapes,
            pauses=pauses,
        ),
        passes=passes,
        evidence=evidence,
        self_check=self_check,
        state=state,
        page=page,
    )


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
    parts = build(connection, settings, instance=instance)
    async with listening(settings, connection, parts.state, page=parts.page):
        log.info(
            "started",
            version=__version__,
            commit=commit(),
            instance=instance,
            server=connection.client.server,
        )
        log.info("scraping_of_pods", via=str(via), why=why)
        work = {
            "cluster": parts.cluster.run(),
            "passes": _passes(parts),
            "self_check": parts.self_check.run(),
            "evidence": parts.evidence.run(),
            "writers": parts.writers.run(),
            "heartbeat": parts.heartbeat.run(),
            "scraper": parts.scrape(),
        }
        await _supervise(stop, work, _election(parts))
    log.info("stopped")


async def _passes(parts: Parts) -> None:
    """Start passes once each kind is listed or declared unknown."""
    # Nearly all objects made until then stay, so collecting garbage would only block the loop.
    gc.disable()
    try:
        await parts.cluster.wait_listed()
        # Decoded API objects have no cycles and are not tracked. The rest is frozen, so that the
        # collector never walks the whole heap while the loop waits.
        gc.freeze()
    finally:
        gc.enable()
    await parts.passes.run()


async def _election(parts: Parts) -> None:
    due = parts.due

    def stopped() -> None:
        # Queued writes were planned under a lease that another replica may hold by now.
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

    The lease is released last, when nothing that it guards runs any more.
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
