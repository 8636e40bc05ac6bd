"""Whether the Gateways of a workload namespace are accepted by a controller, programmed, and served
by pods.

Istio does not write to a Gateway of an unknown class, so it never sets the conditions that the
Gateway API defines for this case (Istio 1.29.2). Istio does not look at pods when it sets
Programmed, so a Gateway can be programmed and dead.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue import reasons
from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.resources import DEPLOYMENTS, GATEWAYCLASSES, GATEWAYS, NAMESPACES
from reporter.model.finding import Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import Condition, Gateway
from reporter.model.subject import Subject
from reporter.model.text import cut, detail
from reporter.probes.scope import NamespaceScope, of_workload
from reporter.setting_types import TimeBudget
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload import routing

_CLASS_REASONS: Final = frozenset({"NoMatchingParent", "InvalidParameters", "UnsupportedValue"})
"""Reasons of Accepted=False that concern the class; others concern the Gateway itself."""

_NO_CLASS: Final = 30


@dataclass(frozen=True, slots=True)
class HarnessFault:
    """A fault of a Gateway or its dependencies, from a condition or a missing object."""

    text: str
    cause: str
    severity: int
    transition: datetime | None = None
    budget: timedelta | None = None


def probe_gateway_class(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway whose class is missing or not accepted."""
    for gateway in routing.workload_gateways(scope.snapshot, scope.namespace.name):
        fault = _class_fault(scope.snapshot, gateway) or _acceptance_fault(gateway)
        if fault is None:
            continue
        yield scope.finding(
            reason=reasons.HARNESS_GATEWAY_CLASS,
            related=GATEWAYS.ref(gateway),
            text=f"has the class {gateway.spec.gateway_class_name}, {fault.text}",
            cause=fault.cause,
            severity=fault.severity,
            transition=fault.transition,
            created=gateway.created,
            by_spec=fault.severity == _NO_CLASS,
            independent=not is_of_istio(gateway, scope.snapshot),
        )


def _class_fault(snapshot: Snapshot, gateway: Gateway) -> HarnessFault | None:
    found = snapshot[GATEWAYCLASSES].get("", gateway.spec.gateway_class_name)
    if found is None:
        # If not even the kind is served, more is wrong than one class.
        is_served = snapshot.state(GATEWAYCLASSES).served is Served.SERVED
        gone = snapshot.absence_known(GATEWAYCLASSES, name=gateway.spec.gateway_class_name)
        if not (is_served and gone):
            return None
        return HarnessFault("which does not exist", "GatewayClass missing", severity=_NO_CLASS)
    accepted = found.status.condition("Accepted", "False")
    if accepted is None:
        return None
    text = detail(accepted.reason, accepted.message) or "Accepted is False"
    return HarnessFault(
        f"which is not accepted: {text}",
        "GatewayClass not accepted",
        severity=20,
        transition=accepted.last_transition_time,
    )


def _acceptance_fault(gateway: Gateway) -> HarnessFault | None:
    """Return the fault that the Gateway's own Accepted condition shows.

    Unknown is the initial value, with the time 1970-01-01; it is a fault if it lasts, so its age is
    that of the Gateway.
    """
    accepted = gateway.status.condition("Accepted")
    if accepted is None or accepted.status == "Unknown":
        state = (
            f"Accepted is Unknown ({detail(accepted.reason or 'Pending', None)})"
            if accepted
            else "it has no condition Accepted"
        )
        return HarnessFault(
            f"which no controller has accepted: {state}", "Accepted stays Unknown", severity=10
        )
    if accepted.status != "False" or accepted.reason not in _CLASS_REASONS:
        return None
    return HarnessFault(
        f"whose controller does not accept it: {detail(accepted.reason, accepted.message)}",
        accepted.reason,
        severity=15,
        transition=accepted.last_transition_time,
    )


_LISTENER_FAULTS: Final = (
    ("Conflicted", "True"), ("ResolvedRefs", "False"), ("Programmed", "False"),
)  # fmt: skip
_ADDRESS_PENDING: Final = "address pending"
"""Istio's text while the cloud builds the load balancer; other causes have the same reason."""


