"""The cluster of an incident: healthy parts that every cluster has, a model, and what was wrong with it.

A case says little more than what was wrong: this fills in the rest as the API server, the kubelet and the
controllers write it. Keys of a case that shape it:

| key | meaning |
| --- | --- |
| `model` | `Kind name`; lies in the namespace `models`; see `models.py` |
| `stack` | what else the cluster has, by `stacks.yaml`; the kind of the model by default |
| `gpus`, `container`, `spec` | what its pods ask for; patches of the engine's container and of the pod's spec |
| `pod` | the state of its pod: one of `_STATES`; `init` names the init container that it is about, `log` is its log |
| `engine` | false where nothing shows that its container serves a model |
| `by_name` | true where the cause is in what its pods are called, which another kind calls otherwise |
| `body`, `pods` | of a kind that a dialect describes: the object, and labels of each pod by its name |
| `refused`, `bare` | why no pod can be made; there is neither pod nor workload |
| `nodes` | by name: `gpu` offered, or offered/had; null is none; `labels`, `taints`, `conditions`, other `resources` |
| `status`, `deployment`, `objects` | patches of the model's status, of its workload, and of any object by `Kind namespace/name` |
| `events` | `Kind namespace/name: Type Reason component: message`; `Pod` alone is the model's first |
| `logs` | of other containers, by `namespace/pod/container` |
"""

