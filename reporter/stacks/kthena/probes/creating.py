"""modelservingRoleStuckCreating: instances of roles that do not come up."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.model.objects import Pod
from reporter.probes.pods import fault_of_pod, pod_finding
from reporter.stacks.kthena.derived import GroupState, InstanceState, InstanceStatus
from reporter.stacks.kthena.probes.scope import (
    NOT_MADE_BUDGET,
    ModelServingScope,
    instances_of,
    place_of,
)
from reporter.stacks.kthena.reasons import ROLE_CREATING
from reporter.workload.pod import ENDED, PodFault, is_ready, judge_ended

NOT_MADE: Final = 26
"""Severity of a pod that does not exist, on the scale of those of pods."""

_TOO_MANY: Final = 5
_NOT_UP: Final = frozenset({InstanceStatus.CREATING, InstanceStatus.NOT_FOUND})
_TERMINAL: Final = frozenset({"Failed", "Succeeded"})


def probe_creating(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each instance that lacks some.

    Every pod of an instance that is not Running has a finding unless it is Ready, one in its
    start-up too: what a container suffered from ends only when its pod is Ready or gone. An
    instance of a role that its group should not have need not come up.
    """
    for group, instance in instances_of(scope.staying):
        if instance.status not in _NOT_UP or not instance.listed:
            continue
        for pod in instance.pods:
            fault = (None if pod.deleting else fault_of_pod(scope, pod)) or _ended(scope, pod)
            if fault is not None:
                yield _about_pod(scope, group, instance, pod=pod, fault=fault)
        yield from _about_number(scope, group, instance)


def _ended(scope: ModelServingScope, pod: Pod) -> PodFault | None:
    """Return the fault of a pod that ended and stands where one should run."""
    if pod.deleting or pod.status.phase not in _TERMINAL:
        return None
    return judge_ended(pod, scope.snapshot) or PodFault(
        cause="Succeeded",
        detail="ended with success, but should run",
        exempt=False,
        severity=ENDED,
        transition=None,
        budget=None,
    )


def _about_pod(
    scope: ModelServingScope,
    group: GroupState,
    instance: InstanceState,
    *,
    pod: Pod,
    fault: PodFault,
) -> Finding:
    return pod_finding(
        scope,
        pod,
        fault,
        reason=ROLE_CREATING,
        # By name: Kthena deletes a pod that failed, and the one that follows fails the same way.
        related=scope.pod_ref(pod.name),
        cause=f"{instance.id} {fault.cause}",
        text=f"{place_of(group, instance)}: pod {pod.name}: {fault.detail}",
        # A pod that exists is the kubelet's and the scheduler's matter, not the controller's.
        independent=True,
    )


def _about_number(
    scope: ModelServingScope, group: GroupState, instance: InstanceState
) -> Iterator[Finding]:
    """Yield a finding if an instance has too few pods, or too many that are ready."""
    if not scope.pods_known or any(pod.deleting for pod in instance.pods):
        return
    lacking = instance.expected - len(instance.pods)
    ready = sum(map(is_ready, instance.pods))
    if lacking <= 0 and ready <= instance.expected:
        return
    present = {pod.name for pod in instance.pods}
    names = (f"{group.name}-{instance.id}-{number}" for number in range(instance.expected))
    first = next((each for each in names if each not in present), f"{group.name}-{instance.id}-0")
    if lacking > 0 and first in scope.in_the_way:
        cause = "pod in the way"
        text = f"pod {first} is in the way: it has another owner"
    elif lacking > 0:
        cause, text = "pod not created", f"pod {first} does not exist"
        text += f", nor do {lacking - 1} more" if lacking > 1 else ""
    else:
        cause, text = "too many pods", f"{ready} pods are ready where {instance.expected} should be"
    yield scope.finding(
        reason=ROLE_CREATING,
        related=scope.pod_ref(first),
        cause=f"{instance.id} {cause}",
        text=f"{place_of(group, instance)}: {text}",
        severity=NOT_MADE if lacking > 0 else _TOO_MANY,
        created=scope.last_made(instance.pods),
        budget=NOT_MADE_BUDGET,
    )
