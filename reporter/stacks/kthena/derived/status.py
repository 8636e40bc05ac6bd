"""The status that a ModelServing should have.

Its fields and counters are those of Kthena's `UpdateModelServingStatus`
(github.com/volcano-sh/kthena, pkg/model-serving-controller/controller/model_serving_controller.go,
v1.0.0), and `roleStatuses`.

The conditions of a ModelServing, each with the words of this moment.

The types and the words of True are Kthena's (github.com/volcano-sh/kthena, `SetCondition` in
pkg/model-serving-controller/utils/utils.go, v1.0.0). The rules differ where Kthena's mislead:

* A message follows what it speaks of; Kthena keeps the first one while a condition stays True.
* A group is named by its ordinal; Kthena names its position in the list.
* A condition that becomes False gets a time, reason and message; Kthena changes its status only.
* Exactly one of the three is True; Kthena leaves Progressing and UpdateInProgress True together.
* Available needs as many groups as are wanted; Kthena does not compare with the spec.
* An update is what partition does not protect; Kthena compares the number of old groups with it.

`status.roleStatuses`: one entry for each instance of each role.

No release of Kthena has the field. It was the first draft of a proposal that became role Events
instead (github.com/volcano-sh/kthena/pull/676).

`status.labelSelector`, by which an autoscaler finds the pods of a ModelServing.

Our share of a ModelServing's status, in a form that can be compared.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from reporter.model.finding import Document
from reporter.model.instant import rfc3339
from reporter.model.objects import Condition
from reporter.stacks.kthena.derived.facts import (
    GroupState,
    InstanceState,
    InstanceStatus,
    ModelServingFacts,
)
from reporter.stacks.kthena.derived.groups import surge_of, to_create
from reporter.stacks.kthena.derived.revisions import Revisions, commonest, revisions_of
from reporter.stacks.kthena.objects import (
    ENTRY_LABEL,
    NAME_LABEL,
    ROLE_ID_LABEL,
    ROLE_LABEL,
    ModelServing,
    ModelServingStatus,
)


def wanted_status(
    modelserving: ModelServing,
    groups: Sequence[GroupState],
    facts: ModelServingFacts,
    *,
    revisions: Revisions | None = None,
) -> Document:
    """Return the whole status in the shape of the API.

    Counters are always there; a text or list that is empty is not. A condition whose status
    changed since the one on record has no `lastTransitionTime`: `Derived.dated` fills it in.

    Args:
        modelserving: whose status it is, with the one on record.
        groups: what `observe` saw.
        facts: what it saw it in.
        revisions: `revisions_of(facts)`, if the caller has it.

    """
    revisions = revisions or revisions_of(facts)
    texts = {
        "currentRevision": _current_revision(modelserving, groups, revisions.update),
        "updateRevision": revisions.update or modelserving.status.update_revision,
        "labelSelector": label_selector(modelserving, groups),
    }
    return {
        "observedGeneration": modelserving.metadata.generation,
        **_counters(modelserving, groups),
        **{name: text for name, text in texts.items() if text},
        "conditions": conditions(modelserving, groups),
        **role_fields(groups),
    }


def _counters(modelserving: ModelServing, groups: Sequence[GroupState]) -> dict[str, int]:
    """Return the four counters.

    Groups that are being deleted count in `replicas` only, and so do those without pods, which are
    on no revision yet. Without a partition a finished rollout has all groups current; with one
    `currentReplicas` counts the groups that are not updated, to the end.
    """
    staying = [each for each in groups if not each.deleting]
    replicas, updated = len(groups), sum(each.updated for each in staying)
    available = sum(each.available for each in groups)
    current = sum(bool(each.revision) and not each.updated for each in staying)
    finished = updated == available == replicas == modelserving.wanted
    if finished and modelserving.partition is None:
        current = updated
    return {
        "replicas": replicas,
        "currentReplicas": current,
        "updatedReplicas": updated,
        "availableReplicas": available,
    }


def _current_revision(modelserving: ModelServing, groups: Sequence[GroupState], update: str) -> str:
    """Return the revision that the groups are leaving, or are all on.

    It moves to the update revision only when no group is on an older one, not even a group that is
    being deleted. (Kthena leaves out groups that are being deleted, and cleans up their
    ControllerRevision too early.) Until then it stays, as long as a group is on it. Else it is the
    most frequent older revision, and of equally frequent ones that of the lowest ordinal, where
    Kthena chooses at random.
    """
    recorded = modelserving.status.current_revision
    older = [each.revision for each in groups if each.revision and not each.updated]
    if not older:
        return update or recorded
    return recorded if recorded in older else commonest(older)


AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
UPDATE_IN_PROGRESS: Final = "UpdateInProgress"

TYPES: Final = (AVAILABLE, PROGRESSING, UPDATE_IN_PROGRESS)
"""The types that are ours; exactly one of them is True."""

MAX_ORDINALS: Final = 100
"""Most groups that a message names."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What the conditions say about the groups.

    Attributes:
        wanted: groups asked for.
        existing: groups of which something exists.
        unready: ordinals of the groups that are not available, and of the first that are still to
            be created.
        unready_count: how many these are, all of them counted.
        updated: ordinals of the groups on the update revision that are not being deleted.
        awaiting: ordinals of the groups that the update has still to replace.
        surge: how many groups a rollout may add.

    """

    wanted: int
    existing: int
    unready: tuple[int, ...]
    unready_count: int
    updated: tuple[int, ...]
    awaiting: tuple[int, ...]
    surge: int = 0

    @property
    def true(self) -> str:
        """The one type that is True.

        Available needs as many groups as are wanted, all of them available; those that a rollout may
        add are not too many. Otherwise an outdated
        group that partition does not protect makes it an update, even one that is being deleted.
        """
        if not self.unready_count and self.existing <= self.wanted + self.surge:
            return AVAILABLE
        return UPDATE_IN_PROGRESS if self.awaiting else PROGRESSING


def summary_of(wanted: int, groups: Sequence[GroupState], surge: int = 0) -> Summary:
    """Sum up what is seen of the groups."""
    progressing = [each.ordinal for each in groups if each.progressing]
    known = [each.ordinal for each in groups]
    absent = max(0, wanted - len(known))
    first_absent = islice(to_create(known, wanted), MAX_ORDINALS)
    return Summary(
        wanted=wanted,
        existing=len(groups),
        unready=tuple(sorted((*progressing, *first_absent))),
        unready_count=len(progressing) + absent,
        updated=tuple(each.ordinal for each in groups if each.updated and not each.deleting),
        awaiting=tuple(each.ordinal for each in groups if each.awaits_update),
        surge=surge,
    )


def conditions(modelserving: ModelServing, groups: Sequence[GroupState]) -> list[dict[str, object]]:
    """Return all conditions: ours, then those of types that are not ours as they are on record.

    All three of ours are always there, each with the reason and message of this moment and with
    the generation that was looked at. One that keeps its status keeps its time; one that changed
    has none yet.
    """
    wanted = modelserving.wanted
    summary = summary_of(wanted, groups, surge_of(modelserving.max_surge, wanted))
    stored = modelserving.status.conditions or ()
    ours = [_ours(modelserving, type_, summary) for type_ in TYPES]
    return [*ours, *(_as_it_is(each) for each in stored if each.type not in TYPES)]


def _numbers(ordinals: Sequence[int], count: int | None = None) -> str:
    """Return a list as Kthena writes it, `[0 2]`; of a long one the beginning."""
    shown = ordinals[:MAX_ORDINALS]
    more = (len(ordinals) if count is None else count) - len(shown)
    return f"[{' '.join(map(str, shown))}{f' and {more} more' if more > 0 else ''}]"


def _unready(summary: Summary) -> str:
    return _numbers(summary.unready, summary.unready_count)


def _all_ready(_: Summary) -> tuple[str, str]:
    return "AllGroupsReady", "All Serving groups are ready"


def _not_all_ready(summary: Summary) -> tuple[str, str]:
    if summary.unready_count:
        return "GroupsNotReady", f"Serving groups that are not ready: {_unready(summary)}"
    return "TooManyGroups", _too_many(summary)


def _too_many(summary: Summary) -> str:
    return f"{summary.existing} Serving groups exist, {summary.wanted} wanted"


def _progressing_text(summary: Summary) -> str:
    text = f"Some groups is progressing: {_unready(summary)}"
    return text if summary.unready_count else f"{text}, {_too_many(summary)}"


def _progressing(summary: Summary) -> tuple[str, str]:
    return "GroupProgressing", _progressing_text(summary)


def _not_progressing(summary: Summary) -> tuple[str, str]:
    if summary.true == UPDATE_IN_PROGRESS:
        return "GroupsUpdating", "The groups that are progressing are told by UpdateInProgress"
    return "AllGroupsReady", "No Serving group is progressing"


def _updating(summary: Summary) -> tuple[str, str]:
    updated = f", Updated Groups are: {_numbers(summary.updated)}"
    return "GroupsUpdating", _progressing_text(summary) + updated


def _not_updating(summary: Summary) -> tuple[str, str]:
    if summary.awaiting:
        return "UpdateNotStarted", f"Serving groups to be updated: {_numbers(summary.awaiting)}"
    return "NoGroupToUpdate", "No Serving group is to be updated"


_SAYS: Final[Mapping[str, Callable[[Summary], tuple[str, str]]]] = {
    AVAILABLE: _all_ready,
    PROGRESSING: _progressing,
    UPDATE_IN_PROGRESS: _updating,
}
_DENIES: Final[Mapping[str, Callable[[Summary], tuple[str, str]]]] = {
    AVAILABLE: _not_all_ready,
    PROGRESSING: _not_progressing,
    UPDATE_IN_PROGRESS: _not_updating,
}
"""Reason and message of a condition that is True, and of one that is False. Those of True are
Kthena's, with ordinals instead of positions."""


