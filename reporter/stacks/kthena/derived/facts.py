"""What the status of one ModelServing follows from, what is seen of its groups and instances, which
revision is wanted, and which pods are known to be on an older one.

A revision is a hash of how Go prints the roles (github.com/volcano-sh/kthena,
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
    """A ModelServing with the status on record, and objects with its name, of whatever owner.

    A status that is computed while there are `unread` resources must not be written: what was not
    read may exist.
    """

    modelserving: api.ModelServing
    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()
    pod_groups: tuple[PodGroup, ...] | None = None  # None: no CRD, or not scheduled by Volcano
    revisions: tuple[api.ControllerRevision, ...] = ()
    unread: tuple[str, ...] = ()  # names of resources of which not all objects could be read


def facts_of(modelserving: api.ModelServing, snapshot: Snapshot) -> ModelServingFacts:
    """Collect what the status of a ModelServing rests on."""
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


Roles: TypeAlias = tuple[api.Role, ...]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    update: str  # the one that the spec describes; empty while that is not known
    roles: Mapping[str, api.Role]  # what the spec describes, by name
    kept: Mapping[str, Roles]  # the roles of each revision that has a ControllerRevision
    hashes: Mapping[str, Collection[str]]  # by role, of templates of pods known to be current

    def is_old(self, revision: str) -> bool:
        """Tell whether a whole group on this revision is known to be outdated.

        Without knowing the update revision that can be said only of what has a ControllerRevision:
        none of them describes the spec. Of pods without the label nothing is known.
        """
        if not self.update:
            return revision in self.kept
        return bool(revision) and revision != self.update

    def is_old_role(self, pod: Pod, role: str) -> bool:
        """Tell whether a pod of a role is known to be of an older template of that role.

        The revision label alone does not say so: a role that an update leaves as it is keeps its
        pods, with the old label. What nothing speaks against is taken for current.
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


def standing(pods: Sequence[Pod]) -> Sequence[Pod]:
    """Return the pods that say what something is: those that stay, or all if none does."""
    return [pod for pod in pods if not pod.deleting] or pods


def commonest(revisions: Iterable[str]) -> str:
    """Return the most frequent revision; of equally frequent ones the first that is seen."""
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
        or _told(modelserving, kept)
    )
    hashes: defaultdict[str, set[str]] = defaultdict(set)
    for pod in pods if modelserving.rolls_roles and update else ():
        role, value = pod.metadata.label(api.ROLE_LABEL), pod.metadata.label(api.ROLE_HASH_LABEL)
        if role and value and revision_of(pod) == update:
            hashes[role].add(value)
    roles = {role.name: role for role in reversed(modelserving.roles)}
    return Revisions(update=update, roles=roles, kept=kept, hashes=hashes)


def _described(modelserving: api.ModelServing, kept: dict[str, Roles]) -> str:
    """Return the revision whose roles are the spec's; of several the newest.

    There are several if a newer controller gives the same roles another hash: the hash is of every
    field that its version of the Kubernetes API knows.
    """
    newest_first = reversed(kept)
    return next((each for each in newest_first if same_roles(modelserving.roles, kept[each])), "")


def _newest_unkept(
    modelserving: api.ModelServing, pods: Sequence[Pod], kept: Mapping[str, Roles]
) -> str:
    """Return the revision of the newest pods where an update keeps no ControllerRevision of it.

    The controller makes a ControllerRevision when it creates a group, and RoleRollingUpdate creates
    none. So a label without a ControllerRevision is the only trace of the revision that is being
    rolled out. Of pods that are equally new nothing is concluded.
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
    """Return the revision where there is no ControllerRevision at all, and one label on all pods.

    So it is where partition has protected all groups from the start (seen beside Kthena's
    controller, main of August 2026): the pods are of the only spec that there has been. Once the
    spec has changed the label may be old, and only a revision on record that differs says so.
    """
    found = {revision_of(pod) for pod in pods}
    if revisions or len(found) != 1:
        return ""
    changed = modelserving.metadata.generation > 1
    return modelserving.status.update_revision if changed else found.pop()


def _told(modelserving: api.ModelServing, kept: Mapping[str, Roles]) -> str:
    """Return the revision that Kthena itself recorded for this spec, where none describes it.

    Where the CRD stores fields of pod templates that Kthena does not know, as that of our chart
    does, the spec has them and the ControllerRevision, which is made of what Kthena read, has not.
    A status that is ours tells nothing new.
    """
    status = modelserving.status
    managers = {each.manager for each in modelserving.metadata.managed_fields or ()}
    is_current = status.observed_generation == modelserving.metadata.generation
    if COMPONENT in managers or not is_current or status.update_revision not in kept:
        return ""
    return status.update_revision
