"""The next actions of Kthena's controller, as a pure function of the objects.

The rules are those of github.com/volcano-sh/kthena,
pkg/model-serving-controller/controller/model_serving_controller.go, v1.0.0, with the recovery
policy RoleRecreate and a rollout of one group at a time. Partitions, deletion costs, gang sizes,
and graces before a failed pod is deleted are not simulated.

The problem: the demo and the tests need a controller that creates and deletes the same objects as
Kthena's, without Kthena. The real one (github.com/volcano-sh/kthena, pkg/model-serving-controller,
v1.0.0) keeps the state of every group and instance in memory and updates it by informer events. It
needs Volcano and a cluster, and it cannot be put into a given state: after a restart it has
forgotten which objects it was deleting.

The choice: derive the state from the objects each time. `groups_of` is a pure function of the
children, and `plan` is a pure function of the groups. So a test starts in any state by
writing objects, the demo can stop and restart, and the same objects always give the same plan.

What fails:

* Simulating the memory and its events. The result depends on the order of events, and inherits the
  flaws of the original: a late event of a ready pod can undo the deletion of a group.
* Using the reporter's derivation. The simulation would agree with the reporter by construction, and
  hide mistakes of both. So the rules are implemented twice and nothing of the reporter is imported;
  daemon tests run one against the other.
* Remembering which group is being deleted. The objects must show it: the PodGroup is deleted first,
  and without PodGroups a group whose pods all terminate counts as deleted as a whole.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from lab.simulation.kthena_objects import (
    GROUP,
    REVISION,
    ROLE,
    ROLE_ID,
    VOLCANO,
    controller_revision,
    instance_objects,
    is_deleting,
    is_failed,
    ordinal_of,
    pod_group,
    pods_of_instance,
    revision_of,
    role_replicas,
    roles_of,
)
from lab.simulation.objects import ControllerPlan, Object, is_ready, labels_of, name_of


@dataclass(frozen=True, slots=True)
class ModelServingWorld:
    """A ModelServing and its children.

    Attributes:
        modelserving: the object, with its defaults.
        pods: its pods, terminating ones too.
        services: its Services.
        pod_groups: its PodGroups; None if the cluster does not serve them.
        revisions: its ControllerRevisions.

    """

    modelserving: Object
    pods: Sequence[Object] = ()
    services: Sequence[Object] = ()
    pod_groups: Sequence[Object] | None = None
    revisions: Sequence[Object] = ()

    @property
    def name(self) -> str:
        return name_of(self.modelserving)

    @property
    def replicas(self) -> int:
        return int(self.modelserving["spec"].get("replicas", 1))

    @property
    def roles(self) -> list[Object]:
        return roles_of(self.modelserving)

    @property
    def revision(self) -> str:
        return revision_of(self.roles)

    @property
    def grouped(self) -> bool:
        """True if ServingGroups have PodGroups."""
        scheduler = self.modelserving["spec"].get("schedulerName", VOLCANO)
        return self.pod_groups is not None and scheduler == VOLCANO

    def instance(self, group: str, role: Object, ordinal: int) -> list[Object]:
        return [
            *instance_objects(
                self.modelserving,
                group,
                role,
                ordinal=ordinal,
                revision=self.revision,
                grouped=self.grouped,
            )
        ]

    def pod_group(self, group: str) -> list[Object]:
        return [pod_group(self.modelserving, group, self.roles)] if self.grouped else []

    def kept(self, revision: str) -> list[Object] | None:
        """Return the roles stored in a ControllerRevision, or None."""
        for each in self.revisions:
            if labels_of(each).get(REVISION) == revision:
                return list(each["data"]["data"])
        return None


@dataclass(frozen=True, slots=True)
class SimulatedInstance:
    """An instance of a role: its pods, and its Service if it has one."""

    group: str
    role: str
    id: str
    pods: tuple[Object, ...] = ()
    services: tuple[Object, ...] = ()
    expected: int = 1

    @property
    def objects(self) -> tuple[Object, ...]:
        return (*self.pods, *self.services)

    @property
    def state(self) -> str:
        """Creating, Running or Deleting; NotFound without pods."""
        if not self.pods:
            return "NotFound"
        if all(map(is_deleting, self.pods)):
            return "Deleting"
        if any(map(is_deleting, self.pods)):
            return "Creating"
        return "Running" if sum(map(is_ready, self.pods)) == self.expected else "Creating"


@dataclass(frozen=True, slots=True)
class ServingGroup:
    """A ServingGroup with at least one object."""

    name: str
    ordinal: int
    instances: tuple[SimulatedInstance, ...]
    pod_groups: tuple[Object, ...]
    is_going: bool
    is_running: bool
    is_outdated: bool

    @property
    def pods(self) -> tuple[Object, ...]:
        return tuple(pod for instance in self.instances for pod in instance.pods)

    @property
    def objects(self) -> tuple[Object, ...]:
        """All objects, in the order in which Kthena deletes them."""
        services = (service for each in self.instances for service in each.services)
        return (*self.pod_groups, *self.pods, *services)


def groups_of(world: ModelServingWorld) -> list[ServingGroup]:
    """Return the groups, sorted by ordinal."""
    kinds = [_by_group(each) for each in (world.pods, world.services, world.pod_groups or ())]
    names = sorted({name for kind in kinds for name in kind}, key=ordinal_of)
    return [_group(world, name, *(kind[name] for kind in kinds)) for name in names]


def _by_group(objects: Iterable[Object]) -> defaultdict[str, list[Object]]:
    found: defaultdict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        found[labels_of(obj)[GROUP]].append(obj)
    return found


def _group(world: ModelServingWorld, name: str, *kinds: Sequence[Object]) -> ServingGroup:
    pods, services, pod_groups = kinds
    instances = tuple(_instances(world, name, pods, services=services))
    is_complete = all(
        [each.state for each in instances if each.role == role["name"]]
        == ["Running"] * role_replicas(role)
        for role in world.roles
    )
    return ServingGroup(
        name=name,
        ordinal=ordinal_of(name),
        instances=instances,
        pod_groups=tuple(pod_groups),
        is_going=_is_going(pods, pod_groups),
        is_running=is_complete,
        is_outdated=any(labels_of(pod)[REVISION] != world.revision for pod in pods),
    )


def _is_going(pods: Sequence[Object], pod_groups: Sequence[Object]) -> bool:
    """True if a group is being deleted as a whole: its PodGroup is deleted first.

    Without a PodGroup, a group whose pods all terminate counts as deleted as a whole.
    """
    return any(map(is_deleting, pod_groups)) if pod_groups else all(map(is_deleting, pods))


def _instances(
    world: ModelServingWorld, group: str, pods: Sequence[Object], *, services: Sequence[Object]
) -> Iterator[SimulatedInstance]:
    keys = {(labels_of(each)[ROLE], labels_of(each)[ROLE_ID]) for each in (*pods, *services)}
    for role, role_id in sorted(keys, key=lambda key: (key[0], ordinal_of(key[1]))):
        own, serving = (
            tuple(each for each in objects if labels_of(each)[ROLE_ID] == role_id)
            for objects in (pods, services)
        )
        expected = _expected(world, role, own)
        yield SimulatedInstance(group, role, role_id, own, serving, expected)


def _expected(world: ModelServingWorld, role: str, pods: Sequence[Object]) -> int:
    """Return how many pods an instance needs: by the revision of its pods, else by the spec."""
    for pod in pods:
        for each in world.kept(labels_of(pod)[REVISION]) or ():
            if each["name"] == role:
                return pods_of_instance(each)
    known = (pods_of_instance(each) for each in world.roles if each["name"] == role)
    return next(known, max(len(pods), 1))


def plan(world: ModelServingWorld) -> ControllerPlan:
    """Return what to do next; objects being deleted are recreated only once they are gone."""
    if is_deleting(world.modelserving):
        return ControllerPlan()
    groups = groups_of(world)
    going = [*_surplus(world, groups), *_to_replace(world, groups)]
    names = {group.name for group in going}
    staying = [each for each in groups if each.name not in names and not each.is_going]
    repairs = [_repair(world, group) for group in staying]
    delete = chain(
        *(group.objects for group in going),
        *(group.objects for group in groups if group.is_going),
        *(each.delete for each in repairs),
        _old_revisions(world),
    )
    create = tuple(chain(_new_groups(world, groups), *(each.create for each in repairs)))
    return ControllerPlan(delete=_living(delete), create=(*_new_revisions(world, create), *create))


def _living(objects: Iterator[Object]) -> tuple[Object, ...]:
    """Return the objects that are not being deleted yet, without duplicates."""
    found = {_key(each): each for each in objects if not is_deleting(each)}
    return tuple(found.values())


def _surplus(world: ModelServingWorld, groups: Sequence[ServingGroup]) -> list[ServingGroup]:
    """Return the groups to delete because fewer are wanted.

    In this order: being deleted already, not Running, high ordinal.
    """
    order = sorted(groups, key=lambda each: (not each.is_going, each.is_running, -each.ordinal))
    return order[: max(len(groups) - world.replicas, 0)]


def _to_replace(world: ModelServingWorld, groups: Sequence[ServingGroup]) -> list[ServingGroup]:
    """Return the outdated groups that a rollout may delete now.

    Groups of the new revision that are not ready use up the budget of one; groups that are not
    Running come first, then high ordinals.
    """
    unready = [each for each in groups if not each.is_outdated and not each.is_running]
    budget = len(groups) - world.replicas + 1 - len(unready)
    outdated = [each for each in groups if each.is_outdated]
    outdated.sort(key=lambda each: (each.is_running, -each.ordinal))
    return outdated[: max(budget, 0)]


def _repair(world: ModelServingWorld, group: ServingGroup) -> ControllerPlan:
    """Return the plan that brings a group's roles to the spec."""
    delete: list[Object] = []
    create: list[Object] = [] if group.pod_groups else world.pod_group(group.name)
    for role in world.roles:
        own = [each for each in group.instances if each.role == role["name"]]
        wanted = role_replicas(role)
        surplus = _surplus_instances(own, wanted)
        delete += chain(*(each.objects for each in surplus))
        for ordinal in _missing({ordinal_of(each.id) for each in own}, wanted):
            create += world.instance(group.name, role, ordinal)
        for instance in own:
            if instance not in surplus:
                fixed = _mend(world, instance, role)
                delete += fixed.delete
                create += fixed.create
    return ControllerPlan(delete=tuple(delete), create=tuple(create))


