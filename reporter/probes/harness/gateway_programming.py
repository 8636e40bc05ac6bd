"""Whether the Gateways of a workload namespace are programmed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.reasons import HARNESS_GATEWAY_PROGRAMMING
from reporter.catalogue.resources import GATEWAYS
from reporter.model.finding import Finding
from reporter.model.objects import Condition, Gateway, ListenerStatus
from reporter.model.text import detail
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.workload.routing import judge_data_plane, workload_gateways

_LISTENER_FAULTS: Final = (
    ("Conflicted", "True"),
    ("ResolvedRefs", "False"),
    ("Programmed", "False"),
)
_NOT_ASSIGNED: Final = "AddressNotAssigned"
_ADDRESS_PENDING: Final = "address pending"
"""Istio's text while the cloud builds the load balancer; its reason is that of other causes too."""


@dataclass(frozen=True, slots=True)
class _Fault:
    text: str
    cause: str
    severity: int
    transition: datetime | None
    budget: timedelta | None = None


def probe_gateway_programming(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway that could not be programmed, as a whole or a listener."""
    for gateway in workload_gateways(scope.snapshot, scope.namespace.name):
        faults = sorted(_faults(gateway, scope), key=lambda each: (-each.severity, each.text))
        if not faults:
            continue
        worst, *others = faults
        more = f" (and {len(others)} more of its conditions)" if others else ""
        yield harness_finding(
            HARNESS_GATEWAY_PROGRAMMING,
            scope.namespace,
            GATEWAYS.ref(gateway),
            text=f"could not be programmed: {worst.text}{more}",
            cause=worst.cause,
            severity=worst.severity,
            transition=worst.transition,
            created=gateway.created,
            independent=not is_of_istio(gateway, scope.snapshot),
            budget=worst.budget,
        )


def _faults(gateway: Gateway, scope: NamespaceScope) -> Iterator[_Fault]:
    programmed = gateway.status.condition("Programmed")
    if programmed is not None and programmed.status == "False":
        if _is_address_pending(programmed):
            yield _address_pending(programmed, scope)
        else:
            yield _not_programmed(gateway, programmed, scope)
    for listener in gateway.status.listeners or ():
        yield from _listener_faults(listener)


def _address_pending(programmed: Condition, scope: NamespaceScope) -> _Fault:
    return _Fault(
        _text(programmed),
        "address pending",
        severity=10,
        transition=programmed.last_transition_time,
        budget=timedelta(seconds=scope.settings.load_balancer_budget_seconds),
    )


def _not_programmed(gateway: Gateway, programmed: Condition, scope: NamespaceScope) -> _Fault:
    """Judge Programmed=False; of an address without instances the pods say why there are none.

    Istio assigns no address to a Gateway whose Service has no endpoint: "no instances found" (Istio,
    pilot/pkg/config/kube/gateway).
    """
    text, cause = _text(programmed), _reason(programmed)
    if programmed.reason == _NOT_ASSIGNED:
        for plane, fault in judge_data_plane(scope.snapshot, gateway):
            text = f"{text}; Deployment {plane.name} has no ready pod: {fault.detail}"
            cause = fault.cause
    return _Fault(text, cause, severity=30, transition=programmed.last_transition_time)


def _listener_faults(listener: ListenerStatus) -> Iterator[_Fault]:
    for type_, status in _LISTENER_FAULTS:
        condition = listener.condition(type_)
        if condition is None or condition.status != status:
            continue
        yield _Fault(
            f"listener {listener.name}: {type_} is {status}, {_text(condition)}",
            f"listener {listener.name}: {_reason(condition)}",
            severity=20,
            transition=condition.last_transition_time,
        )


def _is_address_pending(condition: Condition) -> bool:
    text = (condition.message or "").lower()
    return condition.reason == _NOT_ASSIGNED and _ADDRESS_PENDING in text


def _reason(condition: Condition) -> str:
    return condition.reason or f"{condition.type} is {condition.status}"


def _text(condition: Condition) -> str:
    return detail(_reason(condition), condition.message)
