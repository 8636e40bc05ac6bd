"""An immutable, indexed set of objects of one resource.

Most tables differ from the one before by a few objects of thousands. To sort and index all of them
again costs more than what is then asked, so a table takes over the order and the indexes of the one
before, and mends what the changed objects are in. Nothing shared is changed: what is mended is copied.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from reporter.model.objects import KubeObject, LabelSelector

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ObjectT = TypeVar("ObjectT", bound=KubeObject)

Place: TypeAlias = tuple[str, str]
"""Namespace and name, or namespace and the value of a label."""

Change: TypeAlias = tuple[KubeObject | None, KubeObject | None]
"""An object as it was and as it is; None is none."""


class Table(Generic[ObjectT_co]):
    """Objects of one resource in the order of namespace and name.

    Order and indexes are made when first asked for, which is in the thread of a pass and not in
    the event loop, and kept: a table that did not change between two passes is used again.

    Args:
        objects: by namespace and name.
        before: the table that this one follows.

    """

    __slots__ = (
        "_before",
        "_by_label",
        "_changes",
        "_chosen",
        "_keys",
        "_muting",
        "_objects",
        "_ordered",
    )

    def __init__(
        self,
        objects: Mapping[Place, ObjectT_co] | None = None,
        before: "Table[ObjectT_co] | None" = None,
    ) -> None:
        self._objects = dict(objects or {})
        self._ordered: tuple[ObjectT_co, ...] | None = None
        self._keys: list[Place] = []
        self._by_label: dict[str, dict[Place, tuple[ObjectT_co, ...]]] = {}
        self._chosen: dict[Hashable, tuple[KubeObject, ...]] = {}
        self._muting: tuple[ObjectT_co, ...] | None = None
        # One that nobody asked has nothing to take over, and must not keep those before it alive.
        while before is not None and before._ordered is None:  # noqa: SLF001
            before = before._before  # noqa: SLF001
        self._before: Table[ObjectT_co] | None = before
        self._changes: tuple[object, tuple[Change, ...]] = (None, ())

    def __iter__(self) -> Iterator[ObjectT_co]:
        return iter(self._in_order())

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def objects(self) -> Mapping[Place, ObjectT_co]:
        """The objects by namespace and name."""
        return self._objects

    def get(self, namespace: str, name: str) -> ObjectT_co | None:
        """Return one object; `namespace` is empty for cluster-scoped resources."""
        return self._objects.get((namespace, name))

    def in_namespace(self, namespace: str) -> tuple[ObjectT_co, ...]:
        """Return the objects of a namespace."""
        ordered = self._in_order()
        first = bisect_left(self._keys, (namespace, ""))
        return ordered[first : bisect_left(self._keys, (f"{namespace}\0", ""), first)]

    def muting(self) -> tuple[ObjectT_co, ...]:
        """Return the objects with an annotation about muting, which are few."""
        self._in_order()
        if self._muting is None:
            self._muting = tuple(filter(_mutes, self._objects.values()))
        return self._muting

    def labelled(self, namespace: str, key: str, value: str) -> tuple[ObjectT_co, ...]:
        """Return the objects of a namespace that carry a label with a value."""
        ordered = self._in_order()
        index = self._by_label.get(key)
        if index is None:
            groups: dict[Place, list[ObjectT_co]] = {}
            for obj in ordered:
                found = obj.metadata.label(key)
                if found is not None:
                    groups.setdefault((obj.namespace, found), []).append(obj)
            index = {place: tuple(group) for place, group in groups.items()}
            self._by_label[key] = index
        return index.get((namespace, value), ())

    def selected(self, namespace: str, selector: LabelSelector) -> tuple[ObjectT_co, ...]:
        """Return the objects of a namespace whose labels a selector selects."""
        labels = selector.match_labels or {}
        if labels:
            # The longest value is most likely a name, which few objects share.
            key, value = max(labels.items(), key=lambda each: (len(each[1]), each))
            found = self.labelled(namespace, key, value)
        else:
            found = self.in_namespace(namespace)
        return tuple(each for each in found if selector.matches(each.metadata.labels))

    def chosen(
        self, question: Hashable, choose: Callable[[Iterable[KubeObject]], Iterable[KubeObject]]
    ) -> tuple[KubeObject, ...]:
        """Return the objects that `choose` yields, which `question` tells from other choices.

        The answer is kept like an index, so it must follow from the objects alone.
        """
        if question not in self._chosen:
            self._chosen[question] = tuple(choose(self))
        return self._chosen[question]

    def changes(self, before: "Table[KubeObject]") -> tuple[Change, ...]:
        """Return each object that is another one than before, as it was and as it is."""
        known, changes = self._changes
        if known is before:
            return changes
        old, new = before.objects, self._objects
        found: list[Change] = [
            (known, obj) for key, obj in new.items() if (known := old.get(key)) is not obj
        ]
        found += [(old[key], None) for key in old.keys() - new.keys()]
        self._changes = (before, tuple(found))
        return self._changes[1]

    def _in_order(self) -> tuple[ObjectT_co, ...]:
        if self._ordered is None:
            before, self._before = self._before, None
            if before is None or not self._take_over(before):
                self._keys = sorted(self._objects)
                self._ordered = tuple(self._objects[key] for key in self._keys)
        return self._ordered or ()

    def _take_over(self, before: "Table[ObjectT_co]") -> bool:
        """Take over order and indexes of another table; tell whether that is worth it."""
        changes = self.changes(before)
        if len(changes) > len(self._objects) // _WORTH:
            return False
        keys, ordered = list(before._keys), list(before._in_order())  # noqa: SLF001
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
                ordered.insert(at, self._objects[key])
            else:
                ordered[at] = self._objects[key]
        self._keys, self._ordered = keys, tuple(ordered)
        self._by_label = {
            key: self._mended(key, index, changes)
            for key, index in before._by_label.items()  # noqa: SLF001
        }
        if not any(each is not None and _mutes(each) for change in changes for each in change):
            self._muting = before._muting  # noqa: SLF001
        return True

    def _mended(
        self, label: str, index: dict[Place, tuple[ObjectT_co, ...]], changes: Iterable[Change]
    ) -> dict[Place, tuple[ObjectT_co, ...]]:
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
                    others[each.name] = self._objects[each.namespace, each.name]
                mended[place] = tuple(others[name] for name in sorted(others))
        return mended


_WORTH = 4
"""A table of which more than one in so many objects changed is made from nothing."""


def table_of(objects: Iterable[ObjectT]) -> Table[ObjectT]:
    """Return a table of `objects`; of two with the same name the later one counts."""
    return Table({(obj.namespace, obj.name): obj for obj in objects})


def _mutes(obj: KubeObject) -> bool:
    return obj.metadata.annotations is not None and obj.metadata.annotations.mutes
