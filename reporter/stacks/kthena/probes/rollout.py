"""modelservingRolloutStuck: an update that does not go on.

There is no time in the state of a rollout. A finding is about the group, or the instance, that the
rollout waits for now, so its time begins anew with each, as a Deployment's deadline does with each
new pod.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.model.finding import Finding
from reporter.model.subject import ObjectRef
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived import GroupState
from reporter.stacks.kthena.probes.scope import View, finding_about, place_of
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


def probe_rollout(view: View, _: Snapshot, settings: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding for each group that an update waits for, or for the next it should take."""
    waiting = [each for each in view.staying if each.awaits_update]
    if not waiting or not view.pods_known:
        return
    total = max(view.modelserving.wanted, len(view.staying))
    left = f"{len(waiting)} of {total} ServingGroups still to be updated"
    startup = timedelta(seconds=settings.model_startup_budget_seconds)
    moving = [each for each in view.groups if each.progressing and not _is_passed_over(view, each)]
    for group in moving:
        place = _place(view, group)
        yield _finding(
            view,
            place,
            f"the update waits for {place.name}, which is {place.state}; {left}",
            cause=f"{group.name} {group.status}",
            budget=startup + _DEADLINE,
            severity=_BEING_REPLACED,
        )
    if not moving:
        place = _place(view, waiting[-1])
        yield _finding(
            view,
            place,
            f"the update leaves {place.name} alone, and nothing is being replaced; {left}",
            cause=f"{waiting[-1].name} not updated",
            budget=_DEADLINE,
            severity=_LEFT_ALONE,
        )


def _place(view: View, group: GroupState) -> _Place:
    instance = view.updating(group)
    if instance is None:
        return _Place(f"ServingGroup {group.name}", group.status, view.group_ref(group))
    return _Place(place_of(group, instance), instance.status, view.instance_ref(group, instance))


def _is_passed_over(view: View, group: GroupState) -> bool:
    """Tell whether an update goes on whatever becomes of a group.

    An old group that partition protects takes nothing of what may be unavailable (Kthena sheet
    3.3). Of groups whose instances are updated one by one that is not known as a whole.
    """
    return group.outdated and group.protected and not view.modelserving.rolls_roles


def _finding(
    view: View, place: _Place, text: str, *, cause: str, budget: timedelta, severity: int
) -> Finding:
    return finding_about(
        view,
        reason=ROLLOUT_STUCK,
        related=place.ref,
        cause=cause,
        text=text,
        severity=severity,
        budget=budget,
    )
