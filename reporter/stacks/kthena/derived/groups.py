"""The states of groups and instances. In both functions the first test that holds decides; their
comments name the rows of docs/modelserving.md, "States".

Kthena's controller keeps both states in its memory and publishes only totals
(github.com/volcano-sh/kthena, pkg/model-serving-controller/datastore/store.go, v1.0.0). Outsiders
see pods, Services and PodGroups, and several histories leave the same objects: a group whose pods
all terminate may be going away as a whole, or lose its only instance and stay. So each row is a
fact that `kubectl get` shows.

The hard rows depend on the order of deletion: when a group is deleted its PodGroup goes first, when
an instance is deleted it stays (S3, S4). Without PodGroups, several terminating instances mean that
the group goes (S5a), and a single one only if something replaces whole groups (S5b). Ordinals prove
nothing, because a scale-down may take any group, and neither does the phase of a terminating pod.
Earlier passes are not used: a dump, a restarted reporter and a standby give the same answer.

Labels alone prove little: objects of a deleted ModelServing of the same name have the same labels.
So the owner's uid decides, if there is one.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.stacks.kthena import objects as api
from reporter.stacks.kthena.derived.facts import (
    GroupAge,
    GroupState,
    GroupStatus,
    InstanceState,
    InstanceStatus,
    ModelServingFacts,
    Revisions,
    Roles,
    commonest,
    owned,
    remaining,
    revision_of,
)
from reporter.workload.pod import is_ready

MAX_ABSENT: Final = 1_000
"""The most instances of a ModelServing shown as NotFound; the spec may ask for any number."""

_ORDINAL: Final = re.compile(r"-(\d{1,10})\Z", re.ASCII)


def ordinal_of(name: str) -> int:
    """Return the number at the end of a name, or -1 if it has no 32-bit number, as in Kthena."""
    found = _ORDINAL.search(name)
    number = int(found[1]) if found else -1
    return number if number <= api.MOST else -1


def _by_ordinal(name: str) -> tuple[int, str]:
    return ordinal_of(name), name


def to_create(known: Collection[int], wanted: int) -> Iterator[int]:
    """Yield the ordinals that the controller creates next, ascending.

    All known ordinals count, so {0, 5} of 4 lacks only 1 and 2. There may be very many.
    """
    taken = frozenset(known)
    free = (ordinal for ordinal in range(wanted) if ordinal not in taken)
    return islice(free, max(0, wanted - len(known)))


@dataclass(slots=True)
class _Parts:
    """The objects of a group or of an instance."""

    pods: list[Pod] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    pod_groups: list[PodGroup] = field(default_factory=list)
    roles: dict[str, dict[str, "_Parts"]] = field(default_factory=dict)

    def take(self, obj: KubeObject) -> None:
        if isinstance(obj, Pod):
            self.pods.append(obj)
        elif isinstance(obj, Service):
            self.services.append(obj)
        elif isinstance(obj, PodGroup):
            self.pod_groups.append(obj)


def _parts_of(facts: ModelServingFacts) -> dict[str, _Parts]:
    """Return the objects of each group by its name; objects without a group label are skipped."""
    groups: dict[str, _Parts] = {}
    for each in owned(
        facts.modelserving, (*facts.pods, *facts.services, *(facts.pod_groups or ()))
    ):
        label = each.metadata.label
        if not (name := label(api.GROUP_LABEL)):
            continue
        group = groups.setdefault(name, _Parts())
        group.take(each)
        role, identity = label(api.ROLE_LABEL), label(api.ROLE_ID_LABEL)
        if role and identity and not isinstance(each, PodGroup):
            group.roles.setdefault(role, {}).setdefault(identity, _Parts()).take(each)
    return groups


def observe(facts: ModelServingFacts, revisions: Revisions) -> tuple[GroupState, ...]:
    """Return the state of each group that has objects, sorted by ordinal."""
    modelserving = facts.modelserving
    found = _parts_of(facts)
    protected = api.count_of(modelserving.rolling_update.partition, modelserving.wanted)
    most = modelserving.wanted + modelserving.surge
    states: list[GroupState] = []
    budget = MAX_ABSENT
    for place, name in enumerate(sorted(found, key=_by_ordinal)):
        group = _Group(facts, revisions, found[name], surplus=len(found) > most)
        states.append(group.state(name, budget, protected=place < protected))
        budget -= sum(each.status is InstanceStatus.NOT_FOUND for each in states[-1].instances)
    return tuple(states)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A group judged by a list of roles; `instances` lacks those that are still to be created."""

    roles: Roles
    instances: tuple[InstanceState, ...]
    complete: bool
    miscounted: bool


