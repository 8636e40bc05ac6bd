"""The objects that Kthena's controller creates for a ModelServing, and how it reads them.

Names, labels, owners and environment are those of github.com/volcano-sh/kthena,
pkg/model-serving-controller, v1.0.0.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final

from lab.simulation.objects import Object, is_ready, name_of, owner_reference

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


def controller_revision(modelserving: Object, roles: Sequence[Object]) -> Object:
    name, revision = name_of(modelserving), revision_of(roles)
    labels = {NAME: name, REVISION: revision}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": _metadata(modelserving, f"{name}-{revision}", labels),
        "data": {"data": deepcopy(list(roles))},
        "revision": 1,
    }


def pod_group(modelserving: Object, group: str, roles: Sequence[Object]) -> Object:
    name = name_of(modelserving)
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
    labels = {NAME: name_of(modelserving), GROUP: group, ROLE: role["name"], ROLE_ID: role_id}
    if role.get("workerTemplate") is not None:
        yield _headless_service(modelserving, labels)
    for index in range(pods_of_instance(role)):
        entry = {ENTRY: "true"} if index == 0 else {}
        own = {**labels, REVISION: revision, ROLE_HASH: role_hash(role), **entry}
        yield _pod(modelserving, role, own, index=index, grouped=grouped)


def _headless_service(modelserving: Object, labels: dict[str, str]) -> Object:
    """Return the Service through which workers reach their entry pod."""
    selector = {key: labels[key] for key in (GROUP, ROLE, ROLE_ID)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(modelserving, f"{labels[GROUP]}-{labels[ROLE_ID]}-0", labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {**selector, ENTRY: "true"},
        },
    }


def _pod(
    modelserving: Object, role: Object, labels: dict[str, str], *, index: int, grouped: bool
) -> Object:
    """Return a pod of an instance; the one with index 0 is the entry."""
    template = role["entryTemplate" if index == 0 else "workerTemplate"] or {}
    own, instance = template.get("metadata") or {}, f"{labels[GROUP]}-{labels[ROLE_ID]}"
    all_labels = {**labels, **(own.get("labels") or {})}
    metadata = _metadata(modelserving, f"{instance}-{index}", all_labels)
    annotations = {_SCHEDULED_GROUP: labels[GROUP], _TASK: labels[ROLE_ID]} if grouped else {}
    metadata["annotations"] = {**annotations, **(own.get("annotations") or {})}
    spec = deepcopy(template.get("spec") or {})
    spec["schedulerName"] = modelserving["spec"].get("schedulerName", VOLCANO)
    entry = f"{instance}-0.{modelserving['metadata']['namespace']}"
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
