"""Clusters for tests of the diagnosis, in a line each."""

from dataclasses import replace

from reporter.catalogue.resources import ON_DEMAND
from reporter.model.evidence import Evidence, ForeignEvent
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Served
from tests.unit.probes.building import condition, document, snapshot_of

GPU = "nvidia.com/gpu"


def node(name, gpus=None, of=None, *, labels=None, taints=(), ready="True", cordoned=False, **more):
    """A node with so many GPUs, of so many; taints are `key=value:effect`."""
    offered = {"cpu": "16", "memory": "67108864Ki", "pods": "110"} | more
    capacity = dict(offered)
    if gpus is not None:
        offered[GPU] = str(gpus)
        capacity[GPU] = str(gpus if of is None else of)
    spec = {"unschedulable": True} if cordoned else {}
    if taints:
        spec["taints"] = [taint(each) for each in taints]
    return document(
        "Node", name, "",
        {
            "metadata": {"labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec,
            "status": {
                "allocatable": offered, "capacity": capacity,
                "conditions": [condition("Ready", ready)],
            },
        },
    )  # fmt: skip


def taint(text):
    what, _, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    return {"key": key, "value": value, "effect": effect}


def waiting(
    said=None, gpus=0, *, name="m", containers=None, claims=(), reason="Unschedulable", **spec
):
    """A pod without a node, with what the scheduler says of it; None where it has not seen it."""
    asks = {"requests": {GPU: str(gpus)}} if gpus else {}
    conditions = [] if said is None else [condition("PodScheduled", "False", reason, said)]
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return document(
        "Pod", name, "ns",
        {
            "spec": {
                "containers": containers or [{"name": "main", "resources": asks}],
                **({"volumes": volumes} if claims else {}),
                **spec,
            },
            "status": {"phase": "Pending", "conditions": conditions},
        },
    )  # fmt: skip


def placed(
    name, on, gpus=0, *, ready=True, claims=(), labels=None, phase="Running", namespace="ns"
):
    """A pod that has a node."""
    asks = {"requests": {GPU: str(gpus)}} if gpus else {}
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return document(
        "Pod", name, namespace,
        {
            "metadata": {"labels": labels or {}},
            "spec": {"nodeName": on, "containers": [{"name": "main", "resources": asks}], "volumes": volumes},
            "status": {"phase": phase, "conditions": [condition("Ready", "True" if ready else "False")]},
        },
    )  # fmt: skip


def event(about, reason, message, *, component="kubelet", type_="Normal"):
    """An Event about `Kind name`; of a namespaced object in `ns`."""
    kind, _, name = about.partition(" ")
    return ForeignEvent(
        about=ObjectRef("v1", kind, "ns", name), type=type_, reason=reason, message=message,
        component=component,
    )  # fmt: skip


def cluster(*docs, events=(), covered=None):
    """A snapshot with evidence."""
    found = {}
    for each in events:
        place = ("ns", each.about.kind, each.about.name)
        found[place] = (*found.get(place, ()), each)
    snapshot = snapshot_of(*docs, declared=ON_DEMAND, covered=covered)
    served = {each: replace(snapshot.states[each], served=Served.SERVED) for each in ON_DEMAND}
    return replace(snapshot, states={**snapshot.states, **served}, evidence=Evidence(events=found))
