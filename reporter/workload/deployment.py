"""Whether a shared Deployment is down or degraded, and why (design section 4).

Replicas are judged, not only pods: a quota that refuses pods leaves none that could be not Ready.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NODES, PODS
from reporter.model.objects import Condition, Deployment, Pod
from reporter.model.text import detail
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import PodFault, counts, is_ready, judge_pod

DOWN: Final = 20
DEGRADED: Final = 10
"""Severities: no replica serves, or fewer than wanted do."""

_TEXT_BYTES: Final = 300
_EXCEEDED: Final = "ProgressDeadlineExceeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFault:
    """What is wrong with a Deployment.

    Attributes:
        down: no replica is available; otherwise the Deployment is degraded.
        cause: a few words, such as `CrashLoopBackOff`.
        detail: ready and wanted replicas and the cause, for the message.
        transition: since when, where a condition's status says so.

    """

    down: bool
    cause: str
    detail: str
    transition: datetime | None = None

    @property
    def standing(self) -> str:
        """`down` or `degraded`."""
        return "down" if self.down else "degraded"

    @property
    def severity(self) -> int:
        """Down is worse than degraded."""
        return DOWN if self.down else DEGRADED


MISSING: Final = DeploymentFault(down=True, cause="missing", detail="missing")
"""The fault of a Deployment that does not exist."""


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


def judge_deployment(deployment: Deployment, snapshot: Snapshot) -> DeploymentFault | None:
    """Return what is wrong with a Deployment, None if nothing is.

    A rollout within its deadline is nothing as long as one replica is available.
    """
    if deployment.wanted == 0:
        return DeploymentFault(
            down=True, cause="scaled to zero", detail="0/0 ready, scaled to zero"
        )
    exceeded = _exceeded_deadline(deployment)
    down = not is_available(deployment)
    lacking = deployment.status.ready_replicas < deployment.wanted
    if not down and exceeded is None and (not lacking or _is_rolling_out(deployment)):
        return None
    pods = _pods(deployment, snapshot)
    cause, text = _cause(deployment, pods, snapshot)
    rollout = "rollout exceeded its deadline, " if exceeded else ""
    count = f"{deployment.status.ready_replicas}/{deployment.wanted} ready"
    return DeploymentFault(
        down=down,
        cause=cause,
        detail=f"{count}, {rollout}{text}",
        transition=_transition(deployment, pods, exceeded),
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


def _pods(deployment: Deployment, snapshot: Snapshot) -> tuple[Pod, ...]:
    """Return the pods that stand for replicas, by name."""
    selector = deployment.spec.selector
    if selector is None:
        return ()
    pods = snapshot[PODS].in_namespace(deployment.namespace)
    return tuple(pod for pod in pods if selector.matches(pod.metadata.labels) and counts(pod))


def _cause(deployment: Deployment, pods: Sequence[Pod], snapshot: Snapshot) -> tuple[str, str]:
    """Return the cause in a few words and as text."""
    refused = _refused(deployment)
    present = len(pods) if snapshot.known(PODS) else deployment.status.replicas
    if refused is not None and present < deployment.wanted:
        reason = refused.reason or "ReplicaFailure"
        text = detail(reason, refused.message, _TEXT_BYTES)
        return reason, f"pods cannot be created: {text}"
    worst = _worst_pod(pods, snapshot)
    if worst is not None:
        pod, fault = worst
        return fault.cause, f"{fault.cause} (pod {pod.name}: {fault.detail})"
    if not pods and snapshot.absence_known(PODS, deployment.namespace):
        return "no pods", "no pods"
    return "not ready", "not all pods are ready"


def _worst_pod(pods: Sequence[Pod], snapshot: Snapshot) -> tuple[Pod, PodFault] | None:
    """Return the pod with the worst fault, the first by name among equals."""
    nodes = snapshot[NODES] if snapshot.known(NODES) else None
    judged = ((pod, judge_pod(pod, nodes=nodes, startup_budget=timedelta(0))) for pod in pods)
    faults = [(pod, fault) for pod, fault in judged if fault is not None]
    return min(faults, key=lambda each: (-each[1].severity, each[0].name), default=None)


def _transition(
    deployment: Deployment, pods: Sequence[Pod], exceeded: Condition | None
) -> datetime | None:
    available = deployment.status.condition("Available")
    unavailable = available if _is(available, "False") else None
    condition = unavailable or _refused(deployment) or exceeded
    if condition is not None and condition.last_transition_time is not None:
        return condition.last_transition_time
    since = (_not_ready_since(pod) for pod in pods if not is_ready(pod))
    return min((each for each in since if each is not None), default=None)


def _not_ready_since(pod: Pod) -> datetime | None:
    """Return when the pod was last seen to become not Ready; a young one never was Ready."""
    for name in ("Ready", "PodScheduled"):
        condition = pod.status.condition(name)
        if condition is not None and condition.status == "False":
            return condition.last_transition_time
    return pod.created
