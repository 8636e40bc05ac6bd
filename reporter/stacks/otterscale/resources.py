"""What is read for OtterScale alone."""

from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.otterscale import objects
from reporter.stacks.otterscale.made import Made

STACK: Final = "otterscale"
"""Its name in `--stacks`."""

MadeResource: TypeAlias = Resource[Made]
"""A kind that is read in any case, with the whole of what the operator makes of it."""

MODELSERVICE_KIND: Final = SubjectKind("modelservice")

MODELSERVICES: Final = Resource(
    group="model.otterscale.io", versions=("v1alpha1",), plural="modelservices",
    kind="ModelService", namespaced=True, custom=True,
    type=objects.ModelService, purpose="ModelServices, and what should exist for them",
    stack=STACK, subject_kind=MODELSERVICE_KIND,
)  # fmt: skip
DESTINATIONRULES: Final = Resource(
    group="networking.istio.io", versions=("v1", "v1beta1"), plural="destinationrules",
    kind="DestinationRule", namespaced=True, custom=True,
    type=objects.DestinationRule, purpose="the rule for an endpoint picker's TLS",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
PODMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="podmonitors", kind="PodMonitor",
    namespaced=True, custom=True,
    type=objects.PodMonitor, purpose="whether the monitors of a ModelService exist",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
SERVICEMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="servicemonitors",
    kind="ServiceMonitor", namespaced=True, custom=True,
    type=objects.ServiceMonitor, purpose="whether the monitor of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
SERVICEACCOUNTS: Final = Resource(
    group="", versions=("v1",), plural="serviceaccounts", kind="ServiceAccount", namespaced=True,
    type=objects.ServiceAccount, purpose="whether the ServiceAccount of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    wide=True,
)  # fmt: skip
PLUGINS_CONFIGMAPS: Final = Resource(
    group="", versions=("v1",), plural="configmaps", kind="ConfigMap", namespaced=True,
    type=objects.PluginsConfigMap, purpose="the configuration of an endpoint picker",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    wide=True,
)  # fmt: skip
CLUSTERROLES: Final = Resource(
    group="rbac.authorization.k8s.io", versions=("v1",), plural="clusterroles", kind="ClusterRole",
    namespaced=False, type=objects.ClusterRole,
    purpose="whether the ClusterRole of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    opt_in="otterscale_cluster_roles",
)  # fmt: skip
CLUSTERROLEBINDINGS: Final = Resource(
    group="rbac.authorization.k8s.io", versions=("v1",), plural="clusterrolebindings",
    kind="ClusterRoleBinding", namespaced=False, type=objects.ClusterRoleBinding,
    purpose="whether its binding exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    opt_in="otterscale_cluster_roles",
)  # fmt: skip


def _made(of: Resource[KubeObject], purpose: str) -> MadeResource:
    """Return a kind with all fields of those of its objects that the operator makes."""
    return Resource(
        group=of.group, versions=of.versions, plural=of.plural, kind=of.kind, namespaced=True,
        custom=of.custom, type=Made, purpose=purpose,
        label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    )  # fmt: skip


MADE_SERVICES: Final = _made(r.SERVICES, "each field of the Service of an endpoint picker")
MADE_DEPLOYMENTS: Final = _made(r.DEPLOYMENTS, "each field of the Deployments of a ModelService")
MADE_ROUTES: Final = _made(r.HTTPROUTES, "each field of the route of a ModelService")
MADE_INFERENCEPOOLS: Final = _made(r.INFERENCEPOOLS, "each field of the pool of a ModelService")

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    MODELSERVICES,
    DESTINATIONRULES,
    PODMONITORS,
    SERVICEMONITORS,
    SERVICEACCOUNTS,
    PLUGINS_CONFIGMAPS,
    CLUSTERROLES,
    CLUSTERROLEBINDINGS,
    MADE_SERVICES,
    MADE_DEPLOYMENTS,
    MADE_ROUTES,
    MADE_INFERENCEPOOLS,
)
"""In the order of the ClusterRole."""
