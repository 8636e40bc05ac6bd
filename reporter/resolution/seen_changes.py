"""The changes that this process saw itself, from pass to pass: a bounded memory.

Nobody else remembers old values. `managedFields` say who wrote an object last, and when; but a
deleted object has none, and they contain no values. So a pass compares its objects with those of
the last pass; tables know which ones changed, so this costs next to nothing. A process that has
just started has seen nothing and claims nothing.

Only the desired state is compared: spec, data and annotations.

Few values are reported: numbers, booleans, and the text fields named here. For other fields, such
as an environment variable or an argument, only the fact of a change is reported: the value may be a
credential.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from reporter.catalogue.resources import COMPONENT, EVENTS, PODS
from reporter.model.instant import Instant, parse_rfc3339
from reporter.model.objects import KubeObject
from reporter.model.objects.gateway import RouteReference
from reporter.model.report import OBJECT, REMOVED, SpecChange
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, Place
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.snapshot.table import Table

EntryT = TypeVar("EntryT")

VALUE_BYTES: Final = 120
"""Maximum length of a value that is kept."""

_MOST: Final = 8
"""Maximum changed fields of one object at one time."""

_WANTED: Final = ("spec", "data")
_ANNOTATIONS: Final = "metadata.annotations"

_TEXTS: Final = frozenset(
    {
        "image", "gatewayClassName", "controllerName", "schedulerName", "failureMode", "type",
        "recoveryPolicy", "name", "kind", "namespace",
    }
)  # fmt: skip
"""Fields whose text values are reported: names of objects and modes."""

_WHOLE: Final = frozenset({"selector", "parentRefs", "backendRefs", "matchLabels", "podSelector"})
"""Fields that are reported as a whole."""

_Leaf: TypeAlias = tuple[str, object, object]


class FieldChange(NamedTuple):
    """A field with its old and new values, which are empty if they are not reported."""

    field: str
    before: str = ""
    after: str = ""


def changed_fields(old: KubeObject, new: KubeObject) -> tuple[FieldChange, ...]:
    """Return the differences in the desired state between two versions of an object."""
    found: dict[str, FieldChange] = {}
    for path, before, after in _differences(old, new):
        change = _field_change(path, before, after)
        found.setdefault(change.field, change)
        if len(found) == _MOST:
            break
    return tuple(found.values())


def _differences(old: KubeObject, new: KubeObject) -> Iterator[_Leaf]:
    for name in _WANTED:
        before, after = getattr(old, name, None), getattr(new, name, None)
        if before != after:
            yield from _walk(name, before, after)
    was, is_ = old.metadata.annotations, new.metadata.annotations
    present = is_ or was
    if present is not None:
        for key in present.__struct_encode_fields__:
            one, other = was.get(key) if was else None, is_.get(key) if is_ else None
            if one != other:
                yield f"{_ANNOTATIONS}[{key}]", one, other


def _walk(path: str, old: object, new: object) -> Iterator[_Leaf]:
    """Yield the smallest parts that differ."""
    name = path.rpartition(".")[2]
    if name not in _WHOLE and isinstance(old, msgspec.Struct) and type(old) is type(new):
        for attribute, encoded in zip(
            old.__struct_fields__, old.__struct_encode_fields__, strict=True
        ):
            before, after = getattr(old, attribute), getattr(new, attribute)
            if before != after:
                yield from _walk(f"{path}.{encoded}", before, after)
    elif name not in _WHOLE and (pairs := _paired(old, new)):
        for each, before, after in pairs:
            if before != after:
                yield from _walk(f"{path}[{each}]", before, after)
    else:
        yield path, old, new


def _paired(old: object, new: object) -> list[tuple[str, object, object]]:
    """Return the paired items of two lists with the same names, such as containers, or no pairs."""
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return []
    names = [getattr(each, "name", None) for each in old]
    if not all(names) or names != [getattr(each, "name", None) for each in new]:
        return []
    return list(zip(map(str, names), old, new, strict=True))


def _field_change(path: str, old: object, new: object) -> FieldChange:
    name = path.rpartition(".")[2]
    any_text = path.startswith(_ANNOTATIONS)
    before, after = _value(old, name, any_text=any_text), _value(new, name, any_text=any_text)
    is_shown = before is not None and after is not None and before != after
    values = (before or "", after or "") if is_shown else ("", "")
    return FieldChange(cut(clean(path), VALUE_BYTES), *values)


def _value(value: object, name: str, *, any_text: bool) -> str | None:
    """Return a value as reported, or None if it must not be."""
    match value:
        case None:
            return "unset"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if any_text or name in _TEXTS:
            return cut(clean(value), VALUE_BYTES) or '""'
        case _ if name in _WHOLE:
            return cut(clean(_whole(value)), VALUE_BYTES) or "unset"
        case _:
            return None


def _whole(value: object) -> str:
    match value:
        case Mapping():
            return ",".join(f"{key}={each}" for key, each in sorted(value.items()))
        case RouteReference():
            return f"{value.namespace}/{value.name}" if value.namespace else value.name
        case tuple():
            return ", ".join(map(_whole, value))
        case msgspec.Struct():
            fields = zip(
                value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True
            )
            return " ".join(
                text if key == "matchLabels" else f"{key}: {text}"
                for key, each in fields
                if each and (text := _whole(each))
            )
        case _:
            return str(value)


MOST_CHANGES: Final = 1000
"""Maximum changes that are remembered; of each namespace the oldest are dropped first."""

MOST_BYTES: Final = 256 * 1024
"""Maximum bytes of their texts; the oldest are dropped first."""

WINDOW: Final = timedelta(minutes=30)
"""How long before a fault a change is reported with it: a rollout may take so long to fail."""

LATE: Final = timedelta(minutes=10)
"""How long after its beginning a fault may be seen."""

_BY_BYTES: Final = 80
_NOT_COMPARED: Final = frozenset({PODS, EVENTS})
"""Resources without changes of desired state: a changed pod is a new pod."""

_CRD: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change; `after` is when the object was last seen without it."""

    change: SpecChange
    after: datetime

    @property
    def earliest(self) -> datetime:
        """When it was made; the earliest possible time if no field manager dates it."""
        return self.change.at if self.change.by else self.after


