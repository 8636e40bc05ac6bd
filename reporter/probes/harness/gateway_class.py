"""Whether a controller accepts the Gateways of a workload namespace.

Istio writes nothing on a Gateway of a class it does not know, so the conditions that the Gateway
API names for this case never come from it (Istio 1.29.2).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.reasons import HARNESS_GATEWAY_CLASS
from reporter.catalogue.resources import GATEWAYCLASSES, GATEWAYS
from reporter.model.finding import Finding
from reporter.model.objects import Gateway
from reporter.model.text import detail
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.routing import workload_gateways

_CLASS_REASONS: Final = frozenset({"NoMatchingParent", "InvalidParameters", "UnsupportedValue"})
"""Reasons of Accepted=False that are about the class; others are about the Gateway itself."""

_NO_CLASS: Final = 30


@dataclass(frozen=True, slots=True)
class _Fault:
    text: str
    cause: str
    severity: int
    transition: datetime | None = None


def probe_gateway_class(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway whose class is missing, not accepted, or not accepted by a controller."""
    for gateway in workload_gateways(scope.snapshot, scope.namespace.name):
        fault = _class_fault(scope.snapshot, gateway) or _acceptance_fault(gateway)
        if fault is None:
            continue
        yield harness_finding(
            HARNESS_GATEWAY_CLASS,
            scope.namespace,
            GATEWAYS.ref(gateway),
            text=f"has the class {gateway.spec.gateway_class_name}, {fault.text}",
            cause=fault.cause,
            severity=fault.severity,
            transition=fault.transition,
            created=gateway.created,
            by_spec=fault.severity == _NO_CLASS,
            independent=not is_of_istio(gateway, scope.snapshot),
        )


def _class_fault(snapshot: Snapshot, gateway: Gateway) -> _Fault | None:
    found = snapshot[GATEWAYCLASSES].get("", gateway.spec.gateway_class_name)
    if found is None:
        # Where not even the kind is served there is more amiss than one class.
        if snapshot.state(GATEWAYCLASSES).served is not Served.SERVED:
            return None
        if not snapshot.absence_known(GATEWAYCLASSES, name=gateway.spec.gateway_class_name):
            return None
        return _Fault("which does not exist", "GatewayClass missing", severity=_NO_CLASS)
    accepted = found.status.condition("Accepted")
    if accepted is None or accepted.status != "False":
        return None
    text = detail(accepted.reason, accepted.message) or "Accepted is False"
    return _Fault(
        f"which is not accepted: {text}",
        "GatewayClass not accepted",
        severity=20,
        transition=accepted.last_transition_time,
    )


def _acceptance_fault(gateway: Gateway) -> _Fault | None:
    """Return the fault that the Gateway's own Accepted condition shows.

    Unknown is the value at creation and has the time 1970-01-01; it is a fault once it lasts, so
    its age is that of the Gateway.
    """
    accepted = gateway.status.condition("Accepted")
    if accepted is None or accepted.status == "Unknown":
        state = (
            f"Accepted is Unknown ({detail(accepted.reason or 'Pending', None)})"
            if accepted
            else "it has no condition Accepted"
        )
        return _Fault(
            f"which no controller has accepted: {state}",
            "Accepted stays Unknown",
            severity=10,
        )
    if accepted.status != "False" or accepted.reason not in _CLASS_REASONS:
        return None
    return _Fault(
        f"whose controller does not accept it: {detail(accepted.reason, accepted.message)}",
        accepted.reason,
        severity=15,
        transition=accepted.last_transition_time,
    )