def _surplus_instances(
    instances: Sequence[SimulatedInstance], wanted: int
) -> list[SimulatedInstance]:
    order = sorted(
        instances,
        key=lambda each: (each.state != "Deleting", each.state == "Running", -ordinal_of(each.id)),
    )
    return order[: max(len(instances) - wanted, 0)]


def _missing(known: set[int], wanted: int) -> list[int]:
    """Return the ordinals to create: the lowest free ones, as many as are missing."""
    free = [ordinal for ordinal in range(wanted) if ordinal not in known]
    return free[: max(wanted - len(known), 0)]


def _mend(world: ModelServingWorld, instance: SimulatedInstance, role: Object) -> ControllerPlan:
    """Return the plan for failed and lost pods of an instance."""
    failed = tuple(pod for pod in instance.pods if is_failed(pod))
    if failed:
        return ControllerPlan(delete=failed)
    is_whole = len(instance.pods) >= instance.expected
    if instance.state == "Deleting" or not instance.pods or not is_whole:
        return ControllerPlan(delete=instance.objects)
    there = set(map(_key, instance.objects))
    whole = world.instance(instance.group, role, ordinal_of(instance.id))
    return ControllerPlan(create=tuple(each for each in whole if _key(each) not in there))


def _key(obj: Object) -> tuple[str, str]:
    return obj["kind"], name_of(obj)


def _new_groups(world: ModelServingWorld, groups: Sequence[ServingGroup]) -> Iterator[Object]:
    for ordinal in _missing({group.ordinal for group in groups}, world.replicas):
        name = f"{world.name}-{ordinal}"
        yield from world.pod_group(name)
        for role in world.roles:
            for each in range(role_replicas(role)):
                yield from world.instance(name, role, each)


def _new_revisions(world: ModelServingWorld, create: Sequence[Object]) -> Iterator[Object]:
    """Yield the ControllerRevision of new pods, if it does not exist yet."""
    made = {labels_of(each).get(REVISION) for each in create if each["kind"] == "Pod"}
    if world.revision in made and world.kept(world.revision) is None:
        yield controller_revision(world.modelserving, world.roles)


def _old_revisions(world: ModelServingWorld) -> Iterator[Object]:
    """Yield the ControllerRevisions without references."""
    status = world.modelserving.get("status") or {}
    used = {labels_of(pod)[REVISION] for pod in world.pods}
    used |= {world.revision, status.get("currentRevision", ""), status.get("updateRevision", "")}
    for each in world.revisions:
        if labels_of(each)[REVISION] not in used:
            yield each
