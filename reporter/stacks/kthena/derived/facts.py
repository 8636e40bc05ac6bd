"""What the status of one ModelServing rests on.

What is seen of the groups and instances of a ModelServing.
"""

from dataclasses import dataclass
from enum import StrEnum
from operator import is_
from typing import Final

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.model.resource import Resource
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.kthena.objects import NAME_LABEL, ControllerRevision, ModelServing
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, PODGROUPS

_CHILDREN: Final[tuple[Resource[KubeObject], ...]] = (
    PODS,
    SERVICES,
    PODGROUPS,
    CONTROLLERREVISIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelServingFacts:
    """A ModelServing and the objects that carry its name as a label.

    Attributes:
        modelserving: the object, with the status on record.
        pods: pods with its name, of whatever owner.
        services: Services with its name, of whatever owner.
        pod_groups: PodGroups with its name; None where PodGroups are not in use: their CRD is not
            served, or another scheduler than Volcano is asked for.
        revisions: ControllerRevisions with its name, of whatever owner.
        unread: names of the resources of which not all objects could be read. A status that is
            computed while there are any must not be written: what was not read may exist.

    """

    modelserving: ModelServing
    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()
    pod_groups: tuple[PodGroup, ...] | None = None
    revisions: tuple[ControllerRevision, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[tuple[object, ...], ...]:
        """The objects, to be compared by identity: see `unchanged`."""
        groups = self.pod_groups
        shape = (groups is not None, self.unread)
        objects = ((self.modelserving,), self.pods, self.services, groups or (), self.revisions)
        return (shape, *objects)

    def unchanged(self, other: "ModelServingFacts") -> bool:
        """Tell whether these are the same objects, so that the same would be derived."""
        (shape, *mine), (their_shape, *theirs) = self.inputs, other.inputs
        return shape == their_shape and all(
            len(one) == len(two) and all(map(is_, one, two))
            for one, two in zip(mine, theirs, strict=True)
        )


def facts_of(modelserving: ModelServing, snapshot: Snapshot) -> ModelServingFacts:
    """Collect what the status of a ModelServing rests on."""
    place = (modelserving.namespace, NAME_LABEL, modelserving.name)
    sought = belongs_to(modelserving.name, NAME_LABEL)
    in_use = modelserving.uses_volcano and snapshot.state(PODGROUPS).served is not Served.ABSENT
    needed = (each for each in _CHILDREN if in_use or each is not PODGROUPS)
    return ModelServingFacts(
        modelserving=modelserving,
        pods=snapshot[PODS].labelled(*place),
        services=snapshot[SERVICES].labelled(*place),
        pod_groups=snapshot[PODGROUPS].labelled(*place) if in_use else None,
        revisions=snapshot[CONTROLLERREVISIONS].labelled(*place),
        unread=tuple(
            str(each)
            for each in needed
            if not snapshot.absence_known(each, modelserving.namespace, sought=sought)
        ),
    )


class GroupStatus(StrEnum):
    """What a ServingGroup is doing, in Kthena's words."""

    CREATING = "Creating"
    RUNNING = "Running"
    SCALING = "Scaling"
    DELETING = "Deleting"


class InstanceStatus(StrEnum):
    """What an instance of a role is doing, in Kthena's words; the values of `roleStatuses`."""

    CREATING = "Creating"
    RUNNING = "Running"
    DELETING = "Deleting"
    NOT_FOUND = "NotFound"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    """One instance of a role in a group.

    Attributes:
        role: name of its role.
        id: its role ID, such as `prefill-0`.
        ordinal: the number at the end of its ID; -1 if there is none.
        status: what it is doing.
        expected: pods that make it complete.
        pods: its pods, terminating ones too, by name.
        listed: whether `roleStatuses` shows it: its role is one that its group should have.
        outdated: whether it is known to be of an older template; only looked at where an update
            replaces instances one by one (RoleRollingUpdate).
        protected: the partition of its role keeps it from being updated then.
        row: the row of `instances` that decided.

    """

    role: str
    id: str
    ordinal: int
    status: InstanceStatus
    expected: int
    pods: tuple[Pod, ...] = ()
    listed: bool = True
    outdated: bool = False
    protected: bool = False
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One ServingGroup of which something exists.

    Attributes:
        name: its name, such as `m-0`.
        ordinal: the number at the end of its name; -1 if there is none.
        status: what it is doing.
        revision: the revision it is on by the labels of its pods, an older one where they differ;
            empty while it has no pods.
        updated: it is known to be on the update revision.
        outdated: it is known to be on an older one. Neither is known of a group without pods, or
            while no ControllerRevision says what the revision of its pods is.
        protected: partition keeps it (or all its outdated instances) from being updated.
        instances: in the order of the roles it should have, then other roles by name, and by
            ordinal. Those that are still to be created are among them as NotFound; of a very large
            number only the first.
        absent: how many more are to be created than `instances` shows.
        row: the row of `groups` that decided.

    """

    name: str
    ordinal: int
    status: GroupStatus
    revision: str = ""
    updated: bool = False
    outdated: bool = False
    protected: bool = False
    instances: tuple[InstanceState, ...] = ()
    absent: int = 0
    row: str = ""

    @property
    def available(self) -> bool:
        """Whether it is complete and serves."""
        return self.status is GroupStatus.RUNNING

    @property
    def progressing(self) -> bool:
        """Whether it is being made, changed or removed."""
        return not self.available

    @property
    def deleting(self) -> bool:
        """Whether it is being removed as a whole."""
        return self.status is GroupStatus.DELETING

    @property
    def awaits_update(self) -> bool:
        """Whether the update has still to replace it, or some of its instances."""
        return self.outdated and not self.protected
