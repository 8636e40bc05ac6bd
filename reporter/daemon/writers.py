"""The writers of a daemon as one: Events, their mirrors, statuses of ModelServings, changes of roles."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from reporter.catalogue.resources import EVENTS
from reporter.daemon.one_pass import Lately, Pass
from reporter.kube.client import KubeClient
from reporter.kube.live import LiveCluster
from reporter.kube.mirrors import KubeMirrors
from reporter.kube.writes import KubeEvents
from reporter.sinks.events.plan import Purpose
from reporter.sinks.events.writer import EventWriter
from reporter.sinks.mirror.writer import MirrorWriter
from reporter.sinks.own_metrics import Metrics
from reporter.stacks.kthena.role_events.writer import RoleEventWriter
from reporter.stacks.kthena.statuses.requests import KubeStatuses
from reporter.stacks.kthena.statuses.writer import StatusWriter


class Writers:
    """All that writes to the API server but the Lease."""

    def __init__(
        self,
        client: KubeClient,
        cluster: LiveCluster,
        metrics: Metrics,
        *,
        may_write: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        """Make them.

        Args:
            client: makes the requests.
            cluster: told where a watch is behind.
            metrics: told of each write.
            may_write: asked before each request.
            changed: called when a new pass is needed.
        """
        self._may_write = may_write
        self._changed = changed
        self._metrics = metrics
        self._mirroring = False
        outdated = partial(cluster.list_anew, EVENTS)
        self.events = EventWriter(
            KubeEvents(client),
            may_write,
            self._event_written,
            changed=changed,
            outdated=outdated,
            told=metrics.episode_told,
        )
        self.statuses = StatusWriter(
            KubeStatuses(client),
            may_write,
            metrics.status_written,
            changed=changed,
            outdated=cluster.list_anew,
        )
        self.role_events = RoleEventWriter(
            partial(_create_event, client), may_write, metrics.role_event_written
        )
        self.mirrors = MirrorWriter(
            KubeMirrors(client),
            may_write,
            metrics.mirror_written,
            events_wait=lambda: self.events.urgent,
        )

    def _event_written(self, purpose: Purpose, outcome: str) -> None:
        """Count a write of an Event, and have it mirrored: our own Events ask for no pass."""
        self._metrics.event_written(purpose, outcome)
        if self._mirroring and outcome == "written" and purpose is not Purpose.REFRESH:
            self._changed()

    def lately(self) -> Lately:
        """Return what was written lately."""
        return Lately(self.events.written(), self.statuses.answers(), self.mirrors.applied())

    def offer(self, done: Pass) -> None:
        """Write what a pass planned, if we lead."""
        if not self._may_write():
            return
        self.events.offer(done.plan)
        self.role_events.offer(done.role_events)
        if done.statuses is not None:
            self.statuses.offer(done.statuses)
        self._mirroring = done.mirrors is not None
        if done.mirrors is not None:
            self.mirrors.offer(done.mirrors)

    def drop(self) -> None:
        """Forget what waits: what it rests on is not to be trusted any more."""
        self.events.drop()
        self.statuses.drop()
        self.role_events.drop()
        self.mirrors.drop()

    def forget(self) -> None:
        """Forget what waits and what was written: somebody else may lead by now."""
        self.drop()
        self.statuses.forget()
        self.mirrors.forget()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.events.run(), name="events")
            tasks.create_task(self.statuses.run(), name="statuses")
            tasks.create_task(self.role_events.run(), name="role events")
            tasks.create_task(self.mirrors.run(), name="mirrors")


def _create_event(
    client: KubeClient, namespace: str, body: Mapping[str, object]
) -> Awaitable[object]:
    return KubeEvents(client, namespace=namespace).create_event(body)
