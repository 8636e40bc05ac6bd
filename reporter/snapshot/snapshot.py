"""The frozen view of the cluster that one pass uses, with the evidence that was read on demand.

Events expire after an hour, and a failed node launch is reported only once. So evidence is kept for
as long as there is a fault in its namespace, container or Lease.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain
from typing import Final, TypeVar, cast

from reporter.catalogue.resources import AUTOSCALERS, LEASES, NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.evidence import NO_EVIDENCE, Evidence, ForeignEvent, LogCause
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject, Lease
from reporter.model.report import SkippedObject
from reporter.model.resource import AnyResource, Resource
from reporter.model.subject import ObjectRef
from reporter.snapshot.decode import Sought
from reporter.snapshot.foreign_events import ByObject, by_object
from reporter.snapshot.table import Table, table_of

ObjectT = TypeVar("ObjectT", bound=KubeObject)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class Served(StrEnum):
    """Whether the cluster serves a resource, does not serve it, or that is unknown."""

    SERVED = "served"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ResourceState:
    """The state of one resource at the instant of the snapshot.

    `confirmed`: data has arrived since the last lost connection or pause, so a verdict may depend
    on it. `lasting`: unreachable although the API server has been healthy for a while. `partial`:
    only some of its objects were requested, so a missing object may exist.
    """

    served: Served
    confirmed: bool = True
    cause: str = ""
    permission: str = ""
    since: Instant | None = None
    lasting: bool = False
    partial: bool = False

    @property
    def awaited(self) -> bool:
        """True if a verdict must wait for an answer about this resource.

        A refusal is an answer. So is a kind that stays unreachable while others can be read:
        waiting for it could block verdicts for ever.
        """
        refused = self.served is Served.UNKNOWN and self.cause not in (NOT_LISTED, UNREACHABLE)
        return not (self.confirmed or refused or self.lasting)


NOT_READ = ResourceState(Served.UNKNOWN, cause="not read")

# Causes of being unknown.
NOT_LISTED: Final = "not listed yet"  # before the first answer; later UNREACHABLE
UNREACHABLE: Final = "unreachable"
FORBIDDEN: Final = "forbidden"  # `permission` names the missing permission
OTHER_VERSIONS: Final = "served in version"  # followed by the versions, none of which is read
NOT_ASKED: Final = "not asked for"  # only one namespace was read

CREDENTIALS: Final = "valid credentials"
"""The missing permission if the API server does not accept our credentials (401)."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The answer of API discovery.

    `served` has `<plural>.<group>`, and is None without an answer. `unknown_groups` are partly
    stale or missing; `known_groups` are known completely, None meaning all groups. `absent`
    resources are known not to be served although their group is not known, from a single
    CustomResourceDefinition in a dump. `confirmed`: a verdict may depend on the answer.
    """

    served: frozenset[str] | None = None
    unknown_groups: frozenset[str] = frozenset()
    confirmed: bool = True
    known_groups: frozenset[str] | None = None
    absent: frozenset[str] = frozenset()

    def state(self, name: str) -> Served:
        if self.served is None:
            return Served.UNKNOWN
        if name in self.served:
            return Served.SERVED
        group = name.partition(".")[2]
        is_known = self.known_groups is None or group in self.known_groups
        if name in self.absent or (is_known and group not in self.unknown_groups):
            return Served.ABSENT
        return Served.UNKNOWN

    @property
    def is_whole(self) -> bool:
        return self.served is not None and self.known_groups is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All objects that were read, indexed, and whether each resource could be read.

    `covered` are the namespaces that were read completely, None meaning all. `superseded` are older
    copies in a dump. `incomplete` says why a resource's objects are not all there: those found
    count, but no missing object is known to be absent. `derived` caches results within a pass.
    """

    tables: Mapping[AnyResource, Table[KubeObject]] = field(default_factory=dict)
    states: Mapping[AnyResource, ResourceState] = field(default_factory=dict)
    discovery: Discovery = Discovery()
    covered: frozenset[str] | None = None
    skipped: tuple[SkippedObject, ...] = ()
    superseded: tuple[SkippedObject, ...] = ()
    incomplete: Mapping[str, str] = field(default_factory=dict)
    evidence: Evidence = NO_EVIDENCE
    derived: dict[object, object] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _malformed: Mapping[tuple[str, str], tuple[SkippedObject, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        by_place: dict[tuple[str, str], list[SkippedObject]] = {}
        for each in self.skipped:
            by_place.setdefault((each.resource, each.namespace), []).append(each)
        malformed = {place: tuple(found) for place, found in by_place.items()}
        object.__setattr__(self, "_malformed", malformed)

    def __getitem__(self, resource: Resource[ObjectT]) -> Table[ObjectT]:
        table = self.tables.get(resource)
        if table is None or self.state(resource).served is not Served.SERVED:
            return Table()
        return table  # type: ignore[return-value]  # the key's type parameter is the value's

    def state(self, resource: AnyResource) -> ResourceState:
        return self.states.get(resource, NOT_READ)

    def known(self, resource: AnyResource) -> bool:
        return self.state(resource).served is not Served.UNKNOWN

    def absent(self, resource: AnyResource) -> bool:
        return self.state(resource).served is Served.ABSENT

    def absence_known(
        self,
        resource: AnyResource,
        namespace: str = "",
        name: str = "",
        *,
        sought: Sought | None = None,
    ) -> bool:
        """True if an object that is not in the snapshot is known not to exist; without `name`, any
        object of the namespace.

        Probes must check this before they conclude anything from absence. A namespace that does not
        exist has no objects. A malformed object may be the one that is looked for: `sought` decides
        (by default its name); without a name it may be any.
        """
        state = self.state(resource)
        if state.served is Served.UNKNOWN or state.partial:
            return False
        # Called thousands of times in a pass, and rarely is anything incomplete or malformed.
        if self.incomplete and str(resource) in self.incomplete:
            return False
        if self._malformed and any(
            not each.name or (sought(each) if sought else each.name == name)
            for each in self._malformed_in(resource, namespace)
        ):
            return False
        if state.served is Served.ABSENT or self.covered is None or not resource.namespaced:
            return True
        return namespace in self.covered or self.lacks(NAMESPACES, "", namespace)

    def lacks(self, resource: AnyResource, namespace: str, name: str) -> bool:
        """True if an object is known not to exist."""
        gone = self[resource].get(namespace, name) is None
        return gone and self.absence_known(resource, namespace, name)

    def _malformed_in(self, resource: AnyResource, namespace: str) -> Iterator[SkippedObject]:
        # A malformed object without a readable namespace may be in any namespace.
        for place in {namespace, ""}:
            yield from self._malformed.get((str(resource), place), ())

    def once(self, question: Hashable, find: Callable[["Snapshot"], ValueT]) -> ValueT:
        """Return the result of `find`, computed once per snapshot."""
        if question not in self.derived:
            self.derived[question] = find(self)
        return cast("ValueT", self.derived[question])

    def entry(
        self, index: Hashable, key: KeyT, find: Callable[["Snapshot"], Mapping[KeyT, ValueT]]
    ) -> ValueT | None:
        """Return one entry of the index that `find` builds once per snapshot, or None.

        The caller depends on this entry only; changes to other entries do not invalidate it.
        """
        return self.once((index, key), lambda snapshot: snapshot.once(index, find).get(key))

    def skips(self, resource: AnyResource, ref: ObjectRef) -> bool:
        found = self._malformed.get((str(resource), ref.namespace), ())
        return ref.kind == resource.kind and any(each.name == ref.name for each in found)


LogKey = tuple[str, str, str]
LeaseKey = tuple[str, str]


def with_held_leases(snapshot: Snapshot, now: datetime) -> Snapshot:
    leases = snapshot[LEASES]
    held = table_of(each for each in leases if each.is_held(now))
    return replace(snapshot, tables={**snapshot.tables, LEASES: held}) if len(leases) else snapshot


@dataclass(slots=True)
class Learned:
    """The evidence read so far; readers update it, and each snapshot is joined with it.

    Each `note_...` method returns True if something has changed.
    """

    _events: dict[str, ByObject] = field(default_factory=dict)
    _logs: dict[LogKey, LogCause] = field(default_factory=dict)
    _tables: dict[AnyResource, Table[KubeObject]] = field(default_factory=dict)
    _states: dict[AnyResource, ResourceState] = field(default_factory=dict)
    _leases: dict[LeaseKey, Lease | None] = field(default_factory=dict)
    _evidence: Evidence | None = None

    def note_events(self, namespace: str, events: Iterable[ForeignEvent]) -> bool:
        """Add the Events read in a namespace; earlier ones stay although they have expired."""
        known = self._events.get(namespace)
        before = chain.from_iterable((known or {}).values())
        newer = {_same(each): each for each in chain(before, events)}
        found = by_object(newer.values())
        self._events[namespace] = found
        changed = known is None or _words(found) != _words(known)
        if changed:
            self._evidence = None
        return changed

    def note_log(self, key: LogKey, cause: LogCause) -> bool:
        changed = self._logs.get(key) != cause or self.last_lines(key) != cause.shown
        self._logs[key] = cause
        if changed:
            self._evidence = None
        return changed

    def note_objects(
        self, resource: AnyResource, objects: Collection[KubeObject], *, partial: bool
    ) -> bool:
        """Store the objects read of a resource; with `partial`, only some were read."""
        state = ResourceState(Served.SERVED, partial=partial)
        before = self._tables.get(resource, Table[KubeObject]())
        table = table_of(chain(before, objects) if partial else objects)
        changed = self._states.get(resource) != state or [*before] != [*table]
        if changed:
            self._tables[resource], self._states[resource] = table, state
        return changed

    def note_lease(self, key: LeaseKey, lease: Lease | None) -> bool:
        """Store a Lease that is held, or None for one that is not."""
        changed = key not in self._leases or (self._leases[key] is None) is not (lease is None)
        if changed:
            self._leases[key] = lease
        return changed

    def forget(
        self,
        namespaces: Collection[str],
        logs: Collection[LogKey],
        leases: Collection[LeaseKey] = (),
    ) -> None:
        """Drop all evidence except that of these namespaces, containers and Leases."""
        self._leases = {key: each for key, each in self._leases.items() if key in leases}
        known = len(self._events) + len(self._logs)
        self._events = {key: each for key, each in self._events.items() if key in namespaces}
        self._logs = {key: each for key, each in self._logs.items() if key in logs}
        if not namespaces:
            self._tables = {key: each for key, each in self._tables.items() if key is AUTOSCALERS}
            self._states = {key: each for key, each in self._states.items() if key is AUTOSCALERS}
        if len(self._events) + len(self._logs) < known:
            self._evidence = None

    def last_lines(self, key: LogKey) -> tuple[str, ...]:
        known = self._logs.get(key)
        return known.shown if known is not None else ()

    def joined(self, snapshot: Snapshot) -> Snapshot:
        if self._evidence is None:
            events: dict[tuple[str, str, str], tuple[ForeignEvent, ...]] = {}
            for each in self._events.values():
                events.update(each)
            self._evidence = Evidence(
                events=events, logs=dict(self._logs), events_read=frozenset(self._events)
            )
        tables: Mapping[AnyResource, Table[KubeObject]] = snapshot.tables
        states = snapshot.states
        if self._tables or self._leases:
            held = table_of(each for each in self._leases.values() if each is not None)
            tables = {**tables, **self._tables, LEASES: held}
            states = {**states, **self._states, LEASES: ResourceState(Served.SERVED, partial=True)}
        return replace(snapshot, evidence=self._evidence, tables=tables, states=states)


def _same(event: ForeignEvent) -> tuple[object, ...]:
    about = event.about
    return about, about.uid, event.field_path, event.reason, event.message, event.first


def _words(events: ByObject) -> Mapping[object, object]:
    """Return the parts of Events that a diagnosis depends on; repeat counts are not among them."""
    return {key: [(*_same(each), each.type) for each in found] for key, found in events.items()}


_SIMILAR: Final = 0.85


@dataclass(frozen=True, slots=True, order=True)
class Unserved:
    """A declared condition without effect, because its kind is not served.

    `near` is a served resource with a similar name, or empty.
    """

    reason: str
    resource: str
    near: str

    def __str__(self) -> str:
        hint = f"; did you mean {self.near}?" if self.near else ", so it reports nothing"
        return f"{self.reason}: {self.resource} is not served{hint}"


def unserved(
    catalogue: Catalogue, discovery: Discovery, state: Callable[[AnyResource], Served]
) -> Iterator[Unserved]:
    """Yield the declared conditions whose kind is known not to be served.

    That is not a fault: the kind may be installed later, or never.
    """
    names = discovery.served or frozenset()
    for each in catalogue.declared:
        if each.component.condition is None or each.resource is None:
            continue
        if state(each.resource) is Served.ABSENT:
            name = str(each.resource)
            near = get_close_matches(name, sorted(names - {name}), n=1, cutoff=_SIMILAR)
            yield Unserved(each.component.reason, name, near[0] if near else "")


def unserved_notes(snapshot: Snapshot, catalogue: Catalogue) -> tuple[str, ...]:
    found = unserved(catalogue, snapshot.discovery, lambda each: snapshot.state(each).served)
    return tuple(f"{each}{'' if each.near else '.'}" for each in found)
