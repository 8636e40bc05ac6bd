"""What is counted of writes to ModelServings."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge


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
