"""modelserviceRouteNotReady: the way from the Gateway to the pods."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import GATEWAYS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import Finding
from reporter.model.objects import HttpRoute, InferencePool, KubeObject, ParentStatus
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.model.text import detail
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.operator import ISTIO
from reporter.stacks.otterscale.probes.missing import is_missing
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import ROUTE
from reporter.stacks.otterscale.resources import DESTINATIONRULES
from reporter.workload.pod import counts
from reporter.workload.routing import (
    GATEWAY_GONE,
    Parent,
    ParentFault,
    missing_picker_service,
    parent_of,
    pool_faults,
    route_faults,
    serves,
)

_NOT_INSTALLED: Final = 50
_NOT_PROGRAMMED: Final = 28
_RULE_MISSING: Final = 22
_NO_SERVICE: Final = 21
_SELECTS_NONE: Final = 15
_UNSETTLED: Final = 5


def probe_route(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each object through which no request comes."""
    yield from _not_installed(scope)
    route, pool = scope.route, scope.pool
    if route is not None and not route.deleting:
        yield from _about(
            scope, HTTPROUTES.ref(route), route.created, faults=tuple(_of_route(scope, route))
        )
    if pool is not None and not pool.deleting:
        yield from _about(
            scope, INFERENCEPOOLS.ref(pool), pool.created, faults=tuple(_of_pool(scope, pool))
        )
    yield from _missing_rule(scope)


def _not_installed(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each kind that requests need and that the cluster does not have."""
    wanted: list[tuple[Resource[KubeObject], str]] = [
        (INFERENCEPOOLS, names.inference_pool(scope.service.name))
    ]
    if scope.service.spec.http_route is not None:
        wanted.append((HTTPROUTES, names.http_route(scope.service.name)))
    for resource, name in wanted:
        if scope.snapshot.state(resource).served is Served.ABSENT:
            yield scope.finding(
                reason=ROUTE,
                related=resource.ref_named(scope.place, name),
                cause=f"{resource.kind} is not installed",
                text=f"{resource.kind} {name} cannot exist: CustomResourceDefinition "
                f"{resource.crd_name} is not installed",
                severity=_NOT_INSTALLED,
            )


def _of_route(scope: ModelServiceScope, route: HttpRoute) -> Iterator[ParentFault]:
    yield from route_faults(route, scope.snapshot)
    named = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    for parent in sorted(named):
        if parent.is_gateway and (fault := _not_programmed(parent, scope.snapshot)):
            yield fault
    entries = route.status.parents or ()
    yield from _unsettled(
        scope,
        tuple(each for each in entries if parent_of(each.parent_ref, scope.place) in named),
    )


def _of_pool(scope: ModelServiceScope, pool: InferencePool) -> Iterator[ParentFault]:
    yield from pool_faults(pool, scope.snapshot)
    yield from _unsettled(scope, pool.status.parents or ())
    service = missing_picker_service(pool, scope.snapshot)
    if service not in {"", scope.epp_name}:  # that its own is missing is told as such
        text = f"its endpoint picker's Service {service} does not exist"
        yield ParentFault(f"Service {service} missing", text, _NO_SERVICE)
    if _selects_none(scope, pool):
        text = "its selector matches none of the pods, so requests find no endpoint"
        yield ParentFault("InferencePool selects no pod", text, _SELECTS_NONE)


def _not_programmed(parent: Parent, snapshot: Snapshot) -> ParentFault | None:
    gateway = snapshot[GATEWAYS].get(parent.namespace, parent.name)
    programmed = gateway.status.condition("Programmed") if gateway else None
    if programmed is None or programmed.status != "False":
        return None
    text = detail(programmed.reason, programmed.message) or "no reason"
    return ParentFault(
        "Gateway is not programmed",
        f"Programmed is False for its {parent}, {text}",
        _NOT_PROGRAMMED,
        programmed.last_transition_time,
    )


def _unsettled(
    scope: ModelServiceScope, entries: tuple[ParentStatus, ...]
) -> Iterator[ParentFault]:
    """Yield a fault for each Gateway that does not say whether it accepts.

    One that is gone has left its entry, and where a controller accepts, others need not say.
    """
    for entry in entries:
        parent = parent_of(entry.parent_ref, scope.place)
        accepted = entry.condition("Accepted")
        if accepted is None or accepted.status != "Unknown":
            continue
        others = (each for each in entries if each.controller_name != entry.controller_name)
        if any(
            serves(each) and parent_of(each.parent_ref, scope.place) == parent for each in others
        ):
            continue
        if parent.is_gateway and not _is_gone(parent, scope.snapshot):
            text = detail(accepted.reason, accepted.message) or "no reason"
            yield ParentFault(
                "Accepted is Unknown",
                f"Accepted is Unknown for {parent}, {text}",
                _UNSETTLED,
                accepted.last_transition_time,
            )


def _is_gone(gateway: Parent, snapshot: Snapshot) -> bool:
    """Tell whether a Gateway is being deleted, or known not to exist."""
    found = snapshot[GATEWAYS].get(gateway.namespace, gateway.name)
    if found is not None:
        return found.deleting
    return snapshot.absence_known(GATEWAYS, gateway.namespace, gateway.name)


def _selects_none(scope: ModelServiceScope, pool: InferencePool) -> bool:
    """Tell whether there are serving pods, and the pool selects none of them."""
    own = [each for each in scope.pods if counts(each)]
    selector = pool.spec.selector
    if selector is None or not own or not _pods_known(scope):
        return False
    return not any(selector.matches(each.metadata.labels) for each in own)


def _pods_known(scope: ModelServiceScope) -> bool:
    return scope.snapshot.absence_known(PODS, scope.place, sought=scope.own)


def _missing_rule(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding if the rule is missing that others have; the operator does not watch it.

    Only the operator's rules are read, and another one may cover the Service.
    """
    if scope.operator.provider != ISTIO or not is_missing(scope, DESTINATIONRULES, scope.epp_name):
        return
    effect = (
        "the gateway spreads requests without it (failureMode is FailOpen)"
        if scope.fails_open
        else "requests fail (failureMode is FailClose)"
    )
    yield scope.finding(
        reason=ROUTE,
        related=DESTINATIONRULES.ref_named(scope.place, scope.epp_name),
        cause=f"DestinationRule {scope.epp_name} missing",
        text=f"DestinationRule {scope.epp_name}, which makes the gateway speak TLS with the "
        f"endpoint picker, is missing: unless another rule does so, {effect}",
        severity=_RULE_MISSING,
    )


def _about(
    scope: ModelServiceScope,
    related: ObjectRef,
    created: datetime | None,
    *,
    faults: tuple[ParentFault, ...],
) -> Iterator[Finding]:
    """Yield one finding for all that is wrong with one object: the worst, and how many more."""
    if not faults:
        return
    worst, *others = sorted(faults, key=lambda each: (-each.severity, each.text))
    more = f" (and {len(others)} more)" if others else ""
    yield scope.finding(
        reason=ROUTE,
        related=related,
        cause=worst.cause,
        text=f"{related.kind} {related.name}: {worst.text}{more}",
        severity=worst.severity,
        transition=worst.transition,
        created=created,
        by_spec=worst.severity in {GATEWAY_GONE, _NO_SERVICE},
    )
