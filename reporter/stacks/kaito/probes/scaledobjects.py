"""Whether KEDA accepts the ScaledObjects that the KAITO scaler made."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import SCALEDOBJECTS
from reporter.model.finding import Finding
from reporter.model.objects import Condition, ScaledObject
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.model.text import clean, detail
from reporter.probes.scope import Scope
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.reasons import CLUSTER_KEDA_SCALER
from reporter.stacks.kaito.resources import INFERENCESETS
from reporter.workload.components import components, managed_namespaces, namespace_ref
from reporter.workload.owners import warning_about

_SEVERITY: Final = 5
"""Less than a scaler that does not run."""


def probe_scaled_objects(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject of an InferenceSet that KEDA rejected.

    The scaler names a ScaledObject after its InferenceSet. Other people's ScaledObjects, and ones
    that are paused, inactive or in fallback, are nothing.
    """
    scalers = (each for each in components(scope.settings) if each.reason == CLUSTER_KEDA_SCALER)
    component = next(scalers, None)
    if component is None:
        return
    snapshot = scope.snapshot
    for namespace in managed_namespaces(snapshot):
        for scaled in snapshot[SCALEDOBJECTS].in_namespace(namespace.name):
            rejected = _rejected(scaled)
            if rejected is not None and _is_of_inferenceset(snapshot, scaled):
                involved = namespace_ref(snapshot, component.home(snapshot))
                said = warning_about(snapshot, SCALEDOBJECTS.ref(scaled))
                yield _finding(scaled, rejected, involved, said=said)


def _rejected(scaled: ScaledObject) -> Condition | None:
    paused = scaled.status.condition("Paused")
    if scaled.deleting or (paused is not None and paused.status == "True"):
        return None
    ready = scaled.status.condition("Ready")
    return ready if ready is not None and ready.status == "False" else None


def _is_of_inferenceset(snapshot: Snapshot, scaled: ScaledObject) -> bool:
    owner = snapshot[INFERENCESETS].get(scaled.namespace, scaled.name)
    return owner is not None and not owner.deleting


def _finding(
    scaled: ScaledObject, rejected: Condition, involved: ObjectRef, *, said: str
) -> Finding:
    """Return the finding about a ScaledObject; its condition says less than the Event about it."""
    text = said or detail(rejected.reason, rejected.message) or "Ready is False"
    return Finding(
        reason=CLUSTER_KEDA_SCALER,
        subject=CLUSTER,
        involved=involved,
        related=SCALEDOBJECTS.ref(scaled),
        message=clean(
            f"ScaledObject {scaled.namespace}/{scaled.name} was rejected by KEDA: {text}"
        ),
        cause=f"ScaledObject {scaled.namespace}/{scaled.name} rejected",
        severity=_SEVERITY,
        transition=rejected.last_transition_time,
        created=scaled.created,
    )
