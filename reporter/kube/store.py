"""The objects of an informer."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec.inspect

from reporter.kube.decode import FrameType, SharedValues
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.snapshot.decode import skipped

ObjectT = TypeVar("ObjectT", bound=KubeObject)
Key: TypeAlias = tuple[str, str]

SKIPPED: Final = 200
"""Most skipped objects of one kind in one namespace that are kept by name."""

MOST_BYTES: Final = 32 * 2**20
"""Approximate memory limit for one kind's objects in one namespace; a model's pod takes about
5 KiB. Objects beyond it are skipped and count as unknown: a tenant of one namespace must not use up
the memory that all share."""

MOST_IN_ALL: Final = 96 * 2**20
"""The same limit for all kinds together; cluster-scoped objects have no tenant and are exempt."""

_TOO_MUCH: Final = (
    f"the objects of this kind in its namespace take more than {MOST_BYTES >> 20} MiB of memory"
)
_TOO_MUCH_IN_ALL: Final = (
    f"the objects of its namespace take more than {MOST_IN_ALL >> 20} MiB of memory"
)


class Skips(dict[Key, SkippedObject]):
    """The skipped objects by namespace and name.

    Beyond `SKIPPED` of a namespace, one without a name stands for all there: what is left out must
    not seem not to exist.
    """

    def __init__(self, skipped: Iterable[SkippedObject] = ()) -> None:
        super().__init__()
        self._counts = Counter[str]()
        for each in skipped:
            self.keep(each)

    def keep(self, each: SkippedObject) -> None:
        if (each.namespace, "") in self:
            return
        if self._counts[each.namespace] >= SKIPPED:
            each = SkippedObject(each.resource, each.namespace, "", each.cause)
        key = (each.namespace, each.name)
        self._counts[each.namespace] += key not in self
        self[key] = each

    def drop(self, key: Key) -> None:
        if self.pop(key, None) is not None:
            self._counts[key[0]] -= 1


@dataclass(eq=False)
class Store(Generic[ObjectT]):
    """The objects by namespace and name, and a counter of their changes.

    Many objects keep changing in fields that we do not read, such as the heartbeats of Nodes. Such
    a change counts only with `versions_matter`, for objects that we also write. `in_all` counts the
    bytes of each namespace over the stores of all kinds.
    """

    resource: Resource[ObjectT]
    _: KW_ONLY
    versions_matter: bool = False
    in_all: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.objects: dict[Key, ObjectT] = {}
        self.skipped = Skips()
        self.changes = 0
        self._touched: set[Key] | None = None
        self._values = SharedValues()
        self._bytes: dict[Key, int] = {}
        self._spent: Counter[str] = Counter()

    def take_touched(self) -> AbstractSet[Key] | None:
        """Return the keys of objects that changed, came or went since the last call; None means
        that any may have.
        """
        touched, self._touched = self._touched, set()
        return touched

    def replace(self, objects: dict[Key, ObjectT], skipped: dict[Key, SkippedObject]) -> None:
        """Replace all objects by a complete list, made of the results of `known` for each page."""
        for key in self._bytes.keys() - objects.keys():
            self._forget(key)
        known = self.objects
        same = len(objects) == len(known) and all(
            known.get(key) is obj for key, obj in objects.items()
        )
        if same and skipped == self.skipped:
            return
        self.objects, self.skipped = objects, Skips(skipped.values())
        self._touched = None
        self.changes += 1

    def known(self, page: Iterable[ObjectT]) -> tuple[dict[Key, ObjectT], list[SkippedObject]]:
        """Return the objects of a page as stored, and those left out for lack of memory.

        An unchanged object is returned as the instance already stored.
        """
        objects: dict[Key, ObjectT] = {}
        left_out: list[SkippedObject] = []
        like: ObjectT | None = None
        for new in page:
            key = (new.namespace, new.name)
            old = self.objects.get(key)
            held = old if old is not None and _same_version(old, new) else self._held(new, like)
            if isinstance(held, SkippedObject):
                left_out.append(held)
            else:
                objects[key] = like = held
        return objects, left_out

    def _held(self, new: ObjectT, like: ObjectT | None) -> ObjectT | SkippedObject:
        """Return an object that shares equal parts with `like`; or, if its namespace has used up
        its memory, the reason why it is skipped.
        """
        key = (new.namespace, new.name)
        like = like if like is not None and _is_typed(type(new)) else None
        taken = self._bytes.get((like.namespace, like.name), 0) if like is not None else 0
        self._forget(key)
        taken += self._values.measured(new, like)
        if self._spent[new.namespace] + taken > MOST_BYTES:
            return skipped(self.resource, *key, cause=_TOO_MUCH)
        if new.namespace and self.in_all[new.namespace] + taken > MOST_IN_ALL:
            return skipped(self.resource, *key, cause=_TOO_MUCH_IN_ALL)
        self._spent[new.namespace] += taken
        self.in_all[new.namespace] += taken
        self._bytes[key] = taken
        return new

    def _forget(self, key: Key) -> None:
        taken = self._bytes.pop(key, 0)
        for counts in (self._spent, self.in_all):
            counts[key[0]] -= taken
            if counts[key[0]] <= 0:
                del counts[key[0]]

    def close(self) -> None:
        """Return the memory to the namespaces' shares when the kind is no longer read."""
        self.in_all.subtract(self._spent)
        self._spent.clear()
        self._bytes.clear()

    def apply(self, type_: FrameType, content: ObjectT | SkippedObject) -> bool:
        """Apply one change; False if nothing that we read has changed, and the old object stays."""
        key = (content.namespace, content.name)
        if type_ is not FrameType.DELETED and self._is_no_news(key, content):
            return False
        # A malformed object replaces its last good state, which is outdated.
        old = self.objects.pop(key, None)
        self.skipped.drop(key)
        if type_ is FrameType.DELETED or isinstance(content, SkippedObject):
            self._forget(key)
        if type_ is not FrameType.DELETED:
            held = content if isinstance(content, SkippedObject) else self._held(content, old)
            if not isinstance(held, SkippedObject):
                self.objects[key] = held
            else:
                self.skipped.keep(held)
        if self._touched is not None:
            self._touched.add(key)
        self.changes += 1
        return True

    def _is_no_news(self, key: Key, content: ObjectT | SkippedObject) -> bool:
        if isinstance(content, SkippedObject):
            return self.skipped.get(key) == content
        old = self.objects.get(key)
        if old is None or self.versions_matter:
            return False
        return _reads_equal(old, content)


@cache
def _is_typed(type_: type[KubeObject]) -> bool:
    """True if equal objects are the same JSON; with untyped fields they may not be: 1 == True."""
    shape = repr(msgspec.inspect.type_info(type_))
    return "AnyType" not in shape and repr(object) not in shape


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
