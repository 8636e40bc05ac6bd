"""The status of a ServingGroup, as a table: the first row that holds decides.

The problem: Kthena's controller keeps the status of a group in its memory
(github.com/volcano-sh/kthena, pkg/model-serving-controller/datastore/store.go, v1.0.0) and
publishes only sums of it. From outside there are pods, Services and PodGroups, and several
histories leave the same objects. A group whose pods all terminate may be going as a whole, or it
may be losing its only instance and stay.

The choice: one ordered table of what can be seen. Each row is a fact about the objects, so that a
status can be explained with `kubectl get`, and tests break one row at a time. The rows are those of
the table of groups in docs/modelserving.md, "States".

What decides the hard rows is the order in which the controller deletes. With a group its PodGroup
goes first; with an instance the PodGroup stays. So where PodGroups are in use, a PodGroup that
stays means that only an instance is replaced (rows S3 and S4). Without PodGroups the same pods are
ambiguous: several instances at once mean the group (S5a), and a single one counts as the group only
if something replaces whole groups: too many groups, the update, or the recovery policy (S5b).

What fails: ordinals say nothing, because a scale-down may take any group; the phase of the pods
says nothing, because a terminating pod can be Running and Ready; and remembering earlier passes
would give a dump, a restarted reporter and a standby different answers.

Numbers in names, and counts that may be percentages.

The status of an instance of a role, as a table: the first row that holds decides.

The rows are those of the table of instances in docs/modelserving.md, "States". What Kthena's
controller itself holds is in its memory and not in the cluster (github.com/volcano-sh/kthena,
pkg/model-serving-controller/datastore/store.go, v1.0.0); the table says what can be seen from
outside.

The objects that are a ModelServing's own, by group and instance.

Labels alone say little: objects of a deleted ModelServing of the same name carry the same labels.
Kthena's controller looks them up by label only and counts them; here the owner's uid decides. A
dump may lack uids; then labels are all there is.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.stacks.kthena.derived.facts import GroupStatus, InstanceStatus, ModelServingFacts
from reporter.stacks.kthena.objects import GROUP_LABEL, ROLE_ID_LABEL, ROLE_LABEL, ModelServing
from reporter.workload.pod import had_been_ready, is_ready

ObjectT = TypeVar("ObjectT", bound=KubeObject)


@dataclass(slots=True)
class InstanceParts:
    """The pods and Services of one instance."""

    pods: list[Pod] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)


@dataclass(slots=True)
class GroupParts:
    """What exists of one group; `instances` by role name and role ID."""

    pods: list[Pod] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    pod_groups: list[PodGroup] = field(default_factory=list)
    instances: dict[tuple[str, str], InstanceParts] = field(default_factory=dict)

    def instance(self, obj: KubeObject) -> InstanceParts | None:
        """Return the parts of the instance that an object is of, None if it names none."""
        role, identity = obj.metadata.label(ROLE_LABEL), obj.metadata.label(ROLE_ID_LABEL)
        if not role or not identity:
            return None
        return self.instances.setdefault((role, identity), InstanceParts())


def owned(modelserving: ModelServing, objects: Iterable[ObjectT]) -> Iterator[ObjectT]:
    """Yield the objects that the ModelServing owns."""
    uid = modelserving.metadata.uid
    return (each for each in objects if not uid or each.metadata.owned_by(uid))


def parts_of(facts: ModelServingFacts) -> dict[str, GroupParts]:
    """Return what exists of each group, by its name; what names no group is not seen."""
    groups: dict[str, GroupParts] = {}
    for pod, group in _in_groups(facts, facts.pods, groups):
        group.pods.append(pod)
        if (instance := group.instance(pod)) is not None:
            instance.pods.append(pod)
    for service, group in _in_groups(facts, facts.services, groups):
        group.services.append(service)
        if (instance := group.instance(service)) is not None:
            instance.services.append(service)
    for pod_group, group in _in_groups(facts, facts.pod_groups or (), groups):
        group.pod_groups.append(pod_group)
    return groups


def _in_groups(
    facts: ModelServingFacts, objects: Iterable[ObjectT], groups: dict[str, GroupParts]
) -> Iterator[tuple[ObjectT, GroupParts]]:
    for each in owned(facts.modelserving, objects):
        name = each.metadata.label(GROUP_LABEL)
        if name:
            yield each, groups.setdefault(name, GroupParts())


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What the table asks about a group.

    Attributes:
        pods: it has pods.
        all_terminating: it has pods, and all of them are being deleted.
        leaving: it has no pods, and what is left of it is being deleted.
        pod_groups: PodGroups are in use.
        pod_group: it has a PodGroup that stays.
        several: more than one instance has pods.
        to_replace: it is surplus, or the update or the recovery policy replaces it as a whole.
        wants_pods: there is a role of which instances are wanted.
        complete: of each role that it should have there are as many instances as wanted, all of
            them Running.
        miscounted: of some role there are more or fewer.
        serving: some instance is Running.

    """

    pods: bool = False
    all_terminating: bool = False
    leaving: bool = False
    pod_groups: bool = False
    pod_group: bool = False
    several: bool = False
    to_replace: bool = False
    wants_pods: bool = True
    complete: bool = False
    miscounted: bool = False
    serving: bool = False


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A row of the table."""

    name: str
    holds: Callable[[GroupFacts], bool]
    status: GroupStatus


GROUP_ROWS: Final = (
    GroupRow("S2", lambda f: f.leaving, GroupStatus.DELETING),
    GroupRow(
        "S3", lambda f: f.all_terminating and f.pod_groups and not f.pod_group, GroupStatus.DELETING
    ),
    GroupRow("S4", lambda f: f.all_terminating and f.pod_groups, GroupStatus.CREATING),
    GroupRow("S5a", lambda f: f.all_terminating and f.several, GroupStatus.DELETING),
    GroupRow("S5b", lambda f: f.all_terminating and f.to_replace, GroupStatus.DELETING),
    GroupRow("S5b", lambda f: f.all_terminating, GroupStatus.CREATING),
    GroupRow("S6", lambda f: not f.pods and f.pod_group and f.wants_pods, GroupStatus.CREATING),
    GroupRow("S7", lambda f: f.complete, GroupStatus.RUNNING),
    GroupRow("S8", lambda f: f.miscounted and f.serving, GroupStatus.SCALING),
    GroupRow("S9", lambda _: True, GroupStatus.CREATING),
)
"""The first row that holds decides.

