"""Whether a StatefulSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller writes no conditions and has
no progress deadline. A rolling update is done when `currentRevision` becomes `updateRevision`,
which the controller does once all pods are of the new revision and Ready; with a partition, when
as many as are above it are updated: `kubectl rollout status` waits for the same. With the strategy
OnDelete nobody rolls anything out.
"""

from reporter.diagnosis.refusals import why_not_made
from reporter.model.objects import StatefulSet
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.standing import (
    SCALED_TO_ZERO,
    WorkloadFault,
    fault_of,
    first_start,
    lost_with_node,
    pods_ending,
    pods_of,
    rollout_step,
)


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
    if not down and (_is_stale(statefulset) or status.ready_replicas >= statefulset.wanted):
        return None
    pods = pods_of(selector, statefulset.namespace, snapshot)
    ending = pods_ending(selector, statefulset.namespace, snapshot)
    step = None
    if not down and _is_rolling_out(statefulset):
        if not pods:
            return None  # without its pods nothing tells one that moves from one that stands still
        begun = status.updated_replicas > 0
        step = rollout_step(selector, statefulset.namespace, snapshot, begun=begun)
    elif not down and not lost_with_node(ending, snapshot):
        step = first_start(pods, ending)
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


def _is_stale(statefulset: StatefulSet) -> bool:
    """Tell whether the status describes an older spec."""
    return statefulset.status.observed_generation < statefulset.metadata.generation


def _is_rolling_out(statefulset: StatefulSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing replica explains itself."""
    status, strategy = statefulset.status, statefulset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    rolling = strategy.rolling_update if strategy is not None else None
    partition = rolling.partition or 0 if rolling is not None else 0
    if partition > 0:
        return status.updated_replicas < statefulset.wanted - partition
    return status.current_revision != status.update_revision
