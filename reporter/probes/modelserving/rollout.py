"""modelservingRolloutStuck: an update that does not go on.

There is no time in the state of a rollout. A finding is about the group that the rollout waits for
now, so its time begins anew with each group, as a Deployment's deadline does with each new pod.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.modelserving import ROLLOUT_STUCK
from reporter.derived.modelserving import GroupState
from reporter.model.finding import Finding
from reporter.probes.modelserving.scope import View, finding_about
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_DEADLINE: Final = timedelta(seconds=600)
"""How long nothing may happen; a Deployment's default."""

_LEFT_ALONE: Final = 20
_BEING_REPLACED: Final = 10


def probe_rollout(view: View, _: Snapshot, settings: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding for each group that an update waits for, or for the next it should take."""
    waiting = [each for each in view.staying if each.awaits_update]
    if not waiting or not view.pods_known:
        return
    total = max(view.modelserving.wanted, len(view.staying))
    left = f"{len(waiting)} of {total} ServingGroups still to be updated"
    startup = timedelta(seconds=settings.model_startup_budget_seconds)
    moving = [each for each in view.groups if each.progressing]
    for group in moving:
        yield _finding(
            view,
            group,
            f"the update waits for ServingGroup {group.name}, which is {group.status}; {left}",
            cause=f"{group.name} {group.status}",
            budget=startup + _DEADLINE,
            severity=_BEING_REPLACED,
        )
    if not moving:
        group = waiting[-1]
        yield _finding(
            view,
            group,
            f"the update leaves ServingGroup {group.name} alone, and nothing is being replaced; "
            f"{left}",
            cause=f"{group.name} not updated",
            budget=_DEADLINE,
            severity=_LEFT_ALONE,
        )


def _finding(
    view: View, group: GroupState, text: str, *, cause: str, budget: timedelta, severity: int
) -> Finding:
    return finding_about(
        view,
        reason=ROLLOUT_STUCK,
        related=view.group_ref(group),
        cause=cause,
        text=text,
        severity=severity,
        budget=budget,
    )
