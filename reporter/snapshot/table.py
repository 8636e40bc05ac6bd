"""An immutable, indexed set of objects of one resource."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from reporter.model.objects import KubeObject

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)
ObjectT = TypeVar("ObjectT", bound=KubeObject)


class Table(Generic[ObjectT_co]):
    """Objects of one resource in the order of namespace and name.

    Order and indexes are made when first asked for, which is in the thread of a pass and not in
    the event loop, and kept: a table that did not change between two passes is used again.
    """

    __slots__ = ("_by_label", "_by_namespace", "_chosen", "_muting", "_objects", "_ordered")

    def __init__(self, objects: Mapping[tuple[str, str], ObjectT_co] | None = None) -> None:
        self._objects = dict(objects or {})
        self._ordered: tuple[ObjectT_co, ...] | None = None
        self._by_namespace: dict[str, tuple[ObjectT_co, ...]] | None = None
        self._by_label: dict[str, dict[tuple[str, str], tuple[ObjectT_co, ...]]] = {}
        self._chosen: dict[Hashable, tuple[KubeObject, ...]] = {}
        self._muting: tuple[ObjectT_co, ...] | None = None

    def __iter__(self) -> Iterator[ObjectT_co]:
        if self._ordered is None:
            self._ordered = tuple(self._objects[key] for key in sorted(self._objects))
        return iter(self._ordered)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, namespace: str, name: str) -> ObjectT_co | None:
        """Return one object; `namespace` is empty for cluster-scoped resources."""
        return self._objects.get((namespace, name))

    def in_namespace(self, namespace: str) -> tuple[ObjectT_co, ...]:
        """Return the objects of a namespace."""
        if self._by_namespace is None:
            groups: dict[str, list[ObjectT_co]] = {}
            for obj in self:
                groups.setdefault(obj.namespace, []).append(obj)
            self._by_namespace = {key: tuple(group) for key, group in groups.items()}
        return self._by_namespace.get(namespace, ())

    def muting(self) -> tuple[ObjectT_co, ...]:
        """Return the objects with an annotation about muting, which are few."""
        if self._muting is None:
            self._muting = tuple(
                obj
                for obj in self._objects.values()
                if obj.metadata.annotations is not None and obj.metadata.annotations.mutes
            )
        return self._muting

    def labelled(self, namespace: str, key: str, value: str) -> tuple[ObjectT_co, ...]:
        """Return the objects of a namespace that carry a label with a value."""
        index = self._by_label.get(key)
        if index is None:
            groups: dict[tuple[str, str], list[ObjectT_co]] = {}
            for obj in self:
                found = obj.metadata.label(key)
                if found is not None:
                    groups.setdefault((obj.namespace, found), []).append(obj)
            index = {place: tuple(group) for place, group in groups.items()}
            self._by_label[key] = index
        return index.get((namespace, value), ())

    def chosen(
        self, question: Hashable, choose: Callable[[Iterable[KubeObject]], Iterable[KubeObject]]
    ) -> tuple[KubeObject, ...]:
        """Return the objects that `choose` yields, which `question` tells from other choices.

        The answer is kept like an index, so it must follow from the objects alone.
        """
        if question not in self._chosen:
            self._chosen[question] = tuple(choose(self))
        return self._chosen[question]


def table_of(objects: Iterable[ObjectT]) -> Table[ObjectT]:
    """Return a table of `objects`; of two with the same name the later one counts."""
    return Table({(obj.namespace, obj.name): obj for obj in objects})
