"""The objects that Kthena's controller creates for a ModelServing, and how it reads them.

Names, labels, owners and environment are those of github.com/volcano-sh/kthena,
pkg/model-serving-controller, v1.0.0.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""

_PREFIX: Final = "modelserving.volcano.sh"
NAME: Final = f"{_PREFIX}/name"
GROUP: Final = f"{_PREFIX}/group-name"
ROLE: Final = f"{_PREFIX}/role"
ROLE_ID: Final = f"{_PREFIX}/role-id"
ENTRY: Final = f"{_PREFIX}/entry"
REVISION: Final = f"{_PREFIX}/revision"
ROLE_HASH: Final = f"{_PREFIX}/role-template-hash"
"""Labels of pods, Services, PodGroups and ControllerRevisions."""

VOLCANO: Final = "volcano"
PODGROUP_VERSION: Final = "scheduling.volcano.sh/v1beta1"

_SCHEDULED_GROUP: Final = "scheduling.k8s.io/group-name"
_TASK: Final = "volcano.sh/task-spec"
_BLANKED: Final = ("replicas", "maxUnavailable", "partition")
_ALPHABET: Final = "456789bcdf"
_LENGTH: Final = 10


def roles_of(modelserving: Object) -> list[Object]:
    return list(modelserving["spec"]["template"]["roles"])


def revision_of(roles: Sequence[Object]) -> str:
    """Return a hash that is the same for roles that differ only in their numbers of replicas.

    Kthena's own hash is of Go's printed structs, which cannot be reproduced here. The alphabet and
    the maximal length are the same.
    """
    return _hash([_blanked(role) for role in roles])


def role_hash(role: Object) -> str:
    return _hash(_blanked(role))


def _blanked(role: Object) -> Object:
    return {key: value for key, value in role.items() if key not in _BLANKED}


def _hash(value: object) -> str:
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_LENGTH])


def role_replicas(role: Object) -> int:
    return int(role.get("replicas", 1))


def pods_of_instance(role: Object) -> int:
    return 1 + int(role.get("workerReplicas") or 0)


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def owner_reference(modelserving: Object) -> Object:
    return {
        "apiVersion": modelserving["apiVersion"],
        "kind": modelserving["kind"],
        "name": modelserving["metadata"]["name"],
        "uid": modelserving["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_revision(modelserving: Object, roles: Sequence[Object]) -> Object:
    name, revision = modelserving["metadata"]["name"], revision_of(roles)
    labels = {NAME: name, REVISION: revision}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": _metadata(modelserving, f"{name}-{revision}", labels),
        "data": {"data": deepcopy(list(roles))},
        "revision": 1,
    }


def pod_group(modelserving: Object, group: str, roles: Sequence[Object]) -> Object:
    name = modelserving["metadata"]["name"]
    metadata = _metadata(modelserving, group, {NAME: name, GROUP: group})
    metadata["annotations"] = {_SCHEDULED_GROUP: group}
    del metadata["ownerReferences"][0]["blockOwnerDeletion"]
    members = sum(pods_of_instance(role) * role_replicas(role) for role in roles)
    return {
        "apiVersion": PODGROUP_VERSION,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": members},
    }


def instance_objects(
    modelserving: Object, group: str, role: Object, *, ordinal: int, revision: str, grouped: bool
) -> Iterator[Object]:
    """Yield the pods of an instance, and its Service if it has one; `grouped`: with a PodGroup."""
    role_id = f"{role['name']}-{ordinal}"
    if role.get("workerTemplate") is not None:
        yield headless_service(modelserving, group, role["name"], role_id=role_id)
    for index in range(pods_of_instance(role)):
        yield pod(
            modelserving,
            group,
            role,
            role_id=role_id,
            index=index,
            revision=revision,
            grouped=grouped,
        )


def headless_service(modelserving: Object, group: str, role: str, *, role_id: str) -> Object:
    """Return the Service through which workers reach their entry pod."""
    labels = _labels(modelserving, group, role, role_id=role_id)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(modelserving, f"{group}-{role_id}-0", labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {GROUP: group, ROLE: role, ROLE_ID: role_id, ENTRY: "true"},
        },
    }


def pod(
    modelserving: Object,
    group: str,
    role: Object,
    *,
    role_id: str,
    index: int,
    revision: str,
    grouped: bool,
) -> Object:
    """Return a pod of an instance; the one with index 0 is the entry."""
    template = role["entryTemplate" if index == 0 else "workerTemplate"] or {}
    own = template.get("metadata") or {}
    labels = _labels(modelserving, group, role["name"], role_id=role_id)
    labels |= {REVISION: revision, ROLE_HASH: role_hash(role)}
    if index == 0:
        labels[ENTRY] = "true"
    metadata = _metadata(
        modelserving, f"{group}-{role_id}-{index}", {**labels, **(own.get("labels") or {})}
    )
    annotations = {_SCHEDULED_GROUP: group, _TASK: role_id} if grouped else {}
    metadata["annotations"] = {**annotations, **(own.get("annotations") or {})}
    spec = deepcopy(template.get("spec") or {})
    spec["schedulerName"] = modelserving["spec"].get("schedulerName", VOLCANO)
    entry = f"{group}-{role_id}-0.{modelserving['metadata']['namespace']}"
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        container["env"] = [*container.get("env", ()), *_env(role, entry, index)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _env(role: Object, entry: str, index: int) -> list[Object]:
    values = {
        "GROUP_SIZE": str(pods_of_instance(role)),
        "ENTRY_ADDRESS": entry,
        "WORKER_INDEX": str(index),
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def _labels(modelserving: Object, group: str, role: str, *, role_id: str) -> dict[str, str]:
    return {NAME: modelserving["metadata"]["name"], GROUP: group, ROLE: role, ROLE_ID: role_id}


def _metadata(modelserving: Object, name: str, labels: dict[str, str]) -> Object:
    return {
        "name": name,
        "namespace": modelserving["metadata"]["namespace"],
        "labels": labels,
        "ownerReferences": [owner_reference(modelserving)],
    }


def ordinal_of(name: str) -> int:
    """Return the number at the end of a name, or -1."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_ready(pod: Object) -> bool:
    """True if a pod is ready in Kthena's sense: phase Running, and condition Ready True.

    Kthena does not look at deletionTimestamp, restarts or owner.
    """
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == "True"


def is_failed(pod: Object) -> bool:
    """True if Kthena deletes a pod because it failed, or restarted and is not ready.

    Restart counts never decrease, so one old restart makes every later loss of readiness a failure.
    """
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return True
    statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    restarted = any(each.get("restartCount") for each in statuses)
    return restarted and status.get("phase") in {"Running", "Pending"} and not is_ready(pod)
