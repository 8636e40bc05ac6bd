"""The status that a ModelService should have, and modelserviceStatusStale."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Derived, Document, Finding
from reporter.model.objects import Condition
from reporter.model.text import clean, cut
from reporter.stacks.otterscale.derived.observe import observe
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import STATUS_STALE

_FIELDS: Final = ("phase", "decodeReady", "decodeReplicas", "prefillReady", "prefillReplicas")
_OF_READY: Final = frozenset({"phase", "decodeReady", "prefillReady", "Ready"})
"""What changes with a pod that becomes Ready or is so no longer."""

_FOLLOWS: Final = timedelta(seconds=15)
"""How long the operator may take to write what a pod has changed."""

_VALUE_BYTES: Final = 60


def derived(scope: ModelServiceScope) -> tuple[Derived, ...]:
    """Return the status that it should have; none while its Deployments are not known."""
    if not scope.snapshot.absence_known(DEPLOYMENTS, scope.place, sought=scope.own):
        return ()
    return (Derived(scope.ref, _observed(scope)),)


def probe_status(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the status is not what the operator should have written by now.

    One that is behind, or that an error kept as it was, is told as such and not here. Pods that
    start one after the other, or crash again and again, change the counters each time, a moment
    before the operator follows: seen often enough, that would look like one fault that lasts.
    """
    if scope.is_behind or scope.reconcile_error or not scope.service.status.phase:
        return
    if not scope.snapshot.absence_known(DEPLOYMENTS, scope.place, sought=scope.own):
        return
    differences = tuple(_differences(scope))
    if not differences:
        return
    fields = [field for field, _ in differences]
    changed = _last_change(scope) if _OF_READY.issuperset(fields) else None
    yield scope.finding(
        reason=STATUS_STALE,
        related=scope.ref,
        cause=f"{', '.join(fields)} out of date",
        text="its status does not match its Deployments: "
        + ", ".join(text for _, text in differences),
        transition=changed,
        created=scope.service.created,
        budget=_FOLLOWS if changed else None,
    )


def _last_change(scope: ModelServiceScope) -> datetime | None:
    """Return when the newest pod was made, or a pod became Ready or not, whichever is later."""
    ready = [pod.status.condition("Ready") for pod in scope.pods]
    times = (*(each.created for each in scope.pods), *(_since(each) for each in ready))
    return max((each for each in times if each is not None), default=None)


def _since(condition: Condition | None) -> datetime | None:
    return condition.last_transition_time if condition else None


def _observed(scope: ModelServiceScope) -> Document:
    deployments = scope.snapshot[DEPLOYMENTS]
    name = scope.service.name
    return observe(
        scope.service,
        deployments.get(scope.place, names.decode_deployment(name)),
        deployments.get(scope.place, names.prefill_deployment(name)),
    )


def _differences(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    should, status = _observed(scope), scope.service.status
    has = {
        "phase": status.phase,
        "decodeReady": status.decode_ready,
        "decodeReplicas": status.decode_replicas,
        "prefillReady": status.prefill_ready,
        "prefillReplicas": status.prefill_replicas,
    }
    for field in _FIELDS:
        want = should.get(field, 0)
        if has[field] != want:
            shown = cut(clean(str(has[field])), _VALUE_BYTES)
            yield field, f"{field} is {shown} and should be {want}"
    ready = status.condition("Ready")
    want = "True" if should["phase"] == "Ready" else "False"
    if ready is None:
        yield "Ready", f"condition Ready is missing and should be {want}"
    elif ready.status != want:
        yield (
            "Ready",
            f"condition Ready is {cut(clean(ready.status), _VALUE_BYTES)} and should be {want}",
        )
