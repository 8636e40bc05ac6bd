"""What the listeners tell of a running daemon."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from reporter import __version__
from reporter.daemon.one_pass import Pass
from reporter.daemon.writers import Writers
from reporter.kube.clock import boot_seconds, real_now
from reporter.kube.live import LiveCluster, WatchHealth
from reporter.metrics.looks.look import PodName
from reporter.metrics.looks.window import Judged
from reporter.model.report import Report
from reporter.settings import DaemonSettings
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


@dataclass(frozen=True, slots=True)
class LostWatches:
    """Watches that have lost their connection, all where no `resources` are named, and the seconds
    since one of them heard something last.
    """

    seconds: float
    resources: tuple[str, ...] = ()


class DaemonState:
    def __init__(
        self,
        settings: DaemonSettings,
        cluster: LiveCluster,
        writers: Writers,
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
        self._report = done.report
        self._last = boot_seconds()

    def leading(self) -> bool:
        return self._leading()

    def report(self) -> Report | None:
        return self._report

    def watches(self) -> Iterable[WatchHealth]:
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

    def gauges(self) -> dict[str, float]:
        writers = self._writers
        return {
            "leader": self.leading(),
            "events_waiting": writers.events.waiting,
            "mirrors_waiting": writers.mirrors.waiting,
            "alerts_waiting": writers.alerts.waiting,
            "mirror_namespaces_refusing": writers.mirrors.refusing,
            "clock_offset_seconds": self._cluster.client.clock_offset_seconds,
        }

    def report_json(self) -> bytes | None:
        if self._report is None:
            return None
        about = {"version": __version__, "commit": commit(), "leading": self.leading()}
        return report_json(self._report, self._settings, about)

    def report_text(self) -> str | None:
        return report_text(self._report) if self._report is not None else None

    def pod_json(self, pod: PodName) -> bytes | None:
        judged = self._judged(pod)
        return pod_json(pod_view(judged, self._settings)) if judged else None

    def pod_text(self, pod: PodName) -> str | None:
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
        if not self._cluster.all_listed():
            return "not every kind is listed yet"
        return "no pass has ended yet" if self._report is None else None
