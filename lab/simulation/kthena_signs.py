"""How Kthena's controller reads a single object."""

from lab.simulation.kthena_objects import Object


def ordinal_of(name: str) -> int:
    """Return the number at the end of a name, or -1."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def is_deleting(obj: Object) -> bool:
    """True if an object is being deleted."""
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
