"""What is written to ModelServings: their status, and Events on changes of their roles.

What is counted of writes to ModelServings.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from reporter.kube.client import KubeClient
from reporter.kube.writes import KubeEvents
from reporter.sinks.events.render import Document
from reporter.stacks.kthena.derived.ownership import Answer
from reporter.stacks.kthena.owning import Owning, OwningPlan, own
from reporter.stacks.kthena.role_events import RoleEventWriter
from reporter.stacks.kthena.statuses import KubeStatuses, StatusWriter
from reporter.stacks.output import Decision, OutputScope, OutputWriter, WriterParts


@dataclass(frozen=True, slots=True)
class Answers:
    """What the API server made of our writes: the last answer for each ModelServing by uid."""

    statuses: Mapping[str, Answer]


class KthenaWriter:
    """Writes statuses and role Events."""

    def __init__(self, parts: WriterParts) -> None:
        metrics = OutputMetrics(parts.registry, lambda: self._statuses.waiting)
        self._statuses = StatusWriter(
            KubeStatuses(parts.client),
            parts.may_write,
            metrics.status_written,
            changed=parts.changed,
            outdated=parts.outdated,
        )
        self._role_events = RoleEventWriter(
            partial(_create_event, parts.client), parts.may_write, metrics.role_event_written
        )

    def answers(self) -> Answers:
        """Return the last answers for the statuses."""
        return Answers(self._statuses.answers())

    def offer(self, plan: object) -> None:
        """Take what a pass planned."""
        if not isinstance(plan, OwningPlan):
            return
        self._role_events.offer(plan.role_events)
        if plan.statuses is not None:
            self._statuses.offer(plan.statuses)

    def drop(self) -> None:
        """Forget what waits."""
        self._statuses.drop()
        self._role_events.drop()

    def forget(self) -> None:
        """Forget what waits and what was written."""
        self.drop()
        self._statuses.forget()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._statuses.run(), name="statuses")
            tasks.create_task(self._role_events.run(), name="role events")


class KthenaOutput:
    """Decides as `own` says, and writes that."""

    def decide(self, scope: OutputScope, memory: object, answers: object) -> Decision:
        """Decide which statuses to write and which changes of roles to tell."""
        return own(
            scope,
            memory if isinstance(memory, Owning) else Owning(),
            answers.statuses if isinstance(answers, Answers) else {},
        )

    def writer(self, parts: WriterParts) -> OutputWriter:
        """Make the writer."""
        return KthenaWriter(parts)


def _create_event(client: KubeClient, namespace: str, body: Document) -> Awaitable[object]:
    return KubeEvents(client, namespace=namespace).create_event(body)


OUTPUT: Final = KthenaOutput()


class OutputMetrics:
    """The metrics of statuses and role Events.

    Args:
        registry: where they are exported.
        waiting: how many statuses wait to be written.

    """

    def __init__(self, registry: CollectorRegistry, waiting: Callable[[], int]) -> None:
        self._statuses = Counter(
            "status_reporter_modelserving_status_writes_total",
            "Writes of the status of ModelServings by how they are made and what became of them.",
            ["method", "outcome"],
            registry=registry,
        )
        self._role_events = Counter(
            "status_reporter_role_events_total",
            "Events about roles of ModelServings by what became of them.",
            ["outcome"],
            registry=registry,
        )
        Gauge(
            "status_reporter_modelserving_statuses_waiting",
            "Statuses of ModelServings that wait to be written.",
            registry=registry,
        ).set_function(waiting)

    def status_written(self, method: str, outcome: str) -> None:
        """Count a write of the status of a ModelServing."""
        self._statuses.labels(method, outcome).inc()

    def role_event_written(self, outcome: str) -> None:
        """Count an Event about a role."""
        self._role_events.labels(outcome).inc()
