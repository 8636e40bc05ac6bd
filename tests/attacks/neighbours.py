"""What one tenant stores beside the model of another one, whose verdict and messages must stay as they are."""

from dataclasses import replace

import msgspec

from reporter.evaluation import evaluate
from reporter.model.evidence import Evidence
from reporter.resolution.grace import SinglePass
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.snapshot.foreign_events import EventObject, by_object, foreign_event
from reporter.stacks.settings import FullEvaluationSettings
from tests.attacks.attack import Outcome, attacks
from tests.unit.probes.building import (
    at,
    condition,
    deployment,
    document,
    healthy_cluster,
    merged,
    namespace,
    pod,
    snapshot_of,
    waiting,
)

_VICTIM = "models"
_TENANT = "a-tenant"
"""Sorts before the other one."""

_LABELS = {"app": "llama"}
_V1 = "inference.networking.k8s.io"
_ENVOY = "gateway.envoyproxy.io/gatewayclass-controller"
_ISTIO = "istio.io/gateway-controller"


def _model(*patches, port=8000, ready=True, picker=""):
    """A model of one pod, with a Service and an InferencePool, and no route."""
    vllm = {"name": "main", "image": "vllm/vllm-openai:v0.9", "args": ["--model", "m"], "ports": [{"containerPort": 8000}]}  # fmt: skip
    template = {"metadata": {"labels": _LABELS}, "spec": {"containers": [vllm]}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "llama-7c", "controller": True, "uid": "u"}  # fmt: skip
    spec = {"selector": {"matchLabels": _LABELS}, "targetPorts": [{"number": port}]}
    if picker:
        spec["endpointPickerRef"] = {"name": picker, "port": {"number": 9002}}
    return [
        namespace(_VICTIM),
        namespace(_TENANT),
        deployment(
            _VICTIM, "llama",
            {"metadata": {"annotations": {"status-reporter.io/model": "true"}}, "spec": {"template": template}},
            ready=int(ready),
        ),
        pod(_VICTIM, "llama-7c-x", "llama", {"spec": {**template["spec"], "nodeName": "gpu-1"}, "metadata": {"ownerReferences": [owner]}}, *patches, ready=ready),
        document("Service", "llama", _VICTIM, {"spec": {"selector": _LABELS, "ports": [{"port": 80, "targetPort": 8000}]}}),
        document("InferencePool", "llama", _VICTIM, {"spec": spec}),
    ]  # fmt: skip


def _gateway(place, *conditions, of="eg"):
    return document(
        "Gateway", "gw", place,
        {"spec": {"gatewayClassName": of}, "status": {"conditions": [condition("Accepted", "True"), *conditions]}},
    )  # fmt: skip


def _class(name, controller):
    spec = {"spec": {"controllerName": controller}}
    return document("GatewayClass", name, "", spec, {"status": {"conditions": [condition("Accepted", "True")]}})  # fmt: skip


_PROGRAMMED = condition("Programmed", "True")
_NO_ADDRESS = condition("Programmed", "False", "AddressNotAssigned", "none")
_WAITS = condition("Programmed", "Unknown", "Pending", "Waiting for controller")


def _route(place, name="r", *, to=_VICTIM, reason="", at_gateway="", pool="llama", more=()):
    """A route to the pool that a Gateway has accepted."""
    backend = {"group": _V1, "kind": "InferencePool", "name": pool}
    parent = {"name": "gw", "namespace": at_gateway or place}
    said = [condition("Accepted", "True"), condition("ResolvedRefs", "False" if reason else "True", reason)]  # fmt: skip
    return document(
        "HTTPRoute", name, place,
        {
            "spec": {"parentRefs": [parent], "rules": [{"backendRefs": [{**backend, **({"namespace": to} if to != place else {})}, *more]}]},
            "status": {"parents": [{"parentRef": parent, "controllerName": _ENVOY, "conditions": said}]},
        },
    )  # fmt: skip


def _muted(doc):
    muted = {"status-reporter.io/mute": "workloadRouteNotReady,workloadEPPNotReady"}
    return merged(doc, {"metadata": {"annotations": muted}})


def _service(place, **selector):
    """A load balancer that passes for one of the victim's Gateway."""
    labels = {"gateway.envoyproxy.io/owning-gateway-name": "gw", "gateway.envoyproxy.io/owning-gateway-namespace": _VICTIM}  # fmt: skip
    spec = {"type": "LoadBalancer", "selector": selector}
    return document("Service", "envoy", place, {"metadata": {"labels": labels}, "spec": spec})


