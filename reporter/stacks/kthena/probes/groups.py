"""modelservingGroupNotReady: wanted groups that are missing, or not Running for too long."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final

from reporter.model.finding import Finding
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived import GroupState, InstanceStatus
from reporter.stacks.kthena.derived.ordinals import to_create
from reporter.stacks.kthena.derived.parts import owned
from reporter.stacks.kthena.derived.revisions import revisions_of
from reporter.stacks.kthena.objects import Role
from reporter.stacks.kthena.probes.scope import NOT_MADE_BUDGET, ModelServingScope
from reporter.stacks.kthena.reasons import GROUP_NOT_READY
from reporter.workload.pod import startup_time

_MISSING: Final = 20
_NOT_READY: Final = 10
_MOST_TOLD: Final = 5


def probe_groups(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each wanted group that is not Running, and one for all that are missing.

    It is about the group whatever becomes of its pods: those that crash after a while and are made
    again never last long enough to be at fault themselves.
    """
    if not scope.pods_known:
        return
    startup = timedelta(seconds=scope.settings.model_startup_budget_seconds)
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
            independent=not _lacks_pods(group),
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
        for role in scope.modelserving.roles
    ]
    others = [
        f"{each.id} {each.status}"
        for each in group.instances
        if each.status is not InstanceStatus.RUNNING
    ]
    more = len(others) - _MOST_TOLD + group.absent
    told = ", ".join(others[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
    return ", ".join(counts) + (f" ({told})" if told else "")


def _lacks_pods(group: GroupState) -> bool:
    return any(len(each.pods) < each.expected for each in group.instances)


def _missing(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if there are fewer groups than wanted, those that come back included."""
    modelserving = scope.modelserving
    count = modelserving.wanted - len(scope.groups)
    if count <= 0 or not scope.wants_pods:
        return
    lacking = to_create([each.ordinal for each in scope.groups], modelserving.wanted)
    names = [f"{modelserving.name}-{ordinal}" for ordinal in islice(lacking, _MOST_TOLD)]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    yield scope.finding(
        reason=GROUP_NOT_READY,
        related=scope.ref,
        cause=f"{count} of {modelserving.wanted} groups missing",
        text=f"{len(scope.groups)} of {modelserving.wanted} wanted ServingGroups exist; missing: "
        f"{', '.join(names)}{more}"
        f"{_blocked(scope, names) or _stuck_record(scope)}",
        severity=_MISSING,
        created=scope.last_made(owned(modelserving, scope.facts.pods)),
        budget=NOT_MADE_BUDGET,
    )


def _stuck_record(scope: ModelServingScope) -> str:
    """Return a hint where Kthena's controller is known to be stuck, empty where the signs do not fit.

    Before it makes a group it writes the roles into the ControllerRevision of their revision. Where a
    number has changed that is no part of a revision, that is a change of `data`, which the API server
    refuses, for it is immutable (volcano-sh/kthena at 3cc0572, `CreateControllerRevision`; Kubernetes
    API, `apps/v1`).
    """
    revisions = revisions_of(scope.facts)
    kept = revisions.kept.get(revisions.update, ())
    if not kept or _numbers(kept) == _numbers(scope.modelserving.roles):
        return ""
    name = f"{scope.modelserving.name}-{revisions.update}"
    return (
        f"; numbers of roles have changed since ControllerRevision {name} was made: Kthena's controller "
        "may be stuck at changing its data, which is immutable; see its log"
    )


def _numbers(roles: Sequence[Role]) -> list[tuple[object, ...]]:
    return [(each.name, each.wanted, each.max_unavailable, each.partition) for each in roles]


def _blocked(scope: ModelServingScope, groups: Collection[str]) -> str:
    """Return which pod keeps some groups from being made, the first by name."""
    found = min((name for name, group in scope.in_the_way.items() if group in groups), default="")
    return f"; pod {found} is in the way: it has another owner" if found else ""
