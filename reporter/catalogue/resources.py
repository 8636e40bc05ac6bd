"""The resources that the reporter reads for all stacks; each stack adds its own.

Watches, dump loading, `clusterCRDMissing`, RBAC rules and documentation are derived from the table.

`make docs` writes the rules of the ClusterRole to the chart, one file for resources that are always
read and one for each stack; `make docs-check` compares them with the table.
"""

from typing import Final

from reporter.model import objects as o
from reporter.model.resource import AnyResource, Resource

COMPONENT: Final = "productionstack-status-reporter"
"""`source.component` and `reportingComponent` of our Events, and the Lease's name."""

EVENT_NAMESPACE: Final = "kube-system"
"""The namespace of our Events.

An Event with `eventTime` about a cluster-scoped object must be in this namespace or in `default`
(kubernetes/kubernetes, pkg/apis/core/validation/events.go).
"""

LABEL_PREFIX: Final = "status-reporter.io/"
"""Prefix of the labels and annotations of our Events."""

NAMESPACES: Final = Resource("", ("v1",), "namespaces", "Namespace", o.Namespace,
    "workload namespaces by label, involvedObject uids", namespaced=False)  # fmt: skip
NODES: Final = Resource("", ("v1",), "nodes", "Node", o.Node,
    "nodes that are NotReady, gone, cordoned or under pressure", namespaced=False)  # fmt: skip
PODS: Final = Resource("", ("v1",), "pods", "Pod", o.Pod, "replicas and the cause of their faults")
CLAIMS: Final = Resource("", ("v1",), "persistentvolumeclaims", "PersistentVolumeClaim",
    o.PersistentVolumeClaim, "claims that pods wait for, and the volumes that they are bound to",
    explains=True)  # fmt: skip
SERVICES: Final = Resource("", ("v1",), "services", "Service", o.Service,
    "whether the target of an ext_authz EnvoyFilter exists")  # fmt: skip
DEPLOYMENTS: Final = Resource("apps", ("v1",), "deployments", "Deployment", o.Deployment,
    "shared components, endpoint pickers, gateway data planes")  # fmt: skip
STATEFULSETS: Final = Resource("apps", ("v1",), "statefulsets", "StatefulSet", o.StatefulSet,
    "models without a kind of their own, declared components", seldom=True)  # fmt: skip
APIKEYS: Final = Resource("kaito.sh", ("v1alpha1",), "apikeys", "APIKey", o.ApiKey,
    "API keys that their operator refused", custom=True)  # fmt: skip
GATEWAYCLASSES: Final = Resource("gateway.networking.k8s.io", ("v1", "v1beta1"), "gatewayclasses",
    "GatewayClass", o.GatewayClass, "whether a Gateway's class exists and is accepted",
    namespaced=False, custom=True)  # fmt: skip
GATEWAYS: Final = Resource("gateway.networking.k8s.io", ("v1", "v1beta1"), "gateways", "Gateway",
    o.Gateway, "conditions and listeners of the workload Gateways", custom=True)  # fmt: skip
HTTPROUTES: Final = Resource("gateway.networking.k8s.io", ("v1", "v1beta1"), "httproutes",
    "HTTPRoute", o.HttpRoute, "whether the route to a model is accepted", custom=True)  # fmt: skip
INFERENCEPOOLS: Final = Resource("inference.networking.k8s.io", ("v1",), "inferencepools",
    "InferencePool", o.InferencePool, "whether the pool behind a route is resolved",
    custom=True)  # fmt: skip
FORMER_POOLS: Final = Resource("inference.networking.x-k8s.io", ("v1alpha2",), "inferencepools",
    "InferencePool", o.FormerPool, "the same, in their former API group", custom=True,
    seldom=True)  # fmt: skip
"""Pools before v1.0 of the Gateway API Inference Extension."""
ENVOYFILTERS: Final = Resource("networking.istio.io", ("v1alpha3",), "envoyfilters", "EnvoyFilter",
    o.EnvoyFilter, "the catch-all and ext_authz filters of a workload Gateway", custom=True,
    slim=o.without_patches)  # fmt: skip
AUTHORIZATIONPOLICIES: Final = Resource("security.istio.io", ("v1", "v1beta1"),
    "authorizationpolicies", "AuthorizationPolicy", o.AuthorizationPolicy,
    "the ext_authz provider a policy names", custom=True)  # fmt: skip
CILIUMNETWORKPOLICIES: Final = Resource("cilium.io", ("v2",), "ciliumnetworkpolicies",
    "CiliumNetworkPolicy", o.CiliumNetworkPolicy, "namespaces that may reach the inference pods",
    custom=True)  # fmt: skip
DESTINATIONRULES: Final = Resource("networking.istio.io", ("v1", "v1beta1"), "destinationrules",
    "DestinationRule", o.DestinationRule, "whether a Gateway speaks TLS with an endpoint picker",
    custom=True)  # fmt: skip
SCALEDOBJECTS: Final = Resource("keda.sh", ("v1alpha1",), "scaledobjects", "ScaledObject",
    o.ScaledObject, "ScaledObjects that KEDA rejected", custom=True)  # fmt: skip
