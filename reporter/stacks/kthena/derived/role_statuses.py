"""`status.roleStatuses`: one entry for each instance of each role.

No release of Kthena has the field. It was the first draft of a proposal that became role Events
instead (github.com/volcano-sh/kthena/pull/676).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reporter.model.finding import Document
from reporter.stacks.kthena.derived.observed import GroupState, InstanceState, InstanceStatus

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
