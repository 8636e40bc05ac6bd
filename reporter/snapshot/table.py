"""An immutable, indexed set of objects of one resource.

Most tables differ from their predecessor by a few objects of thousands. Sorting and indexing all of
them again costs more than the lookups that follow. So a table takes over the order and the indexes
of its predecessor, and updates the entries of changed objects. Shared data is never modified:
updated parts are copied.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeVar

from reporter.model.objects import KubeObject, Labels, LabelSelector
from reporter.snapshot.index import Change, Index, Place, Shows, index_of

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ObjectT = TypeVar("ObjectT", bound=KubeObject)

_WORTH: Final = 4
"""If more than one in this many objects changed, the table is indexed from scratch."""

_MANY: Final = 64
"""If more objects than this share a label's value, the other labels are tried too."""


class Table(Generic[ObjectT_co]):
    """Objects of one resource, sorted by namespace and name.

    The order and indexes are built when first needed, in the thread of a pass and not in the event
    loop, and kept. `touched` are the keys that may differ from the table `before`; None means any.
    """

    __slots__ = ("_before", "_changes", "_chosen", "_index", "_objects", "_touched")

    def __init__(
        self,
        objects: Mapping[Place, ObjectT_co] | None = None,
        before: "Table[ObjectT_co] | None" = None,
        touched: AbstractSet[Place] | None = None,
    ) -> None:
        self._objects = dict(objects or {})
        self._index: Index[ObjectT_co] | None = None
        self._chosen: dict[Hashable, tuple[KubeObject, ...]] = {}
        self._before, self._touched = (
            before.followed(touched) if before is not None else (None, None)
        )
        self._changes: tuple[object, tuple[Change, ...]] = (None, ())

    def __iter__(self) -> Iterator[ObjectT_co]:
        return iter(self.index().ordered)

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def objects(self) -> Mapping[Place, ObjectT_co]:
        return self._objects

    def get(self, namespace: str, name: str) -> ObjectT_co | None:
        return self._objects.get((namespace, name))

    def in_namespace(self, namespace: str) -> tuple[ObjectT_co, ...]:
        return self.index().in_namespace(namespace)

    def showing(self, shows: Shows) -> tuple[ObjectT_co, ...]:
        return self.index().showing(shows)

    def labelled(self, namespace: str, key: str, value: str) -> tuple[ObjectT_co, ...]:
        return self.index().labelled(namespace, key, value)

    def first(self, shows: Shows) -> ObjectT_co | None:
        return self.index().first(shows)

    def selected(self, namespace: str, selector: LabelSelector) -> tuple[ObjectT_co, ...]:
        return tuple(self.each_selected(namespace, selector))

    def each_selected(self, namespace: str, selector: LabelSelector) -> Iterator[ObjectT_co]:
        """Return the selected objects one by one, for who stops at one of thousands."""
        labels = selector.match_labels or {}
        if labels:
            # The longest value is most likely a name, which few objects share.
            key, value = max(labels.items(), key=lambda each: (len(each[1]), each))
            found = self.labelled(namespace, key, value)
            if len(found) > _MANY:
                # Without this, each selector would scan all objects that share a common value.
                key, value = self.rarest(namespace, labels)
                found = self.labelled(namespace, key, value)
        else:
            found = self.in_namespace(namespace)
        return (each for each in found if selector.matches(each.metadata.labels))

    def rarest(self, namespace: str, labels: Labels) -> tuple[str, str]:
        """Return the label whose key and value the fewest objects of a namespace have."""
        index = self.index()
        return min(labels.items(), key=lambda each: (len(index.labelled(namespace, *each)), each))

    def chosen(
        self, question: Hashable, choose: Callable[[Iterable[KubeObject]], Iterable[KubeObject]]
    ) -> tuple[KubeObject, ...]:
        """Return the objects that `choose` yields, cached under `question`.

        The result must depend on the objects alone.
        """
        if question not in self._chosen:
            self._chosen[question] = tuple(choose(self))
        return self._chosen[question]

    def changes(self, before: "Table[KubeObject]") -> tuple[Change, ...]:
        known, changes = self._changes
        if known is before:
            return changes
        old, new = before.objects, self._objects
        keys: Iterable[Place]
        if before is self._before and self._touched is not None:
            keys = self._touched
        else:
            keys = old.keys() | new.keys()
        pairs = ((old.get(key), new.get(key)) for key in keys)
        self._changes = (before, tuple(pair for pair in pairs if pair[0] is not pair[1]))
        # The cached changes refer to `before`; they must not keep all earlier tables alive.
        before.forget_changes()
        return self._changes[1]

    def forget_changes(self) -> None:
        self._changes = (None, ())

    def index(self) -> Index[ObjectT_co]:
        """Return the order and the indexes; build them on the first call."""
        if self._index is None:
            before = self._before
            self._index = index_of(self._objects) if before is None else self._mended(before)
            self._before = self._touched = None
        return self._index

    def followed(
        self, touched: AbstractSet[Place] | None
    ) -> "tuple[Table[ObjectT_co] | None, AbstractSet[Place] | None]":
        """Return the newest indexed table among this one and its predecessor, and the keys touched
        since.

        A table without an index has nothing to take over, and must not keep its predecessor alive.
        """
        if self._index is not None:
            return self, touched
        if touched is None or self._touched is None:
            return self._before, None
        return self._before, self._touched | touched

    def _mended(self, before: "Table[ObjectT_co]") -> Index[ObjectT_co]:
        changes = self.changes(before)
        if len(changes) > len(self._objects) // _WORTH:
            return index_of(self._objects)
        return before.index().after(changes, self._objects)


def table_of(objects: Iterable[ObjectT]) -> Table[ObjectT]:
    """Return a table of `objects`; of two with the same name, the later one counts."""
    return Table({(obj.namespace, obj.name): obj for obj in objects})
