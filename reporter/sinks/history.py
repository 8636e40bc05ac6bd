"""The history of the last day: what fired when, whom it hit, what had changed, and what ended it.

Every daemon, leader or standby, extends it from report to report, so that it survives a failover.
Episodes that ended before the first report are known from our Events on record: an Event says what
fired and since when, and its last refresh counts as the end. Pure.

Nobody knows for certain what ended a fault. Two things are facts: the last change that was seen of
the fault's objects while it lasted, and the relation of the finding to another one that explains it
now.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.report import BLIND, Disposition, Impact, Report, ResolvedFinding, SpecChange
from reporter.model.subject import ObjectRef, Place
from reporter.model.text import json_text
from reporter.resolution.records import Record
from reporter.resolution.seen_changes import in_turns
from reporter.sinks.report_json import reference
from reporter.sinks.words import age, relation

KEPT: Final = timedelta(days=1)
"""How long an ended episode is kept."""

MOST: Final = 500
"""Most ended episodes that are kept; the newest of each namespace stay."""

LISTED: Final = 1000
"""Most episodes that are listed: ongoing ones first, then those that ended last."""

_APART: Final = timedelta(seconds=5)
"""Two replicas see the same change within this time; episodes of one finding are further apart."""

_GOES_ON: Final = frozenset({Disposition.FIRING, Disposition.CLEARING, Disposition.MUTED})

_Document: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEpisode:
    """The time during which a finding fired, or would have fired unmuted. `impact` is the worst
    seen; `about` marks an end known only from an Event; `became` says why a fault that is still
    there no longer fires.
    """

    key: FindingKey
    type: EventType
    disposition: Disposition = Disposition.FIRING
    began: datetime
    ended: datetime | None = None
    about: bool = False
    message: str = ""
    impact: Impact | None = None
    changes: tuple[SpecChange, ...] = ()
    ending: SpecChange | None = None
    became: str = ""
    related: ObjectRef | None = None
    last: ResolvedFinding | None = field(default=None, repr=False, compare=False)

    @property
    def is_blind(self) -> bool:
        return self.key.reason == BLIND

    @property
    def is_muted(self) -> bool:
        return self.ended is None and self.disposition is Disposition.MUTED

    @property
    def id(self) -> str:
        """Fragment of the page's permanent link, the same in every replica and after a restart."""
        text = f"{self.key.reason} {self.key.subject} {self.key.involved} {rfc3339(self.began)}"
        return f"e-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def document(self) -> _Document:
        impact = self.impact
        return {
            "id": self.id,
            "reason": self.key.reason,
            "subject": str(self.key.subject),
            "involvedObject": reference(self.key.involved),
            "type": str(self.type),
            "disposition": str(self.disposition) if self.ended is None else None,
            "began": rfc3339(self.began),
            "ended": rfc3339(self.ended) if self.ended else None,
            "about": self.about and self.ended is not None,
            "message": self.message,
            "impact": {
                "notServing": impact.not_serving,
                "degraded": impact.degraded,
                "namespaces": impact.namespaces,
            }
            if impact
            else None,
            "changes": [self._change_text(each) for each in self.changes],
            "endedAfter": self._change_text(self.ending) if self.ending else None,
            "became": self.became,
        }

    def _change_text(self, change: SpecChange) -> str:
        return change.seen_from(self.related or self.key.involved)


@dataclass(frozen=True, slots=True)
class EpisodeHistory:
    """Ongoing episodes, and those that ended within `KEPT`, the last one last. Episodes that ended
    before the first report (`counts_from`) are known from Events, if at all.
    """

    counts_from: datetime | None = None
    going_on: Mapping[FindingKey, SeenEpisode] = field(default_factory=dict)
    over: tuple[SeenEpisode, ...] = ()
    recorded: bool = False

    @classmethod
    def of(cls, report: Report) -> "EpisodeHistory":
        """Return the history of a single report, with no other before or after it."""
        return replace(cls().after(report), counts_from=None)

    def after(self, report: Report, changes: Iterable[SpecChange] = ()) -> "EpisodeHistory":
        """Return the history extended by a newer report and `changes`, the oldest first."""
        going_on: dict[FindingKey, SeenEpisode] = {}
        others: dict[FindingKey, ResolvedFinding] = {}
        ended: list[SeenEpisode] = []
        for finding in report.findings:
            key = finding.key
            if finding.disposition not in _GOES_ON:
                others[key] = finding
                continue
            before = self.going_on.get(key)
            if before is not None and before.began + _APART < finding.since:
                # It ended and began again between two reports. A standby that learns the leader's
                # start time moves the start by less than this.
                ended.append(replace(before, ended=finding.since, last=None))
                before = None
            if before is None or before.last != finding:
                before = _seen(finding, before)
            going_on[key] = before
        gone = [each for key, each in self.going_on.items() if key not in going_on]
        if gone:
            by_place: dict[Place, list[SpecChange]] = defaultdict(list)
            for change in changes:
                by_place[change.object.place].append(change)
            for each in gone:
                now = others.get(each.key)
                became = relation(now) if now is not None else ""
                last = None if became else _last_change(each, by_place, report)
                ended.append(replace(each, ended=report.now, became=became, ending=last, last=None))
        return EpisodeHistory(
            self.counts_from or report.now,
            going_on,
            _kept((*self.over, *ended), report.now),
            self.recorded,
        )

    def with_records(
        self, records: Iterable[Record], catalogue: Catalogue, now: datetime
    ) -> "EpisodeHistory":
        """Return the history with the episodes that only our Events record.

        If an Event says that a fault goes on and the report does not have it, a reporter that ended
        has left the Event behind: the fault counts as over.
        """
        known: dict[FindingKey, list[SeenEpisode]] = defaultdict(list)
        for each in (*self.going_on.values(), *self.over):
            known[each.key].append(each)
        episodes = (
            replace(recorded(each), ended=min(max(each.written, each.since), now))
            for each in records
            if each.since <= now and _lasts(each, catalogue)
        )
        more = (
            each
            for each in episodes
            if not any(_is_same(each, seen, now) for seen in known[each.key])
        )
        over = sorted((*self.over, *more), key=lambda each: each.ended or now)
        return replace(self, over=_kept(over, now), recorded=True)

    def document(self, now: datetime) -> _Document:
        document = history_document((*self.going_on.values(), *self.over), now)
        since = rfc3339(self.counts_from) if self.counts_from else None
        return {**document, "seenSince": since, "recorded": self.recorded}

    def json(self, now: datetime) -> bytes:
        return json_text(self.document(now)).encode() + b"\n"


