"""What we wrote and the watch has not brought back yet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reporter.model.objects import Event
from reporter.resolution.records import Record, record_of


@dataclass(frozen=True, slots=True)
class Written:
    """The server's answer to a write.

    `before` is the resource version that was replaced, empty for a create; versions are compared
    for equality only.
    """

    event: Event
    before: str


def is_news(written: Written, seen: Event | None) -> bool:
    """Tell whether a write is still ahead of what the watch has brought."""
    version = seen.metadata.resource_version if seen is not None else ""
    return version == written.before


def overlay(records: Iterable[Record], written: Mapping[str, Written]) -> tuple[Record, ...]:
    """Return the records as they stand after our own writes, so that none is made twice."""
    by_name = {record.event.name: record for record in records}
    for name, each in written.items():
        seen = by_name.get(name)
        if is_news(each, seen.event if seen else None):
            record = record_of(each.event)
            if record is not None:
                by_name[name] = record
    return tuple(by_name.values())