Row S1 is that there is no group. It does not matter whether a group is surplus, or has roles that
were removed from the spec. By which roles an outdated group is judged is decided in `states`.
"""


def decide_group(facts: GroupFacts) -> GroupRow:
    """Return the first row that holds for a group."""
    return next(row for row in GROUP_ROWS if row.holds(facts))


def is_leaving(parts: GroupParts) -> bool:
    """Tell whether a group without pods is being deleted.

    The controller deletes the PodGroup of a group first, so a PodGroup that stays means that only
    an instance is being replaced, and one that goes means the whole group.
    """
    if parts.pods:
        return False
    if parts.pod_groups:
        return all(each.deleting for each in parts.pod_groups)
    return bool(parts.services) and all(each.deleting for each in parts.services)


_ORDINAL: Final = re.compile(r"-(\d{1,10})\Z", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,9})%", re.ASCII)
_MOST: Final = 2**31 - 1


def ordinal_of(name: str) -> int:
    """Return the number at the end of the name of a group or instance, -1 if there is none.

    It has 32 bits, as in Kthena's controller.
    """
    found = _ORDINAL.search(name)
    number = int(found[1]) if found else -1
    return number if number <= _MOST else -1


def partition_of(value: int | str | None, replicas: int) -> int:
    """Return how many entries a partition protects.

    A percentage is of `replicas` and is rounded up. What is neither protects none, as in Kthena.
    """
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value or "")
    return -(-int(percent[1]) * replicas // 100) if percent else 0


def surge_of(value: int | str | None, replicas: int) -> int:
    """Return how many groups there may be beyond those that are wanted.

    A percentage is rounded up, as that of Deployments (Kubernetes API, `apps/v1`, `maxSurge`).
    """
    return max(0, partition_of(value, replicas))


def to_create(known: Collection[int], wanted: int) -> Iterator[int]:
    """Yield the ordinals that the controller creates next, ascending.

    Everything known counts, so {0, 5} of 4 lacks only 1 and 2. There may be very many.
    """
    taken = frozenset(known)
    free = (ordinal for ordinal in range(wanted) if ordinal not in taken)
    return islice(free, max(0, wanted - len(known)))


_RUNNING: Final = "Running"
_RESTARTABLE: Final = frozenset({_RUNNING, "Pending"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """What the table asks about an instance.

    Attributes:
        pods: n: its pods.
        terminating: t: those that are being deleted.
        ready: r: those that are ready.
        expected: e: what makes it complete.
        failed: some pod has failed.
        restarted: some pod is not ready and has a container that was restarted.
        was_ready: some pod is not ready any more.
        service: it has a Service that stays.
        service_terminating: all Services that it has are being deleted.
        to_create: the controller creates it next.
        removed: its role is not one that its group should have.

    """

    pods: int = 0
    terminating: int = 0
    ready: int = 0
    expected: int = 0
    failed: bool = False
    restarted: bool = False
    was_ready: bool = False
    service: bool = False
    service_terminating: bool = False
    to_create: bool = False
    removed: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether neither a pod nor a Service of it exists."""
        return self.pods == 0 and not self.service and not self.service_terminating


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """A row of the table: None as status means that there is no entry."""

    name: str
    holds: Callable[[InstanceFacts], bool]
    status: InstanceStatus | None


