"""What the listeners serve of a running daemon: its state, and the live page with its streams."""

import asyncio
import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter import __version__
from reporter.daemon.one_pass import Pass
from reporter.daemon.writers import Writers
from reporter.kube.clock import boot_seconds, real_now
from reporter.kube.live import LiveCluster, WatchHealth
from reporter.metrics.samples.sample import PodName
from reporter.metrics.samples.window import Judged
from reporter.model.instant import rfc3339_micro
from reporter.model.report import Report, SpecChange
from reporter.resolution.records import Records
from reporter.settings import DaemonSettings
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.view import Lost, PageView, ReportOrigin, filtered
from reporter.sinks.pod_view import pod_json, pod_text, pod_view
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import report_text
from reporter.snapshot.snapshot import Served
from reporter.version import commit

SLOW_PASSES: Final = 3
"""Resyncs without a pass after which the daemon is unhealthy, at least `LEAST_SECONDS`."""

LEAST_SECONDS: Final = 60.0
FIRST_PASS_SECONDS: Final = 300.0
"""Time limit of the first pass: listing a large cluster takes a while."""


@dataclass(frozen=True, slots=True)
class LostWatches:
    """Watches that have lost their connection (all if `resources` is empty), and the seconds since
    the last of them received anything.
    """

    seconds: float
    resources: tuple[str, ...] = ()


@dataclass(eq=False)
class DaemonState:
    settings: DaemonSettings
    cluster: LiveCluster
    writers: Writers
    _: KW_ONLY
    leading: Callable[[], bool]
    judged: Callable[[PodName], Judged | None]

    def __post_init__(self) -> None:
        self._longest = max(LEAST_SECONDS, SLOW_PASSES * float(self.settings.resync_seconds))
        self._started = boot_seconds()
        self._last: float | None = None
        self._report: Report | None = None

    def passed(self, done: Pass) -> None:
        self._report = done.report
        self._last = boot_seconds()

    def report(self) -> Report | None:
        return self._report

    def watches(self) -> Iterable[WatchHealth]:
        return self.cluster.health()

    def lost_watches(self) -> LostWatches | None:
        """Return the kinds that may be outdated because their watch lost its connection.

        None if every served kind is confirmed. A kind that is lost for long is unknown instead.
        """
        served = [each for each in self.cluster.health() if each.state == Served.SERVED]
        lost = [each for each in served if not each.confirmed]
        if not lost:
            return None
        # The latest frame shows best how long the connection lasted: quiet kinds rarely have one.
        seconds = min(each.age_seconds or 0.0 for each in lost)
        names = tuple(sorted(each.resource for each in lost))
        return LostWatches(seconds, () if len(lost) == len(served) else names)

    def gauges(self) -> dict[str, float]:
        writers = self.writers
        return {
            "leader": self.leading(),
            "events_waiting": writers.events.waiting,
            "mirrors_waiting": writers.mirrors.waiting,
            "alerts_waiting": writers.alerts.waiting,
            "mirror_namespaces_refusing": writers.mirrors.refusing,
            "clock_offset_seconds": self.cluster.client.clock_offset_seconds,
        }

    def report_json(self) -> bytes | None:
        if self._report is None:
            return None
        about = {"version": __version__, "commit": commit(), "leading": self.leading()}
        return report_json(self._report, self.settings, about)

    def report_text(self) -> str | None:
        return report_text(self._report) if self._report is not None else None

    def pod_json(self, pod: PodName) -> bytes | None:
        judged = self.judged(pod)
        return pod_json(pod_view(judged, self.settings)) if judged else None

    def pod_text(self, pod: PodName) -> str | None:
        judged = self.judged(pod)
        return pod_text(judged, real_now().wall, self.settings) if judged else None

    def unhealthy(self) -> str | None:
        """Return why the process should be restarted, or None if it is healthy."""
        now = boot_seconds()
        if self._last is None:
            late = now - self._started > FIRST_PASS_SECONDS
            return "no pass has ended since start" if late else None
        late = now - self._last > self._longest
        return f"no pass has ended for {now - self._last:.0f} s" if late else None

    def not_ready(self) -> str | None:
        if not self.cluster.all_listed():
            return "not every kind is listed yet"
        return "no pass has ended yet" if self._report is None else None


_TOKEN_BYTES: Final = 4

OVERDUE_RESYNCS: Final = 2
"""Resyncs without a pass after which the newest report is outdated."""

PASS_SECONDS: Final = 10.0
"""Time that a pass itself may take."""


@dataclass(frozen=True, slots=True)
class _State:
    report: Report
    history: EpisodeHistory
    records: Records | None
    leading: bool
    lost: Lost | None
    version: str


