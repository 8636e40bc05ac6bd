"""Every resource that the reporter reads (section 4.1 of the KAITO sheet, and nodes).

Watches, dump loading, `clusterCRDMissing`, RBAC rules and documentation follow this table.
"""

from typing import Final

from reporter.model import objects
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.stack import Stack
from reporter.model.subject import SubjectKind
from reporter.stacks.kserve import objects as kserve
from reporter.stacks.kthena import objects as kthena
from reporter.stacks.otterscale import objects as otterscale

COMPONENT: Final = "productionstack-status-reporter"
"""`source.component` and `reportingComponent` of our Events, and the Lease's name."""

EVENT_NAMESPACE: Final = "kube-system"
"""Where our Events live; the API server allows no other useful place (sheet 3.3)."""

LABEL_PREFIX: Final = "status-reporter.io/"
"""Prefix of the labels and annotations of our Events."""

NAMESPACES: Final = Resource(
    group="", versions=("v1",), plural="namespaces", kind="Namespace", namespaced=False,
    type=objects.Namespace, purpose="workload namespaces by label, involvedObject uids",
)  # fmt: skip
NODES: Final = Resource(
    group="", versions=("v1",), plural="nodes", kind="Node", namespaced=False,
    type=objects.Node, purpose="pods on nodes that are NotReady, gone or under pressure",
)  # fmt: skip
PODS: Final = Resource(
    group="", versions=("v1",), plural="pods", kind="Pod", namespaced=True,
    type=objects.Pod, purpose="replicas and the cause of their faults",
)  # fmt: skip
SERVICES: Final = Resource(
    group="", versions=("v1",), plural="services", kind="Service", namespaced=True,
    type=objects.Service, purpose="whether the target of an ext_authz EnvoyFilter exists",
)  # fmt: skip
DEPLOYMENTS: Final = Resource(
    group="apps", versions=("v1",), plural="deployments", kind="Deployment", namespaced=True,
    type=objects.Deployment, purpose="shared components, endpoint pickers, gateway data planes",
)  # fmt: skip
INFERENCESETS: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="inferencesets",
    kind="InferenceSet", namespaced=True, custom=True,
    type=objects.InferenceSet, purpose="the deployments of models, and their scaling settings",
    stack=Stack.KAITO, subject_kind=SubjectKind.INFERENCESET,
)  # fmt: skip
WORKSPACES: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="workspaces", kind="Workspace",
    namespaced=True, custom=True,
    type=objects.Workspace, purpose="node provisioning and inference conditions",
    stack=Stack.KAITO,
)  # fmt: skip
APIKEYS: Final = Resource(
    group="kaito.sh", versions=("v1alpha1",), plural="apikeys", kind="APIKey",
    namespaced=True, custom=True,
    type=objects.ApiKey, purpose="API keys that their operator refused",
)  # fmt: skip
GATEWAYCLASSES: Final = Resource(
    group="gateway.networking.k8s.io", versions=("v1", "v1beta1"), plural="gatewayclasses",
    kind="GatewayClass", namespaced=False, custom=True,
    type=objects.GatewayClass, purpose="whether a Gateway's class exists and is accepted",
)  # fmt: skip
GATEWAYS: Final = Resource(
    group="gateway.networking.k8s.io", versions=("v1", "v1beta1"), plural="gateways",
    kind="Gateway", namespaced=True, custom=True,
    type=objects.Gateway, purpose="conditions and listeners of the workload Gateways",
)  # fmt: skip
HTTPROUTES: Final = Resource(
    group="gateway.networking.k8s.io", versions=("v1", "v1beta1"), plural="httproutes",
    kind="HTTPRoute", namespaced=True, custom=True,
    type=objects.HttpRoute, purpose="whether the route to a model is accepted",
)  # fmt: skip
INFERENCEPOOLS: Final = Resource(
    group="inference.networking.k8s.io", versions=("v1",), plural="inferencepools",
    kind="InferencePool", namespaced=True, custom=True,
    type=objects.InferencePool, purpose="whether the pool behind a route is resolved",
)  # fmt: skip
ENVOYFILTERS: Final = Resource(
    group="networking.istio.io", versions=("v1alpha3",), plural="envoyfilters",
    kind="EnvoyFilter", namespaced=True, custom=True,
    type=objects.EnvoyFilter, purpose="the catch-all and ext_authz filters of a workload Gateway",
)  # fmt: skip
AUTHORIZATIONPOLICIES: Final = Resource(
    group="security.istio.io", versions=("v1", "v1beta1"), plural="authorizationpolicies",
    kind="AuthorizationPolicy", namespaced=True, custom=True,
    type=objects.AuthorizationPolicy, purpose="the ext_authz provider a policy names",
)  # fmt: skip
CILIUMNETWORKPOLICIES: Final = Resource(
    group="cilium.io", versions=("v2",), plural="ciliumnetworkpolicies",
    kind="CiliumNetworkPolicy", namespaced=True, custom=True,
    type=objects.CiliumNetworkPolicy, purpose="namespaces that may reach the inference pods",
)  # fmt: skip
SCALEDOBJECTS: Final = Resource(
    group="keda.sh", versions=("v1alpha1",), plural="scaledobjects", kind="ScaledObject",
    namespaced=True, custom=True,
    type=objects.ScaledObject, purpose="ScaledObjects that KEDA rejected",
)  # fmt: skip
MODELSERVINGS: Final = Resource(
    group="workload.serving.volcano.sh", versions=("v1alpha1",), plural="modelservings",
    kind="ModelServing", namespaced=True, custom=True,
    type=kthena.ModelServing, purpose="ModelServings, and the status that they should have",
    stack=Stack.KTHENA, subject_kind=SubjectKind.MODELSERVING,
)  # fmt: skip
MODELSERVINGS_FORMER: Final = Resource(
    group="workload.volcano.sh", versions=("v1alpha1",), plural="modelservings",
    kind="ModelServing", namespaced=True, custom=True,
    type=kthena.ModelServing, purpose="the same in the group that they had at first",
    stack=Stack.KTHENA, subject_kind=SubjectKind.MODELSERVING,
)  # fmt: skip
PODGROUPS: Final = Resource(
    group="scheduling.volcano.sh", versions=("v1beta1",), plural="podgroups", kind="PodGroup",
    namespaced=True, custom=True,
    type=kthena.PodGroup, purpose="whether the pods of a ServingGroup can be scheduled together",
    stack=Stack.KTHENA,
)  # fmt: skip
CONTROLLERREVISIONS: Final = Resource(
    group="apps", versions=("v1",), plural="controllerrevisions", kind="ControllerRevision",
    namespaced=True,
    type=kthena.ControllerRevision, purpose="which revision of a ModelServing a pod is of",
    label_selector="modelserving.volcano.sh/name", stack=Stack.KTHENA,
)  # fmt: skip
MODELSERVICES: Final = Resource(
    group="model.otterscale.io", versions=("v1alpha1",), plural="modelservices",
    kind="ModelService", namespaced=True, custom=True,
    type=otterscale.ModelService, purpose="ModelServices, and what should exist for them",
    stack=Stack.OTTERSCALE, subject_kind=SubjectKind.MODELSERVICE,
)  # fmt: skip
DESTINATIONRULES: Final = Resource(
    group="networking.istio.io", versions=("v1", "v1beta1"), plural="destinationrules",
    kind="DestinationRule", namespaced=True, custom=True,
    type=otterscale.DestinationRule, purpose="the rule for an endpoint picker's TLS",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=Stack.OTTERSCALE,
)  # fmt: skip
PODMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="podmonitors", kind="PodMonitor",
    namespaced=True, custom=True,
    type=otterscale.PodMonitor, purpose="whether the monitors of a ModelService exist",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=Stack.OTTERSCALE,
)  # fmt: skip
SERVICEMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="servicemonitors",
    kind="ServiceMonitor", namespaced=True, custom=True,
    type=otterscale.ServiceMonitor, purpose="whether the monitor of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=Stack.OTTERSCALE,
)  # fmt: skip
SERVICEACCOUNTS: Final = Resource(
    group="", versions=("v1",), plural="serviceaccounts", kind="ServiceAccount", namespaced=True,
    type=otterscale.ServiceAccount, purpose="whether that of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=Stack.OTTERSCALE,
    wide=True,
)  # fmt: skip
PLUGINS_CONFIGMAPS: Final = Resource(
    group="", versions=("v1",), plural="configmaps", kind="ConfigMap", namespaced=True,
    type=otterscale.PluginsConfigMap, purpose="the configuration of an endpoint picker",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=Stack.OTTERSCALE,
    wide=True,
)  # fmt: skip
INFERENCESERVICES: Final = Resource(
    group="serving.kserve.io", versions=("v1beta1",), plural="inferenceservices",
    kind="InferenceService", namespaced=True, custom=True,
    type=kserve.InferenceService, purpose="InferenceServices, their revisions and conditions",
    stack=Stack.KSERVE, subject_kind=SubjectKind.INFERENCESERVICE,
)  # fmt: skip
KNATIVE_SERVICES: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="services", kind="Service",
    namespaced=True, custom=True,
    type=kserve.KnativeService, purpose="revisions and traffic of the components",
    label_selector="serving.kserve.io/inferenceservice", stack=Stack.KSERVE,
)  # fmt: skip
KNATIVE_REVISIONS: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="revisions", kind="Revision",
    namespaced=True, custom=True,
    type=kserve.KnativeRevision, purpose="whether a revision that gets traffic exists, and works",
    label_selector="serving.kserve.io/inferenceservice", stack=Stack.KSERVE,
)  # fmt: skip
CONFIGMAPS: Final = Resource(
    group="", versions=("v1",), plural="configmaps", kind="ConfigMap", namespaced=True,
    type=objects.ConfigMap, purpose="Istio's mesh configuration, by name in its namespace only",
)  # fmt: skip
EVENTS: Final = Resource(
    group="", versions=("v1",), plural="events", kind="Event", namespaced=True,
    type=objects.Event, purpose="our own Events, in kube-system only",
    label_selector=f"{LABEL_PREFIX}reason",
)  # fmt: skip