def _ours(modelserving: ModelServing, type_: str, summary: Summary) -> dict[str, object]:
    is_true = summary.true == type_
    reason, message = _SAYS[type_](summary) if is_true else _DENIES[type_](summary)
    found: dict[str, object] = {
        "type": type_,
        "status": "True" if is_true else "False",
        "observedGeneration": modelserving.metadata.generation,
        "reason": reason,
        "message": message,
    }
    before = modelserving.status.condition(type_)
    if before is not None and before.status == found["status"] and before.last_transition_time:
        found["lastTransitionTime"] = rfc3339(before.last_transition_time)
    return found


def _as_it_is(condition: Condition) -> dict[str, object]:
    since = condition.last_transition_time
    fields = {
        "type": condition.type,
        "status": condition.status,
        "observedGeneration": condition.observed_generation,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since and rfc3339(since),
    }
    return {name: value for name, value in fields.items() if value is not None}


MAX_ENTRIES: Final = 1_000
"""Most entries that are written: about 130 kB, a tenth of what the API server stores."""

_MOST_OMITTED: Final = 2**31 - 1
"""`roleStatusesOmitted` has 32 bits; with a larger number the whole status would be refused."""


def role_fields(groups: Sequence[GroupState]) -> Document:
    """Return `roleStatuses`, and how many instances are left out of it if any are.

    Order: group ordinal, then the order of the roles, then instance ordinal. Instances of a group
    that is being deleted are not listed, and neither are those of removed roles. A group on an
    older revision is listed with the roles of that revision. Of more than `MAX_ENTRIES` entries
    those that are not Running are kept first, and `roleStatusesOmitted` says how many are left out.
    """
    listed = [(group, each) for group, each in _listed(groups)]
    kept = listed if len(listed) <= MAX_ENTRIES else _most_telling(listed)
    omitted = len(listed) - len(kept) + sum(each.absent for each in groups if not each.deleting)
    fields: dict[str, object] = {}
    if kept:
        fields["roleStatuses"] = [_entry(group, each) for group, each in kept]
    if omitted:
        fields["roleStatusesOmitted"] = min(omitted, _MOST_OMITTED)
    return fields


