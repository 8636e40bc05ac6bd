"""The state of a ModelServing: its ServingGroups and their instances, derived from objects.

The problem: the demo and the tests need a controller that creates and deletes the same objects as
Kthena's, without Kthena. The real one (github.com/volcano-sh/kthena, pkg/model-serving-controller,
v1.0.0) keeps the state of every group and instance in memory and updates it by informer events. It
needs Volcano and a cluster, and it cannot be put into a given state: after a restart it has
forgotten which objects it was deleting.

The choice: derive the state from the objects each time. `groups_of` is a pure function of the
children, and `kthena.plan` is a pure function of the groups. So a test starts in any state by
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.simulation.kthena_objects import (
    GROUP,
    REVISION,
    ROLE,
    ROLE_ID,
    VOLCANO,
    Object,
    labels_of,
    pods_of_instance,
    revision_of,
    role_replicas,
    roles_of,
)
from lab.simulation.kthena_signs import is_deleting, is_ready, ordinal_of


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
        """Name of the ModelServing."""
        return str(self.modelserving["metadata"]["name"])

    @property
    def replicas(self) -> int:
        """The number of ServingGroups wanted."""
        return int(self.modelserving["spec"].get("replicas", 1))

    @property
    def roles(self) -> list[Object]:
        """The roles of the spec."""
        return roles_of(self.modelserving)

    @property
    def revision(self) -> str:
        """The revision of the spec."""
        return revision_of(self.roles)

    @property
    def grouped(self) -> bool:
        """True if ServingGroups have PodGroups."""
        scheduler = self.modelserving["spec"].get("schedulerName", VOLCANO)
        return self.pod_groups is not None and scheduler == VOLCANO

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
        """The pods and Services."""
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
        """The pods of all its instances."""
        return tuple(pod for instance in self.instances for pod in instance.pods)

    @property
    def objects(self) -> tuple[Object, ...]:
        """All objects, in the order in which Kthena deletes them."""
        services = (service for each in self.instances for service in each.services)
        return (*self.pod_groups, *self.pods, *services)


def groups_of(world: ModelServingWorld) -> list[ServingGroup]:
    """Return the groups, sorted by ordinal."""
    pods, services = _by_group(world.pods), _by_group(world.services)
    pod_groups = _by_group(world.pod_groups or ())
    names = {*pods, *services, *pod_groups}
    return sorted(
        (
            _group(
                world, name, pods[name], services=services[name], pod_groups=tuple(pod_groups[name])
            )
            for name in names
        ),
        key=lambda group: group.ordinal,
    )


def _by_group(objects: Iterable[Object]) -> defaultdict[str, list[Object]]:
    found: defaultdict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        found[labels_of(obj)[GROUP]].append(obj)
    return found


def _group(
    world: ModelServingWorld,
    name: str,
    pods: Sequence[Object],
    *,
    services: Sequence[Object],
    pod_groups: tuple[Object, ...],
) -> ServingGroup:
    roles = {role["name"]: role for role in world.roles}
    instances = tuple(_instances(world, roles, name, pods=pods, services=services))
    is_outdated = any(labels_of(pod)[REVISION] != world.revision for pod in pods)
    is_complete = all(
        [each.state for each in instances if each.role == role["name"]]
        == ["Running"] * role_replicas(role)
        for role in world.roles
    )
    return ServingGroup(
        name=name,
        ordinal=ordinal_of(name),
        instances=instances,
        pod_groups=pod_groups,
        is_going=_is_going(pods, pod_groups),
        is_running=is_complete,
        is_outdated=is_outdated,
    )


def _is_going(pods: Sequence[Object], pod_groups: Sequence[Object]) -> bool:
    """True if a group is being deleted as a whole: its PodGroup is deleted first.

    Without a PodGroup, a group whose pods all terminate counts as deleted as a whole.
    """
    return any(map(is_deleting, pod_groups)) if pod_groups else all(map(is_deleting, pods))


def _instances(
    world: ModelServingWorld,
    roles: Mapping[str, Object],
    group: str,
    *,
    pods: Sequence[Object],
    services: Sequence[Object],
) -> Iterator[SimulatedInstance]:
    keys = {(labels_of(each)[ROLE], labels_of(each)[ROLE_ID]) for each in (*pods, *services)}
    for role, role_id in sorted(keys, key=lambda key: (key[0], ordinal_of(key[1]))):
        own = tuple(each for each in pods if labels_of(each)[ROLE_ID] == role_id)
        yield SimulatedInstance(
            group=group,
            role=role,
            id=role_id,
            pods=own,
            services=tuple(each for each in services if labels_of(each)[ROLE_ID] == role_id),
            expected=_expected(world, roles, role, pods=own),
        )


def _expected(
    world: ModelServingWorld, roles: Mapping[str, Object], role: str, *, pods: Sequence[Object]
) -> int:
    for pod in pods:
        kept = world.kept(labels_of(pod)[REVISION]) or ()
        for each in kept:
            if each["name"] == role:
                return pods_of_instance(each)
    return pods_of_instance(roles[role]) if role in roles else max(len(pods), 1)
