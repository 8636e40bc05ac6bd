"""What sets the replicas of a model and does not work: the model keeps those that it has.

Of ScaledObjects the condition Ready says that something is wrong; why, as a trigger without an
address or an autoscaler that the API server refuses, often stands in the Event about the
ScaledObject alone. One that is paused is meant to do nothing. Source: kedacore/keda,
`controllers/keda/scaledobject_controller.go`. HorizontalPodAutoscalers, KEDA's too, say what metric
they cannot read (kubernetes, pkg/controller/podautoscaler/horizontal.go).
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

from reporter.catalogue.resources import AUTOSCALERS, DEPLOYMENTS, SCALEDOBJECTS
from reporter.catalogue.runtime import of_kind
from reporter.model.finding import Finding
from reporter.model.objects import Condition, KubeObject, PodAutoscaler, ScaledObject
from reporter.probes.pods import startup_budget
from reporter.probes.scope import SubjectScope
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.owners import is_false, is_true, warning_about, words

_MOST: Final = 8
_OFF: Final = "ScalingDisabled"
"""Reason of an autoscaler whose target is to have no replicas, which is no fault of it."""

Scaler: TypeAlias = ScaledObject | PodAutoscaler


def _by_target(namespace: str, snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[Scaler, ...]]:
    scalers: tuple[Scaler, ...] = (
        *snapshot[SCALEDOBJECTS].in_namespace(namespace),
        *snapshot[AUTOSCALERS].in_namespace(namespace),
    )
    targets = ((each.spec.scale_target_ref, each) for each in scalers)
    return grouped(((of.kind or DEPLOYMENTS.kind, of.name), each) for of, each in targets)


def rejection(scaler: Scaler, snapshot: Snapshot) -> tuple[Condition, str] | None:
    """Return the condition that says that it does not work, and why; None where it does."""
    if scaler.deleting:
        return None
    if isinstance(scaler, PodAutoscaler):
        conditions = map(scaler.status.condition, ("AbleToScale", "ScalingActive"))
        failed = next((c for c in conditions if c and is_false(c) and c.reason != _OFF), None)
        return None if failed is None else (failed, words(failed))
    ready = scaler.status.condition("Ready")
    if not is_false(ready) or is_true(scaler.status.condition("Paused")):
        return None
    return ready, warning_about(snapshot, SCALEDOBJECTS.ref(scaler)) or words(ready)


def judge_scalers(
    scope: SubjectScope[KubeObject],
    workloads: Iterable[tuple[str, str]],
    *,
    also: Iterable[Scaler] = (),
    serves: str = "",
    budget: timedelta | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each of `also`, and of what sets the replicas of workloads, that does not
    work.

    Each workload is given by its kind and name. An autoscaler that KEDA made says no more than
    KEDA. `serves` is added to the message where the model serves all the same. A ScaledObject may
    take its budget at first: there are no metrics of pods that start.
    """
    place, told = scope.place, set[str]()
    by_target = scope.snapshot.once(("scalers", place), partial(_by_target, place))
    of_workloads = [scaler for each in workloads for scaler in by_target.get(each, ())[:_MOST]]
    found = (*also, *sorted(of_workloads, key=lambda each: isinstance(each, PodAutoscaler)))
    for each in {(type(each), each.name): each for each in found}.values():
        rejected = rejection(each, scope.snapshot)
        if rejected is None or any(each.metadata.owned_by(uid) for uid in told):
            continue
        told.add(each.metadata.uid)
        condition, why = rejected
        resource = AUTOSCALERS if isinstance(each, PodAutoscaler) else SCALEDOBJECTS
        of_pods = isinstance(each, PodAutoscaler) and condition.type == "ScalingActive"
        yield scope.finding(
            reason=of_kind("ScalingNotReady", scope.subject.kind),
            related=resource.ref(each),
            cause=condition.reason or f"{condition.type} is False",
            text=f"{resource.kind} {each.name} does not work: {why}{serves}",
            transition=condition.last_transition_time,
            created=each.created,
            budget=startup_budget(scope) if of_pods else budget,
        )
