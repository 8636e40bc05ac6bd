"""Faults that real controllers show, as data: what is changed, and what must be reported."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.cluster.suite.runnable import AGENT, NO_RUNTIME, PLACE, STORE, container
from e2e.stage import Stage
from lab.sandbox.objects import Object, copy_json, decode, encode, meta, name_of

STATEFUL_SETS: Final = "statefulsets.apps"
DEPLOYMENTS: Final = "deployments.apps"

MODEL: Final = "phi-4-mini"
"""The model of the sample that has one pod."""

PODS: Final = ("inferencesetModelPodsNotReady", "inferenceset/{namespace}/" + MODEL)
EPP: Final = ("inferencesetEPPNotReady", "inferenceset/{namespace}/" + MODEL)
KAITO: Final = ("clusterKaitoControllerNotReady", "cluster")

MODEL_PODS: Final = (STATEFUL_SETS, "{namespace}", "phi-4-mini-dbr9r")
PICKER: Final = (DEPLOYMENTS, "{namespace}", "phi-4-mini-inferencepool-epp")
CONTROLLER: Final = (DEPLOYMENTS, "kaito-system", "kaito-workspace")


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: of the test.
        key: reason and subject of its Event.
        words: a regular expression that each message must match.
        first: one that a message may match until the cause is known; empty if it is known at once.
        ready: whether it keeps the subject from being Ready.
        where: resource, namespace and name of the changed object. `{namespace}` stands for the
            namespace of the test here and in `key`.
        patch: the change, a merge patch.
        with_objects: objects created with it, `{namespace}` in their strings too, and deleted at
            the repair.
    """

    name: str
    key: tuple[str, str]
    words: str
    where: tuple[str, str, str] = MODEL_PODS
    patch: Mapping[str, Any] = field(default_factory=dict)
    with_objects: tuple[Object, ...] = ()
    first: str = ""
    ready: bool = True


