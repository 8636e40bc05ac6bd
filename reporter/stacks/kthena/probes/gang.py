"""modelservingGangNotSchedulable: PodGroups that Volcano has no room for."""

from collections.abc import Iterator
from typing import Final

from reporter.diagnosis.queues import why_not_let_in
from reporter.model.finding import Finding, Sureness
from reporter.model.objects import Condition, Pod, PodGroup
from reporter.model.text import detail
from reporter.stacks.kthena.derived import GroupState
from reporter.stacks.kthena.derived.parts import owned
from reporter.stacks.kthena.objects import GROUP_LABEL
from reporter.stacks.kthena.probes.placement import placement
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import GANG_NOT_SCHEDULABLE
from reporter.stacks.kthena.resources import PODGROUPS
from reporter.workload.pod import counts

_PENDING: Final = "Pending"
_WAITING: Final = frozenset({None, "", _PENDING, "Inqueue", "Unknown"})
"""Phases of a PodGroup in which pods of it may have no node yet."""

_UNSCHEDULABLE: Final = "Unschedulable"


def probe_gang(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group whose PodGroup cannot be scheduled."""
    made = {
        each.metadata.label(GROUP_LABEL): each
        for each in owned(scope.modelserving, scope.facts.pod_groups or ())
        if not each.deleting
    }
    for group in scope.staying:
        pod_group = made.get(group.name)
        if pod_group is None or not _waits(pod_group) or _is_placed(group):
            continue
        refused = _refused(pod_group)
        if refused is not None and scope.pods_known and _waits_for_pods(pod_group, group):
            continue
        if refused is not None or pod_group.status.phase == _PENDING:
            yield _finding(scope, group, pod_group, refused=refused)


def _finding(
    scope: ModelServingScope, group: GroupState, pod_group: PodGroup, *, refused: Condition | None
) -> Finding:
    why = detail(refused.reason, refused.message) if refused else ""
    known = why_not_let_in(pod_group, scope.snapshot)
    if known is not None:
        why = f"{'probably ' if known.sureness is Sureness.LIKELY else ''}{known.cause}"
    return scope.finding(
        reason=GANG_NOT_SCHEDULABLE,
        related=PODGROUPS.ref(pod_group),
        cause=(refused.reason if refused else None) or "PodGroup Pending",
        text=f"ServingGroup {group.name} cannot be scheduled: PodGroup {pod_group.name} is "
        + (_UNSCHEDULABLE if refused else _PENDING)
        + (f": {why}" if why else "")
        + placement(scope.modelserving.spec),
        transition=refused.last_transition_time if refused else None,
        created=pod_group.created,
    )


def _waits(pod_group: PodGroup) -> bool:
    return pod_group.status.phase in _WAITING


def _waits_for_pods(pod_group: PodGroup, group: GroupState) -> bool:
    """Tell whether there are too few pods for a gang, whatever the room.

    Volcano says Unschedulable for that, too. It says so only of what it tried: a PodGroup that
    is Pending without it may be why the pods are not there, as its webhook refuses them.
    """
    return len(_pods(group)) < max(1, pod_group.spec.min_member or 0)


def _is_placed(group: GroupState) -> bool:
    """Tell whether all pods of a group have a node; without pods nothing is known."""
    pods = _pods(group)
    return bool(pods) and all(pod.spec.node_name for pod in pods)


def _pods(group: GroupState) -> list[Pod]:
    return [pod for each in group.instances for pod in each.pods if counts(pod)]


def _refused(pod_group: PodGroup) -> Condition | None:
    """Return the condition Unschedulable if it holds: Volcano leaves it next to a later Scheduled."""
    refused = pod_group.status.condition(_UNSCHEDULABLE)
    if refused is None or refused.status != "True":
        return None
    scheduled = pod_group.status.condition("Scheduled")
    if scheduled is None or scheduled.status != "True":
        return refused
    before, after = refused.last_transition_time, scheduled.last_transition_time
    return None if before is None or after is None or after >= before else refused
