"""One group, judged by the roles that it should have.

The states of all groups and instances, from what can be seen from outside.

`groups` and `instances` have the tables, and say what is hard about them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reporter.stacks.kthena.derived import groups
from reporter.stacks.kthena.derived import groups as instances
from reporter.stacks.kthena.derived.facts import (
    GroupState,
    GroupStatus,
    InstanceState,
    InstanceStatus,
    ModelServingFacts,
)
from reporter.stacks.kthena.derived.groups import (
    GroupParts,
    InstanceParts,
    ordinal_of,
    partition_of,
    parts_of,
    surge_of,
    to_create,
)
from reporter.stacks.kthena.derived.revisions import (
    Revisions,
    Roles,
    commonest,
    revision_of,
    revisions_of,
    standing,
)
from reporter.stacks.kthena.objects import SERVING_GROUP_RECREATE, ModelServing, Role


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
    row = instances.decide_instance(instances.InstanceFacts(to_create=True))
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
        row = instances.decide_instance(
            instances.facts_about(parts, expected=expected, removed=removed)
        )
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


MAX_ABSENT: Final = 1_000
"""Most instances of a ModelServing that are shown as NotFound; the spec may ask for any number."""


@dataclass(frozen=True, slots=True)
class _Age:
    """What the revisions of its pods make of a group; the fields are those of `GroupState`."""

    revision: str
    updated: bool
    outdated: bool
    protected: bool


def observe(facts: ModelServingFacts, revisions: Revisions | None = None) -> tuple[GroupState, ...]:
    """Return the state of each group of which something exists, by ordinal.

    Args:
        facts: what the ModelServing is made of.
        revisions: `revisions_of(facts)`, if the caller has it.

    """
    modelserving = facts.modelserving
    revisions = revisions or revisions_of(facts)
    found = parts_of(facts)
    protected = partition_of(modelserving.partition, modelserving.wanted)
    surge = surge_of(modelserving.max_surge, modelserving.wanted)
    surplus = len(found) > modelserving.wanted + surge
    states: list[GroupState] = []
    budget = MAX_ABSENT
    for position, name in enumerate(sorted(found, key=lambda each: (ordinal_of(each), each))):
        look = _Look(facts, revisions, found[name], surplus)
        state = _state(look, name, budget, protected=position < protected)
        budget -= sum(each.status is InstanceStatus.NOT_FOUND for each in state.instances)
        states.append(state)
    return tuple(states)


@dataclass(frozen=True, slots=True)
class _Look:
    """One group and all that it is judged by."""

    facts: ModelServingFacts
    revisions: Revisions
    parts: GroupParts
    surplus: bool

    @property
    def modelserving(self) -> ModelServing:
        """The ModelServing that the group is of."""
        return self.facts.modelserving


def _state(look: _Look, name: str, budget: int, *, protected: bool) -> GroupState:
    by_spec = _judge(look, look.modelserving.roles)
    age = _age(look, by_spec, protected=protected)
    judged, roles = _own_or_spec(look, by_spec, age)
    row = groups.decide_group(_group_facts(look, judged, roles, age=age))
    known = judged.instances
    absent: list[InstanceState] = []
    more = 0
    if row.status is not GroupStatus.DELETING:
        absent, more = absent_instances(judged, roles, budget)
    return GroupState(
        name=name,
        ordinal=ordinal_of(name),
        status=row.status,
        revision=age.revision,
        updated=age.updated,
        outdated=age.outdated,
        protected=age.protected,
        instances=_in_order((*known, *absent), roles) if absent else known,
        absent=more,
        row=row.name,
    )


def _judge(look: _Look, roles: Roles) -> JudgedGroup:
    return judge(look.modelserving, look.parts, look.revisions, roles=roles)


def _own_or_spec(look: _Look, by_spec: JudgedGroup, age: _Age) -> tuple[JudgedGroup, Roles]:
    """Judge an outdated group by the roles of its own revision.

    Kthena judges it by the new spec, so a group that partition protects could never be Running
    again once the spec has other roles. Role replicas are no part of a revision and the controller
    scales old groups by the spec. So a group that has only roles of the spec and is complete by the
    spec is complete, too.
    """
    spec = look.modelserving.roles
    own = look.revisions.kept.get(age.revision)
    if not age.outdated or own is None or look.modelserving.rolls_roles:
        return by_spec, spec
    by_own = _judge(look, own)
    names = {role.name for role in spec}
    if by_spec.complete and not by_own.complete and all(role.name in names for role in own):
        return by_spec, spec
    return by_own, own


def _age(look: _Look, judged: JudgedGroup, *, protected: bool) -> _Age:
    if look.modelserving.rolls_roles:
        return _age_of_instances(look, judged)
    pods = standing(look.parts.pods)
    revisions, found = look.revisions, [revision_of(pod) for pod in pods]
    updated = bool(found) and bool(revisions.update) and set(found) == {revisions.update}
    old = sorted(each for each in found if each != revisions.update)
    return _Age(
        revision=commonest(old or found),
        updated=updated,
        outdated=not updated and any(map(revisions.is_old, found)),
        protected=protected,
    )


def _age_of_instances(look: _Look, judged: JudgedGroup) -> _Age:
    """Age a group whose instances are updated one by one: it is old while one of them is."""
    update = look.revisions.update
    found = sorted(revision_of(pod) for pod in standing(look.parts.pods))
    old = [each for each in judged.instances if each.outdated]
    before = sorted(revision_of(pod) for each in old for pod in standing(each.pods))
    older = [each for each in before if each != update]
    return _Age(
        revision=commonest(older or before or ([update] if update in found else found)),
        updated=bool(found) and not old,
        outdated=bool(old),
        protected=bool(old) and all(each.protected for each in old),
    )


def _group_facts(look: _Look, judged: JudgedGroup, roles: Roles, *, age: _Age) -> groups.GroupFacts:
    modelserving, parts = look.modelserving, look.parts
    replaced = age.outdated and not age.protected and not modelserving.rolls_roles
    return groups.GroupFacts(
        pods=bool(parts.pods),
        all_terminating=bool(parts.pods) and all(pod.deleting for pod in parts.pods),
        leaving=groups.is_leaving(parts),
        pod_groups=look.facts.pod_groups is not None,
        pod_group=any(not each.deleting for each in parts.pod_groups),
        several=sum(bool(each.pods) for each in parts.instances.values()) > 1,
        to_replace=look.surplus
        or replaced
        or modelserving.recovery_policy == SERVING_GROUP_RECREATE,
        wants_pods=any(role.wanted for role in roles),
        complete=judged.complete,
        miscounted=judged.miscounted,
        serving=any(each.status is InstanceStatus.RUNNING for each in judged.instances),
    )


def _in_order(states: Sequence[InstanceState], roles: Roles) -> tuple[InstanceState, ...]:
    places = {role.name: place for place, role in reversed(list(enumerate(roles)))}
    last = len(places)
    return tuple(
        sorted(states, key=lambda each: (places.get(each.role, last), each.role, each.ordinal))
    )
