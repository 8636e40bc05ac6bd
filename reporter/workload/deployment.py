"""Whether a shared Deployment is down or degraded, and why.

Whether a DaemonSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller counts the nodes that should
run the pod (`desiredNumberScheduled`) and those that have one (`currentNumberScheduled`), writes no
conditions and has no progress deadline. A rolling update goes on while pods that are there are not
updated (`updatedNumberScheduled`). With the strategy OnDelete nobody rolls anything out.

Whether a StatefulSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller writes no conditions and has
no progress deadline. A rolling update is done when `currentRevision` becomes `updateRevision`,
which the controller does once all pods are of the new revision and Ready; with a partition, when
as many as are above it are updated: `kubectl rollout status` waits for the same. With the strategy
OnDelete nobody rolls anything out.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, NODES, PODS
from reporter.diagnosis.refusals import refusal, why_not_made
from reporter.model.finding import Fails
from reporter.model.objects import Condition, DaemonSet, Deployment, Labels, Pod, StatefulSet
from reporter.model.text import detail
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import NOT_SET_UP, STARTING, UNSCHEDULABLE
from reporter.workload.standing import (
    SCALED_TO_ZERO,
    STEP_BUDGET,
    PodCause,
    WorkloadFault,
    cause_in_ending,
    cause_in_pods,
    fault_of,
    first_start,
    lost_with_node,
    not_ready_since,
    pods_ending,
    pods_of,
    pods_that_failed,
    rollout_step,
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


def rolls_as_allowed(deployment: Deployment) -> bool:
    """Tell whether a rollout moves, and no more replicas are unavailable than its strategy allows."""
    least = deployment.wanted - deployment.spec.may_lack
    return _is_rolling_out(deployment) and 0 < least <= deployment.status.available_replicas


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
        detail=f"{rollout}{cause.text}, {count}",
        transition=_transition(deployment, replicas, exceeded),
        lost_node=cause.lost_node,
        passing=cause.passing,
        diagnosis=cause.diagnosis,
        fails=cause.fails,
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


def deployments_like(
    snapshot: Snapshot, *, names: Collection[str], labels: Labels, places: Collection[str]
) -> tuple[Deployment, ...]:
    """Return the Deployments with one of some names, in one of some namespaces; empty is any."""
    return snapshot.once(
        ("deployments like", tuple(names), tuple(sorted(labels.items())), tuple(places)),
        lambda each: tuple(
            one
            for one in each[DEPLOYMENTS]
            if (not names or one.name in names)
            and (not places or one.namespace in places)
            and labels.items() <= (one.metadata.labels or {}).items()
        ),
    )


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
        return PodCause(reason, words, diagnosis=found, fails=Fails.REFUSED)
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


def is_daemonset_available(daemonset: DaemonSet) -> bool:
    """Tell whether it was looked at by its controller, and runs on a node or is wanted on none.

    That a node selector matches no node is no fault: device plugins wait for nodes that an
    autoscaler makes on demand.
    """
    status = daemonset.status
    if status.observed_generation == 0 and daemonset.metadata.generation > 0:
        return False
    return daemonset.wanted == 0 or _has_available(daemonset)


def judge_daemonset(daemonset: DaemonSet, snapshot: Snapshot) -> WorkloadFault | None:
    """Return what is wrong with a DaemonSet, None if nothing is.

    While it is available on one node, a rollout may take its time from one step to the next, and a
    pod that starts for the first time may take as long. So may one that starts on a node that is
    new, also where no other node has the pod: an autoscaler makes the first one on demand. A rollout
    that stands still is told, also where the old pods stay until the new ones are ready. A status
    that describes an older spec says nothing of pods that are missing.
    """
    status, wanted, selector = daemonset.status, daemonset.wanted, daemonset.spec.selector
    down = wanted > 0 and not _has_available(daemonset)
    rolls = wanted > 0 and not down and _is_daemonset_rolling_out(daemonset)
    if not down and (
        _is_daemonset_stale(daemonset) or (not rolls and status.number_ready >= wanted)
    ):
        return None
    pods = pods_of(selector, daemonset.namespace, snapshot)
    ending = pods_ending(selector, daemonset.namespace, snapshot)
    step = None
    if rolls:
        if not pods:
            return None  # without its pods nothing tells one that moves from one that stands still
        begun = status.updated_number_scheduled > 0
        step = rollout_step(selector, daemonset.namespace, snapshot, begun=begun)
    elif not down and not lost_with_node(ending, snapshot):
        step = first_start(pods, snapshot, ending)
    elif down and all(_came_with_its_node(each, snapshot) for each in pods):
        step = first_start(pods, snapshot)
    return fault_of(
        pods,
        ending,
        daemonset.namespace,
        snapshot=snapshot,
        down=down,
        ready=status.number_ready,
        wanted=wanted,
        step=step,
        refused=why_not_made("DaemonSet", daemonset, snapshot),
    )


def _is_daemonset_stale(daemonset: DaemonSet) -> bool:
    """Tell whether the status describes an older spec."""
    return daemonset.status.observed_generation < daemonset.metadata.generation


def _came_with_its_node(pod: Pod, snapshot: Snapshot) -> bool:
    """Tell whether a pod was made because its node was new."""
    node = snapshot[NODES].get("", pod.spec.node_name or "")
    if node is None or node.created is None or pod.created is None:
        return False
    return pod.created - node.created < STEP_BUDGET


def _has_available(daemonset: DaemonSet) -> bool:
    """Tell whether its pod is available on a node; both counts of that are optional in the API."""
    status = daemonset.status
    if status.number_available > 0:
        return True
    return status.number_ready > 0 and status.number_unavailable < daemonset.wanted


def _is_daemonset_rolling_out(daemonset: DaemonSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing one explains itself.

    A pod that is missing is not an old one: its node may be new.
    """
    status, strategy = daemonset.status, daemonset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    return status.updated_number_scheduled < status.current_number_scheduled


