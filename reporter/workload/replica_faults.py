"""Common parts of judging Deployments, StatefulSets and DaemonSets.

Replicas are judged, not only pods: if a quota refuses pods, there are no pods to be not Ready.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.model.finding import Diagnosis, Fails
from reporter.model.objects import LabelSelector, Pod
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import pod as p

DOWN: Final = 20
DEGRADED: Final = 10
"""Severities: no replica serves, or fewer than wanted."""

STEP_BUDGET: Final = timedelta(seconds=600)
"""How long a step of a rollout, or a starting pod, may take if the API has no deadline.

StatefulSets and DaemonSets have no `progressDeadlineSeconds`; this is its default in Deployments.
"""


@dataclass(frozen=True, slots=True)
class WorkloadFault:
    """The fault of a Deployment, a StatefulSet or a DaemonSet, or of its pods.

    `cause` is a few words, such as `CrashLoopBackOff`; `detail` is for the message, and contains
    the ready and wanted replicas if it is about the workload. `down`: no replica is available;
    otherwise it is degraded. `budget` is the time that it may legitimately last from `transition`,
    as with a step of a rollout. `lost_node` is the node that is the cause, as it is gone or not
    Ready. `passing`: its pods are starting, or wait to fail again, so an earlier message says more.
    """

    cause: str
    detail: str
    lost_node: str = ""
    passing: bool = False
    diagnosis: Diagnosis | None = None
    fails: Fails = Fails.OTHERWISE
    down: bool = False
    transition: datetime | None = None
    budget: timedelta | None = None

    @property
    def state(self) -> str:
        return "down" if self.down else "degraded"

    @property
    def severity(self) -> int:
        return DOWN if self.down else DEGRADED


MISSING: Final = WorkloadFault("missing", "missing", down=True)
"""The fault of a workload that does not exist."""

SCALED_TO_ZERO: Final = WorkloadFault(
    "scaled to zero", "scaled to zero", fails=Fails.ZERO, down=True
)
"""The fault of a workload that was scaled to zero."""


def pods_of(selector: LabelSelector | None, namespace: str, snapshot: Snapshot) -> tuple[Pod, ...]:
    """Return the pods that are replicas, by name."""
    return tuple(pod for pod in _selected(selector, namespace, snapshot) if p.counts(pod))


def pods_that_failed(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> WorkloadFault | None:
    """Return the fault if there is no replica because the pods failed, or None."""
    found = newest_failure(_selected(selector, namespace, snapshot), snapshot)
    if found is None:
        return None
    pod, fault = found
    text = f"its pods fail (pod {pod.name}: {fault.detail})"
    return WorkloadFault(fault.cause, text, diagnosis=fault.diagnosis, fails=fault.fails)


def pods_ending(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> tuple[Pod, ...]:
    return tuple(pod for pod in _selected(selector, namespace, snapshot) if pod.deleting)


def _selected(
    selector: LabelSelector | None, namespace: str, snapshot: Snapshot
) -> tuple[Pod, ...]:
    return snapshot[PODS].selected(namespace, selector) if selector is not None else ()


def newest_failure(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Pod, p.PodFault] | None:
    """Return the newest failed pod and its fault, if none of the pods is a replica.

    Its controller creates another pod, which fails as well, without a restart count. Most often, a
    node rejects the pods.
    """
    known = [pod for pod in pods if not pod.deleting]
    failed = [pod for pod in known if pod.status.phase == "Failed" and pod.status.reason]
    if not failed or any(map(p.counts, known)):
        return None
    newest = max(failed, key=lambda pod: (f"{pod.created or ''}", pod.name))
    fault = p.judge_ended(newest, snapshot)
    return None if fault is None else (newest, fault)


def cause_in_pods(pods: Sequence[Pod], namespace: str, snapshot: Snapshot) -> WorkloadFault:
    worst = worst_pod(pods, snapshot)
    if worst is not None:
        return _cause_in(*worst)
    # A malformed pod may be one of them.
    if not pods and snapshot.absence_known(PODS, namespace, sought=lambda _: True):
        return WorkloadFault("no pods", "no pods", passing=True, fails=Fails.REFUSED)
    return WorkloadFault("not ready", "not all pods are ready", passing=True)


def cause_in_ending(ending: Sequence[Pod], snapshot: Snapshot) -> WorkloadFault:
    """Return the fault of a replica whose old pod has to end before it can be replaced."""
    worst = worst_pod(ending, snapshot)
    if worst is not None and worst[1].severity == p.NODE_LOST:
        return _cause_in(*worst)
    first = ending[0]
    node = f" on node {first.spec.node_name}" if first.spec.node_name else ""
    return WorkloadFault(
        "terminating", f"pod {first.name} is terminating{node}{p.kept(first)}", passing=True
    )


def _cause_in(pod: Pod, fault: p.PodFault) -> WorkloadFault:
    text = f"{fault.cause} (pod {pod.name}: {fault.detail})"
    starts = fault.severity in {p.STARTING, p.NOT_SET_UP}
    return WorkloadFault(
        fault.cause,
        text,
        fault.node,
        passing=starts or fault.passing,
        diagnosis=fault.diagnosis,
        fails=fault.fails,
    )


def worst_pod(pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Pod, p.PodFault] | None:
    """Return the pod with the worst fault, the first by name among equals."""
    judged = ((pod, p.judge_pod(pod, snapshot, startup_budget=timedelta(0))) for pod in pods)
    faults = [(pod, fault) for pod, fault in judged if fault is not None]
    return min(faults, key=lambda each: (-each[1].severity, each[0].name), default=None)


def not_ready_since(pods: Iterable[Pod]) -> datetime | None:
    """Return when the first of the pods that are not Ready stopped being Ready."""
    since = (_not_ready_since(pod) for pod in pods if not p.is_ready(pod))
    return min(filter(None, since), default=None)


def lost_with_node(ending: Iterable[Pod], snapshot: Snapshot) -> bool:
    """Tell whether a pod cannot end because its node is lost."""
    worst = worst_pod(ending, snapshot)
    return worst is not None and worst[1].severity == p.NODE_LOST


def _not_ready_since(pod: Pod) -> datetime | None:
    """Return when the pod became not Ready; a young pod was never Ready."""
    for name in ("Ready", "PodScheduled"):
        if condition := pod.status.condition(name, "False"):
            return condition.last_transition_time
    return pod.created
