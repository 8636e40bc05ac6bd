"""What shows that a cluster needs a shared part: a row of the tables, with its evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

ObjectT = TypeVar("ObjectT", bound=KubeObject)


class Objects(Protocol):
    """The objects of a cluster, by resource, in the order of namespace and name."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]:
        """Return the objects of a resource."""

    def known(self, resource: Resource[KubeObject], /) -> bool:
        """True if the resource was read, or is known to be absent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """Objects that do nothing without a part.

    Attributes:
        by: the resource that they are of.
        words: which of its objects, for the documentation, in the plural.
        evidence: why they need the part, with its public source.
        shows: tells whether an object is one of them; others may have to be looked up.
        alone: tells the same of an object that is not being deleted, where none has to be.
        detail: what a message says of one behind its name, with a space before it.

    """

    by: Resource[KubeObject]
    words: str
    evidence: str
    shows: Callable[[KubeObject, Objects], bool]
    alone: Callable[[KubeObject], bool] | None
    detail: Callable[[KubeObject], str]

    def first(self, objects: Objects) -> str:
        """Return the first object that shows it, as a message names it; empty where none does."""
        for each in objects[self.by]:
            if not each.deleting and self.shows(each, objects):
                return self.names(each)
        return ""

    def names(self, obj: KubeObject) -> str:
        """Return an object as a message names it."""
        return f"{self.by.ref(obj)}{self.detail(obj)}"


class _NoOthers:
    """Nothing can be looked up: what shows a need says so where it looks up others."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]:
        raise TypeError(f"{resource} is looked up by a need that looks at each object alone")

    def known(self, resource: Resource[KubeObject], /) -> bool:
        raise TypeError(f"{resource} is looked up by a need that looks at each object alone")


_NO_OTHERS: Final = _NoOthers()


def need(
    by: Resource[ObjectT],
    words: str,
    *,
    evidence: str,
    shows: Callable[[ObjectT, Objects], bool] = lambda _, __: True,
    detail: Callable[[ObjectT], str] = lambda _: "",
    looks_up: bool = False,
) -> Need:
    """Return a need that some or all objects of a resource show; see `Need`.

    `looks_up` says that other objects decide too, so that it has to be asked again when they change.
    """

    def _shows(obj: KubeObject, objects: Objects) -> bool:
        return isinstance(obj, by.type) and shows(obj, objects)

    def _detail(obj: KubeObject) -> str:
        return detail(obj) if isinstance(obj, by.type) else ""

    def _alone(obj: KubeObject) -> bool:
        return not obj.deleting and _shows(obj, _NO_OTHERS)

    return Need(
        by=by,
        words=words,
        evidence=evidence,
        shows=_shows,
        alone=None if looks_up else _alone,
        detail=_detail,
    )
