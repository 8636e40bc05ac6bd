"""The served groups, versions and resources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.sandbox.objects import JSON, Object, dig

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The same verbs, in discovery's order for custom kinds."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The fields that the scale subresource reads and writes."""

    replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".spec.selector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One plural in one version of one group; all versions share the collection `name`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
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
    columns: tuple[Object, ...] = field(default=(), hash=False)
    """The additionalPrinterColumns of a custom kind."""

    selectable: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name in rules and messages, and of the collection of the objects."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def listed_as(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        return self.singular or self.kind.lower()

    @property
    def is_event(self) -> bool:
        return self.name == "events"


CRD_COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
LEASE_COLLECTION = "leases.coordination.k8s.io"

_TRAITS: dict[str, dict[str, JSON]] = {
    "+all": {"categories": ("all",)},
    "+by-put": {"create_on_update": True},
    "+cluster": {"namespaced": False},
    "+definition": {"unconditional_update": False, "categories": ("api-extensions",)},
    "+generation": {"generation": True},
    "+kept": {"verbs": tuple(verb for verb in ALL_VERBS if verb != "deletecollection")},
    "+review": {"namespaced": False, "verbs": ("create",)},
    "+scale": {"scale": ScalePaths()},
    "+status": {"status": True},
    "+versioned": {"unconditional_update": False},
}
_TABLE = """
v1 configmaps ConfigMap cm
v1 endpoints Endpoints ep
v1 events Event ev +by-put
v1 limitranges LimitRange limits
v1 namespaces Namespace ns +cluster +status +kept
v1 nodes Node no +cluster +status
v1 persistentvolumeclaims PersistentVolumeClaim pvc +status
v1 persistentvolumes PersistentVolume pv +cluster +status
v1 pods Pod po +all +status +generation
v1 resourcequotas ResourceQuota quota +status
v1 secrets Secret
v1 serviceaccounts ServiceAccount sa
v1 services Service svc +all +status
apps/v1 controllerrevisions ControllerRevision
apps/v1 daemonsets DaemonSet ds +all +status +generation
apps/v1 deployments Deployment deploy +all +status +generation +scale
apps/v1 replicasets ReplicaSet rs +all +status +generation +scale
apps/v1 statefulsets StatefulSet sts +all +status +generation +scale
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler hpa +status
batch/v1 jobs Job +all +status +generation
coordination.k8s.io/v1 leases Lease +by-put +versioned
discovery.k8s.io/v1 endpointslices EndpointSlice +generation
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition crd crds
  +cluster +status +generation +definition
networking.k8s.io/v1 networkpolicies NetworkPolicy netpol +generation
policy/v1 poddisruptionbudgets PodDisruptionBudget pdb +status +generation
authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview +review
authorization.k8s.io/v1 subjectaccessreviews SubjectAccessReview +review
authentication.k8s.io/v1 tokenreviews TokenReview +review
"""
"""Version, plural, kind, short names and traits of the built-in resources.

Resources of other groups are served through CustomResourceDefinitions.
"""


def _built_in(row: str) -> Resource:
    api_version, plural, kind, *rest = row.split()
    group, _, version = api_version.rpartition("/")
    traits: dict[str, JSON] = {}
    for word in rest:
        traits |= _TRAITS.get(word, {})
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        short_names=tuple(word for word in rest if word not in _TRAITS),
        **traits,
    )


BUILT_IN = tuple(map(_built_in, _TABLE.replace("\n  ", " ").strip().splitlines()))


_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


class Registry:
    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for resource in BUILT_IN:
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def add(self, resource: Resource) -> None:
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self._by_kind[resource.api_version, resource.kind] = resource

    def remove(self, name: str) -> None:
        """Stop serving all versions of a kind."""
        for path, resource in list(self._by_path.items()):
            if resource.name == name:
                del self._by_path[path]
                self._by_kind.pop((resource.api_version, resource.kind), None)

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version, kind))

    def by_name(self, name: str) -> Resource | None:
        """Return the resource named `plural` or `plural.group`, in its first version."""
        plural, _, group = name.partition(".")
        return next((item for item in self if item.plural == plural and item.group == group), None)

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
        found = (item for item in self if (item.group, item.version) == (group, version))
        return sorted(found, key=lambda item: item.plural)


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort versions: stable before beta before alpha, newer first, other names last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    major, stage, minor = match.groups()
    return (("", "beta", "alpha").index(stage or ""), -int(major), -int(minor or 0), "")


_AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


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
            status=dig(version, "subresources", "status") is not None,
            scale=_scale(dig(version, "subresources", "scale")),
            generation=True,
            unconditional_update=False,
            custom=True,
            verbs=CUSTOM_VERBS,
            schema=dig(version, "schema", "openAPIV3Schema"),
            columns=tuple(version.get("additionalPrinterColumns") or (_AGE,)),
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
