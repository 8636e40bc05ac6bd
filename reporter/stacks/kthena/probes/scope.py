"""The state of a ModelServing as its probes see it, and the references in their findings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.model.finding import Derived
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef
from reporter.probes.scope import SubjectScope
from reporter.stacks.kthena.derived.facts import (
    GroupState,
    InstanceState,
    InstanceStatus,
    ModelServingFacts,
    facts_of,
    owned,
)
from reporter.stacks.kthena.derived.status import DerivedModelServing, derive
from reporter.stacks.kthena.objects import GROUP_LABEL, ModelServing
from reporter.stacks.kthena.reasons import PODGROUPS
from reporter.workload.owners import latest
from reporter.workload.pod import asked_to_end

NOT_MADE_BUDGET: Final = timedelta(seconds=300)
"""How long the controller may take to create a pod or group: several tries, with back-off."""


@dataclass(frozen=True, kw_only=True)
class ModelServingScope(SubjectScope[ModelServing]):
    @cached_property
    def facts(self) -> ModelServingFacts:
        return facts_of(self.object, self.snapshot)

    @cached_property
    def _derivation(self) -> DerivedModelServing:
        return derive(self.facts)

    @property
    def groups(self) -> tuple[GroupState, ...]:
        return self._derivation.groups

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The wanted status; empty while some of its inputs are unknown."""
        return () if self.facts.unread else (Derived(self.ref, self._derivation.status),)

    @property
    def pods_known(self) -> bool:
        return str(PODS) not in self.facts.unread

    @property
    def wants_pods(self) -> bool:
        """False if no role wants instances; groups without pods may be invisible."""
        roles = self.object.roles
        return not roles or any(role.wanted for role in roles)

    @cached_property
    def staying(self) -> tuple[GroupState, ...]:
        return tuple(each for each in self.groups if not each.deleting)

    @property
    def running(self) -> int:
        return sum(each.available for each in self.groups)

    @cached_property
    def wanted_groups(self) -> tuple[GroupState, ...]:
        """The groups that should serve: those that stay, and those that come back.

        A group that is being deleted comes back if too few stay without it.
        """
        if len(self.staying) >= self.object.wanted:
            return self.staying
        back = range(self.object.wanted)
        return tuple(each for each in self.groups if not each.deleting or each.ordinal in back)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        return tuple(owned(self.object, self.facts.pods))

    @cached_property
    def in_the_way(self) -> Mapping[str, str]:
        """The groups of pods that have its labels but another owner, by the pods' names.

        A deleted ModelServing of the same name may have left such pods. While they exist, pods of
        the same names cannot be created.
        """
        own = set(map(id, self.pods))
        others = (pod for pod in self.facts.pods if id(pod) not in own)
        return {pod.name: pod.metadata.label(GROUP_LABEL) or "" for pod in others}

    def last_made(self, pods: Iterable[Pod]) -> datetime | None:
        """Return when the newest pod was created or asked to end, else the ModelServing's creation.

        A fault beside these pods is no older. The ModelServing alone proves nothing: it may be
        older than the start-up budget when a rollout begins.
        """
        steps = (asked_to_end(pod) if pod.deleting else pod.created for pod in pods)
        return latest(*steps) or self.object.created

    def pod_ref(self, name: str) -> ObjectRef:
        """Return a reference to a pod by its name only: a recreated pod takes its place."""
        return PODS.ref_named(self.object.namespace, name)

    def group_ref(self, group: GroupState) -> ObjectRef:
        """Return the object that represents a group: its PodGroup, else its first pod, by name."""
        if self.facts.pod_groups is not None:
            return PODGROUPS.ref_named(self.object.namespace, group.name)
        first = next((each.name for each in self.object.roles), "")
        return self.pod_ref(f"{group.name}-{first}-0-0")

    def in_step(self, group: GroupState) -> tuple[ObjectRef, str, str]:
        """Return what the next step of a group is about: a reference, its name and its state.

        That is the group, or the instance that its update has reached if instances are replaced one
        by one: such a group is not Running during the whole update, so what is measured starts
        again with each instance. They are replaced from the highest ordinal down
        (volcano-sh/kthena at 3cc0572), so the others wait for the highest instance that is not
        Running, or else the highest that is left.
        """
        away = [each for each in group.instances if each.status is not InstanceStatus.RUNNING]
        left = [each for each in group.instances if each.outdated and not each.protected]
        if not self.object.rolls_roles or not group.awaits_update or not (away or left):
            return self.group_ref(group), f"ServingGroup {group.name}", str(group.status)
        instance = max(away or left, key=lambda each: (each.ordinal, each.id))
        entry = self.pod_ref(f"{group.name}-{instance.id}-0")
        return entry, place_of(group, instance), str(instance.status)


def instances_of(groups: tuple[GroupState, ...]) -> Iterator[tuple[GroupState, InstanceState]]:
    return ((group, instance) for group in groups for instance in group.instances)


def place_of(group: GroupState, instance: InstanceState) -> str:
    return f"ServingGroup {group.name}, role {instance.role} instance {instance.id}"
