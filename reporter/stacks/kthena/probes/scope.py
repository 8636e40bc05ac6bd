"""What is seen of a ModelServing, and how its findings are put into words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Final, Unpack

from reporter.catalogue.resources import MODELSERVINGS, MODELSERVINGS_FORMER, PODGROUPS, PODS
from reporter.model.derived import Derived, Document
from reporter.model.finding import Finding
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.probes.about import About, FaultFields
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived import (
    GroupState,
    InstanceState,
    InstanceStatus,
    derive,
    facts_of,
)
from reporter.stacks.kthena.derived.facts import Facts
from reporter.stacks.kthena.derived.parts import owned
from reporter.stacks.kthena.objects import GROUP_LABEL, ModelServing
from reporter.workload.namespaces import namespace_ref

NOT_MADE_BUDGET: Final = timedelta(seconds=300)
"""How long the controller may take to make a pod or a group: several of its tries, with back-off."""


@dataclass(frozen=True)
class View:
    """One ModelServing with what is derived of it.

    Attributes:
        modelserving: the object.
        resource: which API group it is of.
        namespace: the reference to its namespace, which Events refer to.
        facts: what it is made of.
        groups: what is seen of its groups, by ordinal.
        status: the status it should have.

    """

    modelserving: ModelServing
    resource: Resource[ModelServing]
    namespace: ObjectRef
    facts: Facts
    groups: tuple[GroupState, ...]
    status: Document

    @property
    def subject(self) -> Subject:
        """What its findings are about."""
        place = self.modelserving
        return Subject(SubjectKind.MODELSERVING, place.namespace, place.name)

    @property
    def ref(self) -> ObjectRef:
        """The reference to the ModelServing."""
        return self.resource.ref(self.modelserving)

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"ModelServing {self.modelserving.namespace}/{self.modelserving.name}"

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The status it should have; none while what it rests on is not all known."""
        return () if self.facts.unread else (Derived(self.ref, self.status),)

    @property
    def pods_known(self) -> bool:
        """Whether a pod that is not seen does not exist."""
        return str(PODS) not in self.facts.unread

    @property
    def wants_pods(self) -> bool:
        """Whether any role has instances; of groups without pods there may be nothing to be seen."""
        roles = self.modelserving.roles
        return not roles or any(role.wanted for role in roles)

    @cached_property
    def staying(self) -> tuple[GroupState, ...]:
        """The groups that are not being deleted."""
        return tuple(each for each in self.groups if not each.deleting)

    @cached_property
    def wanted_groups(self) -> tuple[GroupState, ...]:
        """The groups that should serve: those that stay, and those that come back.

        A group that is being deleted comes back if too few stay without it.
        """
        if len(self.staying) >= self.modelserving.wanted:
            return self.staying
        back = range(self.modelserving.wanted)
        return tuple(each for each in self.groups if not each.deleting or each.ordinal in back)

    @cached_property
    def in_the_way(self) -> Mapping[str, str]:
        """The pods that carry its labels and are another owner's, with their groups, by name.

        A deleted ModelServing of the same name may have left them. While they are there, pods of
        that name cannot be made.
        """
        own = set(map(id, owned(self.modelserving, self.facts.pods)))
        others = (pod for pod in self.facts.pods if id(pod) not in own)
        return {pod.name: pod.metadata.label(GROUP_LABEL) or "" for pod in others}

    def pod_ref(self, name: str) -> ObjectRef:
        """Return the reference to a pod by its name alone: one that is made anew is in its place."""
        return PODS.ref_named(self.modelserving.namespace, name)

    def group_ref(self, group: GroupState) -> ObjectRef:
        """Return what stands for a group: its PodGroup, else the first of its pods by name."""
        if self.facts.pod_groups is not None:
            return PODGROUPS.ref_named(self.modelserving.namespace, group.name)
        first = next((each.name for each in self.modelserving.roles), "")
        return self.pod_ref(f"{group.name}-{first}-0-0")

    def instance_ref(self, group: GroupState, instance: InstanceState) -> ObjectRef:
        """Return what stands for an instance: its entry pod, by name."""
        return self.pod_ref(f"{group.name}-{instance.id}-0")

    def updating(self, group: GroupState) -> InstanceState | None:
        """Return the instance that the update of a group has come to; None if it goes as a whole.

        Instances are replaced from the highest ordinal down (Kthena sheet 3.3), so the highest of
        those that are away, else of those that are left, is the one that the others wait for.
        """
        if not self.modelserving.rolls_roles or not group.awaits_update:
            return None
        away = [each for each in group.instances if each.status is not InstanceStatus.RUNNING]
        left = [each for each in group.instances if each.outdated and not each.protected]
        return max(away or left, key=lambda each: (each.ordinal, each.id), default=None)


def view_of(modelserving: ModelServing, snapshot: Snapshot) -> View:
    """Return what is seen of a ModelServing."""
    place = (modelserving.namespace, modelserving.name)
    is_present = snapshot[MODELSERVINGS].get(*place) is modelserving
    facts = facts_of(modelserving, snapshot)
    derivation = derive(facts)
    return View(
        modelserving=modelserving,
        resource=MODELSERVINGS if is_present else MODELSERVINGS_FORMER,
        namespace=namespace_ref(snapshot, modelserving.namespace),
        facts=facts,
        groups=derivation.groups,
        status=derivation.status,
    )


def instances_of(
    groups: tuple[GroupState, ...],
) -> Iterator[tuple[GroupState, InstanceState]]:
    """Yield the instances of groups, each with its group."""
    return ((group, instance) for group in groups for instance in group.instances)


def place_of(group: GroupState, instance: InstanceState) -> str:
    """Return how messages name an instance."""
    return f"ServingGroup {group.name}, role {instance.role} instance {instance.id}"


def finding_about(view: View, **fault: Unpack[FaultFields]) -> Finding:
    """Return a finding whose message names the ModelServing first; `text` follows it."""
    return About(view.subject, view.namespace, view.title).finding(**fault)
