"""Whether a DaemonSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller counts the nodes that should
run the pod (`desiredNumberScheduled`), writes no conditions and has no progress deadline; a rolling
update is done when the pods of all these nodes are updated (`updatedNumberScheduled`), for which
`kubectl rollout status` waits too. With the strategy OnDelete nobody rolls anything out.
"""

from reporter.model.objects import DaemonSet
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.standing import (
    STEP_BUDGET,
    WorkloadFault,
    cause_in_pods,
    last_step,
    not_ready_since,
    pods_of,
)


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

    While it is available on one node, a rollout may take its time from one step to the next. One
    that stands still is told, also where the old pods stay until the new ones are ready.
    """
    status, wanted = daemonset.status, daemonset.wanted
    down = wanted > 0 and not _has_available(daemonset)
    rolls = wanted > 0 and not down and _is_rolling_out(daemonset)
    if not down and not rolls and status.number_ready >= wanted:
        return None
    pods = pods_of(daemonset.spec.selector, daemonset.namespace, snapshot)
    step = last_step(pods) if rolls else None
    if rolls and step is None:
        return (
            None  # without its pods nothing tells a rollout that moves from one that stands still
        )
    cause, text = cause_in_pods(pods, daemonset.namespace, snapshot)
    rollout = "rollout stands still, " if rolls else ""
    return WorkloadFault(
        down=down,
        cause=cause,
        detail=f"{status.number_ready}/{wanted} ready, {rollout}{text}",
        transition=step or not_ready_since(pods),
        budget=STEP_BUDGET if rolls else None,
    )


def _has_available(daemonset: DaemonSet) -> bool:
    """Tell whether its pod is available on a node; both counts of that are optional in the API."""
    status = daemonset.status
    if status.number_available > 0:
        return True
    return status.number_ready > 0 and status.number_unavailable < daemonset.wanted


def _is_rolling_out(daemonset: DaemonSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing one explains itself."""
    status, strategy = daemonset.status, daemonset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    if status.observed_generation < daemonset.metadata.generation:
        return True
    return status.updated_number_scheduled < daemonset.wanted
