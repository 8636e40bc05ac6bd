"""A chart-made InferenceSet `models/qwen` with one healthy replica, and patches that break it."""

from dataclasses import replace

from reporter.catalogue.resources import NODECLAIMS
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import (
    FORBIDDEN,
    Document,
    condition,
    deployment,
    document,
    merged,
    namespace,
    says,
    snapshot_of,
)

NS = "models"
SET = "qwen"
SETTINGS = FullEvaluationSettings()
CREATED_BY = {"inferenceset.kaito.sh/created-by": SET}
BY_CHART = {"kaito.sh/owned-by": "modeldeployment"}
READY_SINCE = "2026-11-20T10:30:00Z"
INITIALIZED = "2026-11-20T10:05:00Z"


def conditions(*items: Document) -> Document:
    """A patch that replaces the conditions of a status."""
    return {"status": {"conditions": list(items)}}


def labels(**values: str | None) -> Document:
    """A patch of labels."""
    return {"metadata": {"labels": values}}


def inferenceset(*patches: Document, replicas: int = 1, name: str = SET) -> Document:
    return document("InferenceSet", name, NS, {"spec": {"replicas": replicas}}, *patches)


def workspace(name: str = "qwen-a", *patches: Document) -> Document:
    base = conditions(
        condition("NodeClaimReady", "True", "NodeClaimsReady"),
        condition("NodesReady", "True", "NodesReady"),
        condition("ResourceReady", "True", "workspaceResourceStatusSuccess"),
        condition("InferenceReady", "True", "WorkspaceInferenceStatusSuccess"),
    )
    nodes = {"status": {"workerNodes": ["gpu-1"]}}
    return document("Workspace", name, NS, labels(**CREATED_BY, **BY_CHART), base, nodes, *patches)


def model_pod(name: str = "qwen-a-0", *patches: Document, workspace: str = "qwen-a") -> Document:
    tags = {**CREATED_BY, "kaito.sh/workspace": workspace, "apps.kubernetes.io/pod-index": "0"}
    running = {"name": "vllm", "ready": True, "state": {"running": {"startedAt": INITIALIZED}}}
    return document(
        "Pod", name, NS, labels(**tags),
        {"spec": {"nodeName": "gpu-1", "containers": [{"name": "vllm"}]}},
        conditions(*pod_conditions("True")),
        {"status": {"phase": "Running", "containerStatuses": [running]}},
        *patches,
    )  # fmt: skip


def pod_conditions(ready: str, since: str = READY_SINCE) -> list[Document]:
    return [
        condition("PodScheduled", "True", since="2026-11-20T10:00:00Z"),
        condition("Initialized", "True", since=INITIALIZED),
        condition("Ready", ready, "ContainersNotReady", since=since),
    ]


def not_ready(state: Document | None = None, since: str = INITIALIZED, **more: object) -> Document:
    """A patch of a pod that is not Ready; by `since` it never was."""
    status = {"name": "vllm", "ready": False, "state": state or {"running": {"startedAt": since}}}
    return {
        "status": {
            "conditions": pod_conditions("False", since),
            "containerStatuses": [status | more],
        }
    }


def waits(reason: str, since: str = INITIALIZED) -> Document:
    """A patch of a pod whose container waits for that reason."""
    return not_ready({"waiting": {"reason": reason, "message": "because"}}, since)


def node(name: str = "gpu-1", *patches: Document) -> Document:
    kinds = ("DiskPressure", "MemoryPressure", "PIDPressure")
    base = conditions(condition("Ready", "True"), *(condition(each, "False") for each in kinds))
    return document("Node", name, "", base, *patches)


def parent(gateway: str = "models-gw", *items: Document, controller: str = "istio") -> Document:
    """An entry of `status.parents`, accepted unless told otherwise."""
    accepted = (condition("Accepted", "True"), condition("ResolvedRefs", "True"))
    return {
        "parentRef": {"name": gateway},
        "controllerName": controller,
        "conditions": list(items or accepted),
    }


def route(*patches: Document, name: str = "qwen-route") -> Document:
    backend = {"kind": "InferencePool", "name": "qwen-inferencepool"}
    spec = {"parentRefs": [{"name": "models-gw"}], "rules": [{"backendRefs": [backend]}]}
    return document(
        "HTTPRoute", name, NS,
        labels(**BY_CHART, **{"kaito.sh/inferenceset": SET}),
        {"spec": spec, "status": {"parents": [parent()]}},
        *patches,
    )  # fmt: skip


def pool(*patches: Document) -> Document:
    selected = CREATED_BY | {"apps.kubernetes.io/pod-index": "0"}
    return document(
        "InferencePool", "qwen-inferencepool", NS,
        labels(**BY_CHART, **{"kaito.sh/inferenceset": SET}),
        {"spec": {"selector": {"matchLabels": selected}}, "status": {"parents": [parent()]}},
        *patches,
    )  # fmt: skip


def epp(*patches: Document, ready: int = 1, wanted: int = 1) -> Document:
    name = "qwen-inferencepool-epp"
    return deployment(NS, name, labels(**BY_CHART), *patches, ready=ready, wanted=wanted)


def healthy() -> dict[str, Document]:
    """All objects of a set that serves, by a handle."""
    return {
        "namespace": namespace(NS, managed=True),
        "set": inferenceset(),
        "workspace": workspace(),
        "pod": model_pod(),
        "node": node(),
        "gateway": document("Gateway", "models-gw", NS),
        "route": route(),
        "pool": pool(),
        "epp": epp(),
    }


def stack(*more: Document, **changes: Document | None):
    """A snapshot of the healthy set with objects patched, taken away (None) or added."""
    objects = healthy()
    for handle, patch in changes.items():
        if patch is None:
            del objects[handle]
        else:
            objects[handle] = merged(objects[handle], patch)
    claims = {NODECLAIMS: ResourceState(Served.SERVED)}
    return snapshot_of(*objects.values(), *more, declared=claims, unknown=claims)


def without(snapshot, *resources):
    """The snapshot of somebody who may not read these resources."""
    return replace(snapshot, states={**snapshot.states, **dict.fromkeys(resources, FORBIDDEN)})


def findings(snapshot, reason=None, settings=SETTINGS):
    """The findings of a snapshot, of one reason or of all."""
    found = evaluate_inferencesets(snapshot, settings).findings
    return [each for each in found if reason is None or each.reason == reason]


def only(snapshot, reason, settings=SETTINGS):
    """The one finding of a reason."""
    (found,) = findings(snapshot, reason, settings)
    return found


def tells(snapshot, reason, *, ends: str = "", **expected: object) -> None:
    """See that the one finding of a reason is so; `ends` is the end of its message."""
    finding = only(snapshot, reason)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: ")
    assert says(finding.message, ends)
    found = {"about": f"{finding.related.kind} {finding.related.name}"}
    assert expected == {each: found.get(each, getattr(finding, each, None)) for each in expected}
