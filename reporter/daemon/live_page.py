"""The page of a running daemon: what it shows, which version that is, and who waits for the next."""

import asyncio
import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.daemon.state import LostWatches
from reporter.kube.clock import boot_seconds
from reporter.model.instant import rfc3339_micro
from reporter.model.report import Report, SpecChange
from reporter.resolution.records import Records
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.view import Lost, PageView, ReportOrigin, filtered
from reporter.version import version

_TOKEN_BYTES: Final = 4

OVERDUE_RESYNCS: Final = 2
"""Resyncs without a pass after which the newest report is old."""

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


class LivePage:
    """The newest report as a page. A pass costs it only a comparison: the page is drawn in a
    thread, when somebody asks for it, and once for each report.
    """

    def __init__(
        self,
        leading: Callable[[], bool],
        lost_watches: Callable[[], LostWatches | None] = lambda: None,
        *,
        overdue_seconds: float = math.inf,
    ) -> None:
        self._leading = leading
        self._lost_watches = lost_watches
        self._overdue_seconds = overdue_seconds
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
        """Note the report of a pass, our Events on record, None where they are unknown, and what changed."""
        before = self._state
        history = (before.history if before else EpisodeHistory()).after(report, changes)
        leading = self._leading()
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
        """Return what is lost; its time is the same as long as the loss goes on."""
        lost = self._lost_watches()
        if lost is None:
            return None
        known = before.lost if before else None
        since = known.since if known else now - timedelta(seconds=lost.seconds)
        return Lost(since, lost.resources)

    @property
    def version(self) -> str | None:
        return self._state.version if self._state else None

    @property
    def news(self) -> dict[str, object] | None:
        """What the stream tells: version, time of the newest report, seconds since, after how many
        it is old, and whether the API server is out of reach; None before the first report.

        The version is another one only where the page says something else; a report that decides
        the same is the same version at a later time.
        """
        if self._state is None:
            return None
        return {
            "version": self._state.version,
            "now": rfc3339_micro(self._state.report.now),
            "age": round(self._age, 3),
            "limit": self._overdue_seconds if math.isfinite(self._overdue_seconds) else None,
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
        """Return the page, narrowed to what names `query`; None before the first pass.

        Long lists are cut unless it is `whole`.
        """
        state = self._state
        if state is None:
            return None
        async with self._drawing:
            # While this one waited for the lock, another one may have drawn the page.
            state = self._state or state
            overdue = self._age > self._overdue_seconds
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
        version=version(), leading=state.leading, live=True, lost=state.lost, overdue=overdue
    )
    view = page_view(state.report, about, _history(state))
    return _Drawn(state, overdue, view, _html(view, state.version))


def _history(state: _State) -> EpisodeHistory:
    """Return what was seen, and what our Events tell of before."""
    if state.records is None:
        return state.history
    return state.history.with_records(state.records, state.report.catalogue, state.report.now)


def _html(view: PageView, version_: str, *, whole: bool = False) -> bytes:
    return page_html(view, version=version_, whole=whole).encode("utf-8", "replace")
