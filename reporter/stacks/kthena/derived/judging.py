"""One group, judged by the roles that it should have."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from reporter.stacks.kthena.derived import instances
from reporter.stacks.kthena.derived.observed import InstanceState, InstanceStatus
from reporter.stacks.kthena.derived.ordinals import ordinal_of, partition_of, to_create
from reporter.stacks.kthena.derived.parts import GroupParts, InstanceParts
from reporter.stacks.kthena.derived.revisions import Revisions, Roles, revision_of, standing
from reporter.stacks.kthena.objects import ModelServing, Role


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A group judged by one list of roles.

    Attributes:
        instances: as in `GroupState`, without those that are still to be created.
        complete: it is what it should be (row S7 of `groups`).
        miscounted: of some role there are more or fewer instances than wanted.

    """

    instances: tuple[InstanceState, ...]
    complete: bool
    miscounted: bool


def judge(
    modelserving: ModelServing, parts: GroupParts, revisions: Revisions, *, roles: Roles
) -> JudgedGroup:
    """Judge what exists of a group by the roles that it should have.

    It is complete if each role has exactly as many instances as wanted and all are Running, as in
    Kthena since v0.4.0; earlier versions counted the pods of the group.
    """
    by_role = _by_role(parts)
    found: list[InstanceState] = []
    complete, miscounted = bool(roles), False
    for role in roles:
        known = _states(modelserving, by_role.pop(role.name, {}), revisions, role=role)
        found += known
        right = len(known) == role.wanted
        miscounted |= not right
        complete &= right and all(each.status is InstanceStatus.RUNNING for each in known)
    for name in sorted(by_role):
        found += _states(modelserving, by_role[name], revisions, role=Role(name=name), removed=True)
    return JudgedGroup(tuple(found), complete, miscounted)


def absent_instances(
    judged: JudgedGroup, roles: Roles, most: int
) -> tuple[list[InstanceState], int]:
    """Return the instances that the controller has still to create, and how many more there are.

    At most `most` are returned. Of two roles of one name, which is invalid, the first counts.
    """
    found: list[InstanceState] = []
    total = 0
    first: dict[str, Role] = {}
    for each in roles:
        first.setdefault(each.name, each)
    for role in first.values():
        known = [instance.ordinal for instance in judged.instances if instance.role == role.name]
        total += max(0, role.wanted - len(known))
        lacking = islice(to_create(known, role.wanted), most - len(found))
        found += [_absent(role, ordinal) for ordinal in lacking]
    return found, total - len(found)


def _absent(role: Role, ordinal: int) -> InstanceState:
    row = instances.decide(instances.InstanceFacts(to_create=True))
    return InstanceState(
        role=role.name,
        id=f"{role.name}-{ordinal}",
        ordinal=ordinal,
        status=InstanceStatus.NOT_FOUND,
        expected=role.pods,
        row=row.name,
    )


def _by_role(parts: GroupParts) -> dict[str, dict[str, InstanceParts]]:
    found: dict[str, dict[str, InstanceParts]] = {}
    for (role, identity), each in parts.instances.items():
        found.setdefault(role, {})[identity] = each
    return found


def _states(
    modelserving: ModelServing,
    known: Mapping[str, InstanceParts],
    revisions: Revisions,
    *,
    role: Role,
    removed: bool = False,
) -> list[InstanceState]:
    """Return the states of the instances of one role, by ordinal."""
    kept = partition_of(role.partition, role.wanted)
    found: list[InstanceState] = []
    for identity in sorted(known, key=lambda each: (ordinal_of(each), each)):
        parts = known[identity]
        expected = _expected(parts, revisions, role, removed=removed)
        row = instances.decide(instances.facts_about(parts, expected=expected, removed=removed))
        if row.status is None:
            continue
        outdated = modelserving.rolls_roles and any(
            revisions.is_old_role(pod, role.name) for pod in standing(parts.pods)
        )
        state = InstanceState(
            role=role.name,
            id=identity,
            ordinal=ordinal_of(identity),
            status=row.status,
            expected=expected,
            pods=tuple(sorted(parts.pods, key=lambda pod: pod.name)),
            listed=not removed,
            outdated=outdated,
            protected=not removed and len(found) < kept,
            row=row.name,
        )
        found.append(state)
    return found


def _expected(parts: InstanceParts, revisions: Revisions, role: Role, *, removed: bool) -> int:
    """Return how many pods make an instance complete: its entry pod and its workers.

    The revision of its pods says how many workers. Where the pods are of several revisions, the
    controller is completing the instance by the spec of now. Where nothing is known of a role, the
    pods that exist are taken for all.
    """
    found = {revision_of(pod) for pod in standing(parts.pods)}
    own = revisions.role_in(next(iter(found)), role.name) if len(found) == 1 else None
    if own is not None:
        return own.pods
    return len(parts.pods) if removed else role.pods
