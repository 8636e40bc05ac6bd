"""What is written to ModelServings: their status.

What is counted of writes to ModelServings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from reporter.stacks.kthena.derived.ownership import Answer
from reporter.stacks.kthena.owning import Owning, own
from reporter.stacks.kthena.statuses import KubeStatuses, StatusPlan, StatusWriter
from reporter.stacks.output import Decision, OutputScope, OutputWriter, WriterParts


@dataclass(frozen=True, slots=True)
class Answers:
    """What the API server made of our writes: the last answer for each ModelServing by uid."""

    statuses: Mapping[str, Answer]


class KthenaWriter:
    """Writes statuses."""

    def __init__(self, parts: WriterParts) -> None:
        metrics = OutputMetrics(parts.registry, lambda: self._statuses.waiting)
        self._statuses = StatusWriter(
            KubeStatuses(parts.client),
            parts.may_write,
            metrics.status_written,
            changed=parts.changed,
            outdated=parts.outdated,
        )

    def answers(self) -> Answers:
        """Return the last answers for the statuses."""
        return Answers(self._statuses.answers())

    def offer(self, plan: object) -> None:
        """Take what a pass planned."""
        if isinstance(plan, StatusPlan):
            self._statuses.offer(plan)

    def drop(self) -> None:
        """Forget what waits."""
        self._statuses.drop()

    def forget(self) -> None:
        """Forget what waits and what was written."""
        self.drop()
        self._statuses.forget()

    async def run(self) -> None:
        """Write until cancelled."""
        await self._statuses.run()


class KthenaOutput:
    """Decides as `own` says, and writes that."""

    def decide(self, scope: OutputScope, memory: object, answers: object) -> Decision:
        """Decide which statuses to write."""
        return own(
            scope,
            memory if isinstance(memory, Owning) else Owning(),
            answers.statuses if isinstance(answers, Answers) else {},
        )

    def writer(self, parts: WriterParts) -> OutputWriter:
        """Make the writer."""
        return KthenaWriter(parts)


OUTPUT: Final = KthenaOutput()


class OutputMetrics:
    """The metrics of statuses.

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
        Gauge(
            "status_reporter_modelserving_statuses_waiting",
            "Statuses of ModelServings that wait to be written.",
            registry=registry,
        ).set_function(waiting)

    def status_written(self, method: str, outcome: str) -> None:
        """Count a write of the status of a ModelServing."""
        self._statuses.labels(method, outcome).inc()
