"""Whether a Deployment, a DaemonSet or a StatefulSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. The controllers of sets write no conditions
and have no progress deadline; with the strategy OnDelete nobody rolls anything out.

That of DaemonSets counts the nodes that should run the pod (`desiredNumberScheduled`) and those
that have one (`currentNumberScheduled`). A rolling update goes on while pods that are there are not
updated (`updatedNumberScheduled`).

A rolling update of a StatefulSet is done when `currentRevision` becomes `updateRevision`, which the
controller does once all pods are of the new revision and Ready; with a partition, when as many as
are above it are updated: `kubectl rollout status` waits for the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, NODES, PODS, SERVICES
from reporter.diagnosis.case import refusal, statuses, why_not_made
from reporter.model.finding import Fails
from reporter.model.objects import Condition, DaemonSet, Deployment, Labels, Pod, StatefulSet
from reporter.model.text import detail
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import standing
from reporter.workload.pod import (
    NOT_SET_UP,
    STARTING,
    UNSCHEDULABLE,
    asked_to_end,
    began_on_its_node,
    fault_of,
    is_ready,
)

_TEXT_BYTES: Final = 300
_EXCEEDED: Final = "ProgressDeadlineExceeded"


def is_available(deployment: Deployment) -> bool:
    """Tell whether at least one replica is wanted and available.

    Ready replicas count where nothing says that they are not available yet: a status may leave
    availableReplicas out.
    """
    status = deployment.status
    ready = status.ready_replicas > 0 and not status.condition("Available", "False")
    return deployment.wanted != 0 and (status.available_replicas > 0 or ready)


def rolls_as_allowed(deployment: Deployment) -> bool:
    """Tell whether a rollout moves, with no more replicas unavailable than its strategy allows."""
    least = deployment.wanted - deployment.spec.may_lack
    return _is_rolling_out(deployment) and 0 < least <= deployment.status.available_replicas


def judge_deployment(deployment: Deployment, snapshot: Snapshot) -> standing.WorkloadFault | None:
    """Return what is wrong with a Deployment, None if nothing is.

    A rollout within its deadline is nothing as long as one replica is available.
    """
    if deployment.wanted == 0:
        return standing.SCALED_TO_ZERO
    exceeded = exceeded_deadline(deployment)
    down = not is_available(deployment)
    lacking = deployment.status.ready_replicas < deployment.wanted
    if not down and exceeded is None and (not lacking or _is_rolling_out(deployment)):
        return None
    replicas = _replicas_of(deployment, snapshot)
    cause = _cause(deployment, replicas, snapshot)
    rollout = "rollout exceeded its deadline, " if exceeded else ""
    count = f"{deployment.status.ready_replicas}/{deployment.wanted} ready"
    return replace(
        cause,
        down=down,
        detail=f"{rollout}{cause.detail}, {count}",
        transition=_transition(deployment, replicas, exceeded),
    )


def deployment_behind(snapshot: Snapshot, namespace: str, service: str) -> Deployment | None:
    """Return the Deployment whose pods a Service leads to, if it is there and leads to any.

    Of several the first by name that is to have replicas.
    """
    found = snapshot[SERVICES].get(namespace, service)
    if found is None or not found.spec.selector:
        return None
    wanted = tuple(sorted(found.spec.selector.items()))

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
    """Return the Deployments by each label of their pods; those that want replicas first."""
    found = snapshot[DEPLOYMENTS].in_namespace(namespace)
    return grouped(
        (label, each)
        for each in sorted(found, key=lambda each: each.wanted == 0)
        for label in (each.spec.template.metadata.labels or {}).items()
    )


def _is_stale(workload: Deployment | DaemonSet | StatefulSet) -> bool:
    return workload.status.observed_generation < workload.metadata.generation


def exceeded_deadline(deployment: Deployment) -> Condition | None:
    """Return the condition that says that a rollout is past its deadline, if one is."""
    stopped = deployment.status.condition("Progressing", "False")
    exceeded = stopped and stopped.reason == _EXCEEDED and not _is_stale(deployment)
    return stopped if exceeded else None


def _refused(deployment: Deployment) -> Condition | None:
    return deployment.status.condition("ReplicaFailure", "True")


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
    """What the pods tell that stand for replicas, asked once for Deployments of one selector.

    `ending` is why pods that are being deleted do not end; `lost`: they cannot, as their node is
    not there to end them. `only_wait`: those that take the place of others have no fault of their
    own, such as their image. `failed` is why pods failed for good that stood for replicas.
    """

    count: int
    cause: standing.WorkloadFault
    since: datetime | None
    only_wait: bool
    ending: standing.WorkloadFault | None
    lost: bool
    failed: standing.WorkloadFault | None


def _replicas_of(deployment: Deployment, snapshot: Snapshot) -> _Replicas:
    selector, namespace = deployment.spec.selector, deployment.namespace

    def find(snapshot: Snapshot) -> _Replicas:
        pods = standing.pods_of(selector, namespace, snapshot)
        ending = standing.pods_ending(selector, namespace, snapshot)
        lost = standing.lost_with_node(ending, snapshot)
        worst = standing.worst_pod(pods, snapshot) if lost else None
        return _Replicas(
            len(pods),
            standing.cause_in_pods(pods, namespace, snapshot),
            standing.not_ready_since(pods),
            only_wait=worst is not None
            and worst[1].severity in {STARTING, NOT_SET_UP, UNSCHEDULABLE},
            ending=standing.cause_in_ending(ending, snapshot) if ending else None,
            lost=lost,
            failed=standing.pods_that_failed(selector, namespace, snapshot),
        )

    return snapshot.once(("replicas", namespace, selector and selector.key), find)


def _cause(
    deployment: Deployment, replicas: _Replicas, snapshot: Snapshot
) -> standing.WorkloadFault:
    refused = _refused(deployment)
    present = replicas.count if snapshot.known(PODS) else deployment.status.replicas
    if refused is not None and present < deployment.wanted:
        reason = refused.reason or "ReplicaFailure"
        found = refusal(refused.message, deployment.namespace)
        text = found.told if found else detail(reason, refused.message, _TEXT_BYTES)
        words = f"pods cannot be created: {text}"
        return standing.WorkloadFault(reason, words, diagnosis=found, fails=Fails.REFUSED)
    cause, ending = replicas.cause, replicas.ending
    if ending and not replicas.count and deployment.spec.recreates:
        return ending
    if not replicas.count and replicas.failed is not None:
        return replicas.failed
    if ending is None or not (replicas.lost and replicas.only_wait):
        return cause
    return replace(ending, detail=f"{ending.detail}; {cause.detail}")


def _transition(
    deployment: Deployment, replicas: _Replicas, exceeded: Condition | None
) -> datetime | None:
    unavailable = deployment.status.condition("Available", "False")
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


def judge_daemonset(daemonset: DaemonSet, snapshot: Snapshot) -> standing.WorkloadFault | None:
    """Return what is wrong with a DaemonSet, None if nothing is.

    While it is available on one node, a rollout may take its time from one step to the next, and a
    pod that starts for the first time may take as long. So may one that starts on a node that is
    new, also where no other node has the pod: an autoscaler makes the first one on demand. A
    rollout that stands still is told, also where the old pods stay until the new ones are ready. A
    status that describes an older spec says nothing of pods that are missing.
    """
    status, wanted = daemonset.status, daemonset.wanted
    down = wanted > 0 and not _has_available(daemonset)
    rolls = wanted > 0 and not down and _is_daemonset_rolling_out(daemonset)
    if not down and (_is_stale(daemonset) or (not rolls and status.number_ready >= wanted)):
        return None
    return _fault_of_set(
        daemonset,
        snapshot,
        down=down,
        rolls=rolls,
        ready=status.number_ready,
        updated=status.updated_number_scheduled,
    )


def _all_new(pods: Iterable[Pod], snapshot: Snapshot) -> bool:
    """Tell whether each pod was made because its node was new."""
    places = ((pod, snapshot[NODES].get("", pod.spec.node_name or "")) for pod in pods)
    return all(
        node and node.created and pod.created and pod.created - node.created < standing.STEP_BUDGET
        for pod, node in places
    )


def _has_available(daemonset: DaemonSet) -> bool:
    """Tell whether its pod is available on a node; both counts of that are optional in the API."""
    status = daemonset.status
    ready = status.number_ready > 0 and status.number_unavailable < daemonset.wanted
    return status.number_available > 0 or ready


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
    ready, available = statefulset.status.ready_replicas, statefulset.status.available_replicas
    return statefulset.wanted != 0 and (ready if available is None else available) > 0


def judge_statefulset(
    statefulset: StatefulSet, snapshot: Snapshot
) -> standing.WorkloadFault | None:
    """Return what is wrong with a StatefulSet, None if nothing is.

    While one replica is available, a rollout may take its time from one step to the next, and a pod
    that starts for the first time, or ends before that, may take as long. What stands still is
    told: the controller waits forever for a pod that does not become Ready. A status that
    describes an older spec says nothing of replicas that are missing.
    """
    if statefulset.wanted == 0:
        return standing.SCALED_TO_ZERO
    status = statefulset.status
    down = not is_statefulset_available(statefulset)
    if not down and (_is_stale(statefulset) or status.ready_replicas >= statefulset.wanted):
        return None
    return _fault_of_set(
        statefulset,
        snapshot,
        down=down,
        rolls=not down and _is_statefulset_rolling_out(statefulset),
        ready=status.ready_replicas,
        updated=status.updated_replicas,
    )


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


def _fault_of_set(
    workload: DaemonSet | StatefulSet,
    snapshot: Snapshot,
    *,
    down: bool,
    rolls: bool,
    ready: int,
    updated: int,
) -> standing.WorkloadFault | None:
    """Return what is wrong with a set that lacks replicas, by its pods.

    None of one that rolls out without pods: nothing tells one that moves from one that stands
    still.
    """
    selector, namespace = workload.spec.selector, workload.namespace
    pods = standing.pods_of(selector, namespace, snapshot)
    ending = standing.pods_ending(selector, namespace, snapshot)
    if rolls and not pods:
        return None
    refused = why_not_made(type(workload).__name__, workload, snapshot)
    if refused is not None and len(pods) < workload.wanted:
        text = f"pods cannot be created: {refused.told}"
        cause = standing.WorkloadFault(refused.brief, text, diagnosis=refused, fails=Fails.REFUSED)
    elif not all(map(is_ready, pods)):
        cause = standing.cause_in_pods(pods, namespace, snapshot)
    elif rolls:
        cause = standing.WorkloadFault("old pods", "old pods are not replaced")
    elif ending:
        cause = standing.cause_in_ending(ending, snapshot)
    else:
        cause = _lacking(pods, workload, snapshot, down=down)
    since: datetime | None
    budget: timedelta | None
    if rolls:
        since, budget = _last_step(pods, ending, begun=updated > 0), standing.STEP_BUDGET
    elif down:
        new = isinstance(workload, DaemonSet) and _all_new(pods, snapshot)
        since, budget = _began(pods, (), snapshot, may_start=new)
    else:
        alone = not standing.lost_with_node(ending, snapshot)
        since, budget = _began(pods, ending, snapshot, may_start=alone)
    return replace(
        cause,
        down=down,
        detail=f"{'rollout is stuck, ' if rolls else ''}{cause.detail}, {ready}/{workload.wanted} "
        f"ready",
        transition=since,
        budget=budget,
    )


def _lacking(
    pods: Sequence[Pod], workload: DaemonSet | StatefulSet, snapshot: Snapshot, *, down: bool
) -> standing.WorkloadFault:
    """Return why replicas are missing although the pods that are there are ready."""
    if pods and down:
        text = "its pods are ready, but not available yet"
        return standing.WorkloadFault("not available", text, passing=True)
    if pods and len(pods) < workload.wanted:
        return standing.WorkloadFault(
            "missing pods", "the existing pods are ready, others are missing"
        )
    return standing.cause_in_pods(pods, workload.namespace, snapshot)


def _last_step(pods: Iterable[Pod], ending: Sequence[Pod], *, begun: bool) -> datetime | None:
    """Return the last step of a rollout: a pod was made, or an old one was asked to end.

    That a pod becomes Ready is not a step: one that crashes again and again does so each time.
    Until it has `begun`, as a pod of the new revision was made, the newest one is as old as the
    rollout before.
    """
    made = [pod.created for pod in pods] if begun or ending else []
    steps = (*map(asked_to_end, ending), *made)
    return max((each for each in steps if each is not None), default=None)


def _began(
    pods: Sequence[Pod], ending: Iterable[Pod], snapshot: Snapshot, *, may_start: bool
) -> tuple[datetime | None, timedelta | None]:
    """Return since when replicas are missing, and their budget, while all first start.

    A container that ended once has started already. That a new node is not Ready for a while does
    not matter; on one that is back a pod starts again. What takes the place of pods that are
    `ending` starts later: neither a StatefulSet nor a DaemonSet makes it before.
    """
    waiting = [pod for pod in pods if not is_ready(pod)]
    nodes = snapshot[NODES]
    made = (began_on_its_node(pod, pod.created, nodes) for pod in waiting)
    begun = [*made, *map(asked_to_end, ending)]
    if not may_start or not begun or not all(map(_starts, waiting)):
        return standing.not_ready_since(pods), None
    return min((each for each in begun if each), default=None), standing.STEP_BUDGET


def _starts(pod: Pod) -> bool:
    fault = fault_of(pod, nodes=None, startup_budget=standing.STEP_BUDGET)
    restarted = any(each.restart_count > 0 for each in statuses(pod))
    return fault is not None and fault.severity in {STARTING, NOT_SET_UP} and not restarted
