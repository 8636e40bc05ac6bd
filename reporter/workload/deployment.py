"""Whether a shared Deployment is down or degraded, and why."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.diagnosis.refusals import refusal
from reporter.model.objects import Condition, Deployment, Labels
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
    replicas = _replicas_of(deployment, snapshot)
    cause = _cause(deployment, replicas, snapshot)
    rollout = "rollout exceeded its deadline, " if exceeded else ""
    count = f"{deployment.status.ready_replicas}/{deployment.wanted} ready"
    return WorkloadFault(
        down=down,
        cause=cause.brief,
        detail=f"{count}, {rollout}{cause.text}",
        transition=_transition(deployment, replicas, exceeded),
        lost_node=cause.lost_node,
        passing=cause.passing,
        diagnosis=cause.diagnosis,
        started=cause.started,
    )


def deployment_behind(snapshot: Snapshot, namespace: str, labels: Labels) -> Deployment | None:
    """Return the Deployment whose pods a Service with these labels in its selector leads to, if any.

    Of several the first by name that is to have replicas.
    """
    wanted = tuple(sorted(labels.items()))

    def find(snapshot: Snapshot) -> Deployment | None:
        index = snapshot.once(("templates", namespace), partial(_by_label_of_pods, namespace))
        rarest = min((index.get(each, ()) for each in wanted), key=len)
        sought = set(wanted)
        matching = (
            each for each in rarest if sought <= (each.spec.template.metadata.labels or {}).items()
        )
        return next(matching, None)

    return snapshot.once(("behind", namespace, wanted), find)


def _by_label_of_pods(
    namespace: str, snapshot: Snapshot
) -> Mapping[tuple[str, str], tuple[Deployment, ...]]:
    """Return the Deployments by each label that their pods get; those that are to have replicas first."""
    index: dict[tuple[str, str], list[Deployment]] = defaultdict(list)
    found = snapshot[DEPLOYMENTS].in_namespace(namespace)
    for each in sorted(found, key=lambda each: each.wanted == 0):
        for label in (each.spec.template.metadata.labels or {}).items():
            index[label].append(each)
    return {label: tuple(deployments) for label, deployments in index.items()}


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


@dataclass(frozen=True, slots=True)
class _Replicas:
    """What the pods tell that stand for replicas, asked once for all Deployments with the same selector.

    Attributes:
        count: how many there are.
        cause: why they are not ready.
        since: since when the first of them has not been.
        only_wait: those that take the place of others have no fault of their own, such as their image.
        ending: why pods that are being deleted do not end; None where none is.
        lost: they cannot, as their node is not there to end them.
        failed: why pods failed for good that stood for replicas; None where none did.

    """

    count: int
    cause: PodCause
    since: datetime | None
    only_wait: bool
    ending: PodCause | None
    lost: bool
    failed: PodCause | None


def _replicas_of(deployment: Deployment, snapshot: Snapshot) -> _Replicas:
    selector, namespace = deployment.spec.selector, deployment.namespace

    def find(snapshot: Snapshot) -> _Replicas:
        pods = pods_of(selector, namespace, snapshot)
        ending = pods_ending(selector, namespace, snapshot)
        lost = lost_with_node(ending, snapshot)
        worst = worst_pod(pods, snapshot) if lost else None
        return _Replicas(
            len(pods),
            cause_in_pods(pods, namespace, snapshot),
            not_ready_since(pods),
            only_wait=worst is not None
            and worst[1].severity in {STARTING, NOT_SET_UP, UNSCHEDULABLE},
            ending=cause_in_ending(ending, snapshot) if ending else None,
            lost=lost,
            failed=pods_that_failed(selector, namespace, snapshot),
        )

    return snapshot.once(("replicas", namespace, selector and selector.key), find)


def _cause(deployment: Deployment, replicas: _Replicas, snapshot: Snapshot) -> PodCause:
    refused = _refused(deployment)
    present = replicas.count if snapshot.known(PODS) else deployment.status.replicas
    if refused is not None and present < deployment.wanted:
        reason = refused.reason or "ReplicaFailure"
        found = refusal(refused.message, deployment.namespace)
        text = found.told if found else detail(reason, refused.message, _TEXT_BYTES)
        words = f"pods cannot be created: {text}"
        return PodCause(reason, words, diagnosis=found, started=False)
    cause, ending = replicas.cause, replicas.ending
    if ending and not replicas.count and deployment.spec.recreates:
        return ending
    if not replicas.count and replicas.failed is not None:
        return replicas.failed
    if ending is None or not (replicas.lost and replicas.only_wait):
        return cause
    return replace(ending, text=f"{ending.text}; {cause.text}")


def _transition(
    deployment: Deployment, replicas: _Replicas, exceeded: Condition | None
) -> datetime | None:
    available = deployment.status.condition("Available")
    unavailable = available if _is(available, "False") else None
    condition = unavailable or _refused(deployment) or exceeded
    if condition is not None and condition.last_transition_time is not None:
        return condition.last_transition_time
    return replicas.since