INSTANCE_ROWS: Final = (
    InstanceRow("I2", lambda f: f.removed and f.terminating > 0, InstanceStatus.DELETING),
    InstanceRow("I3", lambda f: f.is_nothing and f.to_create, InstanceStatus.NOT_FOUND),
    InstanceRow("I4", lambda f: f.is_nothing, None),
    InstanceRow("I5", lambda f: f.pods == 0 and f.service_terminating, InstanceStatus.DELETING),
    InstanceRow("I6", lambda f: f.pods == 0, InstanceStatus.CREATING),
    InstanceRow("I7", lambda f: f.terminating == f.pods, InstanceStatus.DELETING),
    InstanceRow("I8", lambda f: f.terminating > 0, InstanceStatus.CREATING),
    InstanceRow("I9", lambda f: f.failed, InstanceStatus.CREATING),
    InstanceRow("I10", lambda f: f.restarted, InstanceStatus.CREATING),
    InstanceRow("I11", lambda f: f.ready == f.expected, InstanceStatus.RUNNING),
    InstanceRow("I12", lambda f: f.ready > f.expected, InstanceStatus.CREATING),
    InstanceRow("I13", lambda f: f.pods < f.expected, InstanceStatus.CREATING),
    InstanceRow("I14", lambda f: f.was_ready, InstanceStatus.CREATING),
    InstanceRow("I15", lambda _: True, InstanceStatus.CREATING),
)
"""The first row that holds decides. Neither the revision of an instance nor its ordinal matters.

Row I1 (the group is being deleted) is applied where `roleStatuses` is written, and so is the rule
that an instance of row I2 is not shown. Row I14 differs from the controller on purpose: lost
readiness counts at once here, while the controller takes no notice of it. Row I3 asks what the
controller creates next, not for the ordinal alone: where 2 are wanted and 0 and 2 exist, the
controller never creates 1.
"""


def decide_instance(facts: InstanceFacts) -> InstanceRow:
    """Return the first row that holds for an instance."""
    return next(row for row in INSTANCE_ROWS if row.holds(facts))


def facts_about(parts: InstanceParts, *, expected: int, removed: bool) -> InstanceFacts:
    """Return what the table asks about an instance of which something exists."""
    pods = parts.pods
    ready = [_ready(pod) for pod in pods]
    unready = [pod for pod, is_it in zip(pods, ready, strict=True) if not is_it]
    service = any(not each.deleting for each in parts.services)
    return InstanceFacts(
        pods=len(pods),
        terminating=sum(pod.deleting for pod in pods),
        ready=sum(ready),
        expected=expected,
        failed=any(pod.status.phase == "Failed" for pod in unready),
        restarted=any(_restarted(pod) for pod in unready),
        was_ready=any(had_been_ready(pod) for pod in unready),
        service=service,
        service_terminating=bool(parts.services) and not service,
        removed=removed,
    )


def _ready(pod: Pod) -> bool:
    return pod.status.phase == _RUNNING and is_ready(pod)


def _restarted(pod: Pod) -> bool:
    status = pod.status
    return status.phase in _RESTARTABLE and any(
        each.restart_count > 0
        for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    )
