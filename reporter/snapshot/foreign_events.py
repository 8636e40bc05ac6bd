"""Events of other components, as evidence: grouped by the object they are about, newest first.

Events of both client-go recorders are read: the old one counts repeats in `count` and
`lastTimestamp` (tools/record), the new one in `series`, next to `eventTime` (tools/events).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE
from reporter.model.evidence import ForeignEvent
from reporter.model.objects.base import Timestamp
from reporter.model.subject import ObjectRef

MOST_ABOUT_ONE: Final = 20
"""Most Events kept about one object; the newest are kept."""

MOST: Final = 50_000

_MESSAGE: Final = 4_096
_TEXT: Final = 253
_BEFORE_ALL: Final = datetime(1970, 1, 1, tzinfo=UTC)

ByObject = Mapping[tuple[str, str, str], tuple[ForeignEvent, ...]]


class _Reference(msgspec.Struct, rename="camel"):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    api_version: str | None = None
    field_path: str | None = None


class _Source(msgspec.Struct):
    component: str | None = None


class _Series(msgspec.Struct, rename="camel"):
    count: int | None = None
    last_observed_time: Timestamp | None = None


class _Metadata(msgspec.Struct):
    namespace: str | None = None


class EventObject(msgspec.Struct, rename="camel"):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    involved_object: _Reference = msgspec.field(default_factory=_Reference)
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    source: _Source | None = None
    reporting_component: str | None = None
    count: int | None = None
    event_time: Timestamp | None = None
    first_timestamp: Timestamp | None = None
    last_timestamp: Timestamp | None = None
    series: _Series | None = None


def foreign_event(event: EventObject) -> ForeignEvent | None:
    source = event.source.component if event.source else None
    component = event.reporting_component or source or ""
    about, series = event.involved_object, event.series or _Series()
    if component == COMPONENT or _is_of_others(event.metadata.namespace, about.namespace):
        return None
    times = (series.last_observed_time, event.last_timestamp, event.event_time)
    last = max((each for each in times if each), default=event.first_timestamp)
    return ForeignEvent(
        about=ObjectRef(
            (about.api_version or "")[:_TEXT],
            (about.kind or "")[:_TEXT],
            (about.namespace or "")[:_TEXT],
            (about.name or "")[:_TEXT],
            (about.uid or "")[:_TEXT],
        ),
        field_path=(about.field_path or "")[:_TEXT],
        type=(event.type or "")[:_TEXT],
        reason=(event.reason or "")[:_TEXT],
        message=(event.message or "")[:_MESSAGE],
        component=component[:_TEXT],
        first=event.first_timestamp or event.event_time,
        last=last,
        count=series.count or event.count or 1,
    )


def _is_of_others(place: str | None, about: str | None) -> bool:
    """Tell whether an Event is about an object of another namespace than its own.

    The API server accepts that with `eventTime`, from anybody who may write Events in any namespace
    (Kubernetes, pkg/apis/core/validation/events.go). Events about cluster-scoped objects are in
    `default`.
    """
    return place not in (None, "", EVENT_NAMESPACE, about or "default")


def by_object(events: Iterable[ForeignEvent]) -> ByObject:
    """Group Events by namespace, kind and name of the object they are about, newest first."""
    newest = sorted(events, key=lambda each: each.last or _BEFORE_ALL, reverse=True)[:MOST]
    found: defaultdict[tuple[str, str, str], list[ForeignEvent]] = defaultdict(list)
    for each in newest:
        known = found[each.about.namespace, each.about.kind, each.about.name]
        # A dump may contain the same Event twice.
        if len(known) < MOST_ABOUT_ONE and each not in known:
            known.append(each)
    return {key: tuple(each) for key, each in found.items()}
