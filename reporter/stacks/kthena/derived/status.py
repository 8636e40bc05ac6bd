"""The status that a ModelServing should have.

Fields, counters, and reasons and messages of True conditions are those of Kthena's
`UpdateModelServingStatus` and `SetCondition` (github.com/volcano-sh/kthena,
pkg/model-serving-controller/controller and utils, v1.0.0). The rules for conditions differ where
Kthena's mislead:

* A message is always current; Kthena keeps the first one while a condition stays True.
* A group is named by its ordinal; Kthena names its position in the list.
* A condition that becomes False gets a time, reason and message; Kthena changes its status only.
* Exactly one of the three is True; Kthena leaves Progressing and UpdateInProgress True together.
* Available requires as many groups as wanted; Kthena does not compare with the spec.
* Old groups that partition protects are no update; Kthena compares their number with partition.

No release of Kthena has `roleStatuses`: it was the first draft of a proposal that became role
Events instead (github.com/volcano-sh/kthena/pull/676).
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from reporter.model.finding import Document
from reporter.model.instant import rfc3339
from reporter.model.objects import Condition
from reporter.stacks.kthena import objects as api
from reporter.stacks.kthena.derived.facts import (
    GroupState,
    InstanceStatus,
    ModelServingFacts,
    commonest,
    revisions_of,
)
from reporter.stacks.kthena.derived.groups import observe, to_create


class DerivedModelServing(NamedTuple):
    groups: tuple[GroupState, ...]
    status: Document


def derive(facts: ModelServingFacts) -> DerivedModelServing:
    """Derive the status of a ModelServing; the same facts always give the same status.

    It is the whole status in the shape of the API. Counters are always present; empty texts and
    lists are omitted. A condition whose status differs from the recorded one has no
    `lastTransitionTime`: `Derived.dated` fills it in.
    """
    modelserving, revisions = facts.modelserving, revisions_of(facts)
    groups = observe(facts, revisions)
    texts = {
        "currentRevision": _current_revision(modelserving, groups, revisions.update),
        "updateRevision": revisions.update or modelserving.status.update_revision,
        "labelSelector": _label_selector(modelserving, groups),
    }
    status = {
        "observedGeneration": modelserving.metadata.generation,
        **_counters(modelserving, groups),
        **{name: text for name, text in texts.items() if text},
        "conditions": _conditions(modelserving, groups),
        **_role_fields(groups),
    }
    return DerivedModelServing(groups, status)


def _counters(modelserving: api.ModelServing, groups: Sequence[GroupState]) -> dict[str, int]:
    """Return the four counters.

    Groups that are being deleted count in `replicas` only, and so do those without pods, which have
    no revision yet. After a rollout without partition all groups are current; with a partition
    `currentReplicas` always counts the groups that are not updated.
    """
    staying = [each for each in groups if not each.deleting]
    replicas, updated = len(groups), sum(each.age.updated for each in staying)
    available = sum(each.available for each in groups)
    current = sum(bool(each.age.revision) and not each.age.updated for each in staying)
    finished = updated == available == replicas == modelserving.wanted
    if finished and modelserving.rolling_update.partition is None:
        current = updated
    return {
        "replicas": replicas,
        "currentReplicas": current,
        "updatedReplicas": updated,
        "availableReplicas": available,
    }


def _current_revision(
    modelserving: api.ModelServing, groups: Sequence[GroupState], update: str
) -> str:
    """Return the revision that the groups are leaving, or that they are all on.

    It moves to the update revision only when no group is on an older one, not even a group that is
    being deleted. (Kthena ignores those, and cleans up their ControllerRevision too early.) Until
    then it stays as long as a group is on it. Otherwise it is the most frequent older revision; of
    equally frequent ones that of the lowest ordinal, where Kthena chooses at random.
    """
    recorded = modelserving.status.current_revision
    older = [each.age.revision for each in groups if each.age.revision and not each.age.updated]
    if not older:
        return update or recorded
    return recorded if recorded in older else commonest(older)


AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
UPDATE_IN_PROGRESS: Final = "UpdateInProgress"
_TYPES: Final = (AVAILABLE, PROGRESSING, UPDATE_IN_PROGRESS)

MAX_ORDINALS: Final = 100
"""The most groups that a message names."""


def _conditions(modelserving: api.ModelServing, groups: Sequence[GroupState]) -> list[Document]:
    """Return all conditions: ours, then the recorded conditions of other types, unchanged.

    Our three are always present, with the current reason, message and generation. A condition that
    keeps its status keeps its time; one whose status changed has no time yet.
    """
    true, told = _told(modelserving, groups)
    ours = []
    for type_ in _TYPES:
        status, (reason, message) = str(type_ == true), told[type_]
        before = modelserving.status.condition(type_)
        since = before.last_transition_time if before and before.status == status else None
        generation = modelserving.metadata.generation
        ours.append(Condition(type_, status, reason, message, since, generation))
    others = (each for each in modelserving.status.conditions or () if each.type not in _TYPES)
    found: list[Document] = []
    for each in (*ours, *others):
        since = each.last_transition_time
        fields = {
            "type": each.type,
            "status": each.status,
            "observedGeneration": each.observed_generation,
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": since and rfc3339(since),
        }
        found.append({name: value for name, value in fields.items() if value is not None})
    return found


def _told(
    modelserving: api.ModelServing, groups: Sequence[GroupState]
) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the type of the condition that is True, and reason and message of each type.

    Available requires as many groups as wanted, all of them available; those that a rollout may add
    are not too many. Otherwise an outdated group that partition does not protect makes it an
    update, even one that is being deleted.
    """
    wanted, known = modelserving.wanted, [each.ordinal for each in groups]
    waiting = [each.ordinal for each in groups if not each.available]
    unready = sorted((*waiting, *islice(to_create(known, wanted), MAX_ORDINALS)))
    unready_count = len(waiting) + max(0, wanted - len(known))
    updated = [each.ordinal for each in groups if each.age.updated and not each.deleting]
    awaiting = [each.ordinal for each in groups if each.awaits_update]
    true = UPDATE_IN_PROGRESS if awaiting else PROGRESSING
    if not unready_count and len(known) <= wanted + modelserving.surge:
        true = AVAILABLE
    count = f"{len(known)} Serving groups exist, {wanted} wanted"
    not_ready = _numbers(unready, unready_count)
    progress = f"Some groups is progressing: {not_ready}{'' if unready_count else f', {count}'}"
    told = {
        AVAILABLE: ("GroupsNotReady", f"Serving groups that are not ready: {not_ready}"),
        PROGRESSING: ("AllGroupsReady", "No Serving group is progressing"),
        UPDATE_IN_PROGRESS: ("NoGroupToUpdate", "No Serving group is to be updated"),
    }
    if not unready_count:
        told[AVAILABLE] = "TooManyGroups", count
    if awaiting:
        text = f"Serving groups to be updated: {_numbers(awaiting, len(awaiting))}"
        told[UPDATE_IN_PROGRESS] = "UpdateNotStarted", text
    if true == AVAILABLE:
        told[AVAILABLE] = "AllGroupsReady", "All Serving groups are ready"
    elif true == PROGRESSING:
        told[PROGRESSING] = "GroupProgressing", progress
    else:
        text = "The groups that are progressing are told by UpdateInProgress"
        told[PROGRESSING] = "GroupsUpdating", text
        text = f"{progress}, Updated Groups are: {_numbers(updated, len(updated))}"
        told[UPDATE_IN_PROGRESS] = "GroupsUpdating", text
    return true, told