def _listed(groups: Sequence[GroupState]) -> Iterator[tuple[GroupState, InstanceState]]:
    for group in groups:
        if not group.deleting:
            yield from ((group, each) for each in group.instances if each.listed)


def _most_telling(
    listed: Sequence[tuple[GroupState, InstanceState]],
) -> list[tuple[GroupState, InstanceState]]:
    """Return the entries that are kept, in the order of all."""
    ranked = sorted(range(len(listed)), key=lambda place: _is_running(listed[place][1]))
    return [listed[place] for place in sorted(ranked[:MAX_ENTRIES])]


def _is_running(state: InstanceState) -> bool:
    return state.status is InstanceStatus.RUNNING


def _entry(group: GroupState, state: InstanceState) -> Mapping[str, str]:
    return {
        "servingGroupName": group.name,
        "roleName": state.role,
        "roleID": state.id,
        "status": state.status.value,
    }


def label_selector(modelserving: ModelServing, groups: Sequence[GroupState]) -> str:
    """Return a selector of one entry pod in each group; empty for a ModelServing without roles.

    A HorizontalPodAutoscaler multiplies its ratio by the number of pods that are selected, so a
    selector must name one instance of one role and not all entry pods. Kthena always names
    instance 0 of the first role and selects nothing while that is not there. Here it is the
    first role that has an entry pod anywhere, and of its instances the one that most groups have.
    While everything exists that is Kthena's choice, too.
    """
    role, identity = _chosen(modelserving, groups)
    if not role:
        return ""
    labels = {
        ENTRY_LABEL: "true",
        NAME_LABEL: modelserving.name,
        ROLE_ID_LABEL: identity,
        ROLE_LABEL: role,
    }
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items()))


