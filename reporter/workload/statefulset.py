"""Whether a StatefulSet is down or degraded, and why.

The fields are those of the API reference of `apps/v1`. Its controller writes no conditions and has
no progress deadline. A rolling update is done when `currentRevision` becomes `updateRevision`,
which the controller does once all pods are of the new revision and Ready; with a partition, when
as many as are above it are updated: `kubectl rollout status` waits for the same. With the strategy
OnDelete nobody rolls anything out.
"""

from reporter.model.objects import StatefulSet
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.standing import (
    SCALED_TO_ZERO,
    STEP_BUDGET,
    WorkloadFault,
    cause_in_pods,
    last_step,
    not_ready_since,
    pods_of,
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

    While one replica is available, a rollout may take its time from one step to the next. One that
    stands still is told: its controller waits for ever for a pod that does not become Ready.
    """
    if statefulset.wanted == 0:
        return SCALED_TO_ZERO
    status = statefulset.status
    down = not is_statefulset_available(statefulset)
    if not down and status.ready_replicas >= statefulset.wanted:
        return None
    rolls = not down and _is_rolling_out(statefulset)
    pods = pods_of(statefulset.spec.selector, statefulset.namespace, snapshot)
    step = last_step(pods) if rolls else None
    if rolls and step is None:
        return (
            None  # without its pods nothing tells a rollout that moves from one that stands still
        )
    cause, text = cause_in_pods(pods, statefulset.namespace, snapshot)
    rollout = "rollout stands still, " if rolls else ""
    return WorkloadFault(
        down=down,
        cause=cause,
        detail=f"{status.ready_replicas}/{statefulset.wanted} ready, {rollout}{text}",
        transition=step or not_ready_since(pods),
        budget=STEP_BUDGET if rolls else None,
    )


def _is_rolling_out(statefulset: StatefulSet) -> bool:
    """Tell whether old pods are being replaced, so that a missing replica explains itself."""
    status, strategy = statefulset.status, statefulset.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return False
    if status.observed_generation < statefulset.metadata.generation:
        return True
    rolling = strategy.rolling_update if strategy is not None else None
    partition = rolling.partition or 0 if rolling is not None else 0
    if partition > 0:
        return status.updated_replicas < statefulset.wanted - partition
    return status.current_revision != status.update_revision