@dataclass(frozen=True, slots=True)
class _Group:
    facts: ModelServingFacts
    revisions: Revisions
    parts: _Parts
    surplus: bool

    def state(self, name: str, budget: int, *, protected: bool) -> GroupState:
        """Return its state, with at most `budget` instances that are still to be created."""
        by_spec = self.judged(self.facts.modelserving.roles)
        age = self.age(by_spec, protected=protected)
        judged = self.own_or_spec(by_spec, age)
        status = self.status(judged, age)
        going = status is GroupStatus.DELETING
        instances, absent = (judged.instances, 0) if going else _with_absent(judged, budget)
        return GroupState(
            name=name,
            ordinal=ordinal_of(name),
            status=status,
            age=age,
            instances=instances,
            absent=absent,
        )

    def status(self, judged: _Judged, age: GroupAge) -> GroupStatus:
        """Return its status (S1 is that it does not exist)."""
        parts, modelserving = self.parts, self.facts.modelserving
        rest = parts.pod_groups or parts.services
        if not parts.pods and rest and all(each.deleting for each in rest):  # S2
            return GroupStatus.DELETING
        has_pod_group = any(not each.deleting for each in parts.pod_groups)
        if parts.pods and all(pod.deleting for pod in parts.pods):
            if self.facts.pod_groups is not None:  # S3, S4
                goes = not has_pod_group
            else:  # S5a, S5b
                of_roles = [each for role in parts.roles.values() for each in role.values()]
                goes = (
                    sum(bool(each.pods) for each in of_roles) > 1
                    or self.surplus
                    or (age.outdated and not age.protected and not modelserving.rolls_roles)
                    or modelserving.spec.recovery_policy == api.SERVING_GROUP_RECREATE
                )
            return GroupStatus.DELETING if goes else GroupStatus.CREATING
        wants_pods = any(role.wanted for role in judged.roles)
        if not parts.pods and has_pod_group and wants_pods:  # S6
            return GroupStatus.CREATING
        if judged.complete:  # S7
            return GroupStatus.RUNNING
        serves = any(each.status is InstanceStatus.RUNNING for each in judged.instances)
        return GroupStatus.SCALING if judged.miscounted and serves else GroupStatus.CREATING

    def judged(self, roles: Roles) -> _Judged:
        """Judge the objects of the group by the roles that it should have.

        It is complete if each role has exactly as many instances as wanted and all are Running, as
        in Kthena since v0.4.0; earlier versions counted the pods of the group.
        """
        by_role = dict(self.parts.roles)
        found: list[InstanceState] = []
        complete, miscounted = bool(roles), False
        for role in roles:
            known = self.instances(role, by_role.pop(role.name, {}))
            found += known
            right = len(known) == role.wanted
            miscounted |= not right
            complete &= right and all(each.status is InstanceStatus.RUNNING for each in known)
        for name in sorted(by_role):
            found += self.instances(api.Role(name=name), by_role[name], removed=True)
        return _Judged(roles, tuple(found), complete, miscounted)

    def own_or_spec(self, by_spec: _Judged, age: GroupAge) -> _Judged:
        """Judge an outdated group by the roles of its own revision.

        Kthena judges it by the new spec, so a group that partition protects could never be Running
        again once the spec has other roles. The replicas of roles are not part of a revision, and
        the controller scales old groups by the spec. So a group that has only roles of the spec and
        is complete by the spec is complete too.
        """
        own = self.revisions.kept.get(age.revision)
        if not age.outdated or own is None or self.facts.modelserving.rolls_roles:
            return by_spec
        by_own = self.judged(own)
        names = {role.name for role in by_spec.roles}
        only_known = all(role.name in names for role in own)
        return by_spec if by_spec.complete and not by_own.complete and only_known else by_own

    def instances(
        self, role: api.Role, known: Mapping[str, _Parts], *, removed: bool = False
    ) -> list[InstanceState]:
        kept = api.count_of(role.partition, role.wanted)
        found: list[InstanceState] = []
        for identity in sorted(known, key=_by_ordinal):
            pods = known[identity].pods
            expected = self.expected(pods, role, removed=removed)
            state = InstanceState(
                role=role.name,
                id=identity,
                ordinal=ordinal_of(identity),
                status=_instance_status(known[identity], expected, removed=removed),
                expected=expected,
                pods=tuple(sorted(pods, key=lambda pod: pod.name)),
                listed=not removed,
                outdated=self.facts.modelserving.rolls_roles
                and any(self.revisions.is_old_role(pod, role.name) for pod in remaining(pods)),
                protected=not removed and len(found) < kept,
            )
            found.append(state)
        return found

    def expected(self, pods: list[Pod], role: api.Role, *, removed: bool) -> int:
        """Return the number of pods of a complete instance: its entry pod and its workers.

        The revision of its pods determines the number of workers. If they are of several revisions,
        the controller is completing the instance by the current spec. If nothing is known of a
        removed role, the existing pods are assumed to be complete.
        """
        found = {revision_of(pod) for pod in remaining(pods)}
        own = self.revisions.role_in(found.pop(), role.name) if len(found) == 1 else None
        if own is not None:
            return own.pods
        return len(pods) if removed else role.pods

    def age(self, judged: _Judged, *, protected: bool) -> GroupAge:
        """Return its age by its pods, or by the old instances if they are updated one by one."""
        update = self.revisions.update
        found = sorted(revision_of(pod) for pod in remaining(self.parts.pods))
        if not self.facts.modelserving.rolls_roles:
            updated = bool(update) and set(found) == {update}
            return GroupAge(
                revision=commonest([each for each in found if each != update] or found),
                updated=updated,
                outdated=not updated and any(map(self.revisions.is_old, found)),
                protected=protected,
            )
        old = [each for each in judged.instances if each.outdated]
        before = sorted(revision_of(pod) for each in old for pod in remaining(each.pods))
        older = [each for each in before if each != update]
        return GroupAge(
            revision=commonest(older or before or ([update] if update in found else found)),
            updated=bool(found) and not old,
            outdated=bool(old),
            protected=bool(old) and all(each.protected for each in old),
        )


