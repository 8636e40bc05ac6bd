"""Instances of roles that do not come up, pods that do not go, and an update that does not go on.

There is no time in the state of a rollout. A finding is about the group, or the instance, that the
rollout waits for now, so its time begins again with each, as a Deployment's deadline does with each
new pod.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject, Pod
from reporter.model.resource import Resource
from reporter.probes.pods import fault_of_pod, pod_finding, startup_budget
from reporter.stacks.kthena.derived.facts import GroupState, InstanceState, InstanceStatus, owned
from reporter.stacks.kthena.objects import GROUP_LABEL, ROLE_ID_LABEL, ROLE_LABEL
from reporter.stacks.kthena.probes.scope import (
    NOT_MADE_BUDGET,
    ModelServingScope,
    instances_of,
    place_of,
)
from reporter.stacks.kthena.reasons import PODGROUPS, ROLE_CREATING, ROLE_DELETING, ROLLOUT_STUCK
from reporter.workload.pod import (
    ENDED,
    TERMINATION_SLACK,
    PodFault,
    is_ready,
    judge_ended,
    judge_pod,
)

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
                yield pod_finding(
                    scope,
                    pod,
                    fault,
                    reason=ROLE_CREATING,
                    # By name: Kthena deletes a pod that failed, and the next fails the same way.
                    related=scope.pod_ref(pod.name),
                    cause=f"{instance.id} {fault.cause}",
                    text=f"pod {pod.name}: {fault.detail} ({place_of(group, instance)})",
                    # A pod that exists is a matter of kubelet and scheduler, not of the controller.
                    independent=True,
                )
        yield from _about_number(scope, group, instance)


def _ended(scope: ModelServingScope, pod: Pod) -> PodFault | None:
    if pod.deleting or pod.status.phase not in _TERMINAL:
        return None
    text = "ended with success, but should run"
    succeeded = PodFault(cause="Succeeded", detail=text, severity=ENDED)
    return judge_ended(pod, scope.snapshot) or succeeded


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


_LEFT_OVER: Final = 15
"""Severity of what stays when all pods are gone, on the scale of those of pods."""


def probe_deleting(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each pod that terminates, and for each leftover that is being deleted.

    Each has a budget. None of it is a matter of the controller: it has asked for the deletion.
    """
    startup = startup_budget(scope)
    for group, instance in instances_of(scope.groups):
        for pod in instance.pods:
            if not pod.deleting:
                continue
            fault = judge_pod(pod, scope.snapshot, startup_budget=startup)
            if fault is None:
                continue
            yield scope.finding(
                reason=ROLE_DELETING,
                related=scope.pod_ref(pod.name),
                cause=f"{instance.id} {fault.cause}",
                text=f"pod {pod.name}: {fault.detail} ({place_of(group, instance)})",
                severity=fault.severity,
                transition=fault.transition,
                created=pod.created,
                budget=fault.budget,
                independent=True,
                lost_node=fault.node,
            )
    if scope.pods_known:
        yield from _leftovers(scope)


def _leftovers(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield Services and PodGroups that are being deleted while no pod of theirs is there."""
    with_pods = {
        (group.name, instance.role, instance.id)
        for group, instance in instances_of(scope.groups)
        if instance.pods
    }
    groups = {group for group, _, _ in with_pods}
    left: list[tuple[Resource[KubeObject], KubeObject, str]] = []
    for service in owned(scope.object, scope.facts.services):
        group, role, identity = (
            service.metadata.label(key) or "" for key in (GROUP_LABEL, ROLE_LABEL, ROLE_ID_LABEL)
        )
        if (group, role, identity) not in with_pods:
            place = f"ServingGroup {group}, role {role} instance {identity}"
            left.append((SERVICES, service, place))
    for pod_group in owned(scope.object, scope.facts.pod_groups or ()):
        group = pod_group.metadata.label(GROUP_LABEL) or pod_group.name
        if group not in groups:
            left.append((PODGROUPS, pod_group, f"ServingGroup {group}"))
    for resource, obj, place in left:
        if obj.deleting:
            yield scope.finding(
                reason=ROLE_DELETING,
                related=resource.ref(obj),
                cause=f"{resource.kind} {obj.name} still exists",
                text=f"{place}: {resource.kind} {obj.name} was deleted and still exists",
                severity=_LEFT_OVER,
                transition=obj.metadata.deletion_timestamp,
                created=obj.created,
                budget=TERMINATION_SLACK,
                independent=True,
            )


_DEADLINE: Final = timedelta(seconds=600)
"""How long nothing may happen; a Deployment's default."""

_LEFT_ALONE: Final = 20
_BEING_REPLACED: Final = 10


def probe_rollout(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each group that an update waits for, or for the next it should take.

    An old group that partition protects takes nothing of what may be unavailable, so an update goes
    on whatever becomes of it. Of groups whose instances are updated one by one that is not known.
    """
    waiting = [each for each in scope.staying if each.awaits_update]
    if not waiting or not scope.pods_known:
        return
    total = max(scope.object.wanted, len(scope.staying))
    left = f"{len(waiting)} of {total} ServingGroups still to be updated"
    startup = startup_budget(scope)
    protects = not scope.object.rolls_roles
    moving = [
        each
        for each in scope.groups
        if not each.available and not (protects and each.age.outdated and each.age.protected)
    ]
    for group in moving or waiting[-1:]:
        name, state, ref = f"ServingGroup {group.name}", str(group.status), scope.group_ref(group)
        if (instance := scope.updating(group)) is not None:
            name, state = place_of(group, instance), str(instance.status)
            ref = scope.instance_ref(group, instance)
        text = f"{name} is still to be updated, and nothing is being replaced; {left}"
        if moving:
            text = f"the update waits for {name}, which is {state}; {left}"
        yield scope.finding(
            reason=ROLLOUT_STUCK,
            related=ref,
            cause=f"{group.name} {group.status if moving else 'not updated'}",
            text=text,
            severity=_BEING_REPLACED if moving else _LEFT_ALONE,
            budget=startup + _DEADLINE if moving else _DEADLINE,
        )
