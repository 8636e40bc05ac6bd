"""Groups and instances of roles that do not come up or terminate, and updates without progress.

Messages include the ModelServing's placement constraints; only the scheduler knows whether they are
why there is no room.

The state of a rollout has no timestamp. A finding is about the group or instance that the rollout
waits for now, so its time starts again with each, like a Deployment's deadline with each new pod.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final

from reporter.catalogue.resources import SERVICES
from reporter.diagnosis.queues import why_not_let_in
from reporter.model.finding import Finding, Sureness
from reporter.model.objects import Condition, KubeObject, Pod, PodGroup
from reporter.model.resource import Resource
from reporter.model.text import clean, cut, detail
from reporter.probes.pods import fault_of_pod, pod_finding, startup_budget
from reporter.setting_types import TimeBudget
from reporter.stacks.kthena import objects as api
from reporter.stacks.kthena import reasons
from reporter.stacks.kthena.derived.facts import (
    GroupState,
    InstanceState,
    InstanceStatus,
    owned,
    revisions_of,
)
from reporter.stacks.kthena.derived.groups import to_create
from reporter.stacks.kthena.probes.scope import (
    NOT_MADE_BUDGET,
    ModelServingScope,
    instances_of,
    place_of,
)
from reporter.workload.pod import (
    ENDED,
    TERMINATION_SLACK,
    PodFault,
    counts,
    is_ready,
    judge_ended,
    judge_pod,
    startup_time,
)

_MISSING, _NOT_READY, _MOST_NAMED = 20, 10, 5


def probe_groups(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group that is not Running, and one for all that are missing.

    It is about the group whatever happens to its pods: pods that crash after a while and are
    recreated never last long enough to be at fault themselves.
    """
    if not scope.pods_known:
        return
    startup = startup_budget(scope)
    boot = scope.settings.budget(TimeBudget.NODE_BOOT)
    for group in scope.wanted_groups:
        if group.available:
            continue
        pods = [pod for each in group.instances for pod in each.pods]
        longest = max((startup_time(pod, startup) for pod in pods), default=startup)
        yield scope.finding(
            reason=reasons.GROUP_NOT_READY,
            related=scope.in_step(group)[0],
            cause=f"{group.name} {group.status}",
            text=f"ServingGroup {group.name} is {group.status}: {_roles(scope, group)}",
            severity=_NOT_READY,
            created=scope.last_made(pods),
            budget=boot + max(startup, longest),
            independent=all(len(each.pods) >= each.expected for each in group.instances),
        )
    yield from _missing(scope)


