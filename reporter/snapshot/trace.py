"""Dependency tracking: records which objects an answer was computed from.

A pass runs thousands of probes, and after a change nearly all of them answer as in the pass before.
A hand-written list of dependencies would have to follow every change of a probe, and a forgotten
entry would leave a verdict uncorrected for ever.

So probes read through a snapshot that records their lookups: one object by name, the objects of a
namespace, those with a label, all of a kind. An answer is valid until one of these changes,
provided that probes read the cluster in no other way. Changes outside of tables (what is served,
what could not be read) invalidate everything. A value that is computed from many objects and used
by many probes (`once`) is a cell of its own: its users are invalidated only if the value itself
changes. Build systems call this dependency tracking ("Build Systems a la Carte", Mokhov, Mitchell
and Peyton Jones, 2018).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import IntEnum, auto
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar, cast

from reporter.metrics.samples.window import Judged, PodSamples
from reporter.model.evidence import Evidence, ForeignEvent, LogCause
from reporter.model.objects import KubeObject, Labels
from reporter.model.resource import AnyResource, Resource
from reporter.snapshot.index import Shows
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table

ObjectT = TypeVar("ObjectT", bound=KubeObject)
ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ValueT = TypeVar("ValueT")


class How(IntEnum):
    """How objects are looked up; an integer, because cells are hashed very often."""

    NAME = auto()
    NAMESPACE = auto()
    LABEL = auto()
    ALL = auto()
    SAMPLES = auto()
    FOUND = auto()
    EVENTS = auto()
    EVENTS_READ = auto()
    LOG = auto()


class Cell(NamedTuple):
    """One lookup: its result changes only if an object in the cell does.

    `what` is the resource; None for a pod's samples, computed values and evidence.
    """

    what: AnyResource | None
    how: How
    key: Hashable = ()


@dataclass(frozen=True, slots=True)
class WorkedOut:
    """A computed value, the cells it was computed from, and the function that recomputes it."""

    value: object
    cells: frozenset[Cell]
    find: Callable[[Snapshot], object]


class Trace:
    def __init__(self) -> None:
        self._cells: set[Cell] | None = None

    def note(self, cell: Cell) -> None:
        if self._cells is not None:
            self._cells.add(cell)

    def of(self, ask: Callable[[], ValueT]) -> tuple[ValueT, frozenset[Cell]]:
        outer, self._cells = self._cells, set()
        try:
            return ask(), frozenset(self._cells)
        finally:
            self._cells = outer


class TracedTable(Table[ObjectT_co]):
    __slots__ = ("_noted", "_table", "_trace")

    def __init__(self, table: Table[ObjectT_co], noted: AnyResource, trace: Trace) -> None:
        self._table = table
        self._noted = noted
        self._trace = trace

    def _read(self, how: How = How.ALL, *key: str) -> Table[ObjectT_co]:
        self._trace.note(Cell(self._noted, how, key))
        return self._table

    def __iter__(self) -> Iterator[ObjectT_co]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def get(self, namespace: str, name: str) -> ObjectT_co | None:
        return self._read(How.NAME, namespace, name).get(namespace, name)

    def in_namespace(self, namespace: str) -> tuple[ObjectT_co, ...]:
        return self._read(How.NAMESPACE, namespace).in_namespace(namespace)

    def showing(self, shows: Shows) -> tuple[ObjectT_co, ...]:
        return self._read().showing(shows)

    def first(self, shows: Shows) -> ObjectT_co | None:
        return self._read().first(shows)

    def labelled(self, namespace: str, key: str, value: str) -> tuple[ObjectT_co, ...]:
        return self._read(How.LABEL, namespace, key, value).labelled(namespace, key, value)

    def rarest(self, namespace: str, labels: Labels) -> tuple[str, str]:
        """Return the rarest label; not recorded, as the choice does not affect any result."""
        return self._table.rarest(namespace, labels)

    def chosen(
        self, question: Hashable, choose: Callable[[Iterable[KubeObject]], Iterable[KubeObject]]
    ) -> tuple[KubeObject, ...]:
        return self._read().chosen(question, choose)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedSnapshot(Snapshot):
    trace: Trace
    found: dict[Hashable, WorkedOut] = field(default_factory=dict, init=False, repr=False)
    _traced: dict[object, Table[KubeObject]] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, resource: Resource[ObjectT]) -> Table[ObjectT]:
        found: Table[ObjectT] | None = self._traced.get(resource)  # type: ignore[assignment]
        if found is None:
            found = TracedTable(Snapshot.__getitem__(self, resource), resource, self.trace)
            self._traced[resource] = found
        return found

    def once(self, question: Hashable, find: Callable[[Snapshot], ValueT]) -> ValueT:
        """Return the result of `find`; the caller depends on that value, not on its inputs."""
        known = self.found.get(question)
        if known is None:
            value, cells = self.trace.of(partial(find, self))
            known = self.found[question] = WorkedOut(value, cells, find)
        self.trace.note(Cell(None, How.FOUND, question))
        return cast("ValueT", known.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedSamples(PodSamples):
    trace: Trace

    def of(self, namespace: str, name: str, uid: str) -> Judged | None:
        self.trace.note(Cell(None, How.SAMPLES, (namespace, name)))
        return PodSamples.of(self, namespace, name, uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedEvidence(Evidence):
    trace: Trace

    def events_about(
        self, namespace: str, kind: str, name: str, *, uid: str = ""
    ) -> tuple[ForeignEvent, ...]:
        self.trace.note(Cell(None, How.EVENTS, (namespace, kind, name)))
        return Evidence.events_about(self, namespace, kind, name, uid=uid)

    def names_of(self, namespace: str, kind: str) -> tuple[str, ...]:
        self.trace.note(Cell(None, How.EVENTS, (namespace, kind)))
        return Evidence.names_of(self, namespace, kind)

    def log_of(self, namespace: str, pod: str, container: str) -> LogCause | None:
        self.trace.note(Cell(None, How.LOG, (namespace, pod, container)))
        return Evidence.log_of(self, namespace, pod, container)

    def reads_events(self, namespace: str) -> bool:
        self.trace.note(Cell(None, How.EVENTS_READ, namespace))
        return Evidence.reads_events(self, namespace)


def traced(snapshot: Snapshot, trace: Trace) -> TracedSnapshot:
    content = {each.name: getattr(snapshot, each.name) for each in fields(Snapshot) if each.init}
    evidence = snapshot.evidence
    content["evidence"] = TracedEvidence(
        events=evidence.events, logs=evidence.logs, events_read=evidence.events_read, trace=trace
    )
    return TracedSnapshot(**content, trace=trace)


def evidence_cells(before: Evidence, after: Evidence) -> Iterator[Cell]:
    if before is after:
        return
    for how, old, new in (
        (How.EVENTS, before.events, after.events),
        (How.LOG, before.logs, after.logs),
    ):
        for key in old.keys() | new.keys():
            if old.get(key) != new.get(key):
                yield Cell(None, how, key)
            if how is How.EVENTS and (key in old) is not (key in new):
                yield Cell(None, how, key[:2])
    if before.events_read != after.events_read:
        known = (before.events_read or frozenset()) | (after.events_read or frozenset())
        for each in known:
            yield Cell(None, How.EVENTS_READ, each)


def cells_of(
    what: AnyResource, before: KubeObject | None, after: KubeObject | None
) -> Iterator[Cell]:
    named = after if after is not None else before
    if named is None:
        return
    place = named.namespace
    yield Cell(what, How.NAME, (place, named.name))
    yield Cell(what, How.NAMESPACE, (place,))
    yield Cell(what, How.ALL)
    labels = [e.metadata.labels.items() for e in (before, after) if e and e.metadata.labels]
    for key, value in set(chain(*labels)):
        yield Cell(what, How.LABEL, (place, key, value))