def probe_gateway_programming(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway that, or a listener of which, could not be programmed."""
    for gateway in routing.workload_gateways(scope.snapshot, scope.namespace.name):
        faults = sorted(_faults(gateway, scope), key=lambda each: (-each.severity, each.text))
        if not faults:
            continue
        worst, *others = faults
        more = f" (and {len(others)} more of its conditions)" if others else ""
        yield scope.finding(
            reason=reasons.HARNESS_GATEWAY_PROGRAMMING,
            related=GATEWAYS.ref(gateway),
            text=f"could not be programmed: {worst.text}{more}",
            cause=worst.cause,
            severity=worst.severity,
            transition=worst.transition,
            created=gateway.created,
            independent=not is_of_istio(gateway, scope.snapshot),
            budget=worst.budget,
        )


def _faults(gateway: Gateway, scope: NamespaceScope) -> Iterator[HarnessFault]:
    if programmed := gateway.status.condition("Programmed", "False"):
        yield _not_programmed(gateway, programmed, scope)
    for listener in gateway.status.listeners or ():
        for type_, status in _LISTENER_FAULTS:
            if condition := listener.condition(type_, status):
                yield HarnessFault(
                    f"listener {listener.name}: {type_} is {status}, {_text(condition)}",
                    f"listener {listener.name}: {_reason(condition)}",
                    severity=20,
                    transition=condition.last_transition_time,
                )


def _not_programmed(gateway: Gateway, programmed: Condition, scope: NamespaceScope) -> HarnessFault:
    """Judge Programmed=False; if the address has no instances, the pods say why.

    Istio assigns no address to a Gateway whose Service has no endpoint: "no instances found"
    (Istio, pilot/pkg/config/kube/gateway).
    """
    text, since = _text(programmed), programmed.last_transition_time
    if programmed.reason != "AddressNotAssigned":
        return HarnessFault(text, _reason(programmed), severity=30, transition=since)
    if _ADDRESS_PENDING in (programmed.message or "").lower():
        budget = scope.settings.budget(TimeBudget.LOAD_BALANCER)
        return HarnessFault(text, _ADDRESS_PENDING, severity=10, transition=since, budget=budget)
    cause = _reason(programmed)
    for plane, fault in routing.judge_data_plane(scope.snapshot, gateway):
        text = f"{text}; Deployment {plane.name} has no ready pod: {fault.detail}"
        cause = fault.cause
    return HarnessFault(text, cause, severity=30, transition=since)


def _reason(condition: Condition) -> str:
    return condition.reason or f"{condition.type} is {condition.status}"


def _text(condition: Condition) -> str:
    return detail(_reason(condition), condition.message)


def probe_gateway_data_plane(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding for each programmed Gateway whose Deployment has no ready replica.

    A Gateway without a Deployment is served in another way.
    """
    for gateway in routing.workload_gateways(scope.snapshot, scope.namespace.name):
        if not routing.is_programmed(gateway):
            continue
        for plane, fault in routing.judge_data_plane(scope.snapshot, gateway):
            yield scope.finding(
                reason=reasons.HARNESS_GATEWAY_DATA_PLANE,
                related=DEPLOYMENTS.ref(plane),
                text=f"of Gateway {gateway.name} has no ready pod: {fault.detail}",
                cause=fault.cause,
                severity=fault.severity,
                created=plane.created,
                **of_workload(fault),
            )


_NAMES_BYTES: Final = 300


def probe_harness_ready(scope: NamespaceScope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every Gateway is programmed and has a ready data plane."""
    gateways = routing.workload_gateways(scope.snapshot, scope.namespace.name)
    works = all(routing.is_programmed(e) and _has_plane(scope.snapshot, e) for e in gateways)
    if not gateways or not works:
        return
    ref = NAMESPACES.ref(scope.namespace)
    names = cut(", ".join(each.name for each in gateways), _NAMES_BYTES)
    yield ReadyEvidence(
        reason=reasons.HARNESS_READY,
        subject=Subject.of_namespace(scope.namespace.name),
        involved=ref,
        related=ref,
        message=f"Namespace {scope.namespace.name} is ready: Gateway {names} programmed, "
        "data plane ready",
    )


def probe_harness_serving(scope: NamespaceScope) -> Iterator[ServingEvidence]:
    """Yield how many Gateways work, by the same evidence as Ready, and which let nothing through.

    Nothing can be said if a programmed Gateway has no Deployment, as with a cloud's load balancer.
    """
    snapshot, place = scope.snapshot, scope.namespace.name
    known = all(snapshot.absence_known(each, place) for each in (GATEWAYS, DEPLOYMENTS))
    gateways = routing.workload_gateways(snapshot, place)
    if not known or any(
        routing.is_programmed(each) and not routing.data_planes(snapshot, each) for each in gateways
    ):
        return
    closed = [(each.namespace, each.name) for each in gateways if not _has_plane(snapshot, each)]
    yield ServingEvidence(
        subject=Subject.of_namespace(place),
        wanted=len(gateways),
        serving=len(gateways) - len(closed),
        closed=frozenset(closed),
    )


def _has_plane(snapshot: Snapshot, gateway: Gateway) -> bool:
    return any(each.status.ready_replicas > 0 for each in routing.data_planes(snapshot, gateway))
