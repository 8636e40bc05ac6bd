"""Whether a shared Deployment is down or degraded, and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.diagnosis.refusals import refusal
from reporter.model.objects import Condition, Deployment, Pod
from reporter.model.text import detail
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import NOT_SET_UP, STARTING, UNSCHEDULABLE
from reporter.workload.standing import (
    SCALED_TO_ZERO,
    PodCause,
    WorkloadFault,
    cause_in_ending,
    cause_in_pods,
    lost_with_node,
    not_ready_since,
    pods_ending,
    pods_of,
    pods_that_failed,
    worst_pod,
)

_TEXT_BYTES: Final = 300
_EXCEEDED: Final = "ProgressDeadlineExceeded"


def is_available(deployment: Deployment) -> bool:
    """Tell whether at least one replica is wanted and available.

    Ready replicas count where nothing says that they are not available yet: a status may leave
    availableReplicas out.
    """
    status = deployment.status
    if deployment.wanted == 0:
        return False
    if status.available_replicas > 0:
        return True
    return status.ready_replicas > 0 and not _is(status.condition("Available"), "False")


def judge_deployment(deployment: Deployment, snapshot: Snapshot) -> WorkloadFault | None:
    """Return what is wrong with a Deployment, None if nothing is.

    A rollout within its deadline is nothing as long as one replica is available.
    """
    if deployment.wanted == 0:
        return SCALED_TO_ZERO
    exceeded = _exceeded_deadline(deployment)
    down = not is_available(deployment)
    lacking = deployment.status.ready_replicas < deployment.wanted
    if not down and exceeded is None and (not lacking or _is_rolling_out(deployment)):
        return None
    pods = pods_of(deployment.spec.selector, deployment.namespace, snapshot)
    cause = _cause(deployment, pods, snapshot)
    rollout = "rollout exceeded its deadline, " if exceeded else ""
    count = f"{deployment.status.ready_replicas}/{deployment.wanted} ready"
    return WorkloadFault(
        down=down,
        cause=cause.brief,
        detail=f"{count}, {rollout}{cause.text}",
        transition=_transition(deployment, pods, exceeded),
        lost_node=cause.lost_node,
        passing=cause.passing,
        diagnosis=cause.diagnosis,
        started=cause.started,
    )


def _is(condition: Condition | None, status: str) -> bool:
    return condition is not None and condition.status == status


def _is_stale(deployment: Deployment) -> bool:
    """Tell whether the status describes an older spec."""
    return deployment.status.observed_generation < deployment.metadata.generation


def _exceeded_deadline(deployment: Deployment) -> Condition | None:
    progressing = deployment.status.condition("Progressing")
    if progressing is None or _is_stale(deployment):
        return None
    exceeded = progressing.status == "False" and progressing.reason == _EXCEEDED
    return progressing if exceeded else None


def _refused(deployment: Deployment) -> Condition | None:
    """Return the condition that says that pods could not be created."""
    failure = deployment.status.condition("ReplicaFailure")
    return failure if _is(failure, "True") else None


def _is_rolling_out(deployment: Deployment) -> bool:
    """Tell whether old pods are being replaced, so that a missing replica explains itself.

    A paused rollout never ends by itself, and the controller keeps no deadline for a Deployment
    whose last rollout is complete: its Progressing stays NewReplicaSetAvailable when a quota
    refuses pods or a scale-up hangs.
    """
    status = deployment.status
    if deployment.spec.paused or _refused(deployment):
        return False
    if _is_stale(deployment):
        return True
    updated = status.updated_replicas
    if updated >= max(deployment.wanted, status.replicas):
        return False
    progressing = status.condition("Progressing")
    if progressing is None:  # no deadline is kept; a status that counts no update tells of none
        return updated > 0
    if progressing.status == "False":
        return False
    complete = progressing.reason == "NewReplicaSetAvailable"
    return not complete or status.replicas > updated


def _cause(deployment: Deployment, pods: Sequence[Pod], snapshot: Snapshot) -> PodCause:
    refused = _refused(deployment)
    present = len(pods) if snapshot.known(PODS) else deployment.status.replicas
    if refused is not None and present < deployment.wanted:
        reason = refused.reason or "ReplicaFailure"
        found = refusal(refused.message, deployment.namespace)
        text = found.told if found else detail(reason, refused.message, _TEXT_BYTES)
        words = f"pods cannot be created: {text}"
        return PodCause(reason, words, diagnosis=found, started=False)
    ending = pods_ending(deployment.spec.selector, deployment.namespace, snapshot)
    if ending and not pods and deployment.spec.recreates:
        return cause_in_ending(ending, snapshot)
    failed = pods_that_failed(deployment.spec.selector, deployment.namespace, snapshot)
    if not pods and failed is not None:
        return failed
    cause = cause_in_pods(pods, deployment.namespace, snapshot)
    if not lost_with_node(ending, snapshot) or not _only_waits(pods, snapshot):
        return cause
    lost = cause_in_ending(ending, snapshot)
    return replace(lost, text=f"{lost.text}; {cause.text}")


def _only_waits(pods: Sequence[Pod], snapshot: Snapshot) -> bool:
    """Tell whether what takes the place of a pod has no fault of its own, such as its image."""
    worst = worst_pod(pods, snapshot)
    return worst is not None and worst[1].severity in {STARTING, NOT_SET_UP, UNSCHEDULABLE}


def _transition(
    deployment: Deployment, pods: Sequence[Pod], exceeded: Condition | None
) -> datetime | None:
    available = deployment.status.condition("Available")
    unavailable = available if _is(available, "False") else None
    condition = unavailable or _refused(deployment) or exceeded
    if condition is not None and condition.last_transition_time is not None:
        return condition.last_transition_time
    return not_ready_since(pods)