@dataclass(frozen=True)
class SeenChanges:
    """The changes that were seen, oldest first, and what the next pass compares with.

    Each of `tables` is from the last pass that could read it; `at` is the time of the last pass.
    `served` is None if it was unknown.
    """

    changes: tuple[SeenChange, ...] = ()
    tables: Mapping[Resource[KubeObject], Table[KubeObject]] = field(default_factory=dict)
    served: frozenset[str] | None = None
    at: datetime | None = None

    @cached_property
    def by_place(self) -> Mapping[Place, tuple[SeenChange, ...]]:
        found: dict[Place, list[SeenChange]] = defaultdict(list)
        for each in self.changes:
            found[each.change.object.place].append(each)
        return {place: tuple(each) for place, each in found.items()}


def look_for_changes(before: SeenChanges, snapshot: Snapshot, now: Instant) -> SeenChanges:
    """Return the changes seen up to now that are young enough for a fault that is found late."""
    tables = dict(before.tables)
    for resource, table in snapshot.tables.items():
        state = snapshot.state(resource)
        if state.served is Served.SERVED and state.confirmed and resource not in _NOT_COMPARED:
            tables[resource] = table
    discovery = snapshot.discovery
    is_whole = discovery.confirmed and discovery.is_whole and not discovery.unknown_groups
    served = discovery.served if is_whole and discovery.served else before.served
    changes = before.changes
    if before.at is not None:
        # Several stacks may read the same object.
        found = dict.fromkeys(_found(before, tables, served, snapshot=snapshot, at=now.wall))
        changes = _bounded(
            (*changes, *sorted(found, key=lambda each: each.change.at)), now.wall - WINDOW - LATE
        )
    return SeenChanges(changes, tables, served, now.wall)


