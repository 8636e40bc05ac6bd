"""The writers of a daemon as one: Events, their mirrors, alerts, and what each stack writes."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Lately, Pass
from reporter.kube.client import KubeClient
from reporter.kube.live import LiveCluster
from reporter.kube.writes import KubeEvents, KubeMirrors
from reporter.sinks.alerts.writer import AlertWriter
from reporter.sinks.events.plan import Purpose
from reporter.sinks.events.writer import EventWriter
from reporter.sinks.mirror.writer import MirrorWriter
from reporter.sinks.own_metrics import Metrics
from reporter.stacks.output import Output, WriterParts


class Writers:
    """All that writes to the API server but the Lease, and what tells Alertmanager."""

    def __init__(
        self,
        client: KubeClient,
        cluster: LiveCluster,
        metrics: Metrics,
        *,
        alerts: AlertWriter,
        outputs: Mapping[str, Output],
        may_write: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        """Make them.

        Args:
            client: makes the requests.
            cluster: told where a watch is behind.
            metrics: told of each write.
            alerts: tells Alertmanager.
            outputs: what the stacks write, by their names.
            may_write: asked before each request.
            changed: called when a new pass is needed.
        """
        self._may_write = may_write
        self._changed = changed
        self._metrics = metrics
        self._mirroring = False
        self.alerts = alerts
        outdated = partial(cluster.relist, EVENTS)
        self.events = EventWriter(
            KubeEvents(client),
            may_write,
            self._event_written,
            changed=changed,
            outdated=outdated,
            told=metrics.episode_told,
        )
        self.mirrors = MirrorWriter(
            KubeMirrors(client),
            may_write,
            metrics.mirror_written,
            events_wait=lambda: self.events.urgent,
        )
        parts = WriterParts(
            client=client,
            registry=metrics.registry,
            may_write=may_write,
            changed=changed,
            outdated=cluster.relist,
        )
        self._outputs = {name: output.writer(parts) for name, output in outputs.items()}

    def _event_written(self, purpose: Purpose, outcome: str) -> None:
        """Count a write of an Event, and have it mirrored: our own Events ask for no pass."""
        self._metrics.event_written(purpose, outcome)
        if self._mirroring and outcome == "written" and purpose is not Purpose.REFRESH:
            self._changed()

    def lately(self) -> Lately:
        """Return what was written lately."""
        answers = {name: writer.answers() for name, writer in self._outputs.items()}
        return Lately(
            self.events.written(), self.mirrors.applied(), answers, self.events.versions()
        )

    def offer(self, done: Pass) -> None:
        """Write what a pass planned, if we lead."""
        if not self._may_write():
            return
        self.events.offer(done.plan)
        self.alerts.offer(done.after.alerts or {})
        for name, writer in self._outputs.items():
            writer.offer(done.outputs.get(name))
        self._mirroring = done.mirrors is not None
        if done.mirrors is not None:
            self.mirrors.offer(done.mirrors)

    def drop(self) -> None:
        """Forget what waits: what it rests on is not to be trusted any more."""
        self.events.drop()
        self.mirrors.drop()
        self.alerts.drop()
        for writer in self._outputs.values():
            writer.drop()

    def forget(self) -> None:
        """Forget what waits and what was written: somebody else may lead by now."""
        self.drop()
        self.events.forget()
        self.mirrors.forget()
        self.alerts.forget()
        for writer in self._outputs.values():
            writer.forget()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.events.run(), name="events")
            tasks.create_task(self.mirrors.run(), name="mirrors")
            tasks.create_task(self.alerts.run(), name="alerts")
            for name, writer in self._outputs.items():
                tasks.create_task(writer.run(), name=f"output of {name}")
