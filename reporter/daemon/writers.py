"""The writers of a daemon as one: Events, their mirrors, alerts, and the outputs of each stack."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Pass, RecentWrites
from reporter.kube.client import KubeClient
from reporter.kube.live import LiveCluster
from reporter.kube.writes import KubeEvents
from reporter.sinks.alerts import AlertWriter
from reporter.sinks.events.plan import Purpose
from reporter.sinks.events.writer import EventWriter
from reporter.sinks.mirror.writer import MirrorWriter
from reporter.sinks.own_metrics import Metrics
from reporter.stacks.output import Output, OutputWriter, WriterParts


class Writers:
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
            created=metrics.observe_delay,
        )
        self.mirrors = MirrorWriter(
            KubeEvents(client),
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
        self._all: dict[str, EventWriter | MirrorWriter | AlertWriter | OutputWriter] = {
            "events": self.events,
            "mirrors": self.mirrors,
            "alerts": self.alerts,
            **{f"output of {name}": each for name, each in self._outputs.items()},
        }

    def _event_written(self, purpose: Purpose, outcome: str) -> None:
        """Count a write of an Event, and ask for a pass that mirrors it: its echo asks for none."""
        self._metrics.event_written(purpose, outcome)
        if self._mirroring and outcome == "written" and purpose is not Purpose.REFRESH:
            self._changed()

    def recent_writes(self) -> RecentWrites:
        answers = {name: writer.answers() for name, writer in self._outputs.items()}
        return RecentWrites(
            self.events.written(), self.mirrors.applied(), answers, self.events.versions()
        )

    def offer(self, done: Pass) -> None:
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
        """Drop the queued writes: they depend on data that is no longer trusted."""
        for writer in self._all.values():
            writer.drop()

    def forget(self) -> None:
        """Forget queued and past writes: another replica may lead by now."""
        self.drop()
        for writer in self._all.values():
            writer.forget()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, writer in self._all.items():
                tasks.create_task(writer.run(), name=name)
