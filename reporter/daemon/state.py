"""What the listeners tell of a running daemon."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from reporter import __version__
from reporter.daemon.one_pass import Pass
from reporter.kube.clock import boot_seconds, real_now
from reporter.metrics.looks.samples import Judged
from reporter.metrics.looks.target import PodName
from reporter.model.report import Report
from reporter.settings import DaemonSettings
from reporter.sinks.own_metrics import WatchHealth
from reporter.sinks.pod_view import pod_json, pod_text, pod_view
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import report_text
from reporter.snapshot.snapshot import Served
from reporter.version import commit

SLOW_PASSES: Final = 3
"""Resyncs without a pass after which the daemon is unhealthy, at least `LEAST_SECONDS`."""

LEAST_SECONDS: Final = 60.0
FIRST_PASS_SECONDS: Final = 300.0
"""Time that the first pass has: a large cluster takes a while to be listed."""


class Cluster(Protocol):
    """What is asked of the watches."""

    def all_listed(self) -> bool:
        """Tell whether each kind is listed once or declared unknown."""

    def health(self) -> Iterable[WatchHealth]:
        """Return the health of each watch."""

    @property
    def clock_offset_seconds(self) -> float:
        """How far the API server's clock is ahead of ours."""


class Queue(Protocol):
    """What is asked of a writer."""

    @property
    def waiting(self) -> int:
        """How many writes wait."""


class MirrorQueue(Queue, Protocol):
    """What is asked of the writer of mirrors."""

    @property
    def refusing(self) -> int:
        """How many namespaces refused the last write there."""


class WriteQueues(Protocol):
    """What is asked of the writers."""

    @property
    def events(self) -> Queue:
        """Of our Events."""

    @property
    def mirrors(self) -> MirrorQueue:
        """Of the mirrors of our Events."""

    @property
    def alerts(self) -> Queue:
        """Of alerts."""


@dataclass(frozen=True, slots=True)
class LostWatches:
    """Watches that have lost their connection.

    Attributes:
        seconds: since one of them heard something last.
        resources: what they read; empty where all are lost.

    """

    seconds: float
    resources: tuple[str, ...] = ()


class DaemonState:
    """The newest pass, who leads, and whether all is well."""

    def __init__(
        self,
        settings: DaemonSettings,
        cluster: Cluster,
        writers: WriteQueues,
        *,
        leading: Callable[[], bool],
        judged: Callable[[PodName], Judged | None],
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._writers = writers
        self._leading = leading
        self._judged = judged
        self._longest = max(LEAST_SECONDS, SLOW_PASSES * float(settings.resync_seconds))
        self._started = boot_seconds()
        self._last: float | None = None
        self._report: Report | None = None

    def passed(self, done: Pass) -> None:
        """Note a pass."""
        self._report = done.report
        self._last = boot_seconds()

    def leading(self) -> bool:
        """Tell whether this replica writes."""
        return self._leading()

    def report(self) -> Report | None:
        """Return the newest report."""
        return self._report

    def watches(self) -> Iterable[WatchHealth]:
        """Return the health of each watch."""
        return self._cluster.health()

    def lost_watches(self) -> LostWatches | None:
        """Return which kinds may be old, as their watch lost its connection and nothing came since.

        None where each that is served is confirmed. What is lost for long is unknown instead.
        """
        served = [each for each in self._cluster.health() if each.state == Served.SERVED]
        lost = [each for each in served if not each.confirmed]
        if not lost:
            return None
        # What came last shows best when the connection was still there: a quiet kind is rarely heard.
        seconds = min(each.age_seconds or 0.0 for each in lost)
        names = tuple(sorted(each.resource for each in lost))
        return LostWatches(seconds, () if len(lost) == len(served) else names)

    def events_waiting(self) -> int:
        """Return how many Events wait to be written."""
        return self._writers.events.waiting

    def mirrors_waiting(self) -> int:
        """Return how many mirrors wait to be written."""
        return self._writers.mirrors.waiting

    def alerts_waiting(self) -> int:
        """Return how many alerts wait to be sent."""
        return self._writers.alerts.waiting

    def mirrors_refusing(self) -> int:
        """Return how many namespaces refuse mirrors."""
        return self._writers.mirrors.refusing

    def clock_offset_seconds(self) -> float:
        """Return how far the API server's clock is ahead of ours."""
        return self._cluster.clock_offset_seconds

    def report_json(self) -> bytes | None:
        """Return the newest report as JSON, with our version and whether we lead."""
        if self._report is None:
            return None
        about = {"version": __version__, "commit": commit(), "leading": self.leading()}
        return report_json(self._report, self._settings, about)

    def report_text(self) -> str | None:
        """Return the newest report as text."""
        return report_text(self._report) if self._report is not None else None

    def pod_json(self, pod: PodName) -> bytes | None:
        """Return what was scraped from a pod as JSON, None if nothing was."""
        judged = self._judged(pod)
        return pod_json(pod_view(judged, self._settings)) if judged else None

    def pod_text(self, pod: PodName) -> str | None:
        """Return what was scraped from a pod as text, None if nothing was."""
        judged = self._judged(pod)
        return pod_text(judged, real_now().wall, self._settings) if judged else None

    def unhealthy(self) -> str | None:
        """Return why the process should be restarted, None if it is well."""
        now = boot_seconds()
        if self._last is None:
            late = now - self._started > FIRST_PASS_SECONDS
            return "no pass has ended since start" if late else None
        late = now - self._last > self._longest
        return f"no pass has ended for {now - self._last:.0f} s" if late else None

    def not_ready(self) -> str | None:
        """Return why this replica cannot report yet, None once it can."""
        if not self._cluster.all_listed():
            return "not every kind is listed yet"
        return "no pass has ended yet" if self._report is None else None