def recorded(record: Record) -> SeenEpisode:
    return SeenEpisode(
        key=record.key,
        type=EventType.WARNING if record.event.type == EventType.WARNING else EventType.NORMAL,
        began=record.since,
        ended=None if record.goes_on else record.written,
        about=True,
        message=record.event.message,
        related=record.related,
    )


def history_document(episodes: Iterable[SeenEpisode], now: datetime) -> _Document:
    """Return a JSON document of episodes: ongoing ones first, then those that ended last."""
    newest = sorted((each.document() for each in episodes), key=_order, reverse=True)
    return {
        "apiVersion": "status-reporter/v1",
        "kind": "History",
        "now": rfc3339(now),
        "episodes": newest[:LISTED],
        "moreEpisodes": max(0, len(newest) - LISTED),
    }


def when(
    began: datetime,
    ended: datetime | None,
    now: datetime,
    *,
    muted: bool,
    about: bool,
    age_known: bool = True,
) -> str:
    """Return the start and the end of an episode in words, in UTC."""
    began = began.astimezone(UTC)
    form = "%H:%M:%S" if now - began < KEPT / 2 else "%Y-%m-%d %H:%M"
    if ended is None:
        since = f"since {began:{form}} ({age(now - began)}){', muted' if muted else ''}"
        return since if age_known else "fires now, age unknown"
    to = f"{'about ' if about else ''}{ended.astimezone(UTC):%H:%M:%S}"
    return f"{began:{form}} to {to} ({age(ended - began)})"


def _order(document: _Document) -> tuple[bool, str, str, str]:
    ended = document["ended"]
    names = f"{document['reason']} {document['subject']}"
    return ended is None, str(ended or document["began"]), str(document["began"]), names


def _seen(finding: ResolvedFinding, before: SeenEpisode | None) -> SeenEpisode:
    impact = finding.impact
    if before is not None and before.impact is not None:
        hit = (impact.not_serving, impact.degraded) if impact is not None else (0, 0)
        if hit < (before.impact.not_serving, before.impact.degraded):
            impact = before.impact
    return SeenEpisode(
        key=finding.key,
        type=finding.type,
        disposition=finding.disposition,
        began=finding.since,
        message=finding.message,
        impact=impact if impact and (impact.not_serving or impact.degraded) else None,
        changes=finding.changes,
        related=finding.related,
        last=finding,
    )


def _last_change(
    episode: SeenEpisode, by_place: Mapping[Place, list[SpecChange]], report: Report
) -> SpecChange | None:
    """Return the last change to an object of the fault while the fault lasted."""
    subject = episode.key.subject
    objects = [episode.key.involved, *(each.object for each in episode.changes)]
    if episode.related is not None:
        objects.append(episode.related)
    of_subject = report.catalogue.of_subject(subject.kind)
    objects += (each.ref_named(subject.namespace, subject.name) for each in of_subject)
    during = (
        change
        for place in dict.fromkeys(each.place for each in objects)
        for change in by_place.get(place, ())
        if episode.began < change.at <= report.now
    )
    return max(during, key=lambda each: each.at, default=None)


def _is_same(one: SeenEpisode, other: SeenEpisode, now: datetime) -> bool:
    """Tell whether two episodes of a key overlap; the times of replicas differ a little."""
    return other.began - _APART <= (one.ended or now) and one.began - _APART <= (other.ended or now)


def _kept(over: Iterable[SeenEpisode], now: datetime) -> tuple[SeenEpisode, ...]:
    oldest = now - KEPT
    kept = [each for each in over if each.ended is not None and each.ended > oldest]
    newest = in_turns(kept, lambda each: each.key.subject.namespace)[:MOST]
    return tuple(kept[index] for index in sorted(newest))


def _lasts(record: Record, catalogue: Catalogue) -> bool:
    """Tell whether an Event is about something that lasts; a Ready Event marks a moment."""
    reason = record.key.reason
    if reason in catalogue:
        return not catalogue[reason].says_ready
    return record.event.type == EventType.WARNING