def _event(place, about, name, reason, message, kind="Pod"):
    return {
        "metadata": {"namespace": place}, "type": "Warning", "reason": reason, "message": message,
        "involvedObject": {"kind": kind, "namespace": about, "name": name}, "lastTimestamp": "2026-11-20T11:59:00Z",
        "source": {"component": "kubelet"},
    }  # fmt: skip


def _node(*patches):
    return document("Node", "gpu-1", "", {"status": {"conditions": [condition("Ready", "True")]}}, *patches)  # fmt: skip


_SERVES = [*_model(), _node()]
_CRASHES = waiting("CrashLoopBackOff", "back-off 5m0s")
_FAILS = [*_model(waiting("ContainerCreating"), {"status": {"phase": "Pending"}}, ready=False), _node()]  # fmt: skip
_MISLED = [*_model(port=9999), _node()]
_WORKING = [_route(_TENANT, f"r-{number:02}") for number in range(25)]
_REFUSED = [_route(_TENANT, f"r-{number:02}", reason="RefNotPermitted") for number in range(25)]
_OWN = [*_SERVES, _class("eg", _ENVOY), _gateway(_VICTIM, _PROGRAMMED)]
_REACHED = [*_OWN, _route(_VICTIM)]
_NOT_REACHED = [*_OWN, _route(_VICTIM, reason="BackendNotFound")]
_RUN = [*_SERVES, _class("eg", _ENVOY), _route(_VICTIM)]
_DARK = [*_RUN, _gateway(_VICTIM, _WAITS), deployment("eg", "envoy-gateway-1")]
_NO_IP = [*_RUN, _gateway(_VICTIM, _NO_ADDRESS), deployment("envoy-gateway-system", "envoy-gateway")]  # fmt: skip
_FLAGS = {"containers": [{"name": "epp", "args": ["--pool-name", "llama"]}]}
_PICKED = [
    *_model(picker="epp"), _node(),
    _class("istio", _ISTIO), _gateway(_VICTIM, _PROGRAMMED, of="istio"), _route(_VICTIM),
    document("Service", "epp", _VICTIM, {"spec": {"selector": {"app": "epp"}, "ports": [{"port": 9002}]}}),
    deployment(_VICTIM, "epp", {"spec": {"template": {"metadata": {"labels": {"app": "epp"}}, "spec": _FLAGS}}}),
]  # fmt: skip
_NO_CNI = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"


