"""What is common to judging Deployments, StatefulSets and DaemonSets.

Replicas are judged, not only pods: a quota that refuses pods leaves none that could be not Ready.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NODES, PODS
from reporter.model.finding import Diagnosis, Fails
from reporter.model.objects import LabelSelector, Pod
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import (
    NODE_LOST,
    NOT_SET_UP,
    STARTING,
    PodFault,
    asked_to_end,
    began_on_its_node,
    counts,
    is_ready,
    judge_ended,
    judge_pod,
)
from reporter.workload.pod import fault_of as pod_fault

DOWN: Final = 20
DEGRADED: Final = 10
"""Severities: no replica serves, or fewer than wanted do."""

STEP_BUDGET: Final = timedelta(seconds=600)
"""How long a step of a rollout, or a pod that starts, may take where the API keeps no deadline for it.

StatefulSets and DaemonSets have no `progressDeadlineSeconds`; this is its default in Deployments.
"""


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """Why a replica may be missing for `STEP_BUDGET`.

    Attributes:
        since: when it began; None counts from when it is first seen.
        of_rollout: it is one of a rollout; else a pod starts by itself, as on a node that is new.

    """

    since: datetime | None
    of_rollout: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFault:
    """What is wrong with a workload: a Deployment, a StatefulSet or a DaemonSet.

    Attributes:
        down: no replica is available; otherwise the workload is degraded.
        cause: a few words, such as `CrashLoopBackOff`.
        detail: ready and wanted replicas and the cause, for the message.
        transition: since when, where a condition's status says so.
        budget: time it may legitimately last from `transition`, as a step of a rollout does.
        lost_node: the node that is the cause, as it is gone or not Ready; empty if none is.
        passing: its pods are on their way, or wait to fail again: what was said before says more.
        diagnosis: the cause of its worst pod, where more is known than the symptom.
        fails: in which way, as far as its pods tell.

    """

    down: bool
    cause: str
    detail: str
    transition: datetime | None = None
    budget: timedelta | None = None
    lost_node: str = ""
    passing: bool = False
    diagnosis: Diagnosis | None = None
    fails: Fails = Fails.OTHERWISE

    @property
    def standing(self) -> str:
        """`down` or `degraded`."""
        return "down" if self.down else "degraded"

    @property
    def severity(self) -> int:
        """Down is worse than degraded."""
        return DOWN if self.down else DEGRADED


@dataclass(frozen=True, slots=True)
class PodCause:
    """Why replicas are not ready, as far as their pods tell.

    Attributes:
        brief: in a few words.
        text: for the message.
        lost_node: as in `WorkloadFault`.
        passing: as in `WorkloadFault`.
        diagnosis: as in `WorkloadFault`.
        fails: as in `WorkloadFault`.

    """

    brief: str
    text: str
    lost_node: str = ""
    passing: bool = False
    diagnosis: Diagnosis | None = None
    fails: Fails = Fails.OTHERWISE


MISSING: Final = WorkloadFault(down=True, cause="missing", detail="missing")
"""The fault of a workload that does not exist."""

SCALED_TO_ZERO: Final = WorkloadFault(
    down=True, cause="scaled to zero", detail="scaled to zero", fails=Fails.ZERO
)
"""The fault of a workload that somebody asked no replica of."""


def pods_of(selector: LabelSelector | None, namespace: str, snapshot: Snapshot) -> tuple[Pod, ...]:
    """Return the pods that stand for replicas, by name."""
    return tuple(pod for pod in _selected(selector, namespace, snapshot) if counts(pod))


def pods_that_failed(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> PodCause | None:
    """Return why there is no pod: those that were made failed; None where one stands or none did."""
    found = newest_failure(_selected(selector, namespace, snapshot), snapshot)
    if found is None:
        return None
    pod, fault = found
    text = f"its pods fail (pod {pod.name}: {fault.detail})"
    return PodCause(fault.cause, text, diagnosis=fault.diagnosis, fails=fault.fails)


def pods_ending(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> tuple[Pod, ...]:
    """Return the pods that are being deleted, by name."""
    return tuple(pod for pod in _selected(selector, namespace, snapshot) if pod.deleting)


def _selected(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> tuple[Pod, ...]:
    if selector is None:
        return ()
    return snapshot[PODS].selected(namespace, selector)


def newest_failure(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Pod, PodFault] | None:
    """Return the newest of pods that failed, and why, where none of them stands for a replica.

    Its controller makes another one, which fails as well, and counts no restart: a pod that its node
    refuses is the commonest.
    """
    known = [pod for pod in pods if not pod.deleting]
    failed = [pod for pod in known if pod.status.phase == "Failed" and pod.status.reason]
    if not failed or any(map(counts, known)):
        return None
    newest = max(failed, key=lambda pod: (f"{pod.created or ''}", pod.name))
    fault = judge_ended(newest, snapshot)
    return None if fault is None else (newest, fault)


def cause_in_pods(pods: Sequence[Pod], namespace: str, snapshot: Snapshot) -> PodCause:
    """Return why replicas are not ready, as far as their pods tell."""
    worst = worst_pod(pods, snapshot)
    if worst is not None:
        return _cause_in(*worst)
    # A malformed pod may be one of them.
    if not pods and snapshot.absence_known(PODS, namespace, sought=lambda _: True):
        return PodCause("no pods", "no pods", passing=True, fails=Fails.REFUSED)
    return PodCause("not ready", "not all pods are ready", passing=True)


def cause_in_ending(ending: Sequence[Pod], snapshot: Snapshot) -> PodCause:
    """Return what keeps a replica from being replaced: its pod has to end first."""
    worst = worst_pod(ending, snapshot)
    if worst is not None and worst[1].severity == NODE_LOST:
        return _cause_in(*worst)
    first = ending[0]
    node = f" on node {first.spec.node_name}" if first.spec.node_name else ""
    return PodCause("terminating", f"pod {first.name} is terminating{node}", passing=True)


def _cause_in(pod: Pod, fault: PodFault) -> PodCause:
    text = f"{fault.cause} (pod {pod.name}: {fault.detail})"
    starts = fault.severity in {STARTING, NOT_SET_UP}
    return PodCause(
        fault.cause,
        text,
        fault.node,
        passing=starts or fault.passing,
        diagnosis=fault.diagnosis,
        fails=fault.fails,
    )


def worst_pod(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Pod, PodFault] | None:
    """Return the pod with the worst fault, the first by name among equals."""
    judged = ((pod, judge_pod(pod, snapshot, startup_budget=timedelta(0))) for pod in pods)
    faults = [(pod, fault) for pod, fault in judged if fault is not None]
    return min(faults, key=lambda each: (-each[1].severity, each[0].name), default=None)


def not_ready_since(pods: Iterable[Pod]) -> datetime | None:
    """Return since when the first of the pods that are not Ready has not been."""
    since = (_not_ready_since(pod) for pod in pods if not is_ready(pod))
    return min((each for each in since if each is not None), default=None)


def rollout_step(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot, *, begun: bool
) -> RolloutStep:
    """Return the last step of a rollout: a pod was made, or an old one was asked to end.

    That a pod becomes Ready is not a step: one that crashes again and again does so each time.
    While there is no pod of the new revision, the newest one is as old as the rollout before.

    Args:
        selector: of the workload.
        namespace: of the workload.
        snapshot: where its pods are.
        begun: a pod of the new revision was made.

    """
    pods = _selected(selector, namespace, snapshot)
    ending = [asked_to_end(pod) for pod in pods if pod.deleting]
    made = [pod.created for pod in pods if counts(pod)] if begun or ending else []
    steps = [step for step in (*ending, *made) if step is not None]
    return RolloutStep(max(steps, default=None), of_rollout=True)


def first_start(
    pods: Iterable[Pod], snapshot: Snapshot, ending: Iterable[Pod] = ()
) -> RolloutStep | None:
    """Return since when pods start, None unless each that is not Ready does so for the first time.

    A container that ended once has started already. That a new node is not Ready for a while does not
    matter; on one that is back a pod starts again. Of pods that are `ending`, those that take their place start later: neither a
    StatefulSet nor a DaemonSet makes them before.
    """
    waiting = [pod for pod in pods if not is_ready(pod)]
    nodes = snapshot[NODES]
    made = (began_on_its_node(pod, pod.created, nodes) for pod in waiting)
    begun = [*made, *map(asked_to_end, ending)]
    if not begun or not all(map(_starts, waiting)):
        return None
    return RolloutStep(min((each for each in begun if each), default=None))


def lost_with_node(ending: Iterable[Pod], snapshot: Snapshot) -> bool:
    """Tell whether a pod is on a node that is not there to end it."""
    worst = worst_pod(ending, snapshot)
    return worst is not None and worst[1].severity == NODE_LOST


def _starts(pod: Pod) -> bool:
    fault = pod_fault(pod, nodes=None, startup_budget=STEP_BUDGET)
    statuses = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    restarted = any(each.restart_count > 0 for each in statuses)
    return fault is not None and fault.severity in {STARTING, NOT_SET_UP} and not restarted


def fault_of(
    pods: Sequence[Pod],
    ending: Sequence[Pod],
    namespace: str,
    *,
    snapshot: Snapshot,
    down: bool,
    ready: int,
    wanted: int,
    step: RolloutStep | None,
    refused: Diagnosis | None = None,
) -> WorkloadFault:
    """Return what is wrong with a StatefulSet or a DaemonSet that lacks replicas.

    Args:
        pods: those that stand for its replicas.
        ending: those that are being deleted, which no other takes the place of before they end.
        namespace: of the workload.
        snapshot: where they are.
        down: no replica is available.
        ready: how many replicas are.
        wanted: how many there should be.
        step: why replicas may be missing for a while.
        refused: why its controller cannot make pods, where that is known.

    """
    cause = cause_in_pods(pods, namespace, snapshot)
    rolls = step is not None and step.of_rollout
    if all(map(is_ready, pods)):
        if rolls:
            cause = PodCause("old pods", "old pods are not replaced")
        elif ending:
            cause = cause_in_ending(ending, snapshot)
        elif pods and down:
            cause = PodCause(
                "not available", "its pods are ready, but not available yet", passing=True
            )
        elif len(pods) < wanted and pods:
            cause = PodCause("missing pods", "the existing pods are ready, others are missing")
    if refused is not None and len(pods) < wanted:
        text = f"pods cannot be created: {refused.told}"
        cause = PodCause(refused.brief, text, diagnosis=refused, fails=Fails.REFUSED)
    rollout = "rollout is stuck, " if rolls else ""
    return WorkloadFault(
        down=down,
        cause=cause.brief,
        detail=f"{rollout}{cause.text}, {ready}/{wanted} ready",
        transition=step.since if step else not_ready_since(pods),
        budget=STEP_BUDGET if step else None,
        lost_node=cause.lost_node,
        passing=cause.passing,
        diagnosis=cause.diagnosis,
        fails=cause.fails,
    )


def _not_ready_since(pod: Pod) -> datetime | None:
    """Return when the pod was last seen to become not Ready; a young one never was Ready."""
    for name in ("Ready", "PodScheduled"):
        condition = pod.status.condition(name)
        if condition is not None and condition.status == "False":
            return condition.last_transition_time
    return pod.created
