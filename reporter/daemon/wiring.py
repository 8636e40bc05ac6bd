"""The parts of the daemon, and what is wired to what.

Each part is given to its constructor what it needs, so it is made of parts that exist already.
Where two parts need each other, a value stands between them: `due` asks for a pass, `targets_due`
for a search for pods to scrape, and from the count of pauses the writers learn that their plan is
old.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from reporter.daemon import logs
from reporter.daemon.connection import Connection
from reporter.daemon.evidence import EvidenceTask, RequestPace
from reporter.daemon.evidence_reader import EvidenceReader
from reporter.daemon.gate import WriteGate
from reporter.daemon.hand_over import HandOver, handed_by
from reporter.daemon.heartbeat import Heartbeat
from reporter.daemon.live_page import OVERDUE_RESYNCS, PASS_SECONDS, LivePage
from reporter.daemon.passes import Passes, nothing_handed, nothing_scraped
from reporter.daemon.pod_scraping import run_scraper
from reporter.daemon.publishing import Publisher
from reporter.daemon.sample_store import SampleStore
from reporter.daemon.self_check import SelfCheck
from reporter.daemon.state import DaemonState
from reporter.daemon.writers import Writers
from reporter.diagnosis.signatures import signatures_with
from reporter.kube.client import KubeClient
from reporter.kube.lease import Elector, LeaseTimes
from reporter.kube.live import LiveCluster
from reporter.metrics.looks.target import Scrape, Target
from reporter.setting_types import ScrapeVia
from reporter.settings import DaemonSettings
from reporter.snapshot.snapshot import Learned
from reporter.stacks.stack import outputs_of

Work = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What reads the cluster, and what is woken by it.

    Attributes:
        due: set by whoever asks for a pass.
        targets_due: set when the pods to scrape may be other ones.
        cluster: the watches.
        heartbeat: notices pauses of the process.

    """

    due: asyncio.Event
    targets_due: asyncio.Event
    cluster: LiveCluster
    heartbeat: Heartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All that runs, and what the listeners ask.

    Attributes:
        watching: reads the cluster.
        elector: takes part in the election; None where this replica always leads.
        writers: write to the API server.
        scrape: scrapes pods until cancelled.
        passes: evaluate the cluster.
        evidence: reads what explains faults.
        self_check: compares a pass with one from nothing now and then.
        state: what the listeners tell.
        page: the page for browsers.

    """

    watching: Watching
    elector: Elector | None
    writers: Writers
    scrape: Work
    passes: Passes
    evidence: EvidenceTask
    self_check: SelfCheck
    state: DaemonState
    page: LivePage


def build(connection: Connection, settings: DaemonSettings, *, instance: str) -> Parts:
    """Make all parts; nothing runs yet, and no request is made."""
    client, metrics = connection.client, connection.metrics
    watching = _watching(client, settings)
    due, cluster, pauses = watching.due, watching.cluster, watching.heartbeat.pauses
    hand_over = HandOver()
    elector = None
    if settings.leader_elect:
        elector = _elector(client, settings, instance=instance, hand_over=hand_over)
    leading = elector.is_leader if elector is not None else _always
    gate = WriteGate(leading, pauses)
    writers = Writers(
        client,
        cluster,
        metrics,
        outputs=outputs_of(settings),
        may_write=gate.may_write,
        changed=due.set,
    )
    store = SampleStore(
        settings,
        timedelta(seconds=settings.scrape_period),
        due.set,
        gave_up=metrics.scrapes.gave_up,
    )
    state = DaemonState(settings, cluster, writers, leading=leading, judged=store.judged)
    overdue = OVERDUE_RESYNCS * settings.resync_seconds + PASS_SECONDS
    page = LivePage(leading, state.lost_watches, overdue_seconds=overdue)
    evidence = _evidence(client, settings, cluster, leading=leading, changed=due.set)
    publisher = Publisher(
        state=state,
        page=page,
        metrics=metrics,
        gate=gate,
        writers=writers,
        hand_over=hand_over,
        evidence=evidence,
    )
    self_check = SelfCheck(settings.self_check_seconds, tell=metrics.self_checked, changed=due.set)
    passes = Passes(
        cluster,
        settings=settings,
        instance=instance,
        now=connection.clock.now,
        due=due,
        pauses=pauses,
        leading=leading,
        lately=writers.lately,
        samples=nothing_scraped if settings.scrape_via is ScrapeVia.OFF else store.samples,
        publish=publisher.publish,
        self_check=self_check,
        handed=nothing_handed if elector is None else partial(handed_by, elector),
        last_lines=evidence.last_lines,
        evidence=evidence.joined,
    )
    return Parts(
        watching=watching,
        elector=elector,
        writers=writers,
        scrape=_scraping(connection, settings, watching, store=store),
        passes=passes,
        evidence=evidence,
        self_check=self_check,
        state=state,
        page=page,
    )


def _watching(client: KubeClient, settings: DaemonSettings) -> Watching:
    due, targets_due = asyncio.Event(), asyncio.Event()

    def changed() -> None:
        due.set()
        targets_due.set()

    cluster = LiveCluster(client, settings, on_change=changed)

    def paused() -> None:
        cluster.unconfirm_all()
        due.set()

    return Watching(due=due, targets_due=targets_due, cluster=cluster, heartbeat=Heartbeat(paused))


def _evidence(
    client: KubeClient,
    settings: DaemonSettings,
    cluster: LiveCluster,
    *,
    leading: Callable[[], bool],
    changed: Callable[[], None],
) -> EvidenceTask:
    learned = Learned()
    reader = EvidenceReader(
        client,
        learned,
        signatures_with(settings.log_signatures) if settings.pod_logs else (),
        cluster.served_version,
        RequestPace().turn,
    )
    return EvidenceTask(reader, learned, leading=leading, changed=changed, logs=settings.pod_logs)


def _elector(
    client: KubeClient, settings: DaemonSettings, *, instance: str, hand_over: HandOver
) -> Elector:
    times = LeaseTimes(
        duration=settings.lease_duration_seconds,
        renew_deadline=settings.renew_deadline_seconds,
        retry=settings.retry_period_seconds,
    )
    # As client-go's examples do: the pod's name alone is the same after a restart of its container.
    identity = f"{instance}_{secrets.token_hex(4)}"
    return Elector(
        client,
        name=settings.leader_election_id,
        identity=identity,
        times=times,
        hand_on=hand_over.outgoing,
    )


def _always() -> bool:
    """Lead, as there is no election."""
    return True


def _scraping(
    connection: Connection, settings: DaemonSettings, watching: Watching, *, store: SampleStore
) -> Work:
    def scraped(target: Target, scrape: Scrape) -> Awaitable[None]:
        logs.note_scrape(target, scrape)
        return store.scraped_aside(target, scrape)

    return partial(
        run_scraper,
        connection.client,
        watching.cluster,
        settings,
        tell=scraped,
        targets_due=watching.targets_due,
        observer=connection.metrics.scrapes,
        pauses=watching.heartbeat.pauses,
    )