@dataclass(frozen=True, slots=True)
class _Drawn:
    state: _State
    overdue: bool
    view: PageView
    html: bytes


@dataclass(eq=False)
class LivePage:
    """The newest report as a page. A pass only compares reports: the page is rendered in a thread,
    on the first request after each report.
    """

    leading: Callable[[], bool]
    lost_watches: Callable[[], LostWatches | None] = lambda: None
    _: KW_ONLY
    overdue_seconds: float = math.inf

    def __post_init__(self) -> None:
        self._process = secrets.token_hex(_TOKEN_BYTES)
        self._count = 0
        self._state: _State | None = None
        self._passed = 0.0
        self._changed = asyncio.Event()
        self._drawing = asyncio.Lock()
        self._drawn: _Drawn | None = None
        self.closed = False

    def passed(
        self, report: Report, records: Records | None = None, changes: Iterable[SpecChange] = ()
    ) -> None:
        """Store the report of a pass, our Events on record (None: unknown), and seen changes."""
        before = self._state
        history = (before.history if before else EpisodeHistory()).after(report, changes)
        leading = self.leading()
        lost = self._lost(before, report.now)
        self._passed = boot_seconds()
        same = (
            before is not None
            and (leading, lost) == (before.leading, before.lost)
            and _shown(report) == _shown(before.report)
        )
        self._count += not same
        this_one = f"{self._process}-{self._count}"
        self._state = _State(report, history, records, leading, lost, this_one)
        if not same:
            self._wake()

    def _lost(self, before: _State | None, now: datetime) -> Lost | None:
        """Return the lost resources; `since` stays the same while the loss goes on."""
        lost = self.lost_watches()
        if lost is None:
            return None
        known = before.lost if before else None
        since = known.since if known else now - timedelta(seconds=lost.seconds)
        return Lost(since, lost.resources)

    @property
    def version(self) -> str | None:
        return self._state.version if self._state else None

    @property
    def update(self) -> dict[str, object] | None:
        """Data of the stream: version, time and age (in seconds) of the newest report, the age at
        which it is outdated, and whether the API server is unreachable. None before the first
        report. The version changes only if the page does: an equal report keeps it.
        """
        if self._state is None:
            return None
        return {
            "version": self._state.version,
            "now": rfc3339_micro(self._state.report.now),
            "age": round(self._age, 3),
            "limit": self.overdue_seconds if math.isfinite(self.overdue_seconds) else None,
            "lost": self._state.lost is not None and not self._state.lost.resources,
        }

    @property
    def _age(self) -> float:
        return boot_seconds() - self._passed

    async def changed(self, known: str | None) -> None:
        while not self.closed and self.version == known:
            await self._changed.wait()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def history(self) -> bytes | None:
        state = self._state
        return _history(state).json(state.report.now) if state else None

    async def html(self, query: str = "", *, whole: bool = False) -> bytes | None:
        """Return the page, filtered by `query`; None before the first pass.

        Long lists are cut unless `whole` is set.
        """
        state = self._state
        if state is None:
            return None
        async with self._drawing:
            # While we waited for the lock, another request may have rendered the page.
            state = self._state or state
            overdue = self._age > self.overdue_seconds
            drawn = self._drawn
            if drawn is None or drawn.state is not state or drawn.overdue != overdue:
                drawn = self._drawn = await asyncio.to_thread(_draw, state, overdue=overdue)
            view, html = drawn.view, drawn.html
            if not query.strip() and not whole:
                return html
            narrowed = filtered(view, query)
            return await asyncio.to_thread(_html, narrowed, state.version, whole=whole)


def _shown(report: Report) -> tuple[object, ...]:
    return (
        report.findings,
        report.unknown,
        report.skipped,
        report.subjects,
        report.mutes,
        report.mute_faults,
        report.states,
        [each.subject for each in report.ready],
    )


def _draw(state: _State, *, overdue: bool) -> _Drawn:
    about = ReportOrigin(
        version=__version__, leading=state.leading, live=True, lost=state.lost, overdue=overdue
    )
    view = page_view(state.report, about, _history(state))
    return _Drawn(state, overdue, view, _html(view, state.version))


def _history(state: _State) -> EpisodeHistory:
    """Return the episodes that were seen, and earlier ones from our Events."""
    if state.records is None:
        return state.history
    return state.history.with_records(state.records, state.report.catalogue, state.report.now)


def _html(view: PageView, version_: str, *, whole: bool = False) -> bytes:
    return page_html(view, version=version_, whole=whole).encode("utf-8", "replace")
