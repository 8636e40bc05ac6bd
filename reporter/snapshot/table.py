"""An immutable, indexed set of objects of one resource.

Most tables differ from the one before by a few objects of thousands. To sort and index all of them
again costs more than what is then asked, so a table takes over the order and the indexes of the one
before, and mends what the changed objects are in. Nothing shared is changed: what is mended is
copied.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeVar

from reporter.model.objects import KubeObject, Labels, LabelSelector
from reporter.snapshot.index import Change, Index, Place, Shows, index_of

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ObjectT = TypeVar("ObjectT", bound=KubeObject)

_WORTH: Final = 4
"""A table of which more than one in so many objects changed is indexed from nothing."""

_MANY: Final = 64
"""Objects with one value of a label, large enough to ask whether another narrows them."""


class Table(Generic[ObjectT_co]):
    """Objects of one resource in the order of namespace and name.

    Order and indexes are made when first asked for, in the thread of a pass and not in the event
    loop, and kept. `touched` are the keys that may be others than in the table `before`; None is
    any.
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
        labels = selector.match_labels or {}
        if labels:
            # The longest value is most likely a name, which few objects share.
            key, value = max(labels.items(), key=lambda each: (len(each[1]), each))
            found = self.labelled(namespace, key, value)
            if len(found) > _MANY:
                # One value that all share must not cost each selector all of them.
                key, value = self.rarest(namespace, labels)
                found = self.labelled(namespace, key, value)
        else:
            found = self.in_namespace(namespace)
        return tuple(each for each in found if selector.matches(each.metadata.labels))

    def rarest(self, namespace: str, labels: Labels) -> tuple[str, str]:
        """Return which of some labels the fewest objects of a namespace carry with its value."""
        index = self.index()
        return min(labels.items(), key=lambda each: (len(index.labelled(namespace, *each)), each))

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
        # What is remembered names the table before, and must not keep all those before it alive.
        before.forget_changes()
        return self._changes[1]

    def forget_changes(self) -> None:
        self._changes = (None, ())

    def index(self) -> Index[ObjectT_co]:
        """Return the order and the indexes, made now where nobody asked before."""
        if self._index is None:
            before = self._before
            self._index = index_of(self._objects) if before is None else self._mended(before)
            self._before = self._touched = None
        return self._index

    def followed(
        self, touched: AbstractSet[Place] | None
    ) -> "tuple[Table[ObjectT_co] | None, AbstractSet[Place] | None]":
        """Return the newest of this table and those before it that has an index, and what was
        touched since.

        One that nobody asked has nothing to take over, and must not keep those before it alive.
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
    """Return a table of `objects`; of two with the same name the later one counts."""
    return Table({(obj.namespace, obj.name): obj for obj in objects})
