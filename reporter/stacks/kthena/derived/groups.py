"""The states of groups and instances, as two tables: the first matching row decides.

Kthena's controller keeps both states in its memory and publishes only totals
(github.com/volcano-sh/kthena, pkg/model-serving-controller/datastore/store.go, v1.0.0). Outsiders
see pods, Services and PodGroups, and several histories leave the same objects: a group whose pods
all terminate may be going away as a whole, or lose its only instance and stay. So each row is a
fact that `kubectl get` shows; docs/modelserving.md, "States", has the same rows.

The hard rows depend on the order of deletion: when a group is deleted its PodGroup goes first, when
an instance is deleted it stays (S3, S4). Without PodGroups, several terminating instances mean that
the group goes (S5a), and a single one only if something replaces whole groups (S5b). Ordinals prove
nothing, because a scale-down may take any group, and neither does the phase of a terminating pod.
Earlier passes are not used: a dump, a restarted reporter and a standby give the same answer.

Labels alone prove little: objects of a deleted ModelServing of the same name have the same labels.
So the owner's uid decides, if there is one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Generic, TypeVar

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
from reporter.workload.pod import had_been_ready, is_ready

MAX_ABSENT: Final = 1_000
"""The most instances of a ModelServing shown as NotFound; the spec may ask for any number."""

_ORDINAL: Final = re.compile(r"-(\d{1,10})\Z", re.ASCII)

FactsT = TypeVar("FactsT")
StatusT = TypeVar("StatusT")


@dataclass(frozen=True)
class Row(Generic[FactsT, StatusT]):
    name: str
    holds: Callable[[FactsT], bool]
    status: StatusT


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    pods: int = 0
    terminating: int = 0
    ready: int = 0
    expected: int = 0  # pods of a complete instance
    failed: bool = False  # some pod has failed
    restarted: bool = False  # some pod is not ready and has a container that was restarted
    was_ready: bool = False  # some pod is not ready any more
    service: bool = False  # it has a Service that stays
    service_terminating: bool = False  # all Services that it has are being deleted
    to_create: bool = False  # the controller creates it next
    removed: bool = False  # the group should not have its role

    @property
    def is_nothing(self) -> bool:
        """True if neither a pod nor a Service of it exists."""
        return self.pods == 0 and not self.service and not self.service_terminating


_InstanceRow = Row[InstanceFacts, InstanceStatus | None]

INSTANCE_ROWS: Final = (
    _InstanceRow("I2", lambda f: f.removed and f.terminating > 0, InstanceStatus.DELETING),
    _InstanceRow("I3", lambda f: f.is_nothing and f.to_create, InstanceStatus.NOT_FOUND),
    _InstanceRow("I4", lambda f: f.is_nothing, None),
    _InstanceRow("I5", lambda f: f.pods == 0 and f.service_terminating, InstanceStatus.DELETING),
    _InstanceRow("I6", lambda f: f.pods == 0, InstanceStatus.CREATING),
    _InstanceRow("I7", lambda f: f.terminating == f.pods, InstanceStatus.DELETING),
    _InstanceRow("I8", lambda f: f.terminating > 0, InstanceStatus.CREATING),
    _InstanceRow("I9", lambda f: f.failed, InstanceStatus.CREATING),
    _InstanceRow("I10", lambda f: f.restarted, InstanceStatus.CREATING),
    _InstanceRow("I11", lambda f: f.ready == f.expected, InstanceStatus.RUNNING),
    _InstanceRow("I12", lambda f: f.ready > f.expected, InstanceStatus.CREATING),
    _InstanceRow("I13", lambda f: f.pods < f.expected, InstanceStatus.CREATING),
    _InstanceRow("I14", lambda f: f.was_ready, InstanceStatus.CREATING),
    _InstanceRow("I15", lambda _: True, InstanceStatus.CREATING),
)
"""The revision and the ordinal of an instance do not matter. None: there is no entry.

The code that writes `roleStatuses` applies row I1 (the group is being deleted), and hides instances
of row I2. Row I14 differs from the controller on purpose: lost readiness counts at once here, while
the controller ignores it. Row I3 asks what the controller creates next: if 2 are wanted, and 0 and
2 exist, it never creates 1.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    pods: bool
    all_terminating: bool  # it has pods, and all of them are being deleted
    leaving: bool  # it has no pods, and what is left of it is being deleted
    pod_groups: bool  # PodGroups are in use
    pod_group: bool  # it has a PodGroup that stays
    several: bool  # more than one instance has pods
    to_replace: bool  # it is surplus, or the update or the recovery policy replaces it as a whole
    wants_pods: bool  # some role wants instances
    complete: bool  # each role has as many instances as wanted, all of them Running
    miscounted: bool  # some role has more or fewer instances
    serving: bool  # some instance is Running


_GroupRow = Row[GroupFacts, GroupStatus]

