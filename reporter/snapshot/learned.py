"""What was read on demand of a live cluster, and how it becomes part of a snapshot.

Events end after an hour, and a launch of a node that failed is told once: what was learned is kept as long
as anything is at fault where it was learned.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from reporter.model.evidence import Evidence, ForeignEvent, LogCause
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.foreign_events import ByObject, by_object
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import Table, table_of

LogKey = tuple[str, str, str]


@dataclass(slots=True)
class Learned:
    """What is known; it is changed by what reads, and joined to each snapshot.

    Each `note` returns whether something is other than before.
    """

    _events: dict[str, ByObject] = field(default_factory=dict)
    _logs: dict[LogKey, LogCause] = field(default_factory=dict)
    _lines: dict[LogKey, tuple[str, ...]] = field(default_factory=dict)
    _tables: dict[Resource[KubeObject], Table[KubeObject]] = field(default_factory=dict)
    _states: dict[Resource[KubeObject], ResourceState] = field(default_factory=dict)
    _evidence: Evidence | None = None

    def note_events(self, namespace: str, events: Iterable[ForeignEvent]) -> bool:
        """Take what was read of a namespace; what was there before and is not any more stays."""
        known = self._events.get(namespace)
        before = chain.from_iterable((known or {}).values())
        newer = {_same(each): each for each in chain(before, events)}
        found = by_object(newer.values())
        self._events[namespace] = found
        changed = known is None or _words(found) != _words(known)
        if changed:
            self._evidence = None
        return changed

    def note_log(self, key: LogKey, cause: LogCause, lines: tuple[str, ...] = ()) -> bool:
        """Take what the log of a container says, and its last lines, which are no evidence."""
        changed = self._logs.get(key) != cause or self._lines.get(key) != lines
        self._logs[key], self._lines[key] = cause, lines
        if changed:
            self._evidence = None
        return changed

    def note_objects(
        self, resource: Resource[KubeObject], objects: Collection[KubeObject], *, partial: bool
    ) -> bool:
        """Take what was read of a resource; `partial` says that only some of its objects were."""
        state = ResourceState(Served.SERVED, partial=partial)
        table = self._tables.get(resource)
        if partial and table is not None:
            kept = {(each.namespace, each.name): each for each in chain(table, objects)}
            objects = kept.values()
        changed = self._states.get(resource) != state or list(table or ()) != list(
            table_of(objects)
        )
        if changed:
            self._tables[resource], self._states[resource] = table_of(objects), state
        return changed

    def forget(self, namespaces: Collection[str], logs: Collection[LogKey]) -> None:
        """Keep what was learned of these namespaces and containers, and nothing else."""
        old, old_logs = self._events.keys() - set(namespaces), self._logs.keys() - set(logs)
        for namespace in old:
            del self._events[namespace]
        for key in old_logs:
            del self._logs[key], self._lines[key]
        if not namespaces:
            self._tables, self._states = {}, {}
        if old or old_logs:
            self._evidence = None

    def last_lines(self, key: LogKey) -> tuple[str, ...]:
        """Return the last lines of a log that was read."""
        return self._lines.get(key, ())

    def joined(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with what is known; the same value as long as nothing is other."""
        if self._evidence is None:
            events: dict[tuple[str, str, str], tuple[ForeignEvent, ...]] = {}
            for each in self._events.values():
                events.update(each)
            self._evidence = Evidence(
                events=events, logs=dict(self._logs), events_read=frozenset(self._events)
            )
        tables: Mapping[Resource[KubeObject], Table[KubeObject]] = snapshot.tables
        states = snapshot.states
        if self._tables:
            tables, states = {**tables, **self._tables}, {**states, **self._states}
        return replace(snapshot, evidence=self._evidence, tables=tables, states=states)


def _same(event: ForeignEvent) -> tuple[object, ...]:
    return (
        event.about,
        event.about.uid,
        event.field_path,
        event.reason,
        event.message,
        event.first,
    )


def _words(events: ByObject) -> Mapping[object, object]:
    """Return what a diagnosis rests on: how often something was said again changes none."""
    return {key: [(*_same(each), each.type) for each in found] for key, found in events.items()}
