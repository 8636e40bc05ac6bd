"""Which documents of a dump are of use: those that a live reporter would read."""

from collections.abc import Iterable
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.selection import parse_selector
from reporter.snapshot.dump_served import CRD_KIND, Json

EVENTS_GROUP: Final = "events.k8s.io"
"""The newer group of Events; both have the same objects."""


class Wanted:
    """What a live reporter would read, to choose from documents in the same way."""

    def __init__(self, resources: Iterable[Resource[KubeObject]]) -> None:
        self.resources = tuple(resources)
        self.kinds = {each.kind for each in self.resources} | {CRD_KIND}
        self._by_kind: dict[tuple[str, str], tuple[Resource[KubeObject], ...]] = {}
        for each in self.resources:
            key = (each.group, each.kind)
            self._by_kind[key] = (*self._by_kind.get(key, ()), each)
        self._selectors = {each: parse_selector(each.label_selector) for each in self.resources}

    def of_kind(self, group: str, kind: str) -> tuple[Resource[KubeObject], ...]:
        """Return the resources of a kind; they differ in which of its objects they select."""
        if (group, kind) == (EVENTS_GROUP, "Event"):
            return (r.EVENTS,)
        return self._by_kind.get((group, kind), ())

    def selects(self, resource: Resource[KubeObject], meta: Json) -> bool:
        """Tell whether a live reporter would read the object too."""
        labels = meta.get("labels")
        if not self._selectors[resource].matches(labels if isinstance(labels, dict) else None):
            return False
        if resource is r.EVENTS:
            return meta.get("namespace") == r.EVENT_NAMESPACE
        if resource is r.CONFIGMAPS:
            name = meta.get("name")
            return isinstance(name, str) and f"{name}-".startswith(f"{r.ISTIO_CONFIGMAP}-")
        return True
