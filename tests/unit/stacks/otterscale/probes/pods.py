"""What befalls pods, as patches of them."""

from tests.unit.probes.building import Document, condition

NOT_READY = [
    condition("PodScheduled", "True"),
    condition("Initialized", "True"),
    condition("Ready", "False", "ContainersNotReady"),
]
ENDED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-11-20T11:51:00Z"}}
_UP = {"ready": True, "state": {"running": {"startedAt": "2026-11-20T11:50:00Z"}}}
_DONE = {"ready": True, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
_LATER = {"ready": False, "state": {"waiting": {"reason": "PodInitializing"}}}


def statuses(container: str, status: Document) -> Document:
    """A pod that is not Ready, for what one container is in; those after it wait."""
    init = {"name": "model-unpack", **_DONE}
    proxy = {"name": "routing-proxy", **_UP}
    main = {"name": "epp" if container == "epp" else "vllm", **_UP}
    found = {"name": container, "restartCount": 3, "ready": False, **status}
    match container:
        case "model-unpack":
            init, proxy, main = found, {**proxy, **_LATER}, {**main, **_LATER}
        case "routing-proxy":
            proxy, main = found, {**main, **_LATER}
        case _:
            main = found
    inits = [] if container == "epp" else [init, proxy]
    return {
        "status": {
            "conditions": NOT_READY,
            "initContainerStatuses": inits,
            "containerStatuses": [main],
        }
    }


def waiting(reason: str, container: str = "vllm", message: str = "", **fields) -> Document:
    """A container that waits."""
    return statuses(
        container, {"state": {"waiting": {"reason": reason, "message": message}}, **fields}
    )


def crashing(container: str, **ended) -> Document:
    """A container in a crash loop."""
    last = {"terminated": {**ENDED["terminated"], **ended}}
    return waiting("CrashLoopBackOff", container, lastState=last)


def failed(container: str) -> Document:
    """A container that ended in an error a moment ago."""
    return statuses(container, {"state": ENDED})


def unschedulable(message: str) -> Document:
    """A pod that no node has room for."""
    told = condition("PodScheduled", "False", "Unschedulable", message)
    return {
        "status": {"phase": "Pending", "conditions": [told], "initContainerStatuses": None, "containerStatuses": None}
    }  # fmt: skip


def starting(**init) -> Document:
    """A pod whose unpack step is in this state; it was never Ready."""
    return statuses("model-unpack", {"state": init, "restartCount": 0})
