"""Whether a Deployment, a DaemonSet or a StatefulSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. The controllers of sets write no conditions
and have no progress deadline; with the strategy OnDelete they do not roll out.

The controller of DaemonSets counts the nodes that should run the pod (`desiredNumberScheduled`) and
those that have one (`currentNumberScheduled`). A rolling update lasts while existing pods are not
updated (`updatedNumberScheduled`).

A rolling update of a StatefulSet is done when the controller sets `currentRevision` to
`updateRevision`, once all pods have the new revision and are Ready; with a partition, when all pods
above it are updated. `kubectl rollout status` waits for the same.
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
from reporter.workload import pod as p
from reporter.workload import replica_faults as faults

_TEXT_BYTES: Final = 300


def is_available(deployment: Deployment) -> bool:
    """Tell whether at least one replica is wanted and available.

    A status may omit availableReplicas; then ready replicas count, unless Available is False.
    """
    status = deployment.status
    ready = status.ready_replicas > 0 and not status.condition("Available", "False")
    return deployment.wanted != 0 and (status.available_replicas > 0 or ready)


def rolls_as_allowed(deployment: Deployment) -> bool:
    """Tell whether a rollout proceeds within its strategy's limit of unavailable replicas."""
    least = deployment.wanted - deployment.spec.may_lack
    return _is_rolling_out(deployment) and 0 < least <= deployment.status.available_replicas


def judge_deployment(deployment: Deployment, snapshot: Snapshot) -> faults.WorkloadFault | None:
    """Return the fault of a Deployment, or None.

    A rollout within its deadline is not a fault as long as one replica is available.
    """
    if deployment.wanted == 0:
        return faults.SCALED_TO_ZERO
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
    """Return the Deployment whose pods a Service leads to, or None.

    If there are several, the first by name with wanted replicas.
    """
    found = snapshot[SERVICES].get(namespace, service)
    if found is None or not found.spec.selector:
        return None
    wanted = tuple(sorted(found.spec.selector.items()))

    def find(snapshot: Snapshot) -> Deployment | None:
        index = snapshot.once(("templates", namespace), partial(_by_label_of_pods, namespace))
        rarest = min((index.get(each, ()) for each in wanted), key=len)
        sought = set(wanted)
        matching = (e for e in rarest if sought <= (e.spec.template.metadata.labels or {}).items())
        return next(matching, None)

    return snapshot.once(("behind", namespace, wanted), find)


def deployments_like(
    snapshot: Snapshot, *, names: Collection[str], labels: Labels, places: Collection[str]
) -> tuple[Deployment, ...]:
    """Return the Deployments with these labels, in `places` and with `names`; empty means any."""
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
    """Return the Deployments by each label of their pods, those with wanted replicas first."""
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
    late = stopped and stopped.reason == "ProgressDeadlineExceeded"
    return stopped if late and not _is_stale(deployment) else None


def _refused(deployment: Deployment) -> Condition | None:
    return deployment.status.condition("ReplicaFailure", "True")


