"""What we wrote and the watch has not brought back yet."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from reporter.model.objects import Event
from reporter.resolution.records import Record, Records, record_of
from reporter.snapshot.index import Place


@dataclass(frozen=True, slots=True)
class Written:
    """The server's answer to a write.

    `before` is the resource version that was replaced, empty for a create; versions are compared
    for equality only.
    """

    event: Event
    before: str


@dataclass(frozen=True, slots=True)
class OwnWrites:
    """What was written lately.

    Attributes:
        events: our Events by name.
        versions: resource versions that answers to our writes had; the oldest are forgotten.

    """

    events: Mapping[str, Written] = field(default_factory=dict)
    versions: Collection[str] = frozenset()


def is_news(written: Written, seen: Event | None) -> bool:
    """Tell whether a write is still ahead of what the watch has brought."""
    version = seen.metadata.resource_version if seen is not None else ""
    return version == written.before


def overlay(records: Records, written: Mapping[str, Written]) -> Records:
    """Return the records as they stand after our own writes, so that none is made twice."""
    news: dict[Place, Record | None] = {}
    for name, each in written.items():
        seen = records.by_name.get(name)
        if is_news(each, seen.event if seen else None):
            record = record_of(each.event)
            if record is not None:
                news[each.event.namespace, name] = record
    return records.after(news) if news else records
