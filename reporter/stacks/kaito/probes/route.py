"""The request path from the Gateway to the model's pods, and its endpoint picker."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.objects import HttpRoute, InferencePool
from reporter.probes.pods import startup_budget
from reporter.probes.scope import of_workload
from reporter.served.ways import NO_SERVICE, worst_way
from reporter.snapshot.decode import selected_by
from reporter.snapshot.snapshot import Served
from reporter.stacks.kaito.probes.scope import InferenceSetScope, condition_text
from reporter.stacks.kaito.reasons import INFERENCESETS, MODEL_EPP, MODEL_ROUTE
from reporter.workload import endpoint_pickers, routing
from reporter.workload.pod import counts
from reporter.workload.replica_faults import MISSING

_ROUTE_MISSING, _POOL_MISSING, _NO_POD, _FAILED = 28, 22, 15, 10
"""Severities. A parent's report of a missing Service has 20 (`workload/routing.py`)."""

_SERVICE_FAULT: Final = "ResolvedRefs is False (InvalidExtensionRef)"
"""The cause that a parent reports for a pool whose endpoint picker's Service is missing."""


def probe_route(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each HTTPRoute and InferencePool that lets no request through."""
    ready = scope.object.status.condition("InferenceSetReady", "False")
    if ready is not None and ready.reason == "inferencesetFailed":
        # KAITO could not make the InferencePool's objects.
        yield scope.finding(
            reason=MODEL_ROUTE,
            related=INFERENCESETS.ref(scope.object),
            cause=ready.reason,
            text=f"InferenceSetReady is False, {condition_text(ready)}",
            severity=_FAILED,
            created=scope.object.created,
        )
    if not scope.wants_traffic:
        return
    routes = scope.routes
    if not routes and scope.snapshot.absence_known(r.HTTPROUTES, scope.place, sought=scope.charted):
        yield scope.finding(
            reason=MODEL_ROUTE,
            related=r.HTTPROUTES.ref_named(scope.place, scope.route_name),
            cause="HTTPRoute missing",
            text=f"HTTPRoute {scope.route_name} is missing",
            severity=_ROUTE_MISSING,
        )
    for route in routes:
        ref, faults = r.HTTPROUTES.ref(route), routing.route_faults(route, scope.snapshot)
        yield from worst_way(scope, ref, route.created, reason=MODEL_ROUTE, faults=faults)
    yield from _missing_pools(scope, routes)
    for pool in scope.pools:
        of_pool = tuple(_of_pool(scope, pool))
        ref = scope.ref_of_pool(pool)
        yield from worst_way(scope, ref, pool.created, reason=MODEL_ROUTE, faults=of_pool)
        if not of_pool:
            yield from _selects_none(scope, pool)


def _missing_pools(scope: InferenceSetScope, routes: tuple[HttpRoute, ...]) -> Iterator[Finding]:
    namespace = scope.place
    for resource in (r.INFERENCEPOOLS, r.FORMER_POOLS):
        if resource.seldom and scope.snapshot.state(resource).served is not Served.SERVED:
            continue
        names = {name for route in routes for name in routing.pool_names(route, resource.group)}
        for name in sorted(names):
            if routing.other_pool(scope.snapshot, resource.group, namespace=namespace, name=name):
                continue  # reported on the route
            if scope.snapshot.lacks(resource, namespace, name):
                yield scope.finding(
                    reason=MODEL_ROUTE,
                    related=resource.ref_named(namespace, name),
                    cause="InferencePool missing",
                    text=f"InferencePool {name} is missing, the backend of its HTTPRoute",
                    severity=_POOL_MISSING,
                )


def _of_pool(scope: InferenceSetScope, pool: InferencePool) -> Iterator[routing.ParentFault]:
    """Yield the faults of a pool: those that parents report, and a missing Service of its picker.

    If the picker itself is missing, `probe_epp` reports that instead of the Service. Parents may
    report the missing Service later: then it is one fault, since the first of them saw it.
    """
    yield from routing.wrong_port(pool, scope.snapshot)
    yield from endpoint_pickers.flaws(pool, scope.snapshot)
    faults = tuple(routing.pool_faults(pool, scope.snapshot))
    service = endpoint_pickers.missing_picker_service(pool, scope.snapshot)
    if not service or any(each.name == service and each.fault == MISSING for each in scope.pickers):
        yield from faults
        return
    same = [each for each in faults if each.cause == _SERVICE_FAULT]
    yield routing.ParentFault(
        f"Service {service} missing",
        f"its endpoint picker's Service {service} does not exist",
        NO_SERVICE,
        min((each.transition for each in same if each.transition), default=None),
    )
    yield from (each for each in faults if each not in same)


def _selects_none(scope: InferenceSetScope, pool: InferencePool) -> Iterator[Finding]:
    """Yield a finding if a pool selects no pod, which no status shows.

    While the set has no pods at all the selector may be right, so it has the start-up budget.
    """
    selector = pool.spec.selector
    sought = selected_by(selector)
    known = scope.snapshot.absence_known(r.PODS, pool.namespace, sought=sought)
    if selector is None or not known or scope.object.wanted == 0:
        return
    own = scope.pods
    if any(selector.matches(each.metadata.labels) for each in own if not each.ended):
        return
    others = scope.snapshot[r.PODS].each_selected(pool.namespace, selector)
    if not all(each.ended for each in others):
        return
    yield scope.finding(
        reason=MODEL_ROUTE,
        related=scope.ref_of_pool(pool),
        cause="InferencePool selects no pod",
        text=f"InferencePool {pool.name} selects no pod",
        severity=_NO_POD,
        created=pool.created,
        budget=None if any(map(counts, own)) else startup_budget(scope),
    )


def probe_epp(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each endpoint picker that is missing, down or degraded."""
    for each in scope.pickers if scope.wants_traffic else ():
        fault, deployment = each.fault, each.deployment
        if fault is None:
            continue
        ref = (
            r.DEPLOYMENTS.ref(deployment)
            if deployment
            else r.DEPLOYMENTS.ref_named(scope.place, each.name)
        )
        state = fault.detail if fault == MISSING else f"{fault.state}: {fault.detail}"
        yield scope.finding(
            reason=MODEL_EPP,
            related=ref,
            cause=fault.cause,
            text=f"endpoint picker is {state} (Deployment {ref.name})",
            severity=fault.severity,
            created=deployment.created if deployment else None,
            **of_workload(fault),
        )
