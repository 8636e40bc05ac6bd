"""modelservingRolloutStuck: an update that does not go on.

There is no time in the state of a rollout. A finding is about the group, or the instance, that the
rollout waits for now, so its time begins again with each, as a Deployment's deadline does with each
new pod.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.model.finding import Finding
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived import GroupState
from reporter.stacks.kthena.probes.scope import ModelServingScope, place_of
from reporter.stacks.kthena.reasons import ROLLOUT_STUCK

_DEADLINE: Final = timedelta(seconds=600)
"""How long nothing may happen; a Deployment's default."""

_LEFT_ALONE: Final = 20
_BEING_REPLACED: Final = 10


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an update is: a group, or an instance of it; in words, what it does, and its object."""

    name: str
    state: str
    ref: ObjectRef


def probe_rollout(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each group that an update waits for, or for the next it should take."""
    waiting = [each for each in scope.staying if each.awaits_update]
    if not waiting or not scope.pods_known:
        return
    total = max(scope.modelserving.wanted, len(scope.staying))
    left = f"{len(waiting)} of {total} ServingGroups still to be updated"
    startup = timedelta(seconds=scope.settings.model_startup_budget_seconds)
    moving = [
        each for each in scope.groups if each.progressing and not _is_passed_over(scope, each)
    ]
    for group in moving:
        place = _place(scope, group)
        yield _finding(
            scope,
            place,
            f"the update waits for {place.name}, which is {place.state}; {left}",
            cause=f"{group.name} {group.status}",
            budget=startup + _DEADLINE,
            severity=_BEING_REPLACED,
        )
    if not moving:
        place = _place(scope, waiting[-1])
        yield _finding(
            scope,
            place,
            f"{place.name} is still to be updated, and nothing is being replaced; {left}",
            cause=f"{waiting[-1].name} not updated",
            budget=_DEADLINE,
            severity=_LEFT_ALONE,
        )


def _place(scope: ModelServingScope, group: GroupState) -> _Place:
    instance = scope.updating(group)
    if instance is None:
        return _Place(f"ServingGroup {group.name}", group.status, scope.group_ref(group))
    return _Place(place_of(group, instance), instance.status, scope.instance_ref(group, instance))


def _is_passed_over(scope: ModelServingScope, group: GroupState) -> bool:
    """Tell whether an update goes on whatever becomes of a group.

    An old group that partition protects takes nothing of what may be unavailable. Of groups
    whose instances are updated one by one that is not known as a whole.
    """
    return group.outdated and group.protected and not scope.modelserving.rolls_roles


def _finding(
    scope: ModelServingScope,
    place: _Place,
    text: str,
    *,
    cause: str,
    budget: timedelta,
    severity: int,
) -> Finding:
    return scope.finding(
        reason=ROLLOUT_STUCK,
        related=place.ref,
        cause=cause,
        text=text,
        severity=severity,
        budget=budget,
    )