def _plumbing(place, name, labels, *patches, ready=False):
    """A pod on the node that is, or passes for, a part of it."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "controller": True, "uid": f"uid-{name}"}  # fmt: skip
    on_node = {"metadata": {"labels": labels, "ownerReferences": [owner]}, "spec": {"nodeName": "gpu-1"}}  # fmt: skip
    return pod(place, f"{name}-x", name, on_node, *patches, ready=ready)


_CNI = {"k8s-app": "calico-node"}
_PLUGIN = {"name": "nvidia-device-plugin-ds"}
_OFFLINE = [
    *_model(ready=False), namespace("kube-system"),
    _node({"status": {"conditions": [condition("Ready", "False", "KubeletNotReady", _NO_CNI)]}}),
]  # fmt: skip
_NO_GPU = [
    *_model(
        {"spec": {"nodeName": None, "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}]},
         "status": {"phase": "Pending", "containerStatuses": None, "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")]}},
        ready=False,
    ),
    _node({"status": {"capacity": {"nvidia.com/gpu": "1"}, "allocatable": {"nvidia.com/gpu": "0"}}}), namespace("kube-system"),
]  # fmt: skip
_FORGED = waiting("ImagePullBackOff", 'failed to pull image "forged/by-tenant": not found')
_OF_SET = [document("InferenceSet", "s", _TENANT, {"spec": {"replicas": 0}})]
_AS_CNI = [_plumbing(_TENANT, "calico", _CNI, _FORGED), *_OF_SET]
_AS_PLUGIN = [_plumbing(_TENANT, "plugin", _PLUGIN, _FORGED), *_OF_SET]
_ASKED = {"spec": {"targetRefs": [{"kind": "Gateway", "name": "gw"}]}}
_CUSTOM = {"spec": {"action": "CUSTOM", "provider": {"name": "x"}}}
_POOL_LIKE = document("InferencePool", "llama", _TENANT, {"spec": {"selector": {"matchLabels": _LABELS}}})  # fmt: skip

_LATER = {"metadata": {"creationTimestamp": "2026-11-20T11:00:00Z"}}
_RAY = [
    *_SERVES, namespace("ray"), deployment("ray", "kuberay-operator", ready=0),
    document("RayService", "ray", _VICTIM, {"metadata": {"generation": 2}, "spec": {}, "status": {"observedGeneration": 1}}),
]  # fmt: skip

_ROWS = {
    "a Deployment called like the controller of its kind": (_RAY, [deployment(_TENANT, "kuberay-operator", _LATER)], []),
    "routes to its pool that its namespace does not permit": (_SERVES, _REFUSED, []),
    "a route that misses a pool of its name": (_SERVES, [_route(_TENANT, to=_TENANT, reason="BackendNotFound")], []),
    "a route to its pool, and to a Service that does not exist": (_SERVES, [_route(_TENANT, reason="BackendNotFound", more=[{"name": "x"}])], []),
    "a route to its pool through a Gateway that is gone": (_SERVES, [_route(_TENANT, reason="InvalidKind", at_gateway="nowhere")], []),
    "many routes before its own": (_REACHED, _REFUSED, []),
    "many routes that work before its own, which does not": (_NOT_REACHED, _WORKING, []),
    "a muted route beside a port that is wrong": (_MISLED, [_muted(_route(_TENANT, to=_TENANT, reason="BackendNotFound"))], []),
    "a Deployment called like its Gateway's controller": (_DARK, [deployment(_TENANT, "envoy-gateway", ready=0)], []),
    "a muted one called like that": (_NO_IP, [_muted(deployment(_TENANT, "envoy-gateway", ready=0))], []),
    "one called like the extension of its Gateway": (_DARK, [deployment(_TENANT, "ai-gateway-controller", ready=0)], []),
    "a load balancer of its Gateway, with ready pods": (_NO_IP, [_service(_TENANT, app="proxy"), pod(_TENANT, "proxy", "proxy")], []),
    "a load balancer of its Gateway, muted, with an Event": (_NO_IP, [_muted(_service(_TENANT, app="x"))], [_event(_TENANT, _TENANT, "envoy", "SyncLoadBalancerFailed", "FORGED", "Service")]),
    "a rule of TLS for all hosts": (_PICKED, [document("DestinationRule", "all", _TENANT, {"spec": {"host": "*"}})], []),
    "Events about its pod in another namespace": (_FAILS, [], [_event(_TENANT, _VICTIM, "llama-7c-x", "FailedMount", 'MountVolume.SetUp failed for volume "v": secret "forged" not found')]),
    "a pod that passes for the network plugin": ([*_OFFLINE, _plumbing("kube-system", "calico", _CNI, _CRASHES)], _AS_CNI, []),
    "a pod that passes for the network plugin, which works": ([*_OFFLINE, _plumbing("kube-system", "calico", _CNI, ready=True)], _AS_CNI, []),
    "a pod that passes for the device plugin": ([*_NO_GPU, _plumbing("kube-system", "plugin", _PLUGIN, _CRASHES)], _AS_PLUGIN, []),
    "a pod that passes for the GPU's driver": ([*_NO_GPU, _plumbing("kube-system", "plugin", _PLUGIN, ready=True)], [_plumbing(_TENANT, "driver", {"app": "nvidia-driver-daemonset"}, _FORGED), *_OF_SET], []),
    "pools and Services that select its labels": (_SERVES, [_POOL_LIKE, document("Service", "llama", _TENANT, {"spec": {"selector": _LABELS}})], []),
    "filters and policies that name its Gateway": (_REACHED, [document("EnvoyFilter", "f", _TENANT, _ASKED), document("AuthorizationPolicy", "p", _TENANT, _ASKED, _CUSTOM)], []),
    "pods with its labels and its owner": (_SERVES, [pod(_TENANT, "llama-7c-x", "llama", _FORGED, ready=False)], []),
}  # fmt: skip
"""The model with what is beside it, what the tenant stores, and the Events that it writes."""


def _told(docs, events):
    """Return what is told of all but the tenant's own subjects."""
    known = [each for raw in events if (each := foreign_event(msgspec.convert(raw, EventObject)))]
    evidence = Evidence(events=by_object(known), events_read=None)
    snapshot = replace(snapshot_of(*healthy_cluster(), *docs), evidence=evidence)
    settings = FullEvaluationSettings()
    report = resolve(
        evaluate(snapshot, settings), snapshot, Memory(), now=at(3600), settings=settings, single_pass=SinglePass()
    ).report  # fmt: skip
    told = [
        f"{each.disposition} {each.reason} of {each.subject}: {each.message}"
        for each in report.findings
        if each.subject.namespace != _TENANT
    ]
    told += [f"{each.subject} {each.state}" for each in report.states if each.subject.namespace == _VICTIM]  # fmt: skip
    return told


@attacks(_ROWS)
def _(_folder, row):
    beside, docs, events = row
    before, after = _told(beside, []), _told([*beside, *docs], events)
    changed = [each for each in (*before, *after) if (each in before) is not (each in after)]
    return Outcome(
        held=not changed, figure=f"{len(before)} sentences; changed: {changed or 'none'}"
    )
