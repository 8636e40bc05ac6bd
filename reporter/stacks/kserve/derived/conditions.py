"""Conditions as Knative's condition set keeps them (github.com/knative/pkg, apis/condition_set.go).

Ready follows PredictorReady and IngressReady and nothing else: the other conditions are there for
information, so that a transformer can be down while Ready is True.

What a predictor's model is doing, by its first pod.

This is KServe's `PropagateModelStatus` (github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0), which looks at no other pod.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec.structs import replace

from reporter.model.objects import Condition, ContainerStatus, Pod, Terminated
from reporter.stacks.kserve.derived.raw import (
    INGRESS_READY,
    LATEST_DEPLOYMENT_READY,
    PREDICTOR_READY,
    READY,
    ROUTES_READY,
    Component,
)
from reporter.stacks.kserve.objects import (
    FailureInfo,
    KnativeCondition,
    ModelCopies,
    ModelStates,
    ModelStatus,
)
from reporter.workload.pod import is_ready

DEPENDENTS: Final = (PREDICTOR_READY, INGRESS_READY)
"""What Ready follows."""

INFO: Final = "Info"
TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


class ConditionManager:
    """The conditions of one pass, from those that are stored.

    There is no clock: a condition that differs from the stored one in status, reason, message or
    severity has no lastTransitionTime, which says that the pass changed it. One that was changed
    and changed back in the pass keeps the stored time.
    """

    def __init__(self, stored: Iterable[KnativeCondition] = ()) -> None:
        """Begin with the stored conditions; those that Ready rests on start as Unknown."""
        self._stored = {each.type: each for each in stored}
        self._present = dict(self._stored)
        self._changes: list[str] = []
        for type_ in (READY, *DEPENDENTS):
            if type_ not in self._present:
                self._set(type_, UNKNOWN, "", message="")

    def get(self, type_: str) -> KnativeCondition | None:
        """Return a condition as it is now in the pass."""
        return self._present.get(type_)

    def is_true(self, type_: str) -> bool:
        """Tell whether a condition is there and True."""
        return self._status(type_) == TRUE

    def take_over(self, type_: str, condition: Condition | None) -> None:
        """Mark a condition as another object's is; None leaves it as it was."""
        if condition is not None:
            self.mark(
                type_, condition.status, condition.reason or "", message=condition.message or ""
            )

    def mark(self, type_: str, status: str, reason: str = "", *, message: str = "") -> None:
        """Write a condition, and let Ready follow; an invalid status is not written."""
        if status not in (TRUE, FALSE, UNKNOWN):
            return
        self._set(type_, status, reason, message=message)
        if status == TRUE:
            self._recompute()
        elif type_ not in DEPENDENTS:
            return
        elif status == FALSE:
            self._set(READY, FALSE, reason, message=message)
        elif failed := self._newest(FALSE):
            if self._status(READY) != FALSE:
                self._set(READY, FALSE, failed.reason or "", message=failed.message or "")
        else:
            self._set(READY, UNKNOWN, reason, message=message)

    def clear(self, type_: str) -> None:
        """Remove a condition that Ready does not follow."""
        self._present.pop(type_, None)

    def conditions(self) -> tuple[KnativeCondition, ...]:
        """Return all conditions, sorted by type."""
        return tuple(self._timed(self._present[type_]) for type_ in sorted(self._present))

    def _status(self, type_: str) -> str:
        condition = self._present.get(type_)
        return condition.status if condition else UNKNOWN

    def _set(self, type_: str, status: str, reason: str, *, message: str) -> None:
        severity = "" if type_ in (READY, *DEPENDENTS) else INFO
        wanted = KnativeCondition(
            type=type_, status=status, reason=reason, message=message, severity=severity
        )
        before = self._present.get(type_)
        if before is not None and _same(before, wanted):
            return
        self._present[type_] = wanted
        self._changes.append(type_)

    def _timed(self, condition: KnativeCondition) -> KnativeCondition:
        before = self._stored.get(condition.type)
        if before is not None and _same(before, condition):
            return before
        return replace(condition, last_transition_time=None)

    def _recompute(self) -> None:
        """Set Ready by what it follows: a False one wins, then an Unknown one, then a missing one."""
        unhappy = self._newest(FALSE) or self._newest(UNKNOWN)
        if unhappy is not None:
            self._set(READY, unhappy.status, unhappy.reason or "", message=unhappy.message or "")
        elif any(each not in self._present for each in DEPENDENTS):
            self._set(READY, UNKNOWN, "", message="")
        else:
            self._set(READY, TRUE, "", message="")

    def _newest(self, status: str) -> KnativeCondition | None:
        """Return the one with that status that changed last; what this pass changed is newest.

        Times have whole seconds. Of equal ones, which KServe itself orders by chance, the one that
        says why goes first.
        """
        which = [each for each in sorted(DEPENDENTS) if each in self._present]
        which = [each for each in which if self._present[each].status == status]
        return self._present[max(which, key=self._age)] if which else None

    def _age(self, type_: str) -> tuple[int, datetime, bool]:
        condition = self._present[type_]
        moved = condition.last_transition_time or _BEFORE_ALL
        last = max((at for at, each in enumerate(self._changes, 1) if each == type_), default=0)
        return last, moved, bool(condition.reason)


def aggregate(conditions: ConditionManager, components: Iterable[Component]) -> None:
    """Write RoutesReady and LatestDeploymentReady: the last bad component wins.

    So a component that is Unknown hides one before it that is False.
    """
    walked = tuple(components)
    for type_, parts in (
        (ROUTES_READY, tuple(each.route_ready for each in walked)),
        (LATEST_DEPLOYMENT_READY, tuple(each.configuration_ready for each in walked)),
    ):
        status, reason = TRUE, ""
        for part in parts:
            condition = conditions.get(part)
            if condition is None or condition.status != TRUE:
                failed = condition is not None and condition.status == FALSE
                status, reason = FALSE if failed else UNKNOWN, f"{part} not ready"
        conditions.mark(type_, status, reason)


def _same(one: KnativeCondition, other: KnativeCondition) -> bool:
    return _said(one) == _said(other)


def _said(condition: KnativeCondition) -> tuple[str, str, str, str]:
    return (
        condition.status,
        condition.reason or "",
        condition.message or "",
        condition.severity,
    )


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
