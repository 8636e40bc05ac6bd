"""What a predictor's model is doing, by its first pod.

This is KServe's `PropagateModelStatus` (github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0), which looks at no other pod.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec.structs import replace

from reporter.model.objects import ContainerStatus, Pod, Terminated
from reporter.stacks.kserve.objects import FailureInfo, ModelCopies, ModelStates, ModelStatus
from reporter.workload.pod import is_ready

STORAGE_INITIALIZER: Final = "storage-initializer"
KSERVE_CONTAINER: Final = "kserve-container"
MODEL_LOAD_FAILED: Final = "ModelLoadFailed"

_ERROR: Final = "Error"
_CRASH_LOOP: Final = "CrashLoopBackOff"


class State(StrEnum):
    """A state of a model."""

    PENDING = "Pending"
    LOADING = "Loading"
    LOADED = "Loaded"
    FAILED_TO_LOAD = "FailedToLoad"


class Transition(StrEnum):
    """How a model moves from its active to its target state."""

    UP_TO_DATE = "UpToDate"
    IN_PROGRESS = "InProgress"
    BLOCKED = "BlockedByFailedLoad"
    INVALID_SPEC = "InvalidSpec"


_Look: TypeAlias = tuple[State, FailureInfo | None]
"""The target state that a look at a pod tells, and the failure that it found."""

_TRANSITIONS: Final = {
    State.PENDING: Transition.IN_PROGRESS,
    State.LOADING: Transition.IN_PROGRESS,
    State.LOADED: Transition.UP_TO_DATE,
    State.FAILED_TO_LOAD: Transition.BLOCKED,
}


def model_status(
    stored: ModelStatus, pods: Sequence[Pod], *, failed: bool, loaded: bool
) -> ModelStatus | None:
    """Return the model status after a pass; None where the pass is not stored at all.

    Only the first pod is looked at. What a later success does not clear is kept: the failure of the
    last time, and the state of the model that is active.

    Args:
        stored: before the pass.
        pods: those of the latest created revision, or of the Deployment.
        failed: Knative mode, and a condition of the Knative Service is False.
        loaded: Ready is True, and the mode is Standard or the latest created revision is ready.

    """
    copies = sum(each.status.phase == "Running" and is_ready(each) for each in pods)
    if not pods:
        return _moved(stored, (State.FAILED_TO_LOAD if failed else State.PENDING, None), copies)
    storage = container_of(pods[0].status.init_container_statuses, STORAGE_INITIALIZER)
    if storage is not None and _is_running(storage) and last_end(storage):
        return None
    look = _at_storage(storage) or _at_container(pods[0], loaded=loaded)
    if look is None:
        return replace(stored, copies=_copies(stored, copies))
    return _moved(stored, look, copies)


def _at_storage(storage: ContainerStatus | None) -> _Look | None:
    """Return what the init container that fetches the model tells, None once it is done."""
    if storage is None:
        return None
    if _is_running(storage):
        return State.LOADING, None
    return (State.FAILED_TO_LOAD, failure_of(storage)) if has_failed(storage) else None


def _at_container(pod: Pod, *, loaded: bool) -> _Look | None:
    """Return what the serving container tells, None where the pod has none."""
    if loaded:
        return State.LOADED, None
    container = container_of(pod.status.container_statuses, KSERVE_CONTAINER)
    if container is None:
        return None
    if has_failed(container):
        return State.FAILED_TO_LOAD, failure_of(container)
    return State.PENDING, None


def _moved(stored: ModelStatus, look: _Look, copies: int) -> ModelStatus:
    target, failure = look
    states = stored.states or ModelStates()
    active = State.LOADED.value if target is State.LOADED else states.active_model_state
    return replace(
        stored,
        transition_status=_TRANSITIONS[target].value,
        states=ModelStates(active_model_state=active, target_model_state=target.value),
        last_failure_info=failure or stored.last_failure_info,
        copies=_copies(stored, copies),
    )


def _copies(stored: ModelStatus, ready: int) -> ModelCopies:
    """Return the copies after a pass: the ready pods are counted before any of them is looked at."""
    return replace(stored.copies or ModelCopies(), total_copies=ready)


def container_of(statuses: tuple[ContainerStatus, ...] | None, name: str) -> ContainerStatus | None:
    """Return the status of the container with that name."""
    return next((each for each in statuses or () if each.name == name), None)


def _is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def last_end(status: ContainerStatus) -> Terminated | None:
    """Return how a container ended the time before."""
    return status.last_state.terminated if status.last_state else None


def has_failed(status: ContainerStatus) -> bool:
    """Tell whether a container ended in `Error`, or waits in a crash loop; OOMKilled is neither."""
    if status.state is None:
        return False
    ended, waiting = status.state.terminated, status.state.waiting
    if ended is not None:
        return ended.reason == _ERROR
    return waiting is not None and waiting.reason == _CRASH_LOOP


def failure_of(status: ContainerStatus) -> FailureInfo:
    """Return how a container that failed ended, or ended the time before."""
    ended = status.state.terminated if status.state else None
    ended = ended or last_end(status)
    if ended is None:
        return FailureInfo(reason=MODEL_LOAD_FAILED)
    return FailureInfo(
        reason=MODEL_LOAD_FAILED, message=ended.message or "", exit_code=ended.exit_code
    )
