"""Which documents of a dump are of use: those that a live reporter would read."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource, parse_selector
from reporter.snapshot.dump_served import CRD_GROUP, CRD_KIND, CRD_NAME, Json, Kind

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
        self._by_name: dict[str, Kind] = {
            **{each.plural: (each.group, each.kind) for each in self.resources},
            **{str(each): (each.group, each.kind) for each in self.resources},
            **dict.fromkeys(("crd", "crds", CRD_NAME), (CRD_GROUP, CRD_KIND)),
            "ns": (r.NAMESPACES.group, r.NAMESPACES.kind),
        }
        self._selectors = {each: parse_selector(each.label_selector) for each in self.resources}

    def of_kind(self, group: str, kind: str) -> tuple[Resource[KubeObject], ...]:
        """Return the resources of a kind; they differ in which of its objects they select."""
        if (group, kind) == (EVENTS_GROUP, "Event"):
            return (r.EVENTS,)
        return self._by_kind.get((group, kind), ())

    def of_file(self, source: str) -> Kind | None:
        """Return the kind whose list a file is named after: kubectl prints an empty one without it."""
        return self._by_name.get(PurePath(source).stem)

    def is_crd(self, group: str, kind: str) -> bool:
        """Tell whether a kind is that of definitions of kinds, which are not read as objects."""
        return (group, kind) == (CRD_GROUP, CRD_KIND)

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
