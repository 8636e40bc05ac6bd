"""The objects that are a ModelServing's own, by group and instance.

Labels alone say little: objects of a deleted ModelServing of the same name carry the same labels.
Kthena's controller looks them up by label only and counts them; here the owner's uid decides. A
dump may lack uids; then labels are all there is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.stacks.kthena.derived.facts import ModelServingFacts
from reporter.stacks.kthena.objects import (
    GROUP_LABEL,
    ROLE_ID_LABEL,
    ROLE_LABEL,
    ModelServing,
)

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