def _found(
    before: SeenChanges,
    tables: Mapping[Resource[KubeObject], Table[KubeObject]],
    served: frozenset[str] | None,
    *,
    snapshot: Snapshot,
    at: datetime,
) -> Iterator[SeenChange]:
    after = before.at or at
    for resource, table in tables.items():
        known = before.tables.get(resource)
        if known is None or known is table:
            continue
        for old, new in table.changes(known):
            # A malformed object is left out of the table, but exists.
            if old is not None and not (
                new is None and snapshot.skips(resource, resource.ref(old))
            ):
                yield from (
                    SeenChange(each, after) for each in _of_object(resource, old, new, at=at)
                )
    if served is not None and before.served is not None and served is not before.served:
        # A resource without a group is built in, and has no definition.
        for name in sorted(each for each in before.served - served if "." in each):
            gone = ObjectRef(*_CRD, name=name)
            yield SeenChange(SpecChange(object=gone, at=at, field=OBJECT, after=REMOVED), after)


def _of_object(
    resource: Resource[KubeObject], old: KubeObject, new: KubeObject | None, *, at: datetime
) -> Iterator[SpecChange]:
    if new is None:
        yield SpecChange(object=resource.ref(old), at=at, field=OBJECT, after=REMOVED)
        return
    fields = changed_fields(old, new)
    if not fields:
        return
    ref, write = resource.ref(new), newest_write(new)
    fresh = {*writes_of(new)} - {*writes_of(old)}
    if write is None or write not in fresh:
        write = SpecWrite(at, by="")
    elif len({each.by for each in fresh}) > 1:
        # Owners of single fields are not read: the node controller taints right after a cordon.
        write = SpecWrite(write.at, by="")
    for name, before, after in fields:
        yield SpecChange(
            object=ref, at=write.at, by=write.by, field=name, before=before, after=after
        )


@dataclass(frozen=True, slots=True)
class SpecWrite:
    """A write of an object's desired state: when, and by which manager."""

    at: datetime
    by: str


def writes_of(obj: KubeObject) -> Iterator[SpecWrite]:
    """Yield the writes of an object's desired state since its creation, the newest last.

    Writes of the status and our own writes do not count.
    """
    for entry in obj.metadata.managed_fields or ():
        if entry.owns_wanted and entry.manager != COMPONENT:
            try:
                at = parse_rfc3339(entry.time)
            except ValueError:
                continue
            by = f"{entry.manager} ({entry.subresource})" if entry.subresource else entry.manager
            yield SpecWrite(at, cut(clean(by), _BY_BYTES))


def newest_write(obj: KubeObject) -> SpecWrite | None:
    return max(writes_of(obj), key=lambda each: each.at, default=None)


def in_turns(entries: Sequence[EntryT], place: Callable[[EntryT], str]) -> list[int]:
    """Return the indices of entries: the last one of each namespace, then each one before it.

    If the first of them are kept, a tenant with ever new entries displaces none of others.
    """
    counts = Counter[str]()
    turns: list[tuple[int, int]] = []
    for back, each in enumerate(reversed(entries), 1):
        turns.append((counts[place(each)], back))
        counts[place(each)] += 1
    return [len(entries) - back for _, back in sorted(turns)]


def _bounded(changes: Iterable[SeenChange], since: datetime) -> tuple[SeenChange, ...]:
    """Return the newest changes within the limits, without those too old for any fault."""
    young = [each for each in changes if each.change.at >= since]
    kept: list[int] = []
    size = 0
    for index in in_turns(young, lambda each: each.change.object.namespace)[:MOST_CHANGES]:
        change, ref = young[index].change, young[index].change.object
        texts = (*ref.place[1:], change.field, change.before, change.after, change.by)
        size += sum(map(len, texts))
        if size > MOST_BYTES:
            break
        kept.append(index)
    return tuple(young[index] for index in sorted(kept))
