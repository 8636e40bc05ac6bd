"""Deduplication of Events: plans the writes after which Events say what the report says. Pure.

This is the place where Events are deduplicated. Every pass finds the same faults again; if each
pass wrote them, an outage of an hour would be hundreds of Events. So the report is compared with
the Events on record, and only the difference is written. One episode of one finding is one Event:

- **Its name is its identity** (`event_name`): it follows from reason, subject, involved object and
  the start of the episode. The same fault in the next pass, in another replica, or after a restart
  has the same name, and a fault that comes back after it was over is a new Event.
- **On record and unchanged**: nothing is written, except an occasional refresh of count and time,
  because the API server deletes Events after an hour (kube-apiserver, `--event-ttl`). A refresh is
  planned ahead, up to the next resync, so that no pass is made for it: it says what this pass saw,
  and a pass that sees something else replaces the plan.
- **On record with another message**: one update, at most every 10 s.
- **On record and no longer in the report**: closed, once. A muted or stale one is marked.
- **Not on record**: created. Faults go first (`Purpose`), so that none waits behind a thousand
  Ready Events. Writes whose echo the watch has not delivered yet count as on record (`overlay`), so
  that a pass right after a write does not repeat it. If `MOST_OVER` earlier episodes of its key are
  on record, it waits until `REST` after the last of them: whoever breaks and mends models by the
  hundred must fill neither etcd nor the memory for Events.

The record is in the cluster, not in memory: a new leader continues where the last one stopped.

client-go deduplicates too (tools/record/events_cache.go), but in memory and by message: after a
restart it starts over, and a message with another number in it is another Event. After 25 Events
about one object it lets one through every five minutes and drops the others, whether they say
something new or not. And it cannot close an Event, which would seem to go on until it expires.

An Event about an object outside kube-system may be there only with `eventTime`, and then
the lengths of its message, action, reason and reporter are limited (Kubernetes,
pkg/apis/core/validation/events.go). It also has `count` and `lastTimestamp`, which every client
prints.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, TypeAlias

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE, LABEL_PREFIX
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339, rfc3339_micro
from reporter.model.objects import Event
from reporter.model.reason import EventType
from reporter.model.report import Disposition, ReadySubject, Report, ResolvedFinding
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.resolution.records import (
    MUTED_ANNOTATION,
    PRIMARY_LABEL,
    SEVERITY_ANNOTATION,
    SINCE_ANNOTATION,
    SUBJECT_ANNOTATION,
    Record,
    Records,
    RecordState,
    record_of,
)
from reporter.settings import EvaluationSettings
from reporter.snapshot.index import Place

Document: TypeAlias = dict[str, object]

ACTION: Final = "Evaluate"
STATE_LABEL: Final = f"{LABEL_PREFIX}state"
_INSTANCE_BYTES = 128

NAME_LENGTH: Final = 253
LABEL_LENGTH: Final = 63
_HASH_DIGITS = 16
_LABEL_HASH_DIGITS = 8
_NOT_IN_NAME = re.compile(r"[^a-z0-9-]+")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")

_NO_REFERENCE: Final[Document] = dict.fromkeys(("apiVersion", "kind", "namespace", "name", "uid"))
"""In a merge patch: removes the fields of the previous reference."""


def event_name(key: FindingKey, since: datetime) -> str:
    """Return the name of the Event of one episode of a key.

    The hash covers the exact key and the start of the episode, so that two keys never share an
    Event and a recurrence is a new object for clients that watch creations.
    """
    involved = (key.involved.api_version, key.involved.kind, key.involved.name)
    return _name(key.reason, key.subject, (*involved, rfc3339_micro(since)))


def ready_name(ready: ReadySubject) -> str:
    return _name(ready.reason, ready.subject, ("ready", ready.episode))


def _name(reason: str, subject: Subject, exact: Iterable[str]) -> str:
    whole = json.dumps([reason, subject.kind, subject.namespace, subject.name, *exact])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
    tail = f".{_part(reason)}.{digest}"
    parts = (_part(subject.namespace), _part(subject.name)) if subject.namespace else ("cluster",)
    head = ".".join(part for part in parts if part)
    return head[: NAME_LENGTH - len(tail)].rstrip(".-") + tail


def _part(text: str) -> str:
    return _NOT_IN_NAME.sub("-", text.lower()).strip("-")


def label_value(text: str) -> str:
    """Return `text` as a label value; a text that does not fit is cut and made unique by a hash."""
    if not text or (len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text)):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_LABEL_HASH_DIGITS]
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[: LABEL_LENGTH - len(digest) - 1]
    return f"{kept.strip('-_.')}-{digest}".lstrip("-")


def events_of(
    report: Report, settings: EvaluationSettings, instance: str = COMPONENT
) -> list[Document]:
    """Return the Events that a newly started daemon would write for a report."""
    events = [
        finding_event(finding, report.now, instance)
        for finding in report.findings
        if is_reported(finding, settings)
    ]
    events += [
        ready_event(ready, report.now, instance) for ready in reported_ready(report, settings)
    ]
    return events


def is_reported(finding: ResolvedFinding, settings: EvaluationSettings) -> bool:
    return (
        finding.disposition is Disposition.FIRING
        and not finding.stale
        and finding.reason not in settings.disable_reasons
    )


def reported_ready(report: Report, settings: EvaluationSettings) -> list[ReadySubject]:
    return [
        each for each in report.ready if each.due and each.reason not in settings.disable_reasons
    ]


def finding_event(finding: ResolvedFinding, now: datetime, instance: str) -> Document:
    return _event(
        finding,
        now,
        name=event_name(finding.key, finding.since),
        type_=finding.type,
        state=RecordState.FIRING,
        primary=finding.primary,
        annotations={
            SEVERITY_ANNOTATION: finding.severity,
            SINCE_ANNOTATION: rfc3339_micro(finding.since),
        },
        instance=instance,
    )


def ready_event(ready: ReadySubject, now: datetime, instance: str) -> Document:
    """Return the Event of a ready subject; its state is `over`, as it marks a moment."""
    return _event(
        ready,
        now,
        name=ready_name(ready),
        type_=EventType.NORMAL,
        state=RecordState.OVER,
        primary=False,
        annotations={SINCE_ANNOTATION: rfc3339_micro(now)},
        instance=instance,
    )


def repeat_patch(
    finding: ResolvedFinding, count: int, now: datetime, *, unmute: bool = False
) -> Document:
    return {
        "metadata": {
            **_labels(RecordState.FIRING, primary=finding.primary),
            "annotations": {
                SEVERITY_ANNOTATION: finding.severity,
                **({MUTED_ANNOTATION: None} if unmute else {}),
            },
        },
        "message": finding.message,
        "related": {**_NO_REFERENCE, **reference(finding.related)},
        "count": count,
        "lastTimestamp": rfc3339(now),
    }


def over_patch(*, muted: bool, unmute: bool) -> Document:
    """Return the patch that closes an Event. `muted` notes that its episode goes on, `unmute`
    removes that note.
    """
    labels = _labels(RecordState.OVER, primary=False)
    if not (muted or unmute):
        return {"metadata": labels}
    return {"metadata": {**labels, "annotations": {MUTED_ANNOTATION: "true" if muted else None}}}


def _labels(state: RecordState, *, primary: bool) -> Document:
    return {"labels": {STATE_LABEL: str(state), PRIMARY_LABEL: flag(primary)}}


def _event(
    item: ResolvedFinding | ReadySubject,
    now: datetime,
    *,
    name: str,
    type_: EventType,
    state: RecordState,
    primary: bool,
    annotations: Mapping[str, str],
    instance: str,
) -> Document:
    labels = {
        "layer": item.layer,
        "reason": item.reason,
        "subject-kind": item.subject.kind,
        "subject-namespace": item.subject.namespace,
        "subject-name": item.subject.name,
        "state": state,
        "primary": flag(primary),
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": name,
            "namespace": EVENT_NAMESPACE,
            "labels": {
                f"{LABEL_PREFIX}{key}": label_value(str(value))
                for key, value in labels.items()
                if value
            },
            "annotations": {**annotations, SUBJECT_ANNOTATION: str(item.subject)},
        },
        "type": str(type_),
        "reason": item.reason,
        "message": cut(clean(item.message), MESSAGE_BYTES),
        "action": ACTION,
        "involvedObject": reference(item.involved),
        "related": reference(item.related),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": cut(instance, _INSTANCE_BYTES),
        "eventTime": rfc3339_micro(now),
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "count": 1,
    }


def reference(ref: ObjectRef) -> Document:
    """Return the reference without empty fields."""
    fields = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {key: value for key, value in fields.items() if value}


def flag(value: bool) -> str:  # noqa: FBT001  # it is the value that is written
    return "true" if value else "false"


REWRITE_INTERVAL = timedelta(seconds=10)
"""A changed message is written at once, but the same Event no more often than this."""

REFRESH_PER_SECOND = 5
"""Unchanged Events are refreshed once per resync if that needs fewer writes than this."""

REFRESH_LONGEST = timedelta(minutes=10)
"""Longest time between two refreshes, well below the lifetime of an Event."""

READY_PER_SECOND = 50
"""At the first start thousands of subjects are ready, and nobody waits for these Events."""


MOST_OVER = 10
"""Events of former episodes of one key from which on the next one waits for `REST`."""

REST = timedelta(minutes=10)
"""How long, after the last of these Events was written. A fault that lasts is told by then."""


class Purpose(IntEnum):
    """Why an Event is written; the smaller goes first."""

    FIRE = 0
    CHANGE = 1
    CLOSE = 2
    STALE = 3
    READY = 4
    REFRESH = 5


@dataclass(frozen=True, slots=True)
class Write:
    """One request: a create if `resource_version` is empty, else a merge patch.

    `since` is the start of an episode that is reported for the first time, None for other writes.
    `place` is the namespace of a finding's subject, empty for the cluster. `due_in` is the time
    from the pass until the request may be made.
    """

    purpose: Purpose
    name: str
    body: Document
    resource_version: str = ""
    since: datetime | None = None
    place: str = ""
    due_in: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes in order, and the time until a changed message may be written."""

    writes: tuple[Write, ...]
    next_in: timedelta | None