GROUP_ROWS: Final = (
    _GroupRow("S2", lambda f: f.leaving, GroupStatus.DELETING),
    _GroupRow(
        "S3", lambda f: f.all_terminating and f.pod_groups and not f.pod_group, GroupStatus.DELETING
    ),
    _GroupRow("S4", lambda f: f.all_terminating and f.pod_groups, GroupStatus.CREATING),
    _GroupRow("S5a", lambda f: f.all_terminating and f.several, GroupStatus.DELETING),
    _GroupRow("S5b", lambda f: f.all_terminating and f.to_replace, GroupStatus.DELETING),
    _GroupRow("S5b", lambda f: f.all_terminating, GroupStatus.CREATING),
    _GroupRow("S6", lambda f: not f.pods and f.pod_group and f.wants_pods, GroupStatus.CREATING),
    _GroupRow("S7", lambda f: f.complete, GroupStatus.RUNNING),
    _GroupRow("S8", lambda f: f.miscounted and f.serving, GroupStatus.SCALING),
    _GroupRow("S9", lambda _: True, GroupStatus.CREATING),
)
"""Row S1: the group does not exist. `_Group.own_or_spec` chooses the roles to judge a group by."""


def decide(rows: Iterable[Row[FactsT, StatusT]], facts: FactsT) -> Row[FactsT, StatusT]:
    return next(row for row in rows if row.holds(facts))


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

    @property
    def leaving(self) -> bool:
        """True if a group has no pods, and its PodGroups, else its Services, are being deleted."""
        rest = self.pod_groups or self.services
        return not self.pods and bool(rest) and all(each.deleting for each in rest)


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
    protected = api.count_of(modelserving.partition, modelserving.wanted)
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
        modelserving, parts = self.facts.modelserving, self.parts
        by_spec = self.judged(modelserving.roles)
        age = self.age(by_spec, protected=protected)
        judged = self.own_or_spec(by_spec, age)
        of_roles = [each for role in parts.roles.values() for each in role.values()]
        row = decide(
            GROUP_ROWS,
            GroupFacts(
                pods=bool(parts.pods),
                all_terminating=bool(parts.pods) and all(pod.deleting for pod in parts.pods),
                leaving=parts.leaving,
                pod_groups=self.facts.pod_groups is not None,
                pod_group=any(not each.deleting for each in parts.pod_groups),
                several=sum(bool(each.pods) for each in of_roles) > 1,
                to_replace=self.surplus
                or (age.outdated and not age.protected and not modelserving.rolls_roles)
                or modelserving.recovery_policy == api.SERVING_GROUP_RECREATE,
                wants_pods=any(role.wanted for role in judged.roles),
                complete=judged.complete,
                miscounted=judged.miscounted,
                serving=any(each.status is InstanceStatus.RUNNING for each in judged.instances),
            ),
        )
        going = row.status is GroupStatus.DELETING
        instances, absent = (judged.instances, 0) if going else _with_absent(judged, budget)
        return GroupState(
            name=name,
            ordinal=ordinal_of(name),
            status=row.status,
            age=age,
            instances=instances,
            absent=absent,
            row=row.name,
        )

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
            row = decide(INSTANCE_ROWS, _instance_facts(known[identity], expected, removed=removed))
            if row.status is None:
                continue
            state = InstanceState(
                role=role.name,
                id=identity,
                ordinal=ordinal_of(identity),
                status=row.status,
                expected=expected,
                pods=tuple(sorted(pods, key=lambda pod: pod.name)),
                listed=not removed,
                outdated=self.facts.modelserving.rolls_roles
                and any(self.revisions.is_old_role(pod, role.name) for pod in remaining(pods)),
                protected=not removed and len(found) < kept,
                row=row.name,
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


def _instance_facts(parts: _Parts, expected: int, *, removed: bool) -> InstanceFacts:
    pods = parts.pods
    unready = [pod for pod in pods if pod.status.phase != "Running" or not is_ready(pod)]
    service = any(not each.deleting for each in parts.services)
    return InstanceFacts(
        pods=len(pods),
        terminating=sum(pod.deleting for pod in pods),
        ready=len(pods) - len(unready),
        expected=expected,
        failed=any(pod.status.phase == "Failed" for pod in unready),
        restarted=any(
            pod.status.phase in {"Running", "Pending"} and each.restart_count > 0
            for pod in unready
            for statuses in (pod.status.init_container_statuses, pod.status.container_statuses)
            for each in statuses or ()
        ),
        was_ready=any(had_been_ready(pod) for pod in unready),
        service=service,
        service_terminating=bool(parts.services) and not service,
        removed=removed,
    )


def _with_absent(judged: _Judged, most: int) -> tuple[tuple[InstanceState, ...], int]:
    """Return the instances, including those still to be created, and the number left out.

    Of two roles with the same name, which is invalid, the first counts.
    """
    found: list[InstanceState] = []
    total = 0
    roles: dict[str, api.Role] = {}
    for role in judged.roles:
        roles.setdefault(role.name, role)
    row = decide(INSTANCE_ROWS, InstanceFacts(to_create=True))
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
                row=row.name,
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