def _is_rolling_out(deployment: Deployment) -> bool:
    """Tell whether old pods are being replaced, which explains a missing replica.

    A paused rollout never ends by itself. The controller tracks no deadline for a Deployment whose
    last rollout is complete: Progressing stays NewReplicaSetAvailable when a quota refuses pods or
    a scale-up hangs.
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
    if progressing is None:  # without a deadline, only updated replicas show a rollout
        return updated > 0
    if progressing.status == "False":
        return False
    complete = progressing.reason == "NewReplicaSetAvailable"
    return not complete or status.replicas > updated


@dataclass(frozen=True, slots=True)
class _Replicas:
    """What the pods show about replicas, computed once per selector.

    `ending` is why pods that are being deleted do not end; `lost`: they cannot, as their node is
    lost. `only_wait`: the replacing pods have no fault of their own, such as their image. `failed`
    is why former replicas failed for good.
    """

    count: int
    cause: faults.WorkloadFault
    since: datetime | None
    only_wait: bool
    ending: faults.WorkloadFault | None
    lost: bool
    failed: faults.WorkloadFault | None


def _replicas_of(deployment: Deployment, snapshot: Snapshot) -> _Replicas:
    selector, namespace = deployment.spec.selector, deployment.namespace

    def find(snapshot: Snapshot) -> _Replicas:
        pods = faults.pods_of(selector, namespace, snapshot)
        ending = faults.pods_ending(selector, namespace, snapshot)
        lost = faults.lost_with_node(ending, snapshot)
        worst = faults.worst_pod(pods, snapshot) if lost else None
        return _Replicas(
            len(pods),
            faults.cause_in_pods(pods, namespace, snapshot),
            faults.not_ready_since(pods),
            only_wait=worst is not None
            and worst[1].severity in {p.STARTING, p.NOT_SET_UP, p.UNSCHEDULABLE},
            ending=faults.cause_in_ending(ending, snapshot) if ending else None,
            lost=lost,
            failed=faults.pods_that_failed(selector, namespace, snapshot),
        )

    return snapshot.once(("replicas", namespace, selector and selector.key), find)


def _cause(deployment: Deployment, replicas: _Replicas, snapshot: Snapshot) -> faults.WorkloadFault:
    refused = _refused(deployment)
    present = replicas.count if snapshot.known(PODS) else deployment.status.replicas
    if refused is not None and present < deployment.wanted:
        reason = refused.reason or "ReplicaFailure"
        found = refusal(refused.message, deployment.namespace, snapshot)
        text = found.sentence if found else detail(reason, refused.message, _TEXT_BYTES)
        words = f"pods cannot be created: {text}"
        return faults.WorkloadFault(reason, words, diagnosis=found, fails=Fails.REFUSED)
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
    """Tell whether its controller has observed it, and it is available on a node or wanted on none.

    A node selector that matches no node is not a fault: device plugins wait for nodes that an
    autoscaler creates on demand.
    """
    status = daemonset.status
    if status.observed_generation == 0 and daemonset.metadata.generation > 0:
        return False
    return daemonset.wanted == 0 or _has_available(daemonset)


def judge_daemonset(daemonset: DaemonSet, snapshot: Snapshot) -> faults.WorkloadFault | None:
    """Return the fault of a DaemonSet, or None.

    While it is available on one node, each step of a rollout has a budget, and so has the first
    start of a pod. A start on a new node has that budget even if no other node has the pod: an
    autoscaler creates the first node on demand. A rollout that does not proceed is a fault, even if
    the old pods stay until the new ones are ready. A status of an older spec says nothing about
    missing pods.
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
    """Tell whether each pod was created because its node was new."""
    places = ((pod, snapshot[NODES].get("", pod.spec.node_name or "")) for pod in pods)
    return all(
        node and node.created and pod.created and pod.created - node.created < faults.STEP_BUDGET
        for pod, node in places
    )


def _has_available(daemonset: DaemonSet) -> bool:
    """Tell whether its pod is available on a node; both counts are optional in the API."""
    status = daemonset.status
    ready = status.number_ready > 0 and status.number_unavailable < daemonset.wanted
    return status.number_available > 0 or ready


def _is_daemonset_rolling_out(daemonset: DaemonSet) -> bool:
    """Tell whether old pods are being replaced, which explains a missing pod.

    Nodes without a pod do not count: they may be new.
    """
    status, strategy = daemonset.status, daemonset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    return status.updated_number_scheduled < status.current_number_scheduled


def is_statefulset_available(statefulset: StatefulSet) -> bool:
    """Tell whether at least one replica is wanted and available.

    API servers before 1.22 do not count available replicas; then ready ones count.
    """
    ready, available = statefulset.status.ready_replicas, statefulset.status.available_replicas
    return statefulset.wanted != 0 and (ready if available is None else available) > 0


