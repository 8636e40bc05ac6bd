"""The inputs of a ModelServing's status, the states of its groups and instances, and its revisions:
which one is wanted, and which pods are known to be on an older one.

A revision is a hash of the roles as Go prints them (github.com/volcano-sh/kthena,
pkg/model-serving-controller/utils, v1.0.0), which cannot be computed here. It is read from labels
and ControllerRevisions.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

from reporter.catalogue.resources import COMPONENT, PODS, SERVICES
from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.model.resource import Resource
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena import objects as api
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, PODGROUPS
from reporter.stacks.kthena.templates import roles_in, same_role, same_roles

_Kind: TypeAlias = Resource[KubeObject]
CHILDREN: Final[tuple[_Kind, ...]] = (PODS, SERVICES, PODGROUPS, CONTROLLERREVISIONS)

ObjectT = TypeVar("ObjectT", bound=KubeObject)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelServingFacts:
    """A ModelServing with its recorded status, and the objects with its name of any owner.

    A status that is computed with `unread` resources must not be written: unread objects may exist.
    """

    modelserving: api.ModelServing
    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()
    pod_groups: tuple[PodGroup, ...] | None = None  # None: no CRD, or not scheduled by Volcano
    revisions: tuple[api.ControllerRevision, ...] = ()
    unread: tuple[str, ...] = ()  # names of resources whose objects could not all be read


def facts_of(modelserving: api.ModelServing, snapshot: Snapshot) -> ModelServingFacts:
    """Collect the inputs of a ModelServing's status."""
    place = (modelserving.namespace, api.NAME_LABEL, modelserving.name)
    sought = belongs_to(modelserving.name, api.NAME_LABEL)
    by_volcano = modelserving.spec.scheduler_name in {None, api.VOLCANO}
    in_use = by_volcano and not snapshot.absent(PODGROUPS)
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


def owned(modelserving: api.ModelServing, objects: Iterable[ObjectT]) -> Iterator[ObjectT]:
    """Yield the objects that the ModelServing owns; all of them if a dump has no uids."""
    uid = modelserving.metadata.uid
    return (each for each in objects if not uid or each.metadata.owned_by(uid))


class GroupStatus(StrEnum):
    CREATING = "Creating"
    RUNNING = "Running"
    SCALING = "Scaling"
    DELETING = "Deleting"


class InstanceStatus(StrEnum):
    """The state of an instance of a role, in Kthena's terms; the values of `roleStatuses`."""

    CREATING = "Creating"
    RUNNING = "Running"
    DELETING = "Deleting"
    NOT_FOUND = "NotFound"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    role: str
    id: str  # such as `prefill-0`
    ordinal: int  # the number at the end of its ID, or -1
    status: InstanceStatus
    expected: int  # pods of a complete instance
    pods: tuple[Pod, ...] = ()  # sorted by name, including terminating pods
    listed: bool = True  # in `roleStatuses`: the group should have this role
    outdated: bool = False  # known to have an older template; with RoleRollingUpdate only
    protected: bool = False  # the partition of its role excludes it from such an update


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAge:
    """What the revisions of its pods say about a group.

    A group is neither `updated` nor `outdated` if it has no pods, or while no ControllerRevision
    identifies the revision of its pods.
    """

    revision: str  # of its pods, an older one if they differ; empty without pods
    updated: bool
    outdated: bool
    protected: bool  # partition excludes it, or all its outdated instances, from the update


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """A ServingGroup with at least one object.

    Its instances are in the order of the roles it should have, then other roles by name; within a
    role by ordinal. Instances that are still to be created are included as NotFound, but only the
    first of a very large number.
    """

    name: str  # such as `m-0`
    ordinal: int  # the number at the end of its name, or -1
    status: GroupStatus
    age: GroupAge
    instances: tuple[InstanceState, ...]
    absent: int  # how many instances to be created `instances` leaves out

    @property
    def available(self) -> bool:
        return self.status is GroupStatus.RUNNING

    @property
    def deleting(self) -> bool:
        return self.status is GroupStatus.DELETING

    @property
    def awaits_update(self) -> bool:
        return self.age.outdated and not self.age.protected


Roles: TypeAlias = tuple[api.Role, ...]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    update: str  # the revision that the spec describes; empty while unknown
    roles: Mapping[str, api.Role]  # the roles of the spec, by name
    kept: Mapping[str, Roles]  # the roles of each revision that has a ControllerRevision
    hashes: Mapping[str, Collection[str]]  # by role: template hashes of pods known to be current

    def is_old(self, revision: str) -> bool:
        """Return True if a whole group on this revision is known to be outdated.

        While the update revision is unknown, only revisions with a ControllerRevision are known to
        be old: none of them describes the spec. Nothing is known of pods without the label.
        """
        if not self.update:
            return revision in self.kept
        return bool(revision) and revision != self.update

    def is_old_role(self, pod: Pod, role: str) -> bool:
        """Return True if a pod is known to have an older template of its role.

        The revision label alone does not show that: a role that an update does not change keeps its
        pods, with the old label. Without evidence a pod counts as current.
        """
        revision = revision_of(pod)
        wanted = self.roles.get(role)
        if wanted is None:
            return True
        if revision == self.update:
            return False
        found, known = pod.metadata.label(api.ROLE_HASH_LABEL), self.hashes.get(role)
        if found and known and found in known:
            return False
        if revision in self.kept:
            kept = self.role_in(revision, role)
            return kept is None or not same_role(wanted, kept)
        return bool(found and known)

    def role_in(self, revision: str, role: str) -> api.Role | None:
        return next((each for each in self.kept.get(revision, ()) if each.name == role), None)


