"""Whether a controller accepts the Gateways of a workload namespace.

Istio writes nothing on a Gateway of a class it does not know, so the conditions that the Gateway
API names for this case never come from it (Istio 1.29.2).

Whether the Gateways of a workload namespace are programmed.

Whether a programmed Gateway has pods that serve it.

Istio does not look at pods when it sets Programmed, so a Gateway can be programmed and dead.

What all findings of the harness layer have in common.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.reasons import (
    HARNESS_GATEWAY_CLASS,
    HARNESS_GATEWAY_DATA_PLANE,
    HARNESS_GATEWAY_PROGRAMMING,
)
from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYCLASSES, GATEWAYS, NAMESPACES
from reporter.model.finding import Diagnosis, Fails, Finding
from reporter.model.objects import Condition, Gateway, ListenerStatus, Namespace
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import clean, cut, detail
from reporter.probes.scope import NamespaceScope
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.routing import is_programmed, judge_data_plane, workload_gateways

_CLASS_REASONS: Final = frozenset({"NoMatchingParent", "InvalidParameters", "UnsupportedValue"})
"""Reasons of Accepted=False that are about the class; others are about the Gateway itself."""

_NO_CLASS: Final = 30


@dataclass(frozen=True, slots=True)
class _ClassFault:
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


def _class_fault(snapshot: Snapshot, gateway: Gateway) -> _ClassFault | None:
    found = snapshot[GATEWAYCLASSES].get("", gateway.spec.gateway_class_name)
    if found is None:
        # Where not even the kind is served there is more amiss than one class.
        if snapshot.state(GATEWAYCLASSES).served is not Served.SERVED:
            return None
        if not snapshot.absence_known(GATEWAYCLASSES, name=gateway.spec.gateway_class_name):
            return None
        return _ClassFault("which does not exist", "GatewayClass missing", severity=_NO_CLASS)
    accepted = found.status.condition("Accepted")
    if accepted is None or accepted.status != "False":
        return None
    text = detail(accepted.reason, accepted.message) or "Accepted is False"
    return _ClassFault(
        f"which is not accepted: {text}",
        "GatewayClass not accepted",
        severity=20,
        transition=accepted.last_transition_time,
    )


def _acceptance_fault(gateway: Gateway) -> _ClassFault | None:
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
        return _ClassFault(
            f"which no controller has accepted: {state}",
            "Accepted stays Unknown",
            severity=10,
        )
    if accepted.status != "False" or accepted.reason not in _CLASS_REASONS:
        return None
    return _ClassFault(
        f"whose controller does not accept it: {detail(accepted.reason, accepted.message)}",
        accepted.reason,
        severity=15,
        transition=accepted.last_transition_time,
    )


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


def probe_gateway_data_plane(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each programmed Gateway whose Deployment has no ready replica.

    A Gateway without such a Deployment is served in another way.
    """
    for gateway in workload_gateways(scope.snapshot, scope.namespace.name):
        if not is_programmed(gateway):
            continue
        for plane, fault in judge_data_plane(scope.snapshot, gateway):
            yield harness_finding(
                HARNESS_GATEWAY_DATA_PLANE,
                scope.namespace,
                DEPLOYMENTS.ref(plane),
                text=f"of Gateway {gateway.name} has no ready pod: {fault.detail}",
                cause=fault.cause,
                severity=fault.severity,
                transition=fault.transition,
                created=plane.created,
                passing=fault.passing,
                lost_node=fault.lost_node,
                diagnosis=fault.diagnosis,
                fails=fault.fails,
            )


_CAUSE_BYTES: Final = 100


def harness_finding(
    reason: str,
    namespace: Namespace,
    related: ObjectRef,
    *,
    text: str,
    cause: str,
    severity: int = 0,
    transition: datetime | None = None,
    created: datetime | None = None,
    budget: timedelta | None = None,
    independent: bool = False,
    passing: bool = False,
    lost_node: str = "",
    by_spec: bool = False,
    diagnosis: Diagnosis | None = None,
    fails: Fails = Fails.OTHERWISE,
) -> Finding:
    """Return a finding about a workload namespace; the message names the object at fault first.

    `text` goes on from there, such as `was not programmed: <cause>`.
    """
    return Finding(
        reason=reason,
        subject=Subject.of_namespace(namespace.name),
        involved=NAMESPACES.ref(namespace),
        related=related,
        message=clean(f"{related} {text}"),
        cause=cut(clean(cause), _CAUSE_BYTES),
        severity=severity,
        transition=transition,
        created=created,
        budget=budget,
        independent=independent,
        passing=passing,
        lost_node=lost_node,
        by_spec=by_spec,
        diagnosis=diagnosis,
        fails=fails,
    )