def plan_events(
    report: Report,
    records: Records,
    settings: EvaluationSettings,
    *,
    instance: str,
    confirmed: Callable[[str], bool] = lambda _reason: True,
) -> Plan:
    """Compare the report with the Events on record. For a reason that is not `confirmed`, nothing
    is written that would claim to be seen now.
    """
    by_name = records.by_name
    firing = {
        event_name(finding.key, finding.since): finding
        for finding in report.findings
        if is_reported(finding, settings)
    }
    # The Event of a finding that is clearing or stale stays as it is.
    kept = {
        event_name(finding.key, finding.since): finding
        for finding in report.findings
        if finding.disposition is Disposition.CLEARING or (finding.fires and finding.stale)
    }
    kept = {name: finding for name, finding in kept.items() if name not in firing}
    writes: list[Write] = []
    waits: list[timedelta] = []
    resync = timedelta(seconds=settings.resync_seconds)
    interval = refresh_interval(len(firing), settings)
    for name, finding in firing.items():
        if not confirmed(finding.reason):
            continue
        record = by_name.get(name)
        if record is None:
            if rest := _rest(finding, records, report.now):
                waits.append(rest)
                continue
            body = finding_event(finding, report.now, instance)
            place = finding.subject.namespace
            writes.append(Write(Purpose.FIRE, name, body, since=finding.since, place=place))
            continue
        purpose, wait = _due(finding, record, report.now, interval=interval)
        wait = max(wait, timedelta(0))
        if not wait or (purpose is Purpose.REFRESH and wait <= resync):
            count = (record.event.count or 1) + 1
            body = repeat_patch(finding, count, report.now + wait, unmute=record.muted)
            write = _patch(purpose, record, body, due_in=wait)
            writes.append(replace(write, place=finding.subject.namespace))
        elif purpose is not Purpose.REFRESH:
            waits.append(wait)
    muted = {
        event_name(finding.key, finding.since)
        for finding in report.findings
        if finding.disposition is Disposition.MUTED
    }
    led = {each.subject for each in firing.values() if each.primary}
    for record in records.going_on:
        writes += _close_or_mark(record, firing, kept, muted=muted, led=led)
    for ready in reported_ready(report, settings):
        name = ready_name(ready)
        if name not in by_name and confirmed(ready.reason):
            body = ready_event(ready, report.now, instance)
            writes.append(Write(Purpose.READY, name, body))
    writes.sort(key=lambda write: _order(write, by_name.get(write.name), report.catalogue))
    return Plan(tuple(_in_turns(writes)), min(waits, default=None))