def _numbers(ordinals: Sequence[int], count: int) -> str:
    """Return a list in Kthena's format, `[0 2]`; a long one is truncated."""
    shown = ordinals[:MAX_ORDINALS]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return f"[{' '.join(map(str, shown))}{more}]"


ROLE_STATUSES: Final = "roleStatuses"
OMITTED: Final = "roleStatusesOmitted"

ROLES_FIELDS: Final = frozenset({ROLE_STATUSES, OMITTED})
"""The fields that we own if a controller owns the rest."""

MAX_ENTRIES: Final = 1_000
"""The most entries that are written: about 130 kB, a tenth of what the API server stores."""


def _role_fields(groups: Sequence[GroupState]) -> Document:
    """Return `roleStatuses`, and the number of instances that it omits, if any.

    Order: group ordinal, then the order of the roles, then instance ordinal. Instances of a group
    that is being deleted are not listed, and neither are those of removed roles. A group on an
    older revision is listed with the roles of that revision. If there are more than `MAX_ENTRIES`,
    entries that are not Running are kept first. `roleStatusesOmitted`, the number of others, has 32
    bits: with a larger number the API server would refuse the whole status.
    """
    staying = [group for group in groups if not group.deleting]
    listed = [(group, each) for group in staying for each in group.instances if each.listed]
    ranked = sorted(
        range(len(listed)), key=lambda place: listed[place][1].status is InstanceStatus.RUNNING
    )
    kept = [listed[place] for place in sorted(ranked[:MAX_ENTRIES])]
    omitted = len(listed) - len(kept) + sum(each.absent for each in staying)
    entries = [
        {
            "servingGroupName": group.name,
            "roleName": each.role,
            "roleID": each.id,
            "status": each.status.value,
        }
        for group, each in kept
    ]
    fields = {ROLE_STATUSES: entries, OMITTED: min(omitted, api.MOST)}
    return {name: value for name, value in fields.items() if value}


