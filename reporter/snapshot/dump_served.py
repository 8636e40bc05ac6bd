"""What a dump says about which kinds are served, and which could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Discovery, ResourceState, Served

Json: TypeAlias = Mapping[str, object]

CRD_GROUP: Final = "apiextensions.k8s.io"
CRD_KIND: Final = "CustomResourceDefinition"
_CRD_NAME: Final = f"customresourcedefinitions.{CRD_GROUP}"
_REASON_BYTES: Final = 60


@dataclass(slots=True)
class ServedKinds:
    """What CustomResourceDefinitions, APIResourceLists and Status documents say together."""

    _crds: set[str] | None = None
    _api_resources: set[str] | None = None
    _failures: dict[str, ResourceState] = field(default_factory=dict)

    def look_at_crds(self) -> None:
        """Note that somebody listed CustomResourceDefinitions, if only to find none."""
        self._crds = self._crds or set()

    def take_crd(self, crd: Json) -> None:
        """Take a CustomResourceDefinition."""
        self.look_at_crds()
        name = part(crd, "metadata", "name")
        if self._crds is not None and isinstance(name, str) and _is_served(crd):
            self._crds.add(name)

    def take_api_resources(self, listed: Json) -> None:
        """Take an APIResourceList: the resources of one group and version."""
        names = self._api_resources = self._api_resources or set()
        group = str(listed.get("groupVersion") or "").rpartition("/")[0]
        entries = listed.get("resources")
        for entry in entries if isinstance(entries, list) else ():
            name = part(entry, "name")
            if isinstance(name, str) and "/" not in name:
                names.add(f"{name}.{group}" if group else name)

    def take_status(self, status: Json) -> str | None:
        """Take a Status; return what is wrong if it tells of a failure but not of what.

        A Status names the resource by its plural; the kind is understood too.
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

    def discovery(self) -> Discovery:
        """Return what is known to be served."""
        crds = None if _CRD_NAME in self._failures else self._crds
        if crds is None and self._api_resources is None:
            return Discovery()
        return Discovery(frozenset(crds or ()) | frozenset(self._api_resources or ()))

    def failure(self, resource: Resource[KubeObject]) -> ResourceState | None:
        """Return the state of a resource that could not be read."""
        by_kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        return self._failures.get(str(resource)) or self._failures.get(by_kind.lower())


def part(value: object, *path: str) -> object:
    """Return what stands at a path in a document, None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_served(crd: Json) -> bool:
    """Tell whether discovery lists it: it is established, and one of its versions is served."""
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
    """Return `ServiceUnavailable` as `service unavailable`."""
    spaced = "".join(f" {each.lower()}" if each.isupper() else each for each in clean(reason))
    return cut(spaced.strip(), _REASON_BYTES)
