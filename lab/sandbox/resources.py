"""The served groups, versions and resources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.sandbox.objects import JSON, Object, dig, name_of

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The same verbs, in discovery's order for custom kinds."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The fields that the scale subresource reads and writes."""

    replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".spec.selector"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One plural in one version of one group.

    `storage` names the collection of the objects: versions of a custom kind share one, and so do
    the two event resources.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    storage: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    status: bool = False
    scale: ScalePaths | None = None
    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    custom: bool = False
    schema: Object | None = field(default=None, hash=False, compare=False)
    columns: tuple[PrinterColumn, ...] = ()
    selectable: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """The `apiVersion` of objects in this version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name in rules and messages: `plural` or `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def collection(self) -> str:
        """The name of the collection of the objects."""
        return self.storage or self.name

    @property
    def listed_as(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        return self.singular or self.kind.lower()

    @property
    def is_event(self) -> bool:
        return self.collection == "events"


EVENTS_GROUP = "events.k8s.io"
CRD_COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
LEASE_COLLECTION = "leases.coordination.k8s.io"

_WORKLOAD: dict[str, JSON] = {"status": True, "generation": True, "categories": ("all",)}
_CLUSTER_WIDE: dict[str, JSON] = {"namespaced": False}
_CREATE_ONLY: dict[str, JSON] = {"namespaced": False, "verbs": ("create",)}
_REPLICATED: dict[str, JSON] = {"scale": ScalePaths(), **_WORKLOAD}
_BY_PUT: dict[str, JSON] = {"create_on_update": True}
_NO_COLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
_DEFINITIONS: dict[str, JSON] = {
    "status": True,
    "generation": True,
    "unconditional_update": False,
    "categories": ("api-extensions",),
}


def _row(api_version: str, plural: str, kind: str, *, short: str = "", **rest: JSON) -> Resource:
    group, _, version = api_version.rpartition("/")
    short_names = tuple(short.split())
    return Resource(
        group=group, version=version, plural=plural, kind=kind, short_names=short_names, **rest
    )


BUILT_IN: tuple[Resource, ...] = (
    _row("v1", "configmaps", "ConfigMap", short="cm"),
    _row("v1", "endpoints", "Endpoints", short="ep", list_kind="EndpointsList"),
    _row("v1", "events", "Event", short="ev", **_BY_PUT),
    _row("v1", "limitranges", "LimitRange", short="limits"),
    _row(
        "v1",
        "namespaces",
        "Namespace",
        short="ns",
        status=True,
        verbs=_NO_COLLECTION,
        **_CLUSTER_WIDE,
    ),
    _row("v1", "nodes", "Node", short="no", status=True, **_CLUSTER_WIDE),
    _row("v1", "persistentvolumeclaims", "PersistentVolumeClaim", short="pvc", status=True),
    _row("v1", "persistentvolumes", "PersistentVolume", short="pv", status=True, **_CLUSTER_WIDE),
    _row("v1", "pods", "Pod", short="po", **_WORKLOAD),
    _row("v1", "resourcequotas", "ResourceQuota", short="quota", status=True),
    _row("v1", "secrets", "Secret"),
    _row("v1", "serviceaccounts", "ServiceAccount", short="sa"),
    _row("v1", "services", "Service", short="svc", status=True, categories=("all",)),
    _row("apps/v1", "controllerrevisions", "ControllerRevision"),
    _row("apps/v1", "daemonsets", "DaemonSet", short="ds", **_WORKLOAD),
    _row("apps/v1", "deployments", "Deployment", short="deploy", **_REPLICATED),
    _row("apps/v1", "replicasets", "ReplicaSet", short="rs", **_REPLICATED),
    _row("apps/v1", "statefulsets", "StatefulSet", short="sts", **_REPLICATED),
    _row(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        short="hpa",
        status=True,
    ),
    _row("batch/v1", "jobs", "Job", **_WORKLOAD),
    _row("coordination.k8s.io/v1", "leases", "Lease", unconditional_update=False, **_BY_PUT),
    _row("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", generation=True),
    _row(f"{EVENTS_GROUP}/v1", "events", "Event", short="ev", storage="events", **_BY_PUT),
    _row(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        short="crd crds",
        **_CLUSTER_WIDE,
        **_DEFINITIONS,
    ),
    _row(
        "networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", short="netpol", generation=True
    ),
    _row(
        "policy/v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short="pdb",
        status=True,
        generation=True,
    ),
    _row(
        "authorization.k8s.io/v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        **_CREATE_ONLY,
    ),
    _row(
        "authorization.k8s.io/v1",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        **_CREATE_ONLY,
    ),
    _row("authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", **_CREATE_ONLY),
    _row("authentication.k8s.io/v1", "tokenreviews", "TokenReview", **_CREATE_ONLY),
)
"""Resources of other groups are served through CustomResourceDefinitions."""


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
