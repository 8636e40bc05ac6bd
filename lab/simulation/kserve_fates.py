"""The fates of an InferenceService's pods: their status, as a kubelet would write it."""

from collections.abc import Callable
from typing import Final, TypeAlias

from lab.simulation.kserve_objects import KSERVE_CONTAINER, STORAGE_INITIALIZER, Object

Fate: TypeAlias = Callable[[Object, Object], Object]
"""Maps a pod, and the status of a healthy run, to the pod's status."""

_UNREADY: Final = ("Ready", "ContainersReady")


def runs(pod: Object, status: Object) -> Object:
    """Run without a fault."""
    return _fetched(pod, status)


def load_fails(message: str, exit_code: int = 1) -> Fate:
    """Let the serving container end in an error again and again."""

    def fate(pod: Object, status: Object) -> Object:
        ended = _ended(status, message, exit_code)
        return _serving(_fetched(pod, status), ended | _crash_loop(KSERVE_CONTAINER))

    return fate


def _fetched(pod: Object, status: Object) -> Object:
    if not pod["spec"].get("initContainers"):
        return status
    done = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}, "ready": True}
    return {**status, "initContainerStatuses": [_container(STORAGE_INITIALIZER) | done]}


def _serving(status: Object, change: Object) -> Object:
    statuses = [
        {**each, "ready": False, "started": False, **change}
        if each["name"] == KSERVE_CONTAINER
        else each
        for each in status["containerStatuses"]
    ]
    return {**_unready(status, *_UNREADY), "containerStatuses": statuses}


def _unready(status: Object, *types: str) -> Object:
    conditions = [
        {**each, "status": "False", "reason": "ContainersNotReady"}
        if each["type"] in types
        else each
        for each in status["conditions"]
    ]
    return {**status, "conditions": conditions}


def _container(name: str) -> Object:
    return {
        "name": name,
        "image": "kserve/storage-initializer:v0.20.0",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
    }


def _ended(status: Object, message: str, exit_code: int) -> Object:
    moments = {"startedAt": status["startTime"], "finishedAt": status["startTime"]}
    ended = {"reason": "Error", "exitCode": exit_code, "message": message, **moments}
    return {"lastState": {"terminated": ended}, "restartCount": 3}


def _crash_loop(container: str) -> Object:
    text = f"back-off 40s restarting failed container={container}"
    return {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}}}
