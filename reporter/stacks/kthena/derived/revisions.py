"""Which revision is wanted, and which pods are known to be on an older one.

A revision is a hash of how Go prints the roles (github.com/volcano-sh/kthena,
pkg/model-serving-controller/utils, v1.0.0), which cannot be computed here. It is read from labels
and ControllerRevisions.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from reporter.catalogue.resources import COMPONENT
from reporter.model.objects import Pod
from reporter.stacks.kthena.derived.facts import ModelServingFacts, owned
from reporter.stacks.kthena.objects import (
    REVISION_LABEL,
    ROLE_HASH_LABEL,
    ROLE_LABEL,
    ControllerRevision,
    ModelServing,
    Role,
)
from reporter.stacks.kthena.templates import roles_in, same_role, same_roles

Roles: TypeAlias = tuple[Role, ...]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    update: str  # the one that the spec describes; empty while that is not known
    roles: Mapping[str, Role]  # what the spec describes, by name
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
        found, known = pod.metadata.label(ROLE_HASH_LABEL), self.hashes.get(role)
        if found and known and found in known:
            return False
        if revision in self.kept:
            kept = self.role_in(revision, role)
            return kept is None or not same_role(wanted, kept)
        return bool(found and known)

    def role_in(self, revision: str, role: str) -> Role | None:
        return next((each for each in self.kept.get(revision, ()) if each.name == role), None)


def revision_of(pod: Pod) -> str:
    return pod.metadata.label(REVISION_LABEL) or ""


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
        each.metadata.label(REVISION_LABEL) or each.name.removeprefix(f"{modelserving.name}-"): data
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
        role, value = pod.metadata.label(ROLE_LABEL), pod.metadata.label(ROLE_HASH_LABEL)
        if role and value and revision_of(pod) == update:
            hashes[role].add(value)
    roles = {role.name: role for role in reversed(modelserving.roles)}
    return Revisions(update=update, roles=roles, kept=kept, hashes=hashes)


def _described(modelserving: ModelServing, kept: dict[str, Roles]) -> str:
    """Return the revision whose roles are the spec's; of several the newest.

    There are several if a newer controller gives the same roles another hash: the hash is of every
    field that its version of the Kubernetes API knows.
    """
    newest_first = reversed(kept)
    return next((each for each in newest_first if same_roles(modelserving.roles, kept[each])), "")


def _newest_unkept(
    modelserving: ModelServing, pods: Sequence[Pod], kept: Mapping[str, Roles]
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
    modelserving: ModelServing, pods: Sequence[Pod], revisions: Sequence[ControllerRevision]
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


def _told(modelserving: ModelServing, kept: Mapping[str, Roles]) -> str:
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