import json
import re
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from reporter.stacks import BUILT_IN
from tests.scenarios.world import merged
from tests.tables import ALL

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""When somebody looked."""

BEGAN = NOON - timedelta(minutes=40)
"""When the model was made; the rest of the cluster is a week old."""

NAMESPACE = "models"
_FOLDER = Path(__file__).parent
_STACKS = yaml.safe_load((_FOLDER / "stacks.yaml").read_text())
_EVENT = re.compile(r"(Normal|Warning) (\S+) (\S+): (.*)", re.DOTALL)
_CRDS = {str(each) for each in BUILT_IN.resources if each.custom}
_CRDS |= {"clustertriggerauthentications.keda.sh"}
_API = {each.kind: f"{each.group}/{each.versions[0]}".lstrip("/") for each in reversed(ALL)} | {
    "APIService": "apiregistration.k8s.io/v1",
    "Backend": "gateway.envoyproxy.io/v1alpha1",
    "ClusterQueue": "kueue.x-k8s.io/v1beta1",
    "ClusterServingRuntime": "serving.kserve.io/v1alpha1",
    "CSINode": "storage.k8s.io/v1",
    "ConfigMap": "v1",
    "DaemonSet": "apps/v1",
    "HTTPScaledObject": "http.keda.sh/v1alpha1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Job": "batch/v1",
    "KnativeService": "serving.knative.dev/v1",
    "LimitRange": "v1",
    "LocalQueue": "kueue.x-k8s.io/v1beta1",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "NodeClaim": "karpenter.sh/v1",
    "NodePool": "karpenter.sh/v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "PodAutoscaler": "autoscaling.aibrix.ai/v1alpha1",
    "Queue": "scheduling.volcano.sh/v1beta1",
    "ReferenceGrant": "gateway.networking.k8s.io/v1beta1",
    "ReplicaSet": "apps/v1",
    "ResourceFlavor": "kueue.x-k8s.io/v1beta1",
    "ResourceQuota": "v1",
    "RuntimeClass": "node.k8s.io/v1",
    "ScaledObject": "keda.sh/v1alpha1",
    "Service": "v1",
    "StatefulSet": "apps/v1",
    "StorageClass": "storage.k8s.io/v1",
    "Topology": "kueue.x-k8s.io/v1alpha1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "Workload": "kueue.x-k8s.io/v1beta1",
}
_RUNNING = {"running": {"startedAt": "now"}}


class Cluster:
    """Objects by `Kind [namespace/]name`, and logs by `namespace/pod/container`."""

    def __init__(self, case, add_model) -> None:
        self.case = case
        self.objects = {}
        self.logs = {}
        self.kind, _, self.name = case["model"].partition(" ")
        stack = _STACKS[case.get("stack", self.kind)]
        self.container = stack.get("container", "vllm")
        self.crds = {each for each in _CRDS if each.endswith(tuple(stack["kinds"]))}
        self.crds -= set(case.get("absent", ()))
        for key, patch in ({"Namespace models": {}} | stack["objects"]).items():
            self.put(key, patch, at=NOON - timedelta(days=7))
        for name, node in case.get("nodes", {"gpu-1": {"gpu": 8}}).items():
            self.put(f"Node {name}", _node(name, **node), at=NOON - timedelta(days=7))
        add_model(self)
        for key, patch in case.get("objects", {}).items():
            self.put(key, patch)
        for each in case.get("events", ()):
            self._event(*next(iter(each.items())))
        for place, text in case.get("logs", {}).items():
            self.logs[self._place(place)] = text

    def put(self, key, patch, at=BEGAN) -> None:
        """Merge a patch into an object, which is made where there is none; null takes it away."""
        if patch is None:
            del self.objects[key]
            return
        kind, place = key.split(" ", 1)
        namespace, _, name = place.rpartition("/")
        metadata = {"name": name, "creationTimestamp": at.isoformat(), "uid": key.replace(" ", "-")}
        fresh = {
            "apiVersion": _API[kind],
            "kind": kind,
            "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        }
        self.objects[key] = merged(self.objects.get(key, fresh), deepcopy(patch), at)

    def workload(self, kind, name, *, labels, extra=None) -> None:
        """A Deployment, StatefulSet or other owner of one pod that is not ready."""
        replicas = self.case.get("replicas", 1)
        refused = self.case.get("refused", "")
        made = 0 if refused else replicas
        status = {
            "observedGeneration": 1,
            "replicas": made,
            "updatedReplicas": made,
            "unavailableReplicas": replicas,
            "conditions": {
                "Available": "False MinimumReplicasUnavailable Deployment does not have minimum availability.",
                "Progressing": "False ProgressDeadlineExceeded "
                f'ReplicaSet "{name}-5d8f" has timed out progressing.',
            },
        }
        if refused:
            status["conditions"]["ReplicaFailure"] = f"True FailedCreate {refused}"
        if kind != "Deployment":
            del status["conditions"], status["unavailableReplicas"]
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": self.template(labels),
        }
        body = {"metadata": {"generation": 1, "labels": labels}, "spec": spec, "status": status}
        self.put(f"{kind} {NAMESPACE}/{name}", merged(merged({}, body, BEGAN), extra or {}, BEGAN))
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name}
        if kind == "Deployment":
            replica_set = f"{name}-5d8f"
            self.put(
                f"ReplicaSet {NAMESPACE}/{replica_set}",
                {
                    "metadata": {
                        "labels": labels,
                        "ownerReferences": [self.owner("Deployment", name)],
                    },
                    "spec": {"replicas": replicas},
                    "status": {"replicas": made, "observedGeneration": 1},
                },
            )
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": replica_set}
            if refused:
                creating = f"Warning FailedCreate replicaset-controller: Error creating: {refused}"
                self._event(f"ReplicaSet {NAMESPACE}/{replica_set}", creating)
        suffixes = ["x7k2p", "b9fq4", "m3wzt"] if kind == "Deployment" else ["0", "1", "2"]
        for suffix in suffixes[:made]:
            self.pod(f"{owner['name']}-{suffix}", labels, self.owner(owner["kind"], owner["name"]))

    def owner(self, kind, name):
        """A reference to the controller of an object in the namespace of the model."""
        key = f"{kind}-{NAMESPACE}/{name}"
        return {
            "apiVersion": _API[kind],
            "kind": kind,
            "name": name,
            "uid": key,
            "controller": True,
        }

    def template(self, labels):
        """The pod template: one engine container with what the case says of it."""
        gpus = self.case.get("gpus", 1)
        resources = {
            "limits": {"nvidia.com/gpu": str(gpus)},
            "requests": {"nvidia.com/gpu": str(gpus)},
        }
        container = {"name": self.container, "image": "vllm/vllm-openai:v0.11.0"}
        container |= {"resources": resources} if gpus else {}
        container = merged(container, self.case.get("container", {}), BEGAN)
        spec = {"containers": [container], "schedulerName": "default-scheduler"}
        return {
            "metadata": {"labels": labels},
            "spec": merged(spec, self.case.get("spec", {}), BEGAN),
        }

    def pod(self, name, labels, owner) -> None:
        """A pod of the model, in the state that the case says."""
        state = dict(self.case.get("pod", {"unready": True}))
        init = state.pop("init", "")
        spec = self.template(labels)["spec"]
        if init and all(each["name"] != init for each in spec.get("initContainers", ())):
            spec["initContainers"] = [{"name": init, "image": "init:v1"}]
        container = init or self.container
        if "log" in state:
            self.logs[NAMESPACE, name, container] = state.pop("log")
        (what, value), *_ = state.items()
        status = _STATES[what](value, self, spec, init)
        if what not in {"unscheduled", "unseen"}:
            spec["nodeName"] = self.case.get(
                "node", next(iter(self.case.get("nodes", {"gpu-1": {}})))
            )
        metadata = {"labels": labels, "ownerReferences": [owner] if owner else []}
        self.put(f"Pod {NAMESPACE}/{name}", {"metadata": metadata, "spec": spec, "status": status})

    def statuses(self, spec, init, one):
        """The statuses of all containers, of which one is in a state and the others are well or wait."""

        def of(each, state, ready):
            return {
                "name": each["name"],
                "image": each.get("image", ""),
                "ready": ready,
                "restartCount": 0,
                "state": state,
            }

        waiting = {"waiting": {"reason": "PodInitializing"}}
        ended = {
            "terminated": {
                "exitCode": 0,
                "reason": "Completed",
                "startedAt": "now",
                "finishedAt": "now",
            }
        }
        inits = [
            one | {"name": init} if each["name"] == init
            else of(each, _RUNNING if each.get("restartPolicy") else ended, True)
            for each in spec.get("initContainers", ())
        ]  # fmt: skip
        name = self.case.get("at_fault", self.container)
        mains = [
            one | {"name": name} if each["name"] == name and not init
            else of(each, waiting if init else _RUNNING, not init)
            for each in spec["containers"]
        ]  # fmt: skip
        return {"containerStatuses": mains} | ({"initContainerStatuses": inits} if inits else {})

    def _event(self, about, text) -> None:
        type_, reason, component, message = _EVENT.fullmatch(text).groups()
        key = self._key(about)
        meta = self.objects.get(key, {}).get("metadata", {})
        kind, place = key.split(" ", 1)
        namespace, _, name = place.rpartition("/")
        number = sum(each.startswith("Event ") for each in self.objects)
        involved = {"kind": kind, "name": name, "namespace": namespace, "uid": meta.get("uid", "")}
        event = {
            "involvedObject": {**involved, "apiVersion": _API[kind]},
            "type": type_,
            "reason": reason,
            "message": message.strip(),
            "source": {"component": component},
            "firstTimestamp": "now",
            "lastTimestamp": (NOON - timedelta(minutes=1)).isoformat(),
            "count": 9,
        }
        self.put(f"Event {namespace or 'default'}/{name}.{number}", event)

    def _key(self, about):
        """`Pod` alone is the first of the model, `ReplicaSet` its first; else `Kind ns/name`."""
        if " " in about:
            return about
        found = [key for key in self.objects if key.startswith(f"{about} {NAMESPACE}/")]
        return found[0]  # `next` would end the loop of whoever counts cases

    def _place(self, place):
        namespace, pod, container = place.split("/")
        return namespace, pod, container

    def write(self, folder: Path) -> None:
        """Write the dump and the logs as somebody would send them."""
        items = list(self.objects.values())
        items += [
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": name},
                "spec": {"group": name.partition(".")[2]},
            }
            for name in sorted(self.crds)
        ]
        (folder / "objects.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        )
        for (namespace, pod, container), text in self.logs.items():
            place = folder / "logs" / namespace / pod
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{container}.log").write_text(text)


def _node(name, *, gpu=0, labels=None, taints=(), conditions=None, cordoned=False, resources=None):
    """A node; `gpu` is what it offers, `7/8` what it offers of what it has, null no such resource."""
    offered, _, has = str(gpu).partition("/")
    gpus = [] if gpu is None else [int(offered), int(has or offered)]
    allocatable = {"cpu": "32", "memory": "128Gi", "pods": "110", **(resources or {})}
    if gpus and gpus[1]:
        capacity = {**allocatable, "nvidia.com/gpu": str(gpus[1])}
        allocatable = {**allocatable, "nvidia.com/gpu": str(gpus[0])}
    else:
        capacity = allocatable
    healthy = {
        "Ready": "True KubeletReady",
        "DiskPressure": "False",
        "MemoryPressure": "False",
        "PIDPressure": "False",
    }
    return {
        "metadata": {"labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}},
        "spec": {"taints": list(taints), **({"unschedulable": True} if cordoned else {})},
        "status": {
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": {**healthy, **(conditions or {})},
        },
    }  # fmt: skip


def _conditions(*, scheduled="True", initialized="True", ready="False ContainersNotReady"):
    return {
        "PodScheduled": scheduled,
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready,
    }


def _unscheduled(message, _cluster, _spec, _init):
    return {"phase": "Pending", "conditions": {"PodScheduled": f"False Unschedulable {message}"}}


def _unseen(_value, _cluster, _spec, _init):
    return {"phase": "Pending"}


def _creating(_value, cluster, spec, init):
    state = {
        "state": {"waiting": {"reason": "ContainerCreating"}},
        "ready": False,
        "restartCount": 0,
    }
    statuses = cluster.statuses(spec, init, state)
    first = "False ContainersNotInitialized" if spec.get("initContainers") else "True"
    for each in statuses.get("initContainerStatuses", ()):
        each |= {"state": {"waiting": {"reason": "PodInitializing"}}, "ready": False}
    return {"phase": "Pending", "conditions": _conditions(initialized=first), **statuses}


def _waits(value, cluster, spec, init):
    state = {"state": {"waiting": value}, "ready": False, "restartCount": 0}
    return {
        "phase": "Pending",
        "conditions": _conditions(initialized="False ContainersNotInitialized" if init else "True"),
        **cluster.statuses(spec, init, state),
    }


def _crashes(value, cluster, spec, init):
    """A container that ends again and again; `exit`, and what else the kubelet tells of its end."""
    value = {"exit": 1, "reason": "Error", "restarts": 8, **(value or {})}
    ended = {
        "exitCode": value["exit"],
        "reason": value["reason"],
        "startedAt": (NOON - timedelta(minutes=4)).isoformat(),
        "finishedAt": (NOON - timedelta(minutes=3)).isoformat(),
        **({"message": value["message"]} if "message" in value else {}),
    }
    name = init or cluster.case.get("at_fault", cluster.container)
    waiting = {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 5m0s restarting failed container={name}",
    }
    state = {
        "state": {"waiting": waiting} if not value.get("runs") else _RUNNING,
        "lastState": {"terminated": ended},
        "ready": False,
        "restartCount": value["restarts"],
    }
    return {
        "phase": "Pending" if init else "Running",
        "conditions": _conditions(initialized="False ContainersNotInitialized" if init else "True"),
        **cluster.statuses(spec, init, state),
    }


def _unready(_value, cluster, spec, init):
    state = {"state": _RUNNING, "ready": False, "restartCount": 0, "started": False}
    first = "False ContainersNotInitialized" if init else "True"
    return {
        "phase": "Pending" if init else "Running",
        "conditions": _conditions(initialized=first),
        **cluster.statuses(spec, init, state),
    }


def _failed(value, _cluster, _spec, _init):
    return {"phase": "Failed", "conditions": {"PodScheduled": "True"}, **value}


def _serves(_value, cluster, spec, init):
    state = {"state": _RUNNING, "ready": True, "restartCount": 0, "started": True}
    return {
        "phase": "Running",
        "conditions": _conditions(ready="True"),
        **cluster.statuses(spec, init, state),
    }


_STATES = {
    "crashes": _crashes,
    "creating": _creating,
    "failed": _failed,
    "serves": _serves,
    "unready": _unready,
    "unscheduled": _unscheduled,
    "unseen": _unseen,
    "waits": _waits,
}
