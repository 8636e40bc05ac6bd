"""modelserviceNotObserved and modelserviceReconcileFailed: what the status says of the operator."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Served
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import NOT_OBSERVED, RECONCILE_FAILED
from reporter.stacks.otterscale.resources import PODMONITORS, SERVICEMONITORS
from reporter.workload.owners import spec_written

_ERROR_BYTES: Final = 600
_CAUSE_BYTES: Final = 100


def probe_not_observed(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the status is of an older generation."""
    if not scope.is_behind:
        return
    seen = scope.service.status.observed_generation
    text = f"the operator has not observed generation {scope.service.metadata.generation}, " + (
        f"its status is of generation {seen}" if seen else "it has written no status yet"
    )
    yield scope.finding(
        reason=NOT_OBSERVED,
        related=scope.ref,
        cause="status of an older generation" if seen else "no status",
        text=text,
        transition=spec_written(scope.service),
        created=scope.service.created,
    )


def probe_reconcile_failed(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the operator ended in an error.

    The time of the condition does not tell since when: it moves with the status alone, and a
    ModelService that was not ready before has had the same.
    """
    condition = scope.reconcile_error
    if condition is None:
        return
    error = cut(clean(condition.message or "no text"), _ERROR_BYTES)
    phase = scope.service.status.phase
    old = f"; phase {clean(phase)} and the counters are out of date" if phase else ""
    yield scope.finding(
        reason=RECONCILE_FAILED,
        related=scope.ref,
        cause=cut(error, _CAUSE_BYTES),
        text=f"the operator cannot reconcile it: {error}{old}",
        created=scope.service.created,
        independent=_is_other_than_missing_monitors(scope, condition.message or ""),
    )


def _is_other_than_missing_monitors(scope: ModelServiceScope, message: str) -> bool:
    """Tell whether an error is not that of the kinds of monitors that are not installed."""
    absent = [
        each.kind
        for each in (PODMONITORS, SERVICEMONITORS)
        if scope.snapshot.state(each).served is Served.ABSENT
    ]
    return bool(absent) and not any(each in message for each in absent)
