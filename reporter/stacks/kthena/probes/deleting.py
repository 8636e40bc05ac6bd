"""modelservingRoleStuckDeleting: pods, and what follows them, that do not go."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject, Pod
from reporter.model.resource import Resource
from reporter.stacks.kthena.derived import GroupState, InstanceState
from reporter.stacks.kthena.derived.parts import owned
from reporter.stacks.kthena.objects import GROUP_LABEL, ROLE_ID_LABEL, ROLE_LABEL
from reporter.stacks.kthena.probes.scope import ModelServingScope, instances_of, place_of
from reporter.stacks.kthena.reasons import ROLE_DELETING
from reporter.stacks.kthena.resources import PODGROUPS
from reporter.workload.pod import TERMINATION_SLACK, PodFault, judge_pod

_LEFT_OVER: Final = 15
"""Severity of what stays when all pods are gone, on the scale of those of pods."""


def probe_deleting(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each pod that terminates, and for each leftover that is being deleted.

    Each has a budget. None of it is a matter of the controller: it has asked for the deletion.
    """
    startup = timedelta(seconds=scope.settings.model_startup_budget_seconds)
    for group, instance in instances_of(scope.groups):
        for pod in instance.pods:
            if not pod.deleting:
                continue
            fault = judge_pod(pod, scope.snapshot, startup_budget=startup)
            if fault is not None:
                yield _about_pod(scope, group, instance, pod=pod, fault=fault)
    if scope.pods_known:
        yield from _leftovers(scope)


def _about_pod(
    scope: ModelServingScope,
    group: GroupState,
    instance: InstanceState,
    *,
    pod: Pod,
    fault: PodFault,
) -> Finding:
    return scope.finding(
        reason=ROLE_DELETING,
        related=scope.pod_ref(pod.name),
        cause=f"{instance.id} {fault.cause}",
        text=f"{place_of(group, instance)}: pod {pod.name}: {fault.detail}",
        severity=fault.severity,
        transition=fault.transition,
        created=pod.created,
        budget=fault.budget,
        independent=True,
        lost_node=fault.node,
    )


def _leftovers(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield Services and PodGroups that are being deleted while no pod of theirs is there."""
    with_pods = {
        (group.name, instance.role, instance.id)
        for group, instance in instances_of(scope.groups)
        if instance.pods
    }
    groups = {group for group, _, _ in with_pods}
    for service in owned(scope.modelserving, scope.facts.services):
        group, role, identity = (
            service.metadata.label(key) or "" for key in (GROUP_LABEL, ROLE_LABEL, ROLE_ID_LABEL)
        )
        if service.deleting and (group, role, identity) not in with_pods:
            place = f"ServingGroup {group}, role {role} instance {identity}"
            yield _left_over(scope, SERVICES, service, place=place)
    for pod_group in owned(scope.modelserving, scope.facts.pod_groups or ()):
        group = pod_group.metadata.label(GROUP_LABEL) or pod_group.name
        if pod_group.deleting and group not in groups:
            yield _left_over(scope, PODGROUPS, pod_group, place=f"ServingGroup {group}")


def _left_over(
    scope: ModelServingScope, resource: Resource[KubeObject], obj: KubeObject, *, place: str
) -> Finding:
    return scope.finding(
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
