"""From one pass to the next: the pace of the role Events, while this replica leads."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from reporter.model.instant import Instant
from reporter.sinks.events.render import Document
from reporter.stacks.kthena.derived.role_changes import RoleChange
from reporter.stacks.kthena.role_events.pacing import ObjectPace, paced
from reporter.stacks.kthena.role_events.render import role_event


def tell(
    paces: Mapping[str, ObjectPace], changes: Iterable[RoleChange], now: Instant, *, instance: str
) -> tuple[Mapping[str, ObjectPace], list[Document], timedelta | None]:
    """Return what the next pass is given, the Events to write, and when more are due."""
    result = paced(paces, changes, now)
    events = [role_event(each, now.wall, instance) for each in result.tellings]
    return result.paces, events, result.next_in
