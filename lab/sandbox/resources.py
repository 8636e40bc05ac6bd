"""What a served resource is, and the resources that are always served."""

from dataclasses import dataclass, field

from lab.sandbox.objects import JSON, Object

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
CUSTOM_VERBS = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
"""The same, in the order in which discovery lists them for custom kinds."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the scale subresource reads and writes."""

    replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".spec.selector"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """An additional printer column of a custom kind."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One plural in one version of one group.

    `storage` names the collection that holds the objects: versions of a custom kind share one,
    and so do the two event resources.
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
        """The resource as rules and messages name it: `plural` or `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def collection(self) -> str:
        """The name of the collection that holds the objects."""
        return self.storage or self.name

    @property
    def listed_as(self) -> str:
        """The kind of a list of these objects."""
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        """The singular name for command lines."""
        return self.singular or self.kind.lower()

    @property
    def is_event(self) -> bool:
        """Whether this is one of the two views of Events."""
        return self.collection == "events"


EVENTS_GROUP = "events.k8s.io"
CRD_COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
LEASE_COLLECTION = "leases.coordination.k8s.io"

_WORKLOAD: dict[str, JSON] = {"status": True, "generation": True, "categories": ("all",)}
_CREATE_ONLY: dict[str, JSON] = {"namespaced": False, "verbs": ("create",)}
_REPLICATED = ScalePaths()


def _resource(group: str, version: str, plural: str, *, kind: str, **rest: JSON) -> Resource:
    short = tuple(str(rest.pop("short", "")).split())
    return Resource(
        group=group, version=version, plural=plural, kind=kind, short_names=short, **rest
    )


BUILT_IN: tuple[Resource, ...] = (
    _resource("", "v1", "configmaps", kind="ConfigMap", short="cm"),
    _resource("", "v1", "endpoints", kind="Endpoints", short="ep", list_kind="EndpointsList"),
    _resource("", "v1", "events", kind="Event", short="ev", create_on_update=True),
    _resource("", "v1", "limitranges", kind="LimitRange", short="limits"),
    _resource(
        "",
        "v1",
        "namespaces",
        kind="Namespace",
        short="ns",
        namespaced=False,
        status=True,
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    ),
    _resource("", "v1", "nodes", kind="Node", short="no", namespaced=False, status=True),
    _resource(
        "", "v1", "persistentvolumeclaims", kind="PersistentVolumeClaim", short="pvc", status=True
    ),
    _resource(
        "",
        "v1",
        "persistentvolumes",
        kind="PersistentVolume",
        short="pv",
        namespaced=False,
        status=True,
    ),
    _resource("", "v1", "pods", kind="Pod", short="po", **_WORKLOAD),
    _resource("", "v1", "resourcequotas", kind="ResourceQuota", short="quota", status=True),
    _resource("", "v1", "secrets", kind="Secret"),
    _resource("", "v1", "serviceaccounts", kind="ServiceAccount", short="sa"),
    _resource("", "v1", "services", kind="Service", short="svc", status=True, categories=("all",)),
    _resource("apps", "v1", "controllerrevisions", kind="ControllerRevision"),
    _resource("apps", "v1", "daemonsets", kind="DaemonSet", short="ds", **_WORKLOAD),
    _resource(
        "apps",
        "v1",
        "deployments",
        kind="Deployment",
        short="deploy",
        scale=_REPLICATED,
        **_WORKLOAD,
    ),
    _resource(
        "apps", "v1", "replicasets", kind="ReplicaSet", short="rs", scale=_REPLICATED, **_WORKLOAD
    ),
    _resource(
        "apps",
        "v1",
        "statefulsets",
        kind="StatefulSet",
        short="sts",
        scale=_REPLICATED,
        **_WORKLOAD,
    ),
    _resource(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        kind="HorizontalPodAutoscaler",
        short="hpa",
        status=True,
    ),
    _resource("batch", "v1", "jobs", kind="Job", **_WORKLOAD),
    _resource(
        "coordination.k8s.io",
        "v1",
        "leases",
        kind="Lease",
        unconditional_update=False,
        create_on_update=True,
    ),
    _resource("discovery.k8s.io", "v1", "endpointslices", kind="EndpointSlice", generation=True),
    _resource(
        EVENTS_GROUP,
        "v1",
        "events",
        kind="Event",
        short="ev",
        storage="events",
        create_on_update=True,
    ),
    _resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        kind="CustomResourceDefinition",
        short="crd crds",
        namespaced=False,
        status=True,
        generation=True,
        unconditional_update=False,
        categories=("api-extensions",),
    ),
    _resource(
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        kind="NetworkPolicy",
        short="netpol",
        generation=True,
    ),
    _resource(
        "policy",
        "v1",
        "poddisruptionbudgets",
        kind="PodDisruptionBudget",
        short="pdb",
        status=True,
        generation=True,
    ),
    _resource(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        kind="SelfSubjectAccessReview",
        **_CREATE_ONLY,
    ),
    _resource(
        "authorization.k8s.io",
        "v1",
        "selfsubjectrulesreviews",
        kind="SelfSubjectRulesReview",
        **_CREATE_ONLY,
    ),
    _resource(
        "authorization.k8s.io",
        "v1",
        "subjectaccessreviews",
        kind="SubjectAccessReview",
        **_CREATE_ONLY,
    ),
    _resource("authentication.k8s.io", "v1", "tokenreviews", kind="TokenReview", **_CREATE_ONLY),
)
"""Custom resources of a group not listed here are served through CustomResourceDefinitions."""