def revision_of(pod: Pod) -> str:
    return pod.metadata.label(api.REVISION_LABEL) or ""


def remaining(pods: Sequence[Pod]) -> Sequence[Pod]:
    """Return the pods that are not being deleted, or all of them if all are."""
    return [pod for pod in pods if not pod.deleting] or pods


def commonest(revisions: Iterable[str]) -> str:
    """Return the most frequent revision; of equally frequent ones the first."""
    return next((revision for revision, _ in Counter(revisions).most_common(1)), "")


def revisions_of(facts: ModelServingFacts) -> Revisions:
    modelserving = facts.modelserving
    by_age = sorted(
        owned(modelserving, facts.revisions),
        key=lambda each: (each.created or _LONG_AGO, each.name),
    )
    kept = {
        each.metadata.label(api.REVISION_LABEL)
        or each.name.removeprefix(f"{modelserving.name}-"): data
        for each in by_age
        if (data := roles_in(each.data))
    }
    pods = [pod for pod in owned(modelserving, facts.pods) if not pod.deleting]
    update = (
        _described(modelserving, kept)
        or _newest_unkept(modelserving, pods, kept)
        or _of_no_record(modelserving, pods, facts.revisions)
        or _by_kthena(modelserving, kept)
    )
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for pod in pods if modelserving.rolls_roles and update else ():
        role, value = pod.metadata.label(api.ROLE_LABEL), pod.metadata.label(api.ROLE_HASH_LABEL)
        if role and value and revision_of(pod) == update:
            hashes[role].add(value)
    roles = {role.name: role for role in reversed(modelserving.roles)}
    return Revisions(update=update, roles=roles, kept=kept, hashes=hashes)


def _described(modelserving: api.ModelServing, kept: dict[str, Roles]) -> str:
    """Return the revision with the roles of the spec; the newest if there are several.

    There are several if a newer controller gives the same roles another hash: the hash covers every
    field that its version of the Kubernetes API knows.
    """
    newest_first = reversed(kept)
    return next((each for each in newest_first if same_roles(modelserving.roles, kept[each])), "")


def _newest_unkept(
    modelserving: api.ModelServing, pods: Sequence[Pod], kept: Mapping[str, Roles]
) -> str:
    """Return the revision of the newest pods if the update keeps no ControllerRevision of it.

    The controller makes a ControllerRevision when it creates a group, and RoleRollingUpdate creates
    no groups. So a label without a ControllerRevision is the only trace of the revision that is
    being rolled out. If equally new pods differ, the recorded revision counts if it is one of them.
    """
    if not modelserving.rolls_roles:
        return ""
    unkept = [pod for pod in pods if revision_of(pod) and revision_of(pod) not in kept]
    newest = max((pod.created or _LONG_AGO for pod in unkept), default=None)
    found = {revision_of(pod) for pod in unkept if (pod.created or _LONG_AGO) == newest}
    recorded = modelserving.status.update_revision
    if len(found) > 1:
        return recorded if recorded in found else ""
    return next(iter(found), "")


def _of_no_record(
    modelserving: api.ModelServing, pods: Sequence[Pod], revisions: Sequence[api.ControllerRevision]
) -> str:
    """Return the revision if there is no ControllerRevision, and all pods have the same label.

    This happens if partition has protected all groups from the start (seen with Kthena's
    controller, main of August 2026): the pods belong to the only spec so far. Once the spec has
    changed the label may be old, so the recorded revision counts.
    """
    found = {revision_of(pod) for pod in pods}
    if revisions or len(found) != 1:
        return ""
    changed = modelserving.metadata.generation > 1
    return modelserving.status.update_revision if changed else found.pop()


def _by_kthena(modelserving: api.ModelServing, kept: Mapping[str, Roles]) -> str:
    """Return the revision that Kthena itself recorded for this spec.

    If the CRD stores fields of pod templates that Kthena does not know, as the CRD of our chart
    does, the spec has them, but the ControllerRevision, made from what Kthena decoded, does not. A
    status that we wrote is no evidence.
    """
    status = modelserving.status
    managers = {each.manager for each in modelserving.metadata.managed_fields or ()}
    is_current = status.observed_generation == modelserving.metadata.generation
    if COMPONENT in managers or not is_current or status.update_revision not in kept:
        return ""
    return status.update_revision