def judge_statefulset(statefulset: StatefulSet, snapshot: Snapshot) -> faults.WorkloadFault | None:
    """Return the fault of a StatefulSet, or None.

    While one replica is available, each step of a rollout has a budget, and so has a pod that
    starts for the first time or ends before that. A rollout that does not proceed is a fault: the
    controller waits forever for a pod that does not become Ready. A status of an older spec says
    nothing about missing replicas.
    """
    if statefulset.wanted == 0:
        return faults.SCALED_TO_ZERO
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
    """Tell whether old pods are being replaced, which explains a missing replica."""
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
) -> faults.WorkloadFault | None:
    """Return the fault of a set that lacks replicas, from its pods.

    Return None for a rollout without pods: it is unknown whether it proceeds.
    """
    selector, namespace = workload.spec.selector, workload.namespace
    pods = faults.pods_of(selector, namespace, snapshot)
    ending = faults.pods_ending(selector, namespace, snapshot)
    if rolls and not pods:
        return None
    refused = why_not_made(type(workload).__name__, workload, snapshot)
    if refused is not None and len(pods) < workload.wanted:
        text = f"pods cannot be created: {refused.sentence}"
        cause = faults.WorkloadFault(refused.brief, text, diagnosis=refused, fails=Fails.REFUSED)
    elif not all(map(p.is_ready, pods)):
        cause = faults.cause_in_pods(pods, namespace, snapshot)
    elif rolls:
        cause = faults.WorkloadFault("old pods", "old pods are not replaced")
    elif ending:
        cause = faults.cause_in_ending(ending, snapshot)
    else:
        cause = _lacking(pods, workload, snapshot, down=down)
    since: datetime | None
    budget: timedelta | None
    if rolls:
        since, budget = _last_step(pods, ending, begun=updated > 0), faults.STEP_BUDGET
    elif down:
        new = isinstance(workload, DaemonSet) and _all_new(pods, snapshot)
        since, budget = _began(pods, (), snapshot, may_start=new)
    else:
        alone = not faults.lost_with_node(ending, snapshot)
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
) -> faults.WorkloadFault:
    """Return why replicas are missing although the existing pods are ready."""
    if pods and down:
        text = "its pods are ready, but not available yet"
        return faults.WorkloadFault("not available", text, passing=True)
    if pods and len(pods) < workload.wanted:
        return faults.WorkloadFault(
            "missing pods", "the existing pods are ready, others are missing"
        )
    return faults.cause_in_pods(pods, workload.namespace, snapshot)


def _last_step(pods: Iterable[Pod], ending: Sequence[Pod], *, begun: bool) -> datetime | None:
    """Return the time of a rollout's last step: a pod was created, or an old one asked to end.

    A pod that becomes Ready is not a step: one in a crash loop does so again and again. Until the
    rollout has `begun`, with a pod of the new revision, the newest pod is from the previous one.
    """
    made = [pod.created for pod in pods] if begun or ending else []
    steps = (*map(p.asked_to_end, ending), *made)
    return max((each for each in steps if each is not None), default=None)


def _began(
    pods: Sequence[Pod], ending: Iterable[Pod], snapshot: Snapshot, *, may_start: bool
) -> tuple[datetime | None, timedelta | None]:
    """Return since when replicas are missing, and a budget if all of them start for the first time.

    A container that ended once has started already. On a node that is back, a pod starts again. The
    replacements of pods in `ending` start later: StatefulSets and DaemonSets do not create them
    before.
    """
    waiting = [pod for pod in pods if not p.is_ready(pod)]
    nodes = snapshot[NODES]
    made = (p.began_on_its_node(pod, pod.created, nodes) for pod in waiting)
    begun = [*made, *map(p.asked_to_end, ending)]
    if not may_start or not begun or not all(map(_starts, waiting)):
        return faults.not_ready_since(pods), None
    return min((each for each in begun if each), default=None), faults.STEP_BUDGET


def _starts(pod: Pod) -> bool:
    fault = p.fault_of(pod, nodes=None, startup_budget=faults.STEP_BUDGET)
    restarted = any(each.restart_count > 0 for each in statuses(pod))
    return fault is not None and fault.severity in {p.STARTING, p.NOT_SET_UP} and not restarted
