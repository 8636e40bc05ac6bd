"""Which kinds a dump shows to be served or unreadable, and which of its documents are used."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.report import NOT_IN_DUMP
from reporter.model.resource import AnyResource, parse_selector
from reporter.model.subject import CRD_KIND
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Discovery, ResourceState, Served

Json: TypeAlias = Mapping[str, object]
Kind: TypeAlias = tuple[str, str]

CRD_GROUP: Final = "apiextensions.k8s.io"
CRD_NAME: Final = f"customresourcedefinitions.{CRD_GROUP}"

NO_LIST: Final = "no list of them in the dump"
"""Cause for a resource of which the dump has single objects only, not a list."""

_REASON_BYTES: Final = 60


@dataclass(slots=True)
class ServedKinds:
    """Combines CustomResourceDefinitions, APIResourceLists and Status documents.

    `listed`: the dump has a complete list of CustomResourceDefinitions, so others do not exist.
    """

    listed: bool = False
    _crds: dict[str, bool] = field(default_factory=dict)
    _api_resources: dict[str, set[str]] = field(default_factory=dict)
    _is_merged: bool = False
    _failures: dict[str, ResourceState] = field(default_factory=dict)

    def take_crd(self, crd: Json) -> None:
        """Take a CustomResourceDefinition; on its own it says nothing about others."""
        name = part(crd, "metadata", "name")
        if isinstance(name, str):
            self._crds[name] = _is_served(crd)

    def take_api_resources(self, listed: Json) -> None:
        """Take the resources of one group and version; `kubectl api-resources` prints all groups in
        one list.
        """
        group = str(listed.get("groupVersion") or "").rpartition("/")[0]
        names = self._api_resources.setdefault(group, set())
        entries = listed.get("resources")
        for entry in entries if isinstance(entries, list) else ():
            name, own = part(entry, "name"), part(entry, "group")
            if isinstance(name, str) and "/" not in name:
                self._is_merged |= isinstance(own, str) and own != group
                of = own if isinstance(own, str) else group
                names.add(f"{name}.{of}" if of else name)

    def take_status(self, status: Json) -> str | None:
        """Take a Status; return a fault if it reports a failure without naming the resource.

        `details.kind` has the resource's plural; the kind is accepted too.
        """
        if status.get("status") == "Success":
            return None
        reason = status.get("reason")
        cause = _words(reason) if isinstance(reason, str) and reason else "failed"
        kind, group = part(status, "details", "kind"), part(status, "details", "group")
        if not isinstance(kind, str) or not kind:
            return f"a Status ({cause}) does not name its resource in details.kind"
        name = f"{kind}.{group}" if isinstance(group, str) and group else kind
        permission = f"list on {clean(name)}" if cause == "forbidden" else ""
        state = ResourceState(Served.UNKNOWN, cause=cause, permission=permission)
        self._failures[name.lower()] = state
        return None

    def discovery(self, held: Iterable[str], *, complete: bool, cut: bool) -> Discovery:
        """Return which resources are known to be served.

        `held`: the CRDs of objects in the dump. `cut`: some CustomResourceDefinitions are missing.
        """
        refused = CRD_NAME in self._failures
        is_whole = (self.listed or (complete and bool(self._crds))) and not (refused or cut)
        is_whole |= self._is_merged or len(self._api_resources) > 1
        served = {name for name, is_served in self._crds.items() if is_served}
        served.update(*self._api_resources.values())
        denied = self._crds.keys() - served
        served.update(each for each in held if each not in denied)
        return Discovery(
            frozenset(served) if served or denied or is_whole or self._api_resources else None,
            known_groups=None if is_whole else frozenset(self._api_resources),
            absent=frozenset(denied),
        )

    def unlisted(self) -> str:
        if refused := self._failures.get(CRD_NAME):
            return refused.cause
        return NO_LIST if self._crds or self._api_resources else NOT_IN_DUMP

    def failure(self, resource: AnyResource) -> ResourceState | None:
        by_kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        return self._failures.get(str(resource)) or self._failures.get(by_kind.lower())


def part(value: object, *path: str) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def kind_of(value: object) -> Kind | None:
    version, kind = part(value, "apiVersion"), part(value, "kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not kind:
        return None
    return version.rpartition("/")[0], kind


def _is_served(crd: Json) -> bool:
    """True if discovery lists a CRD: it is established, and one of its versions is served."""
    versions = part(crd, "spec", "versions")
    if isinstance(versions, list) and versions:
        served = [each.get("served", True) for each in versions if isinstance(each, dict)]
        if not any(served):
            return False
    conditions = part(crd, "status", "conditions")
    return not any(
        (part(each, "type"), part(each, "status")) == ("Established", "False")
        for each in (conditions if isinstance(conditions, list) else ())
    )


def _words(reason: str) -> str:
    spaced = "".join(f" {each.lower()}" if each.isupper() else each for each in clean(reason))
    return cut(spaced.strip(), _REASON_BYTES)


EVENTS_GROUP: Final = "events.k8s.io"
"""The newer API group of Events; both groups serve the same objects."""


class Wanted:
    """The resources that a live reporter reads; selects documents by the same rules."""

    def __init__(
        self,
        resources: Iterable[AnyResource],
        declared: Iterable[AnyResource] = (),
    ) -> None:
        self.resources = tuple(resources)
        self.declared = frozenset(declared)
        self.kinds = {each.kind for each in self.resources} | {CRD_KIND}
        self._by_kind: dict[tuple[str, str], tuple[AnyResource, ...]] = {}
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

    def of_kind(self, group: str, kind: str) -> tuple[AnyResource, ...]:
        if (group, kind) == (EVENTS_GROUP, "Event"):
            return (r.EVENTS,)
        return self._by_kind.get((group, kind), ())

    def of_file(self, source: str) -> Kind | None:
        """Return the kind that a file is named after: kubectl prints empty lists without a kind."""
        return self._by_name.get(PurePath(source).stem)

    def is_crd(self, group: str, kind: str) -> bool:
        return (group, kind) == (CRD_GROUP, CRD_KIND)

    def selects(self, resource: AnyResource, meta: Json) -> bool:
        labels = meta.get("labels")
        if not self._selectors[resource].matches(labels if isinstance(labels, dict) else None):
            return False
        if resource is r.EVENTS:
            return meta.get("namespace") == r.EVENT_NAMESPACE
        if resource is r.CONFIGMAPS:
            name = meta.get("name")
            return isinstance(name, str) and f"{name}-".startswith(f"{r.ISTIO_CONFIGMAP}-")
        return True
