"""The objects that a Deployment controller and a kubelet would write."""

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

from lab.sandbox.lists import Selector, from_label_selector
from lab.sandbox.objects import JSON, Object, copy_json, dig, encode, meta, name_of

HASH_LABEL = "pod-template-hash"
_HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10
_COMPLETE = "NewReplicaSetAvailable"

Says: TypeAlias = tuple[str, str, str, str]
"""Type, status, reason and message of a condition."""


def selector_of(workload: Object) -> Selector:
    return from_label_selector(dig(workload, "spec", "selector") or {})


def template_hash(workload: Object) -> str:
    digest = hashlib.sha256(encode(dig(workload, "spec", "template"))).digest()
    letters = (_HASH_ALPHABET[byte % len(_HASH_ALPHABET)] for byte in digest)
    return "".join(letters)[:_HASH_LENGTH]


def owner_reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": meta(owner).get("uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def replica_set_of(deployment: Object) -> Object:
    label = {HASH_LABEL: template_hash(deployment)}
    template = copy_json(dig(deployment, "spec", "template"))
    meta(template)["labels"] = {**(meta(template).get("labels") or {}), **label}
    selector = copy_json(dig(deployment, "spec", "selector"))
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **label}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(deployment)}-{label[HASH_LABEL]}",
            "namespace": meta(deployment)["namespace"],
            "labels": meta(template)["labels"],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    }


def pod_of(replica_set: Object, node: str) -> Object:
    template = copy_json(dig(replica_set, "spec", "template"))
    spec = template.get("spec") or {}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name_of(replica_set)}-",
            "namespace": meta(replica_set)["namespace"],
            "labels": meta(template).get("labels") or {},
            "annotations": meta(template).get("annotations") or {},
            "ownerReferences": [owner_reference(replica_set)],
        },
        "spec": spec,
    }


def running_status(pod: Object, *, now: str, address: str) -> Object:
    """Return the status of a pod whose containers run and are ready."""
    conditions = (
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    )  # fmt: skip
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            for kind in conditions
        ],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "qosClass": dig(pod, "status", "qosClass") or "BestEffort",
        "containerStatuses": [
            {
                "name": container.get("name"),
                "image": container.get("image"),
                "imageID": container.get("image"),
                "containerID": f"containerd://{meta(pod).get('uid')}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "lastState": {},
                "state": {"running": {"startedAt": now}},
            }
            for container in dig(pod, "spec", "containers") or ()
        ],
    }


def not_ready(status: Object, why: tuple[str, str] | None = None, *, now: str) -> Object:
    """Return the status of a running pod as that of a loading pod, or with waiting containers.

    Args:
        status: of the pod, which is changed.
        why: reason and message of waiting containers.
        now: the time.
    """
    for each in status["containerStatuses"]:
        each |= {"ready": False, "started": False}
        if why is not None:
            each["state"] = {"waiting": {"reason": why[0], "message": why[1]}}
    if why is not None:
        status["phase"] = "Pending"
    for type_ in ("Ready", "ContainersReady"):
        says = (type_, "False", "ContainersNotReady", "containers are not ready")
        status["conditions"] = with_condition(status["conditions"], says, now=now)
    return status


def with_condition(before: Sequence[Object], says: Says, *, now: str) -> list[Object]:
    """Return conditions with one set; its time changes only with its status."""
    type_, status, reason, message = says
    old = next((each for each in before if each["type"] == type_), None)
    since = old.get("lastTransitionTime") if old and old["status"] == status else None
    fresh = {"type": type_, "status": status, "reason": reason, "message": message}
    fresh["lastTransitionTime"] = since or now
    return [*(each for each in before if each["type"] != type_), fresh]


def is_ready(pod: Object) -> bool:
    return not meta(pod).get("deletionTimestamp") and any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in dig(pod, "status", "conditions") or ()
    )


def deployment_status(
    deployment: Object, pods: Sequence[Object], *, now: str, replica_set: str, rollout: bool
) -> Object:
    """Return the status that the Deployment controller writes; `rollout` if a template is new."""
    wanted = int(dig(deployment, "spec", "replicas") or 0)
    ready = sum(map(is_ready, pods))
    counts = {
        "replicas": len(pods),
        "updatedReplicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(wanted - ready, 0),
    }
    old = {item["type"]: item for item in dig(deployment, "status", "conditions") or ()}
    available, progressing = old.get("Available"), old.get("Progressing")
    # A Deployment that is scaled to zero has all its replicas, and so is available.
    enough = ready >= wanted - _max_unavailable(deployment, wanted)
    has, reason = ("has", "Available") if enough else ("does not have", "Unavailable")
    says = (
        "Available",
        str(enough),
        f"MinimumReplicas{reason}",
        f"Deployment {has} minimum availability.",
    )
    available = _dated(says, available, now)
    # A finished rollout stays finished, whatever happens to the pods.
    if progressing is None or progressing.get("reason") != _COMPLETE or rollout:
        complete = ready >= wanted == len(pods)
        reason = _COMPLETE if complete else "ReplicaSetUpdated"
        done = "has successfully progressed" if complete else "is progressing"
        says = ("Progressing", "True", reason, f'ReplicaSet "{replica_set}" {done}.')
        progressing = _dated(says, progressing, now)
    return {
        "observedGeneration": meta(deployment).get("generation", 1),
        # Omit zero counts, like Go's encoder.
        **{name: count for name, count in counts.items() if count},
        "conditions": [available, progressing],
    }


def _dated(says: Says, before: Object | None, now: str) -> Object:
    (condition,) = with_condition([before] if before else [], says, now=now)
    unchanged = before is not None and all(before.get(key) == condition[key] for key in _TOLD)
    return before if before is not None and unchanged else {**condition, "lastUpdateTime": now}


_TOLD = ("status", "reason", "message")


def _max_unavailable(deployment: Object, wanted: int) -> int:
    update = dig(deployment, "spec", "strategy", "rollingUpdate")
    if update is None:
        return 0
    unavailable = _resolve(update.get("maxUnavailable", "25%"), wanted, up=False)
    if not unavailable and not _resolve(update.get("maxSurge", "25%"), wanted, up=True):
        unavailable = 1
    return min(unavailable, wanted)


def _resolve(value: JSON, total: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)
