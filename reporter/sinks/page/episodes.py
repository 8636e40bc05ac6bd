"""Which episodes there were lately, from one report to the next, and from our Events on record."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Report
from reporter.resolution.records import Record
from reporter.sinks.page.marks import FIRING, NOTICE, Mark, mark_of

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
        key: of the finding.
        mark: how it looks.
        began: its start, as the report or its Event says it.
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
