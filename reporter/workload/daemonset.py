"""Whether a DaemonSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller counts the nodes that should
run the pod (`desiredNumberScheduled`) and those that have one (`currentNumberScheduled`), writes no
conditions and has no progress deadline. A rolling update goes on while pods that are there are not
updated (`updatedNumberScheduled`). With the strategy OnDelete nobody rolls anything out.
"""

from reporter.catalogue.resources import NODES
from reporter.diagnosis.refusals import why_not_made
from reporter.model.objects import DaemonSet, Pod
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.standing import (
    STEP_BUDGET,
    WorkloadFault,
    fault_of,
    first_start,
    lost_with_node,
    pods_ending,
    pods_of,
    rollout_step,
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

    While it is available on one node, a rollout may take its time from one step to the next, and a
    pod that starts for the first time may take as long. So may one that starts on a node that is
    new, also where no other node has the pod: an autoscaler makes the first one on demand. A rollout
    that stands still is told, also where the old pods stay until the new ones are ready. A status
    that describes an older spec says nothing of pods that are missing.
    """
    status, wanted, selector = daemonset.status, daemonset.wanted, daemonset.spec.selector
    down = wanted > 0 and not _has_available(daemonset)
    rolls = wanted > 0 and not down and _is_rolling_out(daemonset)
    if not down and (_is_stale(daemonset) or (not rolls and status.number_ready >= wanted)):
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
        step = first_start(pods, ending)
    elif down and all(_came_with_its_node(each, snapshot) for each in pods):
        step = first_start(pods)
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


def _is_stale(daemonset: DaemonSet) -> bool:
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


def _is_rolling_out(daemonset: DaemonSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing one explains itself.

    A pod that is missing is not an old one: its node may be new.
    """
    status, strategy = daemonset.status, daemonset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    return status.updated_number_scheduled < status.current_number_scheduled
