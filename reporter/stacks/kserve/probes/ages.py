"""When the objects that a status follows from have changed.

A status has no time of what KServe has not written yet. Whoever lists kinds one after the other sees
an object that has changed next to the status of a moment before, and without any time that would be
told as if it had lasted.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from reporter.model.objects import Condition, KubeObject, Pod
from reporter.stacks.kserve.derived.components import Component
from reporter.stacks.kserve.derived.raw import AVAILABLE, PROGRESSING, REPLICA_FAILURE
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.workload.owners import is_true, last_written

_NOT_READY: Final = frozenset(
    {(AVAILABLE, "False"), (PROGRESSING, "False"), (REPLICA_FAILURE, "True")}
)
"""Conditions of a Deployment that make a component's Ready False."""


def not_ready_since(scope: InferenceServiceScope, component: Component) -> datetime | None:
    """Return since when a component is not ready by its Knative Service or Deployments."""
    if scope.in_knative_mode:
        service = (scope.facts.services or {}).get(component)
        ready = service.status.condition("Ready") if service else None
        return ready.last_transition_time if ready is not None and not is_true(ready) else None
    times = (
        each.last_transition_time
        for deployment in (scope.facts.deployments or {}).get(component, ())
        for each in deployment.status.conditions or ()
        if (each.type, each.status) in _NOT_READY
    )
    return min((each for each in times if each is not None), default=None)


def last_change(scope: InferenceServiceScope, *, pods: bool) -> datetime | None:
    """Return when anything last changed that its status follows from, as far as that has a time.

    `pods` count where what is asked about follows them.
    """
    objects: list[tuple[KubeObject, tuple[Condition, ...] | None]] = [
        (scope.inferenceservice, None)
    ]
    if scope.in_knative_mode:
        services = (scope.facts.services or {}).values()
        objects += [(each, each.status.conditions) for each in services]
    else:
        found = (scope.facts.deployments or {}).values()
        objects += [(each, each.status.conditions) for parts in found for each in parts]
    judged: tuple[Pod, ...] = (scope.facts.pods or ()) if pods else ()
    objects += [(each, each.status.conditions) for each in judged]
    times = (time for each, conditions in objects for time in _times(each, conditions))
    return max(times, default=None)


def _times(obj: KubeObject, conditions: tuple[Condition, ...] | None) -> Iterator[datetime]:
    found = (last_written(obj), *(each.last_transition_time for each in conditions or ()))
    return (each for each in found if each is not None)
