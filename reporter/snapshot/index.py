"""The sort order and indexes of a table: built once, or updated after a few changes."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

from reporter.model.objects import KubeObject

ObjectT = TypeVar("ObjectT", bound=KubeObject)
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)

Place: TypeAlias = tuple[str, str]
"""Namespace and name, or namespace and the value of a label."""

Change: TypeAlias = tuple[KubeObject | None, KubeObject | None]

Labelled: TypeAlias = dict[Place, tuple[ObjectT_co, ...]]
"""The objects of each namespace with each value of one label."""

Shows: TypeAlias = Callable[[KubeObject], bool]
"""A predicate that depends on the object alone. Answers are cached by the function itself."""

_MOST_LABELS: Final = 32
"""Most labels by which a whole table is indexed. Our own probes use about ten per table; tenants'
selectors may use any. Beyond this limit only the objects of the tenant's namespace are indexed."""


class Index(Generic[ObjectT_co]):
    """The objects sorted by namespace and name, and grouped by the labels that were looked up."""

    __slots__ = ("_by_label", "_by_namespace", "_firsts", "_shown", "keys", "ordered")

    def __init__(
        self,
        keys: list[Place],
        ordered: tuple[ObjectT_co, ...],
        *,
        by_label: dict[str, Labelled[ObjectT_co]],
        shown: Mapping[Shows, tuple[ObjectT_co, ...]] = MappingProxyType({}),
        firsts: Mapping[Shows, ObjectT_co | None] = MappingProxyType({}),
    ) -> None:
        self.keys = keys
        self.ordered = ordered
        self._by_label = by_label
        self._by_namespace: dict[str, Labelled[ObjectT_co]] = {}
        self._shown = dict(shown)
        self._firsts = dict(firsts)

    def in_namespace(self, namespace: str) -> tuple[ObjectT_co, ...]:
        first = bisect_left(self.keys, (namespace, ""))
        return self.ordered[first : bisect_left(self.keys, (f"{namespace}\0", ""), first)]

    def labelled(self, namespace: str, key: str, value: str) -> tuple[ObjectT_co, ...]:
        index = self._by_label.get(key)
        if index is None and len(self._by_label) >= _MOST_LABELS:
            return self._labels_in(namespace).get((key, value), ())
        if index is None:
            found = ((obj.metadata.label(key), obj) for obj in self.ordered)
            index = grouped(((obj.namespace, of), obj) for of, obj in found if of is not None)
            self._by_label[key] = index
        return index.get((namespace, value), ())

    def _labels_in(self, namespace: str) -> Labelled[ObjectT_co]:
        index = self._by_namespace.get(namespace)
        if index is None:
            there = ((obj, obj.metadata.labels or {}) for obj in self.in_namespace(namespace))
            index = grouped((pair, obj) for obj, labels in there for pair in labels.items())
            self._by_namespace[namespace] = index
        return index

    def showing(self, shows: Shows) -> tuple[ObjectT_co, ...]:
        if shows not in self._shown:
            self._shown[shows] = tuple(filter(shows, self.ordered))
        return self._shown[shows]

    def first(self, shows: Shows) -> ObjectT_co | None:
        if shows not in self._firsts:
            self._firsts[shows] = next(filter(shows, self.ordered), None)
        return self._firsts[shows]

    def after(
        self, changes: Sequence[Change], objects: Mapping[Place, ObjectT_co]
    ) -> "Index[ObjectT_co]":
        keys, ordered = list(self.keys), list(self.ordered)
        for old, new in changes:
            changed = new if new is not None else old
            if changed is None:
                continue
            key = (changed.namespace, changed.name)
            at = bisect_left(keys, key)
            if new is None:
                del keys[at], ordered[at]
            elif old is None:
                keys.insert(at, key)
                ordered.insert(at, objects[key])
            else:
                ordered[at] = objects[key]
        by_label = {
            key: _mended(index, key, changes, objects=objects)
            for key, index in self._by_label.items()
        }
        return Index(
            keys,
            tuple(ordered),
            by_label=by_label,
            shown={
                shows: _showing(shows, known, changes, objects=objects)
                for shows, known in self._shown.items()
            },
            firsts=dict(self._firsts_after(changes, objects)),
        )

    def _firsts_after(
        self, changes: Sequence[Change], objects: Mapping[Place, ObjectT_co]
    ) -> Iterator[tuple[Shows, ObjectT_co | None]]:
        """Yield the first objects after the changes; omit those that must be searched again."""
        gone = [old for old, _ in changes]
        come = [objects[new.namespace, new.name] for _, new in changes if new is not None]
        for shows, known in self._firsts.items():
            if known is not None and any(each is known for each in gone):
                continue
            showing = [each for each in (known, *filter(shows, come)) if each is not None]
            yield shows, min(showing, key=_place, default=None)


def index_of(objects: Mapping[Place, ObjectT_co]) -> Index[ObjectT_co]:
    keys = sorted(objects)
    return Index(keys, tuple(objects[key] for key in keys), by_label={})


def grouped(pairs: Iterable[tuple[KeyT, ValueT]]) -> dict[KeyT, tuple[ValueT, ...]]:
    """Group values by key, in their order."""
    groups: dict[KeyT, list[ValueT]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(group) for key, group in groups.items()}


def _mended(
    index: Labelled[ObjectT_co],
    label: str,
    changes: Sequence[Change],
    *,
    objects: Mapping[Place, ObjectT_co],
) -> Labelled[ObjectT_co]:
    mended = dict(index)
    for old, new in changes:
        for each in (old, new):
            value = each.metadata.label(label) if each is not None else None
            if each is None or value is None:
                continue
            place = (each.namespace, value)
            others = {other.name: other for other in mended.get(place, ())}
            others.pop(each.name, None)
            if each is new:
                others[each.name] = objects[each.namespace, each.name]
            if others:
                mended[place] = tuple(others[name] for name in sorted(others))
            else:
                mended.pop(place, None)
    return mended


def _showing(
    shows: Shows,
    known: tuple[ObjectT, ...],
    changes: Sequence[Change],
    *,
    objects: Mapping[Place, ObjectT],
) -> tuple[ObjectT, ...]:
    if not any(each is not None and shows(each) for change in changes for each in change):
        return known
    found = {_place(each): each for each in known}
    for old, new in changes:
        if old is not None:
            found.pop(_place(old), None)
        if new is not None and shows(new):
            found[_place(new)] = objects[_place(new)]
    return tuple(found[place] for place in sorted(found))


def _place(obj: KubeObject) -> Place:
    return obj.namespace, obj.name
