"""The next actions of Kthena's controller, as a pure function of the objects.

The rules are those of github.com/volcano-sh/kthena,
pkg/model-serving-controller/controller/model_serving_controller.go, v1.0.0, with the recovery
policy RoleRecreate and a rollout of one group at a time. Partitions, deletion costs, gang sizes,
and graces before a failed pod is deleted are not simulated. `kthena_world` says why the state is
read from the objects each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from lab.simulation.kthena_objects import (
    REVISION,
    Object,
    controller_revision,
    instance_objects,
    labels_of,
    pod_group,
    role_replicas,
)
from lab.simulation.kthena_signs import is_deleting, is_failed, ordinal_of
from lab.simulation.kthena_world import (
    ModelServingWorld,
    ServingGroup,
    SimulatedInstance,
    groups_of,
)


@dataclass(frozen=True, slots=True)
class ModelServingPlan:
    """Objects to delete and objects to create, in this order."""

    delete: tuple[Object, ...] = ()
    create: tuple[Object, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.delete or self.create)


def plan(world: ModelServingWorld) -> ModelServingPlan:
    """Return what to do next; objects being deleted are recreated only once they are gone."""
    if is_deleting(world.modelserving):
        return ModelServingPlan()
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
    return ModelServingPlan(_living(delete), (*_new_revisions(world, create), *create))


def _living(objects: Iterator[Object]) -> tuple[Object, ...]:
    """Return the objects that are not being deleted yet, without duplicates."""
    found = {
        (each["kind"], each["metadata"]["name"]): each for each in objects if not is_deleting(each)
    }
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


def _repair(world: ModelServingWorld, group: ServingGroup) -> ModelServingPlan:
    """Return the plan that brings a group's roles to the spec."""
    delete: list[Object] = []
    create: list[Object] = []
    if world.grouped and not group.pod_groups:
        create.append(pod_group(world.modelserving, group.name, world.roles))
    for role in world.roles:
        own = [each for each in group.instances if each.role == role["name"]]
        wanted = role_replicas(role)
        surplus = _surplus_instances(own, wanted)
        delete += chain(*(each.objects for each in surplus))
        for ordinal in _missing({ordinal_of(each.id) for each in own}, wanted):
            create += instance_objects(
                world.modelserving,
                group.name,
                role,
                ordinal=ordinal,
                revision=world.revision,
                grouped=world.grouped,
            )
        for instance in own:
            if instance not in surplus:
                fixed = _mend(world, instance, role)
                delete += fixed.delete
                create += fixed.create
    return ModelServingPlan(tuple(delete), tuple(create))


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


def _mend(world: ModelServingWorld, instance: SimulatedInstance, role: Object) -> ModelServingPlan:
    """Return the plan for failed and lost pods of an instance."""
    failed = tuple(pod for pod in instance.pods if is_failed(pod))
    if failed:
        return ModelServingPlan(delete=failed)
    if instance.state == "Deleting" or not instance.pods:
        return ModelServingPlan(delete=instance.objects)
    if len(instance.pods) < instance.expected:
        return ModelServingPlan(delete=instance.objects)
    there = {(each["kind"], each["metadata"]["name"]) for each in instance.objects}
    whole = instance_objects(
        world.modelserving,
        instance.group,
        role,
        ordinal=ordinal_of(instance.id),
        revision=world.revision,
        grouped=world.grouped,
    )
    lacking = (each for each in whole if (each["kind"], each["metadata"]["name"]) not in there)
    return ModelServingPlan(create=tuple(lacking))


def _new_groups(world: ModelServingWorld, groups: Sequence[ServingGroup]) -> Iterator[Object]:
    for ordinal in _missing({group.ordinal for group in groups}, world.replicas):
        name = f"{world.name}-{ordinal}"
        if world.grouped:
            yield pod_group(world.modelserving, name, world.roles)
        for role in world.roles:
            for each in range(role_replicas(role)):
                yield from instance_objects(
                    world.modelserving,
                    name,
                    role,
                    ordinal=each,
                    revision=world.revision,
                    grouped=world.grouped,
                )


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