def _in_turns(writes: Iterable[Write]) -> list[Write]:
    """Return writes in their order, but let namespaces take turns with new faults, after those of
    the cluster: a tenant with thousands must not delay the others.
    """
    counts = Counter[str]()
    turns: dict[str, tuple[Purpose, int]] = {}
    for each in writes:
        takes = bool(each.place) and each.purpose is Purpose.FIRE
        turns[each.name] = each.purpose, counts[each.place] if takes else 0
        counts[each.place] += takes
    return sorted(writes, key=lambda each: turns[each.name])


def _rest(finding: ResolvedFinding, records: Records, now: datetime) -> timedelta:
    """Return how long a new episode of a fault waits that has come back again and again."""
    written = [
        each.written
        for each in records.of(finding.subject)
        if each.key == finding.key and not each.goes_on
    ]
    if len(written) < MOST_OVER:
        return timedelta(0)
    since_last = now - max(written)
    # A clock that was set back must not make this long.
    return REST - since_last if timedelta(0) <= since_last < REST else timedelta(0)


def refresh_interval(count: int, settings: EvaluationSettings) -> timedelta:
    """Return the time between two refreshes of one Event when `count` fire."""
    needed = timedelta(seconds=count / REFRESH_PER_SECOND)
    return min(max(timedelta(seconds=settings.resync_seconds), needed), REFRESH_LONGEST)