def _label_selector(modelserving: api.ModelServing, groups: Sequence[GroupState]) -> str:
    """Return a selector of one entry pod in each group; empty for a ModelServing without roles.

    A HorizontalPodAutoscaler multiplies its ratio by the number of selected pods, so a selector
    must name one instance of one role and not all entry pods. Kthena always names instance 0 of the
    first role, and selects nothing while that does not exist. Here it is the first role that has an
    entry pod anywhere, and the instance of that role that most groups have. While everything
    exists, that is Kthena's choice too.
    """
    held = Counter(
        (each.role, each.ordinal, each.id)
        for group in groups
        if not group.deleting
        for each in group.instances
        if any(pod.metadata.label(api.ENTRY_LABEL) == "true" for pod in each.pods)
    )
    names = [role.name for role in modelserving.roles]
    first = next((name for name in names if any(key[0] == name for key in held)), "")
    if first:
        of_role = [key for key in held if key[0] == first]
        _, _, identity = min(of_role, key=lambda key: (-held[key], *key))
    else:
        wanted = [role.name for role in modelserving.roles if role.wanted]
        first = next(iter(wanted or names), "")
        identity = f"{first}-0"
    if not first:
        return ""
    labels = {api.ENTRY_LABEL: "true", api.NAME_LABEL: modelserving.name}
    labels |= {api.ROLE_LABEL: first, api.ROLE_ID_LABEL: identity}
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items()))


def status_document(status: api.ModelServingStatus) -> Document:
    """Return a status in the shape of the API, with the fields that are read."""
    document: Document = msgspec.to_builtins(status)
    return document


def our_share(status: Document, *, whole: bool, without: Collection[str] = ()) -> Document:
    """Return our share of a status, without empty values, which JSON of this API omits.

    Args:
        status: in the shape of the API.
        whole: whether we own the whole status, or `ROLES_FIELDS` only.
        without: fields to leave out; without the roles, the number of omitted ones goes too.

    """
    left_out = {*without, OMITTED} if ROLE_STATUSES in without else without
    return {
        name: value
        for name, value in status.items()
        if value and (whole or name in ROLES_FIELDS) and name not in left_out
    }


def digest(share: Document) -> str:
    """Return a digest that is equal for equivalent shares; times of conditions do not count."""
    compared = {name: _compared(value) for name, value in share.items()}
    encoded = msgspec.json.encode(compared, order="sorted")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _compared(value: object) -> object:
    """Return a value without the empty fields and the times of its entries."""
    if not isinstance(value, list | tuple):
        return value
    return [
        {name: each for name, each in item.items() if each and name != "lastTransitionTime"}
        if isinstance(item, dict)
        else item
        for item in value
    ]