CLUSTER_WIDE: Final[tuple[Resource[KubeObject], ...]] = (
    NAMESPACES, NODES, PODS, SERVICES, DEPLOYMENTS, INFERENCESETS, WORKSPACES, APIKEYS,
    GATEWAYCLASSES, GATEWAYS, HTTPROUTES, INFERENCEPOOLS, ENVOYFILTERS, AUTHORIZATIONPOLICIES,
    CILIUMNETWORKPOLICIES, SCALEDOBJECTS, MODELSERVINGS, MODELSERVINGS_FORMER, PODGROUPS,
    CONTROLLERREVISIONS, MODELSERVICES, DESTINATIONRULES, PODMONITORS, SERVICEMONITORS,
    SERVICEACCOUNTS, PLUGINS_CONFIGMAPS, INFERENCESERVICES, KNATIVE_SERVICES, KNATIVE_REVISIONS,
)  # fmt: skip
"""Listed and watched over the whole cluster."""

BY_PLACE: Final[tuple[Resource[KubeObject], ...]] = (CONFIGMAPS, EVENTS)
"""Listed and watched in a few places only: see each purpose."""

ALL: Final[tuple[Resource[KubeObject], ...]] = CLUSTER_WIDE + BY_PLACE

ISTIO_CONFIGMAP: Final = "istio"
"""Name of Istio's mesh ConfigMap; a revision's is `istio-<revision>`."""


def subjects_of(stack: Stack) -> tuple[Resource[KubeObject], ...]:
    """Return the resources whose objects are the subjects of a stack."""
    return tuple(each for each in CLUSTER_WIDE if each.stack is stack and each.subject_kind)


def of_subject(kind: SubjectKind) -> tuple[Resource[KubeObject], ...]:
    """Return the resources whose objects are subjects of a kind."""
    return tuple(each for each in CLUSTER_WIDE if each.subject_kind is kind)
