"""The resources that the reporter reads for all stacks; each stack adds its own.

Watches, dump loading, `clusterCRDMissing`, RBAC rules and documentation are derived from the table.

`make docs` writes the rules of the ClusterRole to the chart, one file for resources that are always
read and one for each stack; `make docs-check` compares them with the table.
"""

from typing import Final

from reporter.model import objects
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

COMPONENT: Final = "productionstack-status-reporter"
"""`source.component` and `reportingComponent` of our Events, and the Lease's name."""

EVENT_NAMESPACE: Final = "kube-system"
"""The namespace of our Events.

An Event with `eventTime` about a cluster-scoped object must be in this namespace or in `default`
(kubernetes/kubernetes, pkg/apis/core/validation/events.go).
"""

LABEL_PREFIX: Final = "status-reporter.io/"
"""Prefix of the labels and annotations of our Events."""

NAMESPACES: Final = Resource(
    group="", versions=("v1",), plural="namespaces", kind="Namespace", namespaced=False,
    type=objects.Namespace, purpose="workload namespaces by label, involvedObject uids",
)  # fmt: skip
NODES: Final = Resource(
    group="", versions=("v1",), plural="nodes", kind="Node", namespaced=False,
    type=objects.Node, purpose="nodes that are NotReady, gone, cordoned or under pressure",
)  # fmt: skip
PODS: Final = Resource(
    group="", versions=("v1",), plural="pods", kind="Pod", namespaced=True,
    type=objects.Pod, purpose="replicas and the cause of their faults",
)  # fmt: skip
CLAIMS: Final = Resource(
    group="", versions=("v1",), plural="persistentvolumeclaims", kind="PersistentVolumeClaim",
    namespaced=True, type=objects.PersistentVolumeClaim, explains=True,
    purpose="claims that pods wait for, and the volumes that they are bound to",
)  # fmt: skip
SERVICES: Final = Resource(
    group="", versions=("v1",), plural="services", kind="Service", namespaced=True,
    type=objects.Service, purpose="whether the target of an ext_authz EnvoyFilter exists",
)  # fmt: skip
DEPLOYMENTS: Final = Resource(
    group="apps", versions=("v1",), plural="deployments", kind="Deployment", namespaced=True,
    type=objects.Deployment, purpose="shared components, endpoint pickers, gateway data planes",
)  # fmt: skip
STATEFULSETS: Final = Resource(
    group="apps", versions=("v1",), plural="statefulsets", kind="StatefulSet", namespaced=True,
    type=objects.StatefulSet, seldom=True,
    purpose="models without a kind of their own, declared components",
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
FORMER_POOLS: Final = Resource(
    group="inference.networking.x-k8s.io", versions=("v1alpha2",), plural="inferencepools",
    kind="InferencePool", namespaced=True, custom=True,
    type=objects.FormerPool, purpose="the same, in their former API group", seldom=True,
)  # fmt: skip
"""Pools before v1.0 of the Gateway API Inference Extension."""
ENVOYFILTERS: Final = Resource(
    group="networking.istio.io", versions=("v1alpha3",), plural="envoyfilters",
    kind="EnvoyFilter", namespaced=True, custom=True,
    type=objects.EnvoyFilter, purpose="the catch-all and ext_authz filters of a workload Gateway",
    slim=objects.without_patches,
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
DESTINATIONRULES: Final = Resource(
    group="networking.istio.io", versions=("v1", "v1beta1"), plural="destinationrules",
    kind="DestinationRule", namespaced=True, custom=True,
    type=objects.DestinationRule, purpose="whether a Gateway speaks TLS with an endpoint picker",
)  # fmt: skip
SCALEDOBJECTS: Final = Resource(
    group="keda.sh", versions=("v1alpha1",), plural="scaledobjects", kind="ScaledObject",
    namespaced=True, custom=True,
    type=objects.ScaledObject, purpose="ScaledObjects that KEDA rejected",
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

SHARED: Final[tuple[Resource[KubeObject], ...]] = (
    NAMESPACES, NODES, PODS, CLAIMS, SERVICES, DEPLOYMENTS, STATEFULSETS, APIKEYS, GATEWAYCLASSES,
    GATEWAYS, HTTPROUTES,
    INFERENCEPOOLS, FORMER_POOLS, ENVOYFILTERS, AUTHORIZATIONPOLICIES, CILIUMNETWORKPOLICIES,
    DESTINATIONRULES, SCALEDOBJECTS,
)  # fmt: skip
"""Listed and watched in the whole cluster, whatever stacks are on."""

BY_PLACE: Final[tuple[Resource[KubeObject], ...]] = (CONFIGMAPS, EVENTS)
"""Listed and watched in a few namespaces only; see each purpose."""

VOLUMES: Final = Resource(
    group="", versions=("v1",), plural="persistentvolumes", kind="PersistentVolume",
    namespaced=False, type=objects.PersistentVolume, explains=True,
    purpose="which nodes a volume can be reached from",
)  # fmt: skip
ATTACHMENTS: Final = Resource(
    group="storage.k8s.io", versions=("v1",), plural="volumeattachments", kind="VolumeAttachment",
    namespaced=False, type=objects.VolumeAttachment, explains=True,
    purpose="which node a volume is attached to",
)  # fmt: skip
CSINODES: Final = Resource(
    group="storage.k8s.io", versions=("v1",), plural="csinodes", kind="CSINode",
    namespaced=False, type=objects.CsiNode, explains=True,
    purpose="whether the driver of a volume runs on a node",
)  # fmt: skip
STORAGECLASSES: Final = Resource(
    group="storage.k8s.io", versions=("v1",), plural="storageclasses", kind="StorageClass",
    namespaced=False, type=objects.StorageClass, explains=True,
    purpose="who makes the volume that a claim waits for",
)  # fmt: skip
NODEPOOLS: Final = Resource(
    group="karpenter.sh", versions=("v1", "v1beta1"), plural="nodepools", kind="NodePool",
    namespaced=False, custom=True, type=objects.NodePool, explains=True,
    purpose="whether Karpenter may still make nodes",
)  # fmt: skip
NODECLAIMS: Final = Resource(
    group="karpenter.sh", versions=("v1", "v1beta1"), plural="nodeclaims", kind="NodeClaim",
    namespaced=False, custom=True, type=objects.NodeClaim, explains=True,
    purpose="why a machine does not become a node",
)  # fmt: skip
QUEUES: Final = Resource(
    group="scheduling.volcano.sh", versions=("v1beta1",), plural="queues", kind="Queue",
    namespaced=False, custom=True, type=objects.VolcanoQueue, explains=True,
    purpose="what a queue of Volcano may use, and uses",
)  # fmt: skip
WORKLOADS: Final = Resource(
    group="kueue.x-k8s.io", versions=("v1beta2", "v1beta1"), plural="workloads", kind="Workload",
    namespaced=True, custom=True, type=objects.KueueWorkload, explains=True,
    purpose="why Kueue does not admit pods",
)  # fmt: skip
LOCALQUEUES: Final = Resource(
    group="kueue.x-k8s.io", versions=("v1beta2", "v1beta1"), plural="localqueues",
    kind="LocalQueue", namespaced=True, custom=True, type=objects.LocalQueue, explains=True,
    purpose="which ClusterQueue pods wait in",
)  # fmt: skip
CLUSTERQUEUES: Final = Resource(
    group="kueue.x-k8s.io", versions=("v1beta2", "v1beta1"), plural="clusterqueues",
    kind="ClusterQueue", namespaced=False, custom=True, type=objects.ClusterQueue, explains=True,
    purpose="whether a queue of Kueue admits anything",
)  # fmt: skip
AUTOSCALERS: Final = Resource(
    group="autoscaling", versions=("v2",), plural="horizontalpodautoscalers",
    kind="HorizontalPodAutoscaler", namespaced=True, type=objects.PodAutoscaler, explains=True,
    purpose="whether models are scaled; never watched, as their status changes all the time",
)  # fmt: skip
LEASES: Final = Resource(
    group="coordination.k8s.io", versions=("v1",), plural="leases", kind="Lease", namespaced=True,
    type=objects.Lease, explains=True,
    purpose="whether a controller that is not found works all the same",
)  # fmt: skip
DAEMONSETS: Final = Resource(
    group="apps", versions=("v1",), plural="daemonsets", kind="DaemonSet", namespaced=True,
    type=objects.DaemonSet, explains=True,
    purpose="why a device plugin or a storage driver has no pod on a node",
)  # fmt: skip
CLUSTERPOLICIES: Final = Resource(
    group="nvidia.com", versions=("v1",), plural="clusterpolicies", kind="ClusterPolicy",
    namespaced=False, custom=True, type=objects.ClusterPolicy, explains=True,
    purpose="which part of the GPU operator is not ready",
)  # fmt: skip
APISERVICES: Final = Resource(
    group="apiregistration.k8s.io", versions=("v1",), plural="apiservices", kind="APIService",
    namespaced=False, type=objects.ApiService, explains=True,
    purpose="whether the API of metrics that an autoscaler asks answers",
)  # fmt: skip
NETWORKPOLICIES: Final = Resource(
    group="networking.k8s.io", versions=("v1",), plural="networkpolicies", kind="NetworkPolicy",
    namespaced=True, type=objects.NetworkPolicy, explains=True,
    purpose="whether a policy stops a connection that times out",
)  # fmt: skip

ON_DEMAND: Final[tuple[Resource[KubeObject], ...]] = (
    VOLUMES, ATTACHMENTS, CSINODES, STORAGECLASSES, NODEPOOLS, NODECLAIMS, QUEUES, WORKLOADS,
    LOCALQUEUES, CLUSTERQUEUES, DAEMONSETS, CLUSTERPOLICIES, AUTOSCALERS, LEASES, APISERVICES,
    NETWORKPOLICIES,
)  # fmt: skip
"""Never watched: read only if they may explain a fault, and from a dump if they are in it."""

ISTIO_CONFIGMAP: Final = "istio"
"""Name of Istio's mesh ConfigMap; a revision's is `istio-<revision>`."""


VERBS: Final = ("list", "watch")
"""Verbs of an informer; it does not get single objects."""

ON_DEMAND_VERBS: Final = ("list",)
"""Verbs for the kinds that are read on demand."""

BY_NAME: Final = (VOLUMES, LEASES)
"""The kinds on demand that are also read as single objects."""

BY_NAME_VERBS: Final = ("get",)

EVENT_VERBS: Final = ("list",)
"""Verbs for foreign Events, in one namespace and only while there is a fault in it."""
