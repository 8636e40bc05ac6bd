"""What Kthena's controller reads off a single object (Kthena sheet 3.4)."""

from lab.simulation.kthena_objects import Object


def ordinal_of(name: str) -> int:
    """Return the number at the end of a name, -1 if there is none."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def is_deleting(obj: Object) -> bool:
    """Tell whether an object is on its way out."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_ready(pod: Object) -> bool:
    """Tell whether a pod is ready, as upstream sees it (Kthena sheet 3.4)."""
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == "True"


def is_failed(pod: Object) -> bool:
    """Tell whether upstream deletes a pod for having failed, or restarted and not being ready."""
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return True
    statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    restarted = any(each.get("restartCount") for each in statuses)
    return restarted and status.get("phase") in {"Running", "Pending"} and not is_ready(pod)
