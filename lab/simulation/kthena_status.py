"""The whole status as Kthena's controller writes it: without roleStatuses, which it does not know.

The rules are `UpdateModelServingStatus` in github.com/volcano-sh/kthena,
pkg/model-serving-controller/controller/model_serving_controller.go, and `SetCondition` in
pkg/model-serving-controller/utils/utils.go, v1.0.0. Kthena also keeps conditions of before; here
only the one that is True is written.
"""

from collections import Counter

from lab.simulation.kthena_objects import (
    ENTRY,
    NAME,
    REVISION,
    ROLE,
    ROLE_ID,
    Object,
    labels_of,
)
from lab.simulation.kthena_world import ModelServingWorld, ServingGroup, groups_of


def whole_status(world: ModelServingWorld, now: str) -> Object:
    """Return what one reconcile puts; `now` is RFC 3339."""
    groups = groups_of(world)
    staying = [each for each in groups if not each.is_going]
    updated = sum(not each.is_outdated for each in staying)
    outdated = len(staying) - updated
    available = sum(each.is_running for each in staying)
    complete = updated == available == len(groups) == world.replicas
    counters = {
        "replicas": len(groups),
        "currentReplicas": updated if complete and not world.partition else outdated,
        "updatedReplicas": updated,
        "availableReplicas": available,
    }
    return {
        "observedGeneration": world.modelserving["metadata"]["generation"],
        **{name: count for name, count in counters.items() if count},
        "currentRevision": _current_revision(world, staying),
        "updateRevision": world.revision,
        "labelSelector": _selector(world),
        "conditions": [_condition(world, groups, outdated, now=now)],
    }


def _current_revision(world: ModelServingWorld, groups: list[ServingGroup]) -> str:
    older = [labels_of(group.pods[0])[REVISION] for group in groups if group.is_outdated]
    recorded = (world.modelserving.get("status") or {}).get("currentRevision", "")
    if not older:
        return world.revision
    return recorded if recorded in older else Counter(older).most_common(1)[0][0]


def _selector(world: ModelServingWorld) -> str:
    role = world.roles[0]["name"]
    labels = {ENTRY: "true", NAME: world.name, ROLE_ID: f"{role}-0", ROLE: role}
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items()))


def _condition(
    world: ModelServingWorld, groups: list[ServingGroup], outdated: int, *, now: str
) -> Object:
    unready = [i for i, each in enumerate(groups) if each.is_going or not each.is_running]
    new = [i for i, each in enumerate(groups) if not (each.is_going or each.is_outdated)]
    if not unready:
        kind, reason, message = "Available", "AllGroupsReady", "All Serving groups are ready"
    elif outdated > world.partition:
        kind, reason = "UpdateInProgress", "GroupsUpdating"
        message = f"Some groups is progressing: {_list(unready)}, Updated Groups are: {_list(new)}"
    else:
        kind, reason = "Progressing", "GroupProgressing"
        message = f"Some groups is progressing: {_list(unready)}"
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }


def _list(numbers: list[int]) -> str:
    return f"[{' '.join(map(str, numbers))}]"
