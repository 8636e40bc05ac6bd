"""ScaledObjects that KEDA cannot use: the model keeps the replicas that it has.

The condition Ready says that something is wrong; why, as a trigger without an address or an autoscaler
that the API server refuses, often stands in the Event about the ScaledObject alone. One that is paused is
meant to do nothing. Source: kedacore/keda, `controllers/keda/scaledobject_controller.go`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, SCALEDOBJECTS
from reporter.model.finding import Finding
from reporter.model.objects import Condition, KubeObject, ScaledObject
from reporter.probes.scope import SubjectScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.owners import is_false, is_true, warning_about, words

_MOST: Final = 8


def scalers_of(
    snapshot: Snapshot, namespace: str, workloads: Iterable[tuple[str, str]]
) -> tuple[ScaledObject, ...]:
    """Return the ScaledObjects that set the replicas of workloads, each given by its kind and name."""
    found = snapshot.once(("scalers", namespace), partial(_by_target, namespace))
    return tuple(scaled for each in workloads for scaled in found.get(each, ()))


def _by_target(
    namespace: str, snapshot: Snapshot
) -> Mapping[tuple[str, str], tuple[ScaledObject, ...]]:
    found: dict[tuple[str, str], list[ScaledObject]] = defaultdict(list)
    for each in snapshot[SCALEDOBJECTS].in_namespace(namespace):
        target = each.spec.scale_target_ref
        found[target.kind or DEPLOYMENTS.kind, target.name].append(each)
    return {key: tuple(scalers[:_MOST]) for key, scalers in found.items()}


def rejection(scaled: ScaledObject, snapshot: Snapshot) -> tuple[Condition, str] | None:
    """Return the condition that says that KEDA cannot use it, and why; None where it can."""
    ready = scaled.status.condition("Ready")
    if ready is None or not is_false(ready):
        return None
    if scaled.deleting or is_true(scaled.status.condition("Paused")):
        return None
    return ready, warning_about(snapshot, SCALEDOBJECTS.ref(scaled)) or words(ready)


def judge_scalers(
    scope: SubjectScope[KubeObject],
    scalers: Iterable[ScaledObject],
    *,
    reason: str,
    serves: str = "",
    budget: timedelta | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject that KEDA cannot use.

    Args:
        scope: of the model.
        scalers: what sets its replicas.
        reason: what the stack calls it.
        serves: what is added to the message where the model serves all the same.
        budget: how long it may take at first.

    """
    for each in scalers:
        rejected = rejection(each, scope.snapshot)
        if rejected is not None:
            ready, why = rejected
            yield scope.finding(
                reason=reason,
                related=SCALEDOBJECTS.ref(each),
                cause=ready.reason or "Ready is False",
                text=f"ScaledObject {each.name} does not work: {why}{serves}",
                transition=ready.last_transition_time,
                created=each.created,
                budget=budget,
            )