def _roles(scope: ModelServingScope, group: GroupState) -> str:
    """Return how many instances of each role run, and the names of the first that do not."""
    running = Counter(
        each.role for each in group.instances if each.status is InstanceStatus.RUNNING
    )
    counts = [
        f"role {role.name} {running[role.name]}/{role.wanted} Running"
        for role in scope.object.roles
    ]
    others = [
        f"{each.id} {each.status}"
        for each in group.instances
        if each.status is not InstanceStatus.RUNNING
    ]
    more = len(others) - _MOST_NAMED + group.absent
    named = ", ".join(others[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return ", ".join(counts) + (f" ({named})" if named else "")


def _missing(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if fewer groups exist than wanted; groups being deleted still exist."""
    modelserving = scope.object
    count = modelserving.wanted - len(scope.groups)
    if count <= 0 or not scope.wants_pods:
        return
    lacking = to_create([each.ordinal for each in scope.groups], modelserving.wanted)
    names = [f"{modelserving.name}-{ordinal}" for ordinal in islice(lacking, _MOST_NAMED)]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    blocking = min((name for name, group in scope.in_the_way.items() if group in names), default="")
    why = f"; pod {blocking} is in the way: it has another owner" if blocking else ""
    yield scope.finding(
        reason=reasons.GROUP_NOT_READY,
        related=scope.ref,
        cause=f"{count} of {modelserving.wanted} groups missing",
        text=f"{len(scope.groups)} of {modelserving.wanted} wanted ServingGroups exist; missing: "
        f"{', '.join(names)}{more}{why or _without_kind(scope) or _stuck_record(scope)}",
        severity=_MISSING,
        created=scope.last_made(scope.pods),
        budget=NOT_MADE_BUDGET,
    )


def _without_kind(scope: ModelServingScope) -> str:
    """Return a hint if there are no groups at all and no kind PodGroup, or an empty string.

    The controller of some releases looks for PodGroups before it creates any pod
    (volcano-sh/kthena#370).
    """
    if scope.groups or not scope.snapshot.absent(reasons.PODGROUPS):
        return ""
    kind = reasons.PODGROUPS
    return f"; {kind} is not installed, without which some releases of Kthena make no group"


def _stuck_record(scope: ModelServingScope) -> str:
    """Return a hint if Kthena's controller seems to be stuck, or an empty string.

    Before it creates a group, it writes the roles into the ControllerRevision of their revision. If
    a number has changed that is not part of a revision, this changes `data`, which the API server
    refuses because it is immutable (volcano-sh/kthena at 3cc0572, `CreateControllerRevision`;
    Kubernetes API, `apps/v1`).
    """
    revisions = revisions_of(scope.facts)
    kept = revisions.kept.get(revisions.update, ())
    if not kept or _numbers(kept) == _numbers(scope.object.roles):
        return ""
    name = f"{scope.object.name}-{revisions.update}"
    return (
        f"; numbers of roles have changed since ControllerRevision {name} was made: Kthena's "
        "controller may be stuck at changing its data, which is immutable; see its log"
    )


def _numbers(roles: Sequence[api.Role]) -> list[tuple[object, ...]]:
    return [(each.name, each.wanted, each.max_unavailable, each.partition) for each in roles]


_PENDING: Final = "Pending"
_WAITING: Final = frozenset({None, "", _PENDING, "Inqueue", "Unknown"})
"""Phases of a PodGroup whose pods may have no node yet."""

_UNSCHEDULABLE: Final = "Unschedulable"


def probe_gang(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group whose PodGroup cannot be scheduled."""
    made = {
        each.metadata.label(api.GROUP_LABEL): each
        for each in owned(scope.object, scope.facts.pod_groups or ())
        if not each.deleting
    }
    for group in scope.staying:
        pod_group = made.get(group.name)
        if pod_group is None or pod_group.status.phase not in _WAITING:
            continue
        pods = [pod for each in group.instances for pod in each.pods if counts(pod)]
        if pods and all(pod.spec.node_name for pod in pods):
            continue
        refused = _refused(pod_group)
        # Volcano reports Unschedulable for a gang that lacks pods too, whatever the room, but only
        # after it tried. A PodGroup that is Pending without that condition may be why the pods are
        # missing: Volcano's webhook refuses them.
        lacks = len(pods) < max(1, pod_group.spec.min_member or 0)
        if refused is not None and scope.pods_known and lacks:
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
        reason=reasons.GANG_NOT_SCHEDULABLE,
        related=reasons.PODGROUPS.ref(pod_group),
        cause=(refused.reason if refused else None) or "PodGroup Pending",
        text=f"ServingGroup {group.name} cannot be scheduled: PodGroup {pod_group.name} is "
        + (_UNSCHEDULABLE if refused else _PENDING)
        + (f": {why}" if why else "")
        + placement(scope.object.spec),
        transition=refused.last_transition_time if refused else None,
        created=pod_group.created,
    )


def _refused(pod_group: PodGroup) -> Condition | None:
    """Return the condition Unschedulable if it is current: Volcano keeps it beside Scheduled."""
    refused = pod_group.status.condition(_UNSCHEDULABLE, "True")
    scheduled = pod_group.status.condition("Scheduled", "True")
    if refused is None or scheduled is None:
        return refused
    before, after = refused.last_transition_time, scheduled.last_transition_time
    return None if before is None or after is None or after >= before else refused


_KEY_BYTES: Final = 80


def placement(spec: api.ModelServingSpec) -> str:
    """Return the constraints on the choice of nodes, after a separator, or an empty string."""
    topology = spec.template.network_topology
    policies = (
        (("a group", topology.group_policy or topology), ("a role", topology.role_policy))
        if topology is not None
        else ()
    )
    asked = [
        f"all pods of {what} within {tier} (networkTopology, hard)"
        for what, policy in policies
        if policy is not None and policy.is_hard and (tier := _tier(policy))
    ]
    keys = sorted(
        {
            cut(clean(each.topology_key), _KEY_BYTES)
            for each in spec.topology_spread_constraints or ()
            if each.topology_key and each.when_unsatisfiable != "ScheduleAnyway"
        }
    )
    if keys:
        asked.append(f"pods spread over {', '.join(keys)} (topologySpreadConstraints)")
    return f"; it asks for {' and '.join(asked)}" if asked else ""


def _tier(policy: api.TopologyPolicy) -> str:
    if policy.highest_tier_name:
        return f"tier {cut(clean(policy.highest_tier_name), _KEY_BYTES)}"
    return "" if policy.highest_tier_allowed is None else f"tier {policy.highest_tier_allowed}"


NOT_MADE: Final = 26
"""Severity of a missing pod, on the scale of pod faults."""

_TOO_MANY: Final = 5
_NOT_UP: Final = frozenset({InstanceStatus.CREATING, InstanceStatus.NOT_FOUND})


def probe_creating(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each instance that lacks pods.

    Every pod of an instance that is not Running has a finding unless it is Ready, even during its
    start-up: a container's fault ends only when its pod is Ready or gone. An instance of a role
    that its group should not have need not come up.
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
                    reason=reasons.ROLE_CREATING,
                    # By name: Kthena deletes a pod that failed, and the next fails the same way.
                    related=scope.pod_ref(pod.name),
                    cause=f"{instance.id} {fault.cause}",
                    text=f"pod {pod.name}: {fault.detail} ({place_of(group, instance)})",
                    # An existing pod depends on kubelet and scheduler, not on the controller.
                    independent=True,
                )
        yield from _about_number(scope, group, instance)


def _ended(scope: ModelServingScope, pod: Pod) -> PodFault | None:
    if pod.deleting or not pod.ended:
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
        reason=reasons.ROLE_CREATING,
        related=scope.pod_ref(first),
        cause=f"{instance.id} {cause}",
        text=f"{place_of(group, instance)}: {text}",
        severity=NOT_MADE if lacking > 0 else _TOO_MANY,
        created=scope.last_made(instance.pods),
        budget=NOT_MADE_BUDGET,
    )


_LEFT_OVER: Final = 15
"""Severity of objects that remain when all pods are gone, on the scale of pod faults."""


def probe_deleting(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each pod that terminates, and for each leftover that is being deleted.

    Each has a budget. None depends on the controller, which has already requested the deletion.
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
                reason=reasons.ROLE_DELETING,
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
    """Yield a finding for each Service or PodGroup that is being deleted and has no pods."""
    with_pods = {
        (group.name, instance.role, instance.id)
        for group, instance in instances_of(scope.groups)
        if instance.pods
    }
    groups = {group for group, _, _ in with_pods}
    left: list[tuple[Resource[KubeObject], KubeObject, str]] = []
    for service in owned(scope.object, scope.facts.services):
        group, role, identity = (
            service.metadata.label(key) or ""
            for key in (api.GROUP_LABEL, api.ROLE_LABEL, api.ROLE_ID_LABEL)
        )
        if (group, role, identity) not in with_pods:
            place = f"ServingGroup {group}, role {role} instance {identity}"
            left.append((SERVICES, service, place))
    for pod_group in owned(scope.object, scope.facts.pod_groups or ()):
        group = pod_group.metadata.label(api.GROUP_LABEL) or pod_group.name
        if group not in groups:
            left.append((reasons.PODGROUPS, pod_group, f"ServingGroup {group}"))
    for resource, obj, place in left:
        if obj.deleting:
            yield scope.finding(
                reason=reasons.ROLE_DELETING,
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
"""The longest time without progress; a Deployment's default."""

_LEFT_ALONE: Final = 20
_BEING_REPLACED: Final = 10


def probe_rollout(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each group that an update waits for, or for the next it should take.

    An old group that partition protects does not count against maxUnavailable, so an update goes on
    whatever happens to it. For updates of single instances, that is not known.
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
        ref, name, state = scope.in_step(group)
        text = f"{name} is still to be updated, and nothing is being replaced; {left}"
        if moving:
            text = f"the update waits for {name}, which is {state}; {left}"
        yield scope.finding(
            reason=reasons.ROLLOUT_STUCK,
            related=ref,
            cause=f"{group.name} {group.status if moving else 'not updated'}",
            text=text,
            severity=_BEING_REPLACED if moving else _LEFT_ALONE,
            budget=startup + _DEADLINE if moving else _DEADLINE,
        )
