"""What a predictor's model is doing, by its first pod.

This is KServe's `PropagateModelStatus` (github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0), which looks at no other pod.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from reporter.diagnosis.case import last_end
from reporter.model.objects import ContainerStatus, Pod
from reporter.stacks.kserve.objects import FailureInfo, ModelCopies, ModelStates, ModelStatus
from reporter.workload.pod import is_ready

STORAGE_INITIALIZER: Final = "storage-initializer"
KSERVE_CONTAINER: Final = "kserve-container"
MODEL_LOAD_FAILED: Final = "ModelLoadFailed"


class Transition(StrEnum):
    """How a model moves from its active to its target state."""

    UP_TO_DATE = "UpToDate"
    IN_PROGRESS = "InProgress"
    BLOCKED = "BlockedByFailedLoad"
    INVALID_SPEC = "InvalidSpec"


_PENDING: Final = "Pending"
_LOADED: Final = "Loaded"
_FAILED: Final = "FailedToLoad"
_TRANSITIONS: Final = {_LOADED: Transition.UP_TO_DATE, _FAILED: Transition.BLOCKED}
"""What the others are is InProgress."""


def model_status(
    stored: ModelStatus, pods: Sequence[Pod], *, failed: bool, loaded: bool
) -> ModelStatus | None:
    """Return the model status after a pass; None where the pass is not stored at all.

    What a later success does not clear is kept: the failure of the last time, and the state of the
    model that is active. All ready pods are counted, before the first of them is looked at.

    Args:
        stored: before the pass.
        pods: those of the latest created revision, or of the Deployment.
        failed: Knative mode, and a condition of the Knative Service is False.
        loaded: Ready is True, and the mode is Standard or the latest created revision is ready.

    """
    ready = sum(each.status.phase == "Running" and is_ready(each) for each in pods)
    counted = replace(stored, copies=replace(stored.copies or ModelCopies(), total_copies=ready))
    storage = serving = None
    if pods:
        storage = container_of(pods[0].status.init_container_statuses, STORAGE_INITIALIZER)
        serving = container_of(pods[0].status.container_statuses, KSERVE_CONTAINER)
    failure = None
    if not pods:
        target = _FAILED if failed else _PENDING
    elif storage is not None and is_running(storage):
        if last_end(storage):
            return None
        target = "Loading"
    elif storage is not None and has_failed(storage):
        target, failure = _FAILED, failure_of(storage)
    elif loaded:
        target = _LOADED
    elif serving is None:
        return counted
    elif has_failed(serving):
        target, failure = _FAILED, failure_of(serving)
    else:
        target = _PENDING
    active = stored.states.active_model_state if stored.states else ""
    return replace(
        counted,
        transition_status=_TRANSITIONS.get(target, Transition.IN_PROGRESS).value,
        states=ModelStates(
            active_model_state=_LOADED if target == _LOADED else active, target_model_state=target
        ),
        last_failure_info=failure or stored.last_failure_info,
    )


def container_of(statuses: tuple[ContainerStatus, ...] | None, name: str) -> ContainerStatus | None:
    return next((each for each in statuses or () if each.name == name), None)


def is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def has_failed(status: ContainerStatus) -> bool:
    """Tell whether a container ended in `Error`, or waits in a crash loop; OOMKilled is neither."""
    if status.state is None:
        return False
    ended, waiting = status.state.terminated, status.state.waiting
    if ended is not None:
        return ended.reason == "Error"
    return waiting is not None and waiting.reason == "CrashLoopBackOff"


def failure_of(status: ContainerStatus) -> FailureInfo:
    """Return how a container that failed ended, or ended the time before."""
    ended = last_end(status)
    message, code = (ended.message or "", ended.exit_code) if ended else ("", None)
    return FailureInfo(reason=MODEL_LOAD_FAILED, message=message, exit_code=code)
