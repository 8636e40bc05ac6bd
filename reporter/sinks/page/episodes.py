"""Which episodes there were lately, from one report to the next, and from our Events on record.

The last day as HTML: for each reason and subject a line of bars, and words.

The last day of episodes. Pure.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Report
from reporter.model.text import clean
from reporter.resolution.records import Record
from reporter.sinks.page.markup import ROWS, Bounds, Markup, breakable, element, join
from reporter.sinks.page.view import FIRING, MUTED, NOTICE, Mark, Span, Strip, StripRow, mark_of
from reporter.sinks.words import age

KEPT: Final = timedelta(days=1)
"""How long an episode that is over is kept."""

MOST: Final = 500
"""Most episodes that are over and kept; the newest stay."""

_APART: Final = timedelta(seconds=5)
"""Two replicas may see the same change so far apart; episodes of one finding are further apart."""

_GOES_ON: Final = frozenset({Disposition.FIRING, Disposition.CLEARING, Disposition.MUTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEpisode:
    """The time that a finding fired, or would have if it were not muted.

    Attributes:
        ended: None while it fires, clears or is muted.
        about: the end is when its Event said last that it fires, so at most a refresh too early.

    """

    key: FindingKey
    mark: Mark
    began: datetime
    ended: datetime | None = None
    about: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeHistory:
    """The episodes that go on, and those that ended within `KEPT`.

    Attributes:
        counts_from: time of the first report, None where there is only one. What had ended by then
            is known from Events, if at all.
        going_on: by key.
        over: the one that ended last comes last.
        recorded: Events were looked at.

    """

    counts_from: datetime | None = None
    going_on: Mapping[FindingKey, SeenEpisode] = field(default_factory=dict)
    over: tuple[SeenEpisode, ...] = ()
    recorded: bool = False

    @classmethod
    def of(cls, report: Report) -> "EpisodeHistory":
        """Return what one report tells, where there was none before it and none will follow."""
        return replace(cls().after(report), counts_from=None)

    def after(self, report: Report) -> "EpisodeHistory":
        """Return the history that includes a report, which is newer than all before."""
        going_on: dict[FindingKey, SeenEpisode] = {}
        ended: list[SeenEpisode] = []
        for finding in report.findings:
            if finding.disposition in _GOES_ON:
                key = finding.key
                before = self.going_on.get(key)
                if before is not None and before.began < finding.since:
                    # It ended and began again between two reports.
                    ended.append(replace(before, ended=finding.since))
                going_on[key] = SeenEpisode(key=key, mark=mark_of(finding), began=finding.since)
        for key, episode in self.going_on.items():
            if key not in going_on:
                ended.append(replace(episode, ended=report.now))
        return EpisodeHistory(
            self.counts_from or report.now,
            going_on,
            _kept((*self.over, *ended), report.now),
            self.recorded,
        )

    def with_records(
        self, records: Iterable[Record], catalogue: Catalogue, now: datetime
    ) -> "EpisodeHistory":
        """Return the history with what our Events tell of episodes that no report here told of.

        An Event that says that a fault goes on, of which the report knows nothing, was left behind
        by a reporter that ended: the fault is over all the same.
        """
        known: dict[FindingKey, list[SeenEpisode]] = defaultdict(list)
        for each in (*self.going_on.values(), *self.over):
            known[each.key].append(each)
        told = (
            _episode(each, now) for each in records if each.since <= now and _lasts(each, catalogue)
        )
        recorded = (
            each for each in told if not any(_is_same(each, seen, now) for seen in known[each.key])
        )
        over = sorted((*self.over, *recorded), key=lambda each: each.ended or now)
        return replace(self, over=_kept(over, now), recorded=True)


def _is_same(recorded: SeenEpisode, seen: SeenEpisode, now: datetime) -> bool:
    """Tell whether an Event is about an episode that was seen here: replicas date it a little apart."""
    return seen.began - _APART <= (recorded.ended or now) and recorded.began - _APART <= (
        seen.ended or now
    )


def _kept(over: Iterable[SeenEpisode], now: datetime) -> tuple[SeenEpisode, ...]:
    oldest = now - KEPT
    return tuple(each for each in over if each.ended is not None and each.ended > oldest)[-MOST:]


def _lasts(record: Record, catalogue: Catalogue) -> bool:
    """Tell whether an Event is about something that lasts: one that says Ready marks a moment."""
    reason = record.key.reason
    if reason in catalogue:
        return not catalogue[reason].says_ready
    return record.event.type == EventType.WARNING


def _episode(record: Record, now: datetime) -> SeenEpisode:
    return SeenEpisode(
        key=record.key,
        mark=FIRING if record.event.type == EventType.WARNING else NOTICE,
        began=record.since,
        ended=min(max(record.written, record.since), now),
        about=True,
    )


_WHOLE: Final = int(KEPT.total_seconds())
_LEAST: Final = _WHOLE // 150
"""Least width of a bar in seconds of the strip: what is shorter could not be seen."""

_TICKS: Final = 4
"""Parts that the axis has."""


def day(strip: Strip, bounds: Bounds) -> Markup:
    """Return the strip of the last day, and what is known of the time before the first pass."""
    counted = _counted(strip)
    if not strip.rows:
        return element("p", f"No episodes. {counted}", class_="quiet lead")
    rows = strip.rows[:ROWS] if bounds.cut else strip.rows
    more = len(strip.rows) - len(rows)
    left_out = f" {more} more are not drawn." if more else ""
    drawn = element("div", _axis(strip), element("ul", *map(_row, rows)), class_="strip")
    return join((element("p", f"{counted}{left_out} Times are UTC.", class_="quiet lead"), drawn))


def _counted(strip: Strip) -> str:
    """Say what is known of episodes that are over."""
    events = "from Events on record, whose last refresh counts as the end"
    if strip.counts_from is None and strip.recorded:
        return f"Ended episodes are known {events}."
    if strip.counts_from is None:
        return "Only what fires now is known: no earlier passes, and no Events could be read."
    since = f"Ended episodes were seen since {rfc3339(strip.counts_from)}"
    return (
        f"{since}; those that had ended by then are known {events}."
        if strip.recorded
        else f"{since}."
    )


def _axis(strip: Strip) -> Markup:
    step = (strip.end - strip.begin) / _TICKS
    times = (strip.begin + step * each for each in range(_TICKS + 1))
    marks = [
        element("time", f"{each:%H:%M}", datetime=rfc3339(each), class_="clock") for each in times
    ]
    return element("p", *marks, class_="axis", aria_hidden="true")


def _row(row: StripRow) -> Markup:
    bars = [
        element(
            "rect",
            x=min(span.begin, _WHOLE - _LEAST),
            y=0,
            width=max(_LEAST, span.end - span.begin),
            height=8,
            class_="open" if span.open else "over",
        )
        for span in row.spans
    ]
    drawn = element(
        "svg",
        *bars,
        viewBox=f"0 0 {_WHOLE} 8",
        preserveAspectRatio="none",
        class_=f"bars is-{row.mark.name}",
        aria_hidden="true",
    )
    label = element(
        "p", element("b", breakable(row.reason)), " ", element("span", row.subject), class_="label"
    )
    told = element("p", row.told, class_="told")
    return element("li", label, drawn, told, id=f"{row.id}-day")


_SPANS_TOLD: Final = 5


def strip_of(
    now: datetime,
    history: EpisodeHistory,
    id_of: Callable[[FindingKey], str],
    *,
    catalogue: Catalogue,
) -> Strip:
    """Return the day that ends `now`: what goes on, then what ended last, then what is muted."""
    by_finding: dict[str, list[SeenEpisode]] = defaultdict(list)
    for episode in (*history.over, *history.going_on.values()):
        by_finding[id_of(episode.key)].append(episode)
    ordered = sorted(by_finding.items(), key=lambda item: _order(item[1][-1], now, catalogue))
    rows = tuple(_strip_row(id_, episodes, now) for id_, episodes in ordered)
    return Strip(now - KEPT, now, history.counts_from, rows, recorded=history.recorded)


def _order(
    episode: SeenEpisode, now: datetime, catalogue: Catalogue
) -> tuple[bool, bool, float, int, object]:
    over = episode.ended is not None
    ago = (now - episode.ended).total_seconds() if episode.ended else 0.0
    return _is_muted(episode), over, ago, catalogue.rank(episode.key.reason), episode.key


def _is_muted(episode: SeenEpisode) -> bool:
    return episode.ended is None and episode.mark is MUTED


def _strip_row(id_: str, episodes: Sequence[SeenEpisode], now: datetime) -> StripRow:
    newest = episodes[-1]
    told = [_told(each, now) for each in episodes[-_SPANS_TOLD:]]
    if len(episodes) > _SPANS_TOLD:
        told.insert(0, f"{len(episodes)} episodes, the last of them")
    return StripRow(
        id=id_,
        mark=newest.mark,
        reason=newest.key.reason,
        subject=clean(str(newest.key.subject)),
        spans=tuple(_span(each, now) for each in episodes),
        told=", ".join(told),
    )


def _span(episode: SeenEpisode, now: datetime) -> Span:
    left = now - KEPT
    whole = int(KEPT.total_seconds())

    def seconds(moment: datetime) -> int:
        return min(whole, max(0, int((moment - left).total_seconds())))

    return Span(seconds(episode.began), seconds(episode.ended or now), episode.ended is None)


def _told(episode: SeenEpisode, now: datetime) -> str:
    began = episode.began.astimezone(UTC)
    form = "%H:%M:%S" if now - began < KEPT / 2 else "%Y-%m-%d %H:%M"
    if episode.ended is None:
        muted = ", muted" if _is_muted(episode) else ""
        return f"since {began.strftime(form)} ({age(now - began)}){muted}"
    ended = episode.ended.astimezone(UTC)
    about = "about " if episode.about else ""
    return f"{began.strftime(form)} to {about}{ended:%H:%M:%S} ({age(ended - began)})"