def _due(
    finding: ResolvedFinding, record: Record, now: datetime, *, interval: timedelta
) -> tuple[Purpose, timedelta]:
    if record.state is not RecordState.FIRING:
        return Purpose.FIRE, timedelta(0)
    age = now - (record.event.last_timestamp or record.written)
    if age < -REWRITE_INTERVAL:
        # A clock was set back: it could take years until that time comes again.
        age = REFRESH_LONGEST
    labels: Mapping[str, str] = record.event.metadata.labels or {}
    changed = record.event.message != finding.message or labels.get(PRIMARY_LABEL) != flag(
        finding.primary
    )
    if changed:
        return Purpose.CHANGE, REWRITE_INTERVAL - age
    return Purpose.REFRESH, interval - age


def _close_or_mark(
    record: Record,
    firing: Mapping[str, ResolvedFinding],
    kept: Mapping[str, ResolvedFinding],
    *,
    muted: Collection[str],
    led: Collection[Subject],
) -> list[Write]:
    """Return the patch that closes or marks a record, if it needs one. If the finding is muted, the
    patch notes that the episode goes on, for reporters that start later. A clearing or stale
    finding is not primary once another one of its subject is: `led` are those subjects.
    """
    name = record.event.name
    if name in firing:
        return []
    if record.muted and (name in muted or name in kept):
        return []
    if name not in kept:
        patch = over_patch(muted=name in muted, unmute=record.muted)
        return [_patch(Purpose.CLOSE, record, patch)]
    finding = kept[name]
    wanted = RecordState.STALE if finding.stale else RecordState.FIRING
    labels: Mapping[str, str] = record.event.metadata.labels or {}
    outdone = labels.get(PRIMARY_LABEL) == "true" and finding.subject in led
    if record.state is wanted and not outdone:
        return []
    primary = finding.primary or (labels.get(PRIMARY_LABEL) == "true" and not outdone)
    return [_patch(Purpose.STALE, record, {"metadata": _labels(wanted, primary=primary)})]


def _patch(
    purpose: Purpose, record: Record, body: Document, *, due_in: timedelta = timedelta(0)
) -> Write:
    version = record.event.metadata.resource_version
    return Write(purpose, record.event.name, body, version, due_in=due_in)


def _order(
    write: Write, record: Record | None, catalogue: Catalogue
) -> tuple[Purpose, float, float, str]:
    """Return the sort key: purpose, then causes of the cluster before faults of one model, then the
    oldest; otherwise, among thousands of Events, some would be refreshed twice before others.
    """
    reason = write.body.get("reason")
    rank = catalogue.rank(reason if isinstance(reason, str) else "")
    at = record.written if record is not None else write.since
    return write.purpose, rank, at.timestamp() if at is not None else 0.0, write.name


@dataclass(frozen=True, slots=True)
class Written:
    """The server's answer to a write.

    `before` is the resource version that was replaced, empty for a create; versions are compared
    for equality only.
    """

    event: Event
    before: str


def is_ahead(written: Written, seen: Event | None) -> bool:
    """Tell whether a write is still ahead of what the watch has delivered."""
    version = seen.metadata.resource_version if seen is not None else ""
    return version == written.before


def overlay(records: Records, written: Mapping[str, Written]) -> Records:
    """Return the records with our own writes applied, so that none is repeated."""
    ahead: dict[Place, Record | None] = {}
    for name, each in written.items():
        seen = records.by_name.get(name)
        if is_ahead(each, seen.event if seen else None):
            record = record_of(each.event)
            if record is not None:
                ahead[each.event.namespace, name] = record
    return records.after(ahead) if ahead else records
