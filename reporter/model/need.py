"""What shows that a cluster needs a shared part: a row of the tables, with its evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

ObjectT = TypeVar("ObjectT", bound=KubeObject)


class Objects(Protocol):
    """The objects of a cluster, by resource, in the order of namespace and name."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]:
        """Return the objects of a resource."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """Objects that do nothing without a part.

    Attributes:
        by: the resource that they are of.
        words: which of its objects, for the documentation, in the plural.
        evidence: why they need the part, with its public source.
        shows: tells whether an object is one of them; others may have to be looked up.
        detail: what a message says of one behind its name, with a space before it.

    """

    by: Resource[KubeObject]
    words: str
    evidence: str
    shows: Callable[[KubeObject, Objects], bool]
    detail: Callable[[KubeObject], str]

    def first(self, objects: Objects) -> str:
        """Return the first object that shows it, as a message names it; empty where none does."""
        for each in objects[self.by]:
            if not each.deleting and self.shows(each, objects):
                return f"{self.by.ref(each)}{self.detail(each)}"
        return ""


def need(
    by: Resource[ObjectT],
    words: str,
    *,
    evidence: str,
    shows: Callable[[ObjectT, Objects], bool] = lambda _, __: True,
    detail: Callable[[ObjectT], str] = lambda _: "",
) -> Need:
    """Return a need that some or all objects of a resource show; see `Need`."""

    def _shows(obj: KubeObject, objects: Objects) -> bool:
        return isinstance(obj, by.type) and shows(obj, objects)

    def _detail(obj: KubeObject) -> str:
        return detail(obj) if isinstance(obj, by.type) else ""

    return Need(by=by, words=words, evidence=evidence, shows=_shows, detail=_detail)
