"""What keeps KServe from making pods at all.

inferenceserviceKnativeMissing, inferenceserviceInvalidSpec, inferenceserviceRuntimeMissing and
inferenceserviceReconcileFailed.
"""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.model.text import detail
from reporter.stacks.kserve.derived.model_status import Transition
from reporter.stacks.kserve.probes.scope import InferenceServiceScope
from reporter.stacks.kserve.reasons import (
    INVALID_SPEC,
    KNATIVE_MISSING,
    RECONCILE_FAILED,
    RUNTIME_MISSING,
)
from reporter.workload.owners import is_false, words

_OF_RUNTIME: Final = frozenset({"RuntimeNotRecognized", "RuntimeDisabled", "NoSupportingRuntime"})
_OF_WORKERS: Final = frozenset({"InvalidGPUAllocation", "InvalidWorkerSpecNotSet"})
_FAILED: Final = "ReconcileFailed"
_WHOLE: Final = 100


def probe_spec(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield what KServe says of a spec that it cannot do anything with."""
    yield from _knative_missing(scope)
    yield from _invalid_spec(scope)
    yield from _canaries(scope)
    yield from _components(scope)


def _knative_missing(scope: InferenceServiceScope) -> Iterator[Finding]:
    if not scope.in_knative_mode or not scope.knative_absent:
        return
    yield scope.finding(
        reason=KNATIVE_MISSING,
        related=scope.ref,
        cause="no Knative",
        text="its deployment mode is Knative, and the cluster does not serve Knative Services",
        created=scope.inferenceservice.created,
    )


def _invalid_spec(scope: InferenceServiceScope) -> Iterator[Finding]:
    status = scope.inferenceservice.status.model_status
    if status is None or status.transition_status != Transition.INVALID_SPEC:
        return
    info = status.last_failure_info
    cause = (info.reason if info else "") or Transition.INVALID_SPEC.value
    text = detail(info.reason, info.message) if info else ""
    loaded = status.states is not None and status.states.active_model_state == "Loaded"
    still = "; the previous model is still loaded" if loaded else ""
    of_runtime = cause in _OF_RUNTIME
    yield scope.finding(
        reason=RUNTIME_MISSING if of_runtime else INVALID_SPEC,
        related=scope.ref,
        cause=cause,
        text=f"{'no runtime for the model' if of_runtime else 'invalid spec'}, "
        f"{text or 'no reason given'}{still}",
        created=scope.inferenceservice.created,
    )


def _canaries(scope: InferenceServiceScope) -> Iterator[Finding]:
    total = sum(each.traffic_percent or 0 for each in scope.inferenceservice.spec.canary or ())
    if total <= _WHOLE:
        return
    yield scope.finding(
        reason=INVALID_SPEC,
        related=scope.ref,
        cause=f"canaries add up to {total} percent",
        text=f"the percents of spec.canary add up to {total}, which is more than 100",
        created=scope.inferenceservice.created,
    )


def _components(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield what the last reconcile of each component failed with."""
    for component in scope.components:
        ready = scope.inferenceservice.status.condition(component.ready)
        if ready is None or not is_false(ready):
            continue
        if ready.reason not in _OF_WORKERS | {_FAILED}:
            continue
        yield scope.finding(
            reason=RECONCILE_FAILED if ready.reason == _FAILED else INVALID_SPEC,
            related=scope.object_ref(component) if ready.reason == _FAILED else scope.ref,
            cause=f"{component} {ready.reason}",
            text=f"{component}: {words(ready)}",
            transition=ready.last_transition_time,
        )
