"""The conditions of a ModelServing, each with the words of this moment.

The types and the words of True are Kthena's (github.com/volcano-sh/kthena, `SetCondition` in
pkg/model-serving-controller/utils/utils.go, v1.0.0). The rules differ where Kthena's mislead:

* A message follows what it speaks of; Kthena keeps the first one while a condition stays True.
* A group is named by its ordinal; Kthena names its position in the list.
* A condition that becomes False gets a time, reason and message; Kthena changes its status only.
* Exactly one of the three is True; Kthena leaves Progressing and UpdateInProgress True together.
* Available needs as many groups as are wanted; Kthena does not compare with the spec.
* An update is what partition does not protect; Kthena compares the number of old groups with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reporter.model.instant import rfc3339
from reporter.model.objects import Condition
from reporter.stacks.kthena.derived.observed import GroupState
from reporter.stacks.kthena.derived.ordinals import surge_of, to_create
from reporter.stacks.kthena.objects import ModelServing

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