def of_pod(**spec: Any) -> Mapping[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


def of_container(**changes: Any) -> Mapping[str, Any]:
    """Return a patch that replaces the containers of a template by one."""
    return of_pod(containers=[container(**changes)])


def volume(**source: Any) -> Mapping[str, Any]:
    """Return a patch of a template whose container has a volume."""
    mounted = container(volumeMounts=[{"name": "weights", "mountPath": "/weights"}])
    return of_pod(volumes=[{"name": "weights", **source}], containers=[mounted])


def script(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def _limits(**limits: str) -> Mapping[str, Any]:
    return {"limits": limits, "requests": limits}


_NEW_PODS: Final = {"spec": {"template": {"metadata": {"annotations": {"restarted": "yes"}}}}}
_NONE: Final = "registry.example/none:1"
_DRIVER: Final = "disks.example"
_SIZE: Final = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}

FAULTS: Final = (
    Fault("bad image", PODS, "does not reach the registry of image registry.example/none", patch=of_container(image=_NONE)),
    Fault(
        "image never pulled", PODS, "imagePullPolicy is Never",
        patch=of_container(image=_NONE, imagePullPolicy="Never"),
    ),
    Fault("name of no image", PODS, "Not An Image is not a valid image name", patch=of_container(image="Not An Image")),
    Fault(
        "crash loop", PODS, "exit code 3",
        patch=of_container(command=script("exit 3")),
    ),
    Fault("no such program", PODS, "has no program.*/nothing", patch=of_container(command=["/nothing"])),
    Fault(
        "OOM kill", PODS, "OOMKilled",
        patch=of_container(command=["tail", "/dev/zero"], resources=_limits(memory="24Mi")),
    ),
    Fault(
        "missing Secret", PODS, "Secret token.*does not exist",
        patch=of_container(envFrom=[{"secretRef": {"name": "token"}}]),
    ),
    Fault(
        "missing ConfigMap", PODS, "ConfigMap settings.*does not exist",
        patch=of_container(envFrom=[{"configMapRef": {"name": "settings"}}]),
    ),
    Fault(
        "root where none may be", PODS, "runs as root, which runAsNonRoot forbids",
        patch=of_container(securityContext={"runAsNonRoot": True}),
    ),
    Fault(
        "missing volume", PODS, "it cannot be set up.*Secret weights does not exist",
        patch=volume(secret={"secretName": "weights"}),
    ),
    Fault(
        "failing sandbox", PODS, "it cannot be set up.*runtime none",
        patch=of_pod(runtimeClassName=NO_RUNTIME),
    ),
    Fault(
        "hanging init container", PODS, "init container wait still runs",
        patch=of_pod(initContainers=[container("wait")]),
    ),
    Fault(
        "failing init container", PODS, "init container fetch.*exit code 7",
        patch=of_pod(initContainers=[container("fetch", command=script("exit 7"))]),
    ),
    Fault(
        "never ready", PODS, "not Ready yet on node node-a",
        patch=of_container(readinessProbe={"exec": {"command": ["false"]}}),
    ),
    Fault(
        "too little processor", PODS, "it asks for 900 cpu, no node has more than",
        patch=of_container(resources=_limits(cpu="900")),
    ),
    Fault(
        "no such device", PODS, "it asks for 1 nvidia.com/gpu, no node offers any",
        patch=of_container(resources=_limits(**{"nvidia.com/gpu": "1"})),
    ),
    Fault(
        "no such node", PODS, "it needs a node with accelerator=h200, and no node has that",
        patch=of_pod(nodeSelector={"accelerator": "h200"}),
    ),
    Fault(
        "missing claim", PODS, "its claim weights does not exist",
        patch=volume(persistentVolumeClaim={"claimName": "weights"}),
    ),
    Fault(
        "unbound claim", PODS, "its claim weights names the storage class none, which does not exist",
        patch=volume(persistentVolumeClaim={"claimName": "weights"}),
        with_objects=(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "weights"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "none",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            },
        ),
    ),
    Fault(
        "claim that is attached elsewhere", PODS, "attached to node-z, which is gone",
        first="Unschedulable|not set up|no volume yet|it cannot be set up",
        patch=volume(persistentVolumeClaim={"claimName": "weights"}),
        with_objects=(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": "elsewhere"},
                "spec": {"attacher": _DRIVER, "nodeName": "node-z", "source": {"persistentVolumeName": "weights"}},
                "status": {"attached": True},
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": "weights"},
                "spec": {**_SIZE, "capacity": {"storage": "1Gi"}, "csi": {"driver": _DRIVER, "volumeHandle": "w"}},
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "weights"},
                "spec": {**_SIZE, "volumeName": "weights", "resources": {"requests": {"storage": "1Gi"}}},
            },
        ),
    ),
    Fault(
        "probe of a path that is not there", PODS, "probe.*/ready.*404",
        patch=of_container(readinessProbe={"httpGet": {"path": "/ready", "port": 5000}}),
    ),
    Fault(
        "crash with known last words", PODS, "20.00 GiB",
        patch=of_container(
            command=script("echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.' >&2; exit 1"),
            terminationMessagePolicy="FallbackToLogsOnError",
        ),
    ),
    Fault(
        "webhook without endpoints", ("clusterSharedCause", "cluster"), "webhook",
        where=PICKER, patch=_NEW_PODS, ready=False,
        with_objects=(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "guard"},
                "webhooks": [
                    {
                        "name": "guard.example.com",
                        "clientConfig": {"service": {"name": "guard", "namespace": "{namespace}"}},
                        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{namespace}"}},
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    }
                ],
            },
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "guard"},
             "spec": {"selector": {"app": "guard"}, "ports": [{"port": 443}]}},
        ),
    ),
    Fault(
        "quota refused", EPP, "ResourceQuota none is used up: asked for pods=1", where=PICKER, patch=_NEW_PODS,
        with_objects=(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "none"},
                "spec": {"hard": {"pods": "0"}},
            },
        ),
    ),
    Fault("scaled to zero", KAITO, "scaled to zero", where=CONTROLLER, patch={"spec": {"replicas": 0}}),
    Fault(
        "StatefulSet down", STORE, "StatefulSet own/store is down.*ImagePull",
        where=(STATEFUL_SETS, PLACE, "store"), patch=of_container(image=_NONE),
    ),
    Fault(
        "DaemonSet down", AGENT, "DaemonSet own/agent is down.*(exit code 4|again and again)",
        where=("daemonsets.apps", PLACE, "agent"), patch=of_container(command=script("exit 4")),
    ),
    Fault(
        "rollout past its deadline", KAITO, "is degraded.*ImagePull", where=CONTROLLER,
        patch={"spec": {"progressDeadlineSeconds": 10, **of_container(image=_NONE)["spec"]}},
    ),
)  # fmt: skip
"""Each is injected, reported, repaired and closed on its own."""


def named(text: str, namespace: str) -> str:
    """Return a text of the table with the namespace of the test."""
    return text.format(namespace=namespace)


async def put_in(stage: Stage, fault: Fault, namespace: str) -> Object:
    """Change what the fault changes, and return the former object."""
    resource, place, name = fault.where
    place = named(place, namespace)
    for obj in fault.with_objects:
        own: Object = decode(encode(obj).replace(b"{namespace}", namespace.encode()))
        kind = await stage.api.resource_of(own)
        if kind.namespaced:
            meta(own)["namespace"] = namespace
        status = own.pop("status", None)
        await stage.api.apply(own)
        if status:
            await stage.api.patch(kind.name, name_of(own), {"status": status}, subresource="status")
    before = await stage.api.get(resource, name, namespace=place)
    await stage.api.patch(resource, name, fault.patch, namespace=place)
    return before


async def mend(stage: Stage, fault: Fault, before: Object, *, namespace: str) -> None:
    """Restore everything, with new pods."""
    for obj in fault.with_objects:
        resource = await stage.api.resource_of(obj)
        await stage.api.delete(resource.name, name_of(obj), namespace=namespace)
    restored = copy_json(before)
    restored.pop("status")
    for each in ("resourceVersion", "managedFields", "generation", "uid"):
        meta(restored).pop(each, None)
    stage.kubectl("replace", "-f", "-", stdin=json.dumps(restored))
    resource, place, name = fault.where
    if resource.startswith("statefulsets"):
        # Its controller does not replace a pod of the broken template (kubernetes/kubernetes#67250).
        stage.kubectl("-n", named(place, namespace), "delete", "pod", f"{name}-0", "--wait=false")
