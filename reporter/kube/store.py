"""The objects that an informer holds, and how often they changed."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeAlias, TypeVar

from reporter.kube.decode import FrameType
from reporter.kube.shared_values import SharedValues
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject

ObjectT = TypeVar("ObjectT", bound=KubeObject)
Key: TypeAlias = tuple[str, str]

SKIPPED: Final = 1000
"""Most skipped objects that are remembered by name."""


class Store(Generic[ObjectT]):
    """The objects by namespace and name; counts its changes.

    Many objects change all the time in fields that nobody reads, such as the heartbeats of Nodes.
    Such a change does not count, unless `versions_matter`, because the objects are to be written.
    """

    def __init__(self, *, versions_matter: bool = False) -> None:
        self._versions_matter = versions_matter
        self.objects: dict[Key, ObjectT] = {}
        self.skipped: dict[Key, SkippedObject] = {}
        self.changes = 0
        self._touched: set[Key] | None = None
        self._values = SharedValues()

    def take_touched(self) -> AbstractSet[Key] | None:
        """Return the keys of all objects that changed, came or went since this was asked last; None is any."""
        touched, self._touched = self._touched, set()
        return touched

    def replace(self, objects: dict[Key, ObjectT], skipped: dict[Key, SkippedObject]) -> None:
        """Take a complete list, made of what `known` gave for each page."""
        if _identical(objects, self.objects) and skipped == self.skipped:
            return
        self.objects, self.skipped = objects, skipped
        self._touched = None
        self.changes += 1

    def known(self, page: Iterable[ObjectT]) -> Iterator[tuple[Key, ObjectT]]:
        """Yield the objects of a page; those that did not change stay the ones that are held."""
        for new in page:
            key = (new.namespace, new.name)
            old = self.objects.get(key)
            if old is not None and _same_version(old, new):
                yield key, old
            else:
                yield key, self._values.shared(new)

    def apply(self, type_: FrameType, content: ObjectT | SkippedObject) -> None:
        """Take one change; an object of which nothing changed that we read stays the same one."""
        key = (content.namespace, content.name)
        if type_ is not FrameType.DELETED and self._is_no_news(key, content):
            return
        # A malformed object takes the place of its last good state, which is history.
        self.objects.pop(key, None)
        self.skipped.pop(key, None)
        if type_ is not FrameType.DELETED:
            if not isinstance(content, SkippedObject):
                self.objects[key] = self._values.shared(content)
            elif len(self.skipped) < SKIPPED:
                self.skipped[key] = content
        if self._touched is not None:
            self._touched.add(key)
        self.changes += 1

    def _is_no_news(self, key: Key, content: ObjectT | SkippedObject) -> bool:
        if isinstance(content, SkippedObject):
            return self.skipped.get(key) == content
        old = self.objects.get(key)
        if old is None or self._versions_matter:
            return False
        return _reads_equal(old, content)


def _same_version(one: KubeObject, other: KubeObject) -> bool:
    version = one.metadata.resource_version
    return (
        bool(version)
        and version == other.metadata.resource_version
        and one.metadata.uid == other.metadata.uid
    )


def _reads_equal(one: KubeObject, other: KubeObject) -> bool:
    if not one.metadata.reads_as(other.metadata):
        return False
    fields = type(one).__struct_fields__
    return all(getattr(one, name) == getattr(other, name) for name in fields if name != "metadata")


def _identical(one: Mapping[Key, ObjectT], other: Mapping[Key, ObjectT]) -> bool:
    return len(one) == len(other) and all(other.get(key) is obj for key, obj in one.items())
