"""Groups that are missing or not Running for too long, and PodGroups that Volcano has no room for.

What a ModelServing asks of the places of its pods is told with it; whether that is why there is no
room, only the scheduler knows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final

from reporter.diagnosis.queues import why_not_let_in
from reporter.model.finding import Finding, Sureness
from reporter.model.objects import Condition, PodGroup
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut, detail
from reporter.probes.pods import startup_budget
from reporter.stacks.kthena.derived.facts import GroupState, InstanceStatus, owned
from reporter.stacks.kthena.derived.groups import to_create
from reporter.stacks.kthena.derived.revisions import revisions_of
from reporter.stacks.kthena.objects import (
    GROUP_LABEL,
    ModelServingSpec,
    Role,
    TopologyPolicy,
)
from reporter.stacks.kthena.probes.scope import NOT_MADE_BUDGET, ModelServingScope
from reporter.stacks.kthena.reasons import GANG_NOT_SCHEDULABLE, GROUP_NOT_READY, PODGROUPS
from reporter.workload.pod import counts, startup_time

_MISSING, _NOT_READY, _MOST_TOLD = 20, 10, 5


def probe_groups(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group that is not Running, and one for all that are missing.

    It is about the group whatever becomes of its pods: those that crash after a while and are made
    again never last long enough to be at fault themselves.
    """
    if not scope.pods_known:
        return
    startup = startup_budget(scope)
    boot = timedelta(seconds=scope.settings.node_boot_budget_seconds)
    for group in scope.wanted_groups:
        if group.available:
            continue
        pods = [pod for each in group.instances for pod in each.pods]
        longest = max((startup_time(pod, startup) for pod in pods), default=startup)
        yield scope.finding(
            reason=GROUP_NOT_READY,
            related=_clock(scope, group),
            cause=f"{group.name} {group.status}",
            text=f"ServingGroup {group.name} is {group.status}: {_roles(scope, group)}",
            severity=_NOT_READY,
            created=scope.last_made(pods),
            budget=boot + max(startup, longest),
            independent=all(len(each.pods) >= each.expected for each in group.instances),
        )
    yield from _missing(scope)


def _clock(scope: ModelServingScope, group: GroupState) -> ObjectRef:
    """Return the object by which the time of a group is measured: the group itself.

    A group whose instances are replaced one by one is not Running all the while, as long as it
    goes on: its time begins again with each.
    """
    instance = scope.updating(group)
    return scope.instance_ref(group, instance) if instance else scope.group_ref(group)


def _roles(scope: ModelServingScope, group: GroupState) -> str:
    """Return how many instances of each role run, and the first that do not by name."""
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
    more = len(others) - _MOST_TOLD + group.absent
    told = ", ".join(others[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
    return ", ".join(counts) + (f" ({told})" if told else "")


def _missing(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if there are fewer groups than wanted, those that come back included."""
    modelserving = scope.object
    count = modelserving.wanted - len(scope.groups)
    if count <= 0 or not scope.wants_pods:
        return
    lacking = to_create([each.ordinal for each in scope.groups], modelserving.wanted)
    names = [f"{modelserving.name}-{ordinal}" for ordinal in islice(lacking, _MOST_TOLD)]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    blocking = min((name for name, group in scope.in_the_way.items() if group in names), default="")
    told = f"; pod {blocking} is in the way: it has another owner" if blocking else ""
    yield scope.finding(
        reason=GROUP_NOT_READY,
        related=scope.ref,
        cause=f"{count} of {modelserving.wanted} groups missing",
        text=f"{len(scope.groups)} of {modelserving.wanted} wanted ServingGroups exist; missing: "
        f"{', '.join(names)}{more}"
        f"{told or _stuck_record(scope)}",
        severity=_MISSING,
        created=scope.last_made(owned(modelserving, scope.facts.pods)),
        budget=NOT_MADE_BUDGET,
    )


def _stuck_record(scope: ModelServingScope) -> str:
    """Return a hint where Kthena's controller is known to be stuck, empty where the signs do not
    fit.

    Before it makes a group it writes the roles into the ControllerRevision of their revision. Where
    a number has changed that is no part of a revision, that is a change of `data`, which the API
    server refuses, for it is immutable (volcano-sh/kthena at 3cc0572, `CreateControllerRevision`;
    Kubernetes API, `apps/v1`).
    """
    revisions = revisions_of(scope.facts)
    kept = revisions.kept.get(revisions.update, ())
    if not kept or _numbers(kept) == _numbers(scope.object.roles):
        return ""
    name = f"{scope.object.name}-{revisions.update}"
    return (
        f"; numbers of roles have changed since ControllerRevision {name} was made: Kthena's controller "
        "may be stuck at changing its data, which is immutable; see its log"
    )


def _numbers(roles: Sequence[Role]) -> list[tuple[object, ...]]:
    return [(each.name, each.wanted, each.max_unavailable, each.partition) for each in roles]


_PENDING: Final = "Pending"
_WAITING: Final = frozenset({None, "", _PENDING, "Inqueue", "Unknown"})
"""Phases of a PodGroup in which pods of it may have no node yet."""

_UNSCHEDULABLE: Final = "Unschedulable"


def probe_gang(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group whose PodGroup cannot be scheduled."""
    made = {
        each.metadata.label(GROUP_LABEL): each
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
        # Of a gang that lacks pods Volcano says Unschedulable, too, whatever the room. It says so
        # only of what it tried: a PodGroup that is Pending without it may be why the pods are not
        # there, as its webhook refuses them.
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
        reason=GANG_NOT_SCHEDULABLE,
        related=PODGROUPS.ref(pod_group),
        cause=(refused.reason if refused else None) or "PodGroup Pending",
        text=f"ServingGroup {group.name} cannot be scheduled: PodGroup {pod_group.name} is "
        + (_UNSCHEDULABLE if refused else _PENDING)
        + (f": {why}" if why else "")
        + placement(scope.object.spec),
        transition=refused.last_transition_time if refused else None,
        created=pod_group.created,
    )


def _refused(pod_group: PodGroup) -> Condition | None:
    """Return the condition Unschedulable if it holds: Volcano leaves it next to a later Scheduled."""
    refused = pod_group.status.condition(_UNSCHEDULABLE, "True")
    scheduled = pod_group.status.condition("Scheduled", "True")
    if refused is None or scheduled is None:
        return refused
    before, after = refused.last_transition_time, scheduled.last_transition_time
    return None if before is None or after is None or after >= before else refused


_KEY_BYTES: Final = 80


def placement(spec: ModelServingSpec) -> str:
    """Return what narrows the choice of nodes, with a separator before; empty where nothing does."""
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


def _tier(policy: TopologyPolicy) -> str:
    if policy.highest_tier_name:
        return f"tier {cut(clean(policy.highest_tier_name), _KEY_BYTES)}"
    return "" if policy.highest_tier_allowed is None else f"tier {policy.highest_tier_allowed}"
