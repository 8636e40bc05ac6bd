"""What the status of one ModelServing rests on, and what is seen of its groups and instances."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.model.resource import Resource
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.kthena.objects import NAME_LABEL, VOLCANO, ControllerRevision, ModelServing
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, PODGROUPS

_Kind: TypeAlias = Resource[KubeObject]
CHILDREN: Final[tuple[_Kind, ...]] = (PODS, SERVICES, PODGROUPS, CONTROLLERREVISIONS)

ObjectT = TypeVar("ObjectT", bound=KubeObject)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelServingFacts:
    """A ModelServing with the status on record, and objects with its name, of whatever owner.

    A status that is computed while there are `unread` resources must not be written: what was not
    read may exist.
    """

    modelserving: ModelServing
    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()
    pod_groups: tuple[PodGroup, ...] | None = None  # None: no CRD, or not scheduled by Volcano
    revisions: tuple[ControllerRevision, ...] = ()
    unread: tuple[str, ...] = ()  # names of resources of which not all objects could be read


def facts_of(modelserving: ModelServing, snapshot: Snapshot) -> ModelServingFacts:
    """Collect what the status of a ModelServing rests on."""
    place = (modelserving.namespace, NAME_LABEL, modelserving.name)
    sought = belongs_to(modelserving.name, NAME_LABEL)
    by_volcano = modelserving.spec.scheduler_name in {None, VOLCANO}
    in_use = by_volcano and snapshot.state(PODGROUPS).served is not Served.ABSENT
    return ModelServingFacts(
        modelserving=modelserving,
        pods=snapshot[PODS].labelled(*place),
        services=snapshot[SERVICES].labelled(*place),
        pod_groups=snapshot[PODGROUPS].labelled(*place) if in_use else None,
        revisions=snapshot[CONTROLLERREVISIONS].labelled(*place),
        unread=tuple(
            str(each)
            for each in CHILDREN
            if (in_use or each is not PODGROUPS)
            and not snapshot.absence_known(each, modelserving.namespace, sought=sought)
        ),
    )


def owned(modelserving: ModelServing, objects: Iterable[ObjectT]) -> Iterator[ObjectT]:
    """Yield the objects that the ModelServing owns; of a dump without uids all of them."""
    uid = modelserving.metadata.uid
    return (each for each in objects if not uid or each.metadata.owned_by(uid))


class GroupStatus(StrEnum):
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
    role: str
    id: str  # such as `prefill-0`
    ordinal: int  # the number at the end of its ID; -1 if there is none
    status: InstanceStatus
    expected: int  # pods that make it complete
    pods: tuple[Pod, ...] = ()  # terminating ones too, by name
    listed: bool = True  # in `roleStatuses`: its role is one that its group should have
    outdated: bool = False  # known to be of an older template; looked at by RoleRollingUpdate only
    protected: bool = False  # the partition of its role keeps it from being updated then
    row: str = ""  # of `INSTANCE_ROWS`: the one that decided


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAge:
    """What the revisions of its pods make of a group.

    Neither `updated` nor `outdated` is known of a group without pods, or while no
    ControllerRevision says what the revision of its pods is.
    """

    revision: str  # of its pods, an older one where they differ; empty while it has none
    updated: bool
    outdated: bool
    protected: bool  # partition keeps it, or all its outdated instances, as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One ServingGroup of which something exists.

    Its instances are in the order of the roles it should have, then other roles by name, and by
    ordinal. Those that are still to be created are among them as NotFound; of a very large number
    only the first.
    """

    name: str  # such as `m-0`
    ordinal: int  # the number at the end of its name; -1 if there is none
    status: GroupStatus
    age: GroupAge
    instances: tuple[InstanceState, ...]
    absent: int  # how many more are to be created than `instances` shows
    row: str  # of `GROUP_ROWS`: the one that decided

    @property
    def available(self) -> bool:
        return self.status is GroupStatus.RUNNING

    @property
    def deleting(self) -> bool:
        return self.status is GroupStatus.DELETING

    @property
    def awaits_update(self) -> bool:
        return self.age.outdated and not self.age.protected
