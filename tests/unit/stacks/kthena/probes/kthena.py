"""A ModelServing `models/m` that serves: two groups, prefill 1 x (1 worker), decode 2 x (no workers)."""

from dataclasses import replace

from reporter.snapshot.snapshot import ResourceState, Served
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_modelservings
from tests.unit.probes.building import (
    Document,
    condition,
    document,
    merged,
    namespace,
    says,
    snapshot_of,
)

NS = "models"
NAME = "m"
SETTINGS = FullEvaluationSettings()
PREFIX = "modelserving.volcano.sh"
GROUP = "workload.serving.volcano.sh"
FORMER_GROUP = "workload.volcano.sh"
NEW, OLD = "67b8d4b8c7", "5d9c7f6b84"
SCHEDULED = "2026-11-20T10:01:00Z"
STARTED = "2026-11-20T10:05:00Z"
READY_SINCE = "2026-11-20T10:30:00Z"
TITLE = f"ModelServing {NS}/{NAME}"

POD = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}}
ROLES = [
    {"name": "prefill", "replicas": 1, "workerReplicas": 1, "maxUnavailable": 1, "entryTemplate": POD, "workerTemplate": POD},
    {"name": "decode", "replicas": 2, "workerReplicas": 0, "maxUnavailable": 1, "entryTemplate": POD},
]  # fmt: skip
INSTANCES = (("prefill", 0, 2), ("decode", 0, 1), ("decode", 1, 1))


def modelserving(*patches: Document, group: str = GROUP) -> Document:
    spec = {
        "replicas": 2, "schedulerName": "volcano", "recoveryPolicy": "RoleRecreate",
        "template": {"roles": ROLES},
    }  # fmt: skip
    return document(
        "ModelServing", NAME, NS, {"apiVersion": f"{group}/v1alpha1", "spec": spec}, *patches
    )


def owned(kind: str, name: str, labels: Document, *patches: Document) -> Document:
    owner = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ModelServing",
        "name": NAME,
        "uid": f"uid-{NAME}",
    }
    metadata = {
        "labels": {f"{PREFIX}/{key}": value for key, value in {"name": NAME, **labels}.items()},
        "ownerReferences": [{**owner, "controller": True}],
    }
    return document(kind, name, NS, {"metadata": metadata}, *patches)


def pod(group: str, role: str, ordinal: int, index: int, *patches: Document, revision: str = NEW):
    identity = f"{role}-{ordinal}"
    labels = {"group-name": group, "role": role, "role-id": identity, "revision": revision}
    running = {
        "name": "engine",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": STARTED}},
    }
    status = {"phase": "Running", "conditions": conditions("True"), "containerStatuses": [running]}
    spec = {"nodeName": "gpu-1", "containers": [{"name": "engine"}]}
    return owned(
        "Pod", f"{group}-{identity}-{index}", labels, {"spec": spec, "status": status}, *patches
    )


def conditions(ready: str, since: str = READY_SINCE) -> list[Document]:
    return [
        condition("PodScheduled", "True", since=SCHEDULED),
        condition("Initialized", "True", since=STARTED),
        condition("Ready", ready, "ContainersNotReady", since=since),
    ]


def not_ready(state: Document | None = None, since: str = STARTED, **more: object) -> Document:
    """A patch of a pod that is not Ready; by `since` it never was."""
    status = {"name": "engine", "ready": False, "restartCount": 0}
    status["state"] = state or {"running": {"startedAt": since}}
    return {
        "status": {"conditions": conditions("False", since), "containerStatuses": [status | more]}
    }


def waits(reason: str, message: str = "because") -> Document:
    return not_ready({"waiting": {"reason": reason, "message": message}})


def pending(message: str = "0/4 nodes are available") -> Document:
    """A patch of a pod that has no node."""
    told = condition("PodScheduled", "False", "Unschedulable", message)
    return {
        "spec": {"nodeName": None},
        "status": {"phase": "Pending", "conditions": [told], "containerStatuses": None},
    }


def pod_group(group: str, *patches: Document) -> Document:
    rest = {"apiVersion": "scheduling.volcano.sh/v1beta1", "status": {"phase": "Running"}}
    return owned("PodGroup", group, {"group-name": group}, rest, *patches)


def revision(name: str, image: str) -> Document:
    template = {"spec": {"containers": [{"name": "engine", "image": image}]}}
    roles = [
        {**role, **{key: template for key in ("entryTemplate", "workerTemplate") if key in role}}
        for role in ROLES
    ]
    rest = {"apiVersion": "apps/v1", "revision": 1, "data": {"data": roles}}
    return owned("ControllerRevision", f"{NAME}-{name}", {"revision": name}, rest)


def group(name: str, *, revision: str = NEW) -> dict[str, Document]:
    """The objects of a group that serves, by kind and name."""
    pods = [
        pod(name, role, ordinal, index, revision=revision)
        for role, ordinal, count in INSTANCES
        for index in range(count)
    ]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in (pod_group(name), *pods)}


def healthy() -> dict[str, Document]:
    """All objects, by kind and name."""
    node = document("Node", "gpu-1", "", {"status": {"conditions": [condition("Ready", "True")]}})
    return {
        "Namespace models": namespace(NS),
        "Node gpu-1": node,
        "ModelServing m": modelserving(),
        "ControllerRevision new": revision(NEW, "engine:1"),
        "ControllerRevision old": revision(OLD, "engine:0"),
        **group("m-0"),
        **group("m-1"),
    }


def without_instances() -> dict[str, Document]:
    """One whose roles are all scaled to zero, once its pods are gone."""
    objects = {key: each for key, each in healthy().items() if not key.startswith("Pod")}
    roles = [{**role, "replicas": 0} for role in ROLES]
    return objects | {"ModelServing m": modelserving({"spec": {"template": {"roles": roles}}})}


def stack(changes: dict[str, Document | None] | None = None) -> dict[str, Document]:
    """The healthy one with patches; None removes an object, and a new name adds one."""
    objects = healthy()
    for key, change in (changes or {}).items():
        if change is None:
            del objects[key]
        elif key in objects:
            objects[key] = merged(objects[key], change)
        else:
            objects[key] = change
    return objects


def evaluated(objects, settings=SETTINGS, unknown=()):
    """What is said of the ModelServing; some resources may be unknown."""
    snapshot = snapshot_of(*objects.values())
    states = dict(snapshot.states) | dict.fromkeys(unknown, ResourceState(Served.UNKNOWN))
    snapshot = replace(snapshot, states=states)
    return evaluate_modelservings(snapshot, settings)


def findings(objects, reason=None, **more):
    found = evaluated(objects, **more).findings
    return [each for each in found if reason in (None, each.reason)]


def only(objects, reason, **more):
    (found,) = findings(objects, reason, **more)
    return found


def said(finding) -> str:
    """The message without the title that all have."""
    title, _, text = finding.message.partition(": ")
    assert title == TITLE
    return text


def tells(objects, reason: str, **expected: object) -> None:
    """See that the one finding of a reason is so: `said` is all of its message, `ends` its end."""
    finding = only(objects, reason)
    assert says(said(finding), str(expected.pop("ends", "")))
    found = {"said": said(finding), "about": f"{finding.related.kind} {finding.related.name}"}
    assert expected == {each: found.get(each, getattr(finding, each, None)) for each in expected}
    assert finding.related.namespace == NS