def is_statefulset_available(statefulset: StatefulSet) -> bool:
    """Tell whether at least one replica is wanted and available.

    An API server before 1.22 counts no available replicas; there ready ones count.
    """
    status = statefulset.status
    if statefulset.wanted == 0:
        return False
    available = status.available_replicas
    return (status.ready_replicas if available is None else available) > 0


def judge_statefulset(statefulset: StatefulSet, snapshot: Snapshot) -> WorkloadFault | None:
    """Return what is wrong with a StatefulSet, None if nothing is.

    While one replica is available, a rollout may take its time from one step to the next, and a pod
    that starts for the first time, or ends before that, may take as long. What stands still is
    told: the controller waits forever for a pod that does not become Ready. A status that
    describes an older spec says nothing of replicas that are missing.
    """
    if statefulset.wanted == 0:
        return SCALED_TO_ZERO
    status, selector = statefulset.status, statefulset.spec.selector
    down = not is_statefulset_available(statefulset)
    if not down and (
        _is_statefulset_stale(statefulset) or status.ready_replicas >= statefulset.wanted
    ):
        return None
    pods = pods_of(selector, statefulset.namespace, snapshot)
    ending = pods_ending(selector, statefulset.namespace, snapshot)
    step = None
    if not down and _is_statefulset_rolling_out(statefulset):
        if not pods:
            return None  # without its pods nothing tells one that moves from one that stands still
        begun = status.updated_replicas > 0
        step = rollout_step(selector, statefulset.namespace, snapshot, begun=begun)
    elif not down and not lost_with_node(ending, snapshot):
        step = first_start(pods, snapshot, ending)
    return fault_of(
        pods,
        ending,
        statefulset.namespace,
        snapshot=snapshot,
        down=down,
        ready=status.ready_replicas,
        wanted=statefulset.wanted,
        step=step,
        refused=why_not_made("StatefulSet", statefulset, snapshot),
    )


def _is_statefulset_stale(statefulset: StatefulSet) -> bool:
    """Tell whether the status describes an older spec."""
    return statefulset.status.observed_generation < statefulset.metadata.generation


def _is_statefulset_rolling_out(statefulset: StatefulSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing replica explains itself."""
    status, strategy = statefulset.status, statefulset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    rolling = strategy.rolling_update if strategy is not None else None
    partition = rolling.partition or 0 if rolling is not None else 0
    if partition > 0:
        return status.updated_replicas < statefulset.wanted - partition
    return status.current_revision != status.update_revision
