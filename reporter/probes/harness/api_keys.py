"""Whether the operator of API keys accepted the keys of a workload namespace."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reporter.catalogue.reasons import HARNESS_API_KEY
from reporter.catalogue.resources import APIKEYS
from reporter.model.finding import Finding
from reporter.model.objects import ApiKey
from reporter.model.text import detail
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope


@dataclass(frozen=True, slots=True)
class _Fault:
    text: str
    cause: str
    severity: int
    transition: datetime | None = None


def probe_api_keys(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each APIKey that was refused, expired, or is still pending."""
    for key in scope.snapshot[APIKEYS].in_namespace(scope.namespace.name):
        fault = None if key.deleting else _fault(key)
        if fault is not None:
            yield harness_finding(
                HARNESS_API_KEY,
                scope.namespace,
                APIKEYS.ref(key),
                text=fault.text,
                cause=fault.cause,
                severity=fault.severity,
                transition=fault.transition,
                created=key.created,
            )


def _fault(key: ApiKey) -> _Fault | None:
    """Judge by Ready, and by the phase where Ready says nothing against it.

    The operator's condition types are not part of the CRD, so the phase is the fallback.
    """
    ready = key.status.condition("Ready")
    phase = key.status.phase
    if ready is not None and ready.status == "False":
        text = detail(ready.reason, ready.message) or "Ready is False"
        expired = " (phase Expired)" if phase == "Expired" else ""
        return _Fault(
            f"was not reconciled{expired}: {text}",
            ready.reason or "not Ready",
            severity=30,
            transition=ready.last_transition_time,
        )
    if phase == "Expired":
        return _Fault("is expired", "expired", severity=20)
    if phase == "Pending" and (ready is None or ready.status != "True"):
        return _Fault("is still Pending: its operator has not issued it", "Pending", severity=10)
    return None