def _instance_status(parts: _Parts, expected: int, *, removed: bool) -> InstanceStatus:
    """Return the status of an instance of which something exists, whatever its revision is.

    I1 is applied where the list is written; I3 and I4 are about instances that do not exist. I14
    differs from the controller on purpose: lost readiness counts at once here, while the controller
    ignores it.
    """
    pods = parts.pods
    if not pods:  # I5, I6
        going = all(each.deleting for each in parts.services)
        return InstanceStatus.DELETING if going else InstanceStatus.CREATING
    terminating = sum(pod.deleting for pod in pods)
    if terminating == len(pods) or (removed and terminating):  # I2, I7
        return InstanceStatus.DELETING
    unready = [pod for pod in pods if pod.status.phase != "Running" or not is_ready(pod)]
    is_broken = any(pod.status.phase == "Failed" or _has_restarted(pod) for pod in unready)
    complete = not terminating and not is_broken and len(pods) - len(unready) == expected
    return InstanceStatus.RUNNING if complete else InstanceStatus.CREATING  # I8 to I15


def _has_restarted(pod: Pod) -> bool:
    """Return True if a container was restarted of a pod that has not ended."""
    statuses = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    is_alive = pod.status.phase in {"Running", "Pending"}
    return is_alive and any(each.restart_count > 0 for each in statuses)


def _with_absent(judged: _Judged, most: int) -> tuple[tuple[InstanceState, ...], int]:
    """Return the instances, including those still to be created (I3), and the number left out.

    The controller counts instances: if 2 are wanted, and 0 and 2 exist, it never creates 1 (I4). Of
    two roles with the same name, which is invalid, the first counts.
    """
    found: list[InstanceState] = []
    total = 0
    roles: dict[str, api.Role] = {}
    for role in judged.roles:
        roles.setdefault(role.name, role)
    for role in roles.values():
        known = [each.ordinal for each in judged.instances if each.role == role.name]
        total += max(0, role.wanted - len(known))
        found += (
            InstanceState(
                role=role.name,
                id=f"{role.name}-{ordinal}",
                ordinal=ordinal,
                status=InstanceStatus.NOT_FOUND,
                expected=role.pods,
            )
            for ordinal in islice(to_create(known, role.wanted), most - len(found))
        )
    if not found:
        return judged.instances, total
    places = {name: place for place, name in enumerate(roles)}
    last = len(places)
    both = (*judged.instances, *found)
    in_order = sorted(both, key=lambda each: (places.get(each.role, last), each.role, each.ordinal))
    return tuple(in_order), total - len(found)