CONFIGMAPS: Final = Resource("", ("v1",), "configmaps", "ConfigMap", o.ConfigMap,
    "Istio's mesh configuration, by name in its namespace only")  # fmt: skip
EVENTS: Final = Resource("", ("v1",), "events", "Event", o.Event,
    "our own Events, in kube-system only", label_selector=f"{LABEL_PREFIX}reason")  # fmt: skip

SHARED: Final[tuple[AnyResource, ...]] = (
    NAMESPACES, NODES, PODS, CLAIMS, SERVICES, DEPLOYMENTS, STATEFULSETS, APIKEYS, GATEWAYCLASSES,
    GATEWAYS, HTTPROUTES, INFERENCEPOOLS, FORMER_POOLS, ENVOYFILTERS, AUTHORIZATIONPOLICIES,
    CILIUMNETWORKPOLICIES, DESTINATIONRULES, SCALEDOBJECTS,
)  # fmt: skip
"""Listed and watched in the whole cluster, whatever stacks are on."""

BY_PLACE: Final[tuple[AnyResource, ...]] = (CONFIGMAPS, EVENTS)
"""Listed and watched in a few namespaces only; see each purpose."""

VOLUMES: Final = Resource("", ("v1",), "persistentvolumes", "PersistentVolume", o.PersistentVolume,
    "which nodes a volume can be reached from", namespaced=False, explains=True)  # fmt: skip
ATTACHMENTS: Final = Resource("storage.k8s.io", ("v1",), "volumeattachments", "VolumeAttachment",
    o.VolumeAttachment, "which node a volume is attached to", namespaced=False,
    explains=True)  # fmt: skip
CSINODES: Final = Resource("storage.k8s.io", ("v1",), "csinodes", "CSINode", o.CsiNode,
    "whether the driver of a volume runs on a node", namespaced=False, explains=True)  # fmt: skip
STORAGECLASSES: Final = Resource("storage.k8s.io", ("v1",), "storageclasses", "StorageClass",
    o.StorageClass, "who makes the volume that a claim waits for", namespaced=False,
    explains=True)  # fmt: skip
NODEPOOLS: Final = Resource("karpenter.sh", ("v1", "v1beta1"), "nodepools", "NodePool", o.NodePool,
    "whether Karpenter may still make nodes", namespaced=False, custom=True,
    explains=True)  # fmt: skip
NODECLAIMS: Final = Resource("karpenter.sh", ("v1", "v1beta1"), "nodeclaims", "NodeClaim",
    o.NodeClaim, "why a machine does not become a node", namespaced=False, custom=True,
    explains=True)  # fmt: skip
QUEUES: Final = Resource("scheduling.volcano.sh", ("v1beta1",), "queues", "Queue", o.VolcanoQueue,
    "what a queue of Volcano may use, and uses", namespaced=False, custom=True,
    explains=True)  # fmt: skip
WORKLOADS: Final = Resource("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads", "Workload",
    o.KueueWorkload, "why Kueue does not admit pods", custom=True, explains=True)  # fmt: skip
LOCALQUEUES: Final = Resource("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "localqueues", "LocalQueue",
    o.LocalQueue, "which ClusterQueue pods wait in", custom=True, explains=True)  # fmt: skip
CLUSTERQUEUES: Final = Resource("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "clusterqueues",
    "ClusterQueue", o.ClusterQueue, "whether a queue of Kueue admits anything", namespaced=False,
    custom=True, explains=True)  # fmt: skip
AUTOSCALERS: Final = Resource("autoscaling", ("v2",), "horizontalpodautoscalers",
    "HorizontalPodAutoscaler", o.PodAutoscaler,
    "whether models are scaled; never watched, as their status changes all the time",
    explains=True)  # fmt: skip
LEASES: Final = Resource("coordination.k8s.io", ("v1",), "leases", "Lease", o.Lease,
    "whether a controller that is not found works all the same", explains=True)  # fmt: skip
DAEMONSETS: Final = Resource("apps", ("v1",), "daemonsets", "DaemonSet", o.DaemonSet,
    "why a device plugin or a storage driver has no pod on a node", explains=True)  # fmt: skip
CLUSTERPOLICIES: Final = Resource("nvidia.com", ("v1",), "clusterpolicies", "ClusterPolicy",
    o.ClusterPolicy, "which part of the GPU operator is not ready", namespaced=False, custom=True,
    explains=True)  # fmt: skip
APISERVICES: Final = Resource("apiregistration.k8s.io", ("v1",), "apiservices", "APIService",
    o.ApiService, "whether the API of metrics that an autoscaler asks answers", namespaced=False,
    explains=True)  # fmt: skip
NETWORKPOLICIES: Final = Resource("networking.k8s.io", ("v1",), "networkpolicies", "NetworkPolicy",
    o.NetworkPolicy, "whether a policy stops a connection that times out",
    explains=True)  # fmt: skip

ON_DEMAND: Final[tuple[AnyResource, ...]] = (
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