def _chosen(modelserving: ModelServing, groups: Sequence[GroupState]) -> tuple[str, str]:
    """Return the name of a role, and the ID of an instance of it."""
    held = Counter(
        (each.role, each.ordinal, each.id)
        for group in groups
        if not group.deleting
        for each in group.instances
        if any(pod.metadata.label(ENTRY_LABEL) == "true" for pod in each.pods)
    )
    for role in modelserving.roles:
        found = [key for key in held if key[0] == role.name]
        if found:
            _, _, identity = min(found, key=lambda key: (-held[key], *key))
            return role.name, identity
    wanted = [role for role in modelserving.roles if role.wanted] or modelserving.roles
    return (wanted[0].name, f"{wanted[0].name}-0") if wanted else ("", "")


ROLE_STATUSES: Final = "roleStatuses"
OMITTED: Final = "roleStatusesOmitted"

ROLES_FIELDS: Final = frozenset({ROLE_STATUSES, OMITTED})
"""The fields that are ours where a controller owns the rest."""

_TIME: Final = "lastTransitionTime"


def status_document(status: ModelServingStatus) -> Document:
    """Return a status in the shape of the API, as far as it is read."""
    document: Document = msgspec.to_builtins(status)
    return document


def our_share(status: Document, *, whole: bool, without: Collection[str] = ()) -> Document:
    """Return what is ours of a status, without what is empty: JSON of this API leaves it out.

    Args:
        status: in the shape of the API.
        whole: whether all of it is ours, or `ROLES_FIELDS` only.
        without: fields to leave out; how many roles are omitted means nothing without the roles.

    """
    left_out = {*without, OMITTED} if ROLE_STATUSES in without else without
    return {
        name: value
        for name, value in status.items()
        if value and (whole or name in ROLES_FIELDS) and name not in left_out
    }


def digest(share: Document) -> str:
    """Return what is the same for shares that say the same; times of conditions say nothing."""
    compared = {name: _compared(value) for name, value in share.items()}
    encoded = msgspec.json.encode(compared, order="sorted")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _compared(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return [
        {name: each for name, each in item.items() if each and name != _TIME}
        if isinstance(item, dict)
        else item
        for item in value
    ]
