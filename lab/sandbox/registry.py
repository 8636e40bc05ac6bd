"""The served groups, versions and resources."""

import re
from collections.abc import Iterator

from lab.sandbox.objects import Object, dig, name_of
from lab.sandbox.resources import BUILT_IN, CUSTOM_VERBS, PrinterColumn, Resource, ScalePaths

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


class Registry:
    """Served resources by path and by kind."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self.generation = 0
        for resource in BUILT_IN:
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def add(self, resource: Resource) -> None:
        """Serve a resource; it replaces one at the same path."""
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self._by_kind[resource.api_version, resource.kind] = resource
        self.generation += 1

    def remove_collection(self, collection: str) -> None:
        """Stop serving all versions of a kind."""
        for path, resource in list(self._by_path.items()):
            if resource.collection == collection:
                del self._by_path[path]
                self._by_kind.pop((resource.api_version, resource.kind), None)
        self.generation += 1

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the resource at a path."""
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of objects with this type."""
        return self._by_kind.get((api_version, kind))

    def by_name(self, name: str) -> Resource | None:
        """Return the resource named `plural` or `plural.group`, in its first version."""
        plural, _, group = name.partition(".")
        return next((item for item in self if item.plural == plural and item.group == group), None)

    def primary(self, collection: str) -> Resource | None:
        """Return the first served resource over a collection."""
        return next((item for item in self if item.collection == collection), None)

    def is_built_in(self, group: str) -> bool:
        """Return whether the server itself serves a group, not CustomResourceDefinitions."""
        return any(item.group == group and not item.custom for item in self)

    def versions(self) -> dict[str, list[str]]:
        """Return the served versions by group, preferred first; the core group is ``""``."""
        found: dict[str, list[str]] = {}
        for resource in self:
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        return {group: sorted(found[group], key=version_priority) for group in sorted(found)}

    def resources(self, group: str, version: str) -> list[Resource]:
        """Return the resources of one group and version, by name."""
        found = (item for item in self if (item.group, item.version) == (group, version))
        return sorted(found, key=lambda item: item.plural)


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort versions: stable before beta before alpha, newer first, other names last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    major, stage, minor = match.groups()
    return (("", "beta", "alpha").index(stage or ""), -int(major), -int(minor or 0), "")


def custom_resources(crd: Object) -> list[Resource]:
    """Return the resources that a CustomResourceDefinition defines, one for each version."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    versions = sorted(
        (item for item in spec.get("versions") or () if item.get("served")),
        key=lambda item: version_priority(str(item.get("name"))),
    )
    return [
        Resource(
            group=str(spec["group"]),
            version=str(version["name"]),
            plural=str(names["plural"]),
            kind=str(names["kind"]),
            singular=str(names.get("singular") or ""),
            list_kind=str(names.get("listKind") or ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            namespaced=spec.get("scope") != "Cluster",
            storage=name_of(crd),
            status=dig(version, "subresources", "status") is not None,
            scale=_scale(dig(version, "subresources", "scale")),
            generation=True,
            unconditional_update=False,
            custom=True,
            verbs=CUSTOM_VERBS,
            schema=dig(version, "schema", "openAPIV3Schema"),
            columns=tuple(_columns(version)),
            selectable=tuple(
                str(item.get("jsonPath", "")).lstrip(".")
                for item in version.get("selectableFields") or ()
            ),
        )
        for version in versions
    ]


def _scale(paths: Object | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        replicas=str(paths.get("specReplicasPath") or ".spec.replicas"),
        status_replicas=str(paths.get("statusReplicasPath") or ".status.replicas"),
        selector=str(paths.get("labelSelectorPath") or ""),
    )


def _columns(version: Object) -> Iterator[PrinterColumn]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        declared = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    for column in declared:
        yield PrinterColumn(
            name=str(column.get("name", "")),
            type=str(column.get("type", "string")),
            json_path=str(column.get("jsonPath", "")),
            description=str(column.get("description", "")),
            format=str(column.get("format", "")),
            priority=int(column.get("priority", 0)),
        )
