"""llminferenceserviceRouteNotReady: the HTTPRoutes that lead to it."""

from collections.abc import Iterator

from reporter.catalogue.resources import HTTPROUTES
from reporter.model.finding import Finding
from reporter.model.objects import HttpRoute
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.derived.router import is_of
from reporter.stacks.llmisvc.probes.gateways import at_fault, is_of_istiod
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import ROUTE_NOT_READY
from reporter.workload.routing import Parent, ParentFault, judge_entries, parent_of

_MISSING, _NO_BACKEND, _NO_STATUS, _STALE = 40, 30, 24, 10


def probe_route(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each route that is missing or does not lead to it."""
    if scope.wanted.route is None or scope.snapshot.state(HTTPROUTES).served is Served.ABSENT:
        return
    yield from _missing(scope)
    for route in scope.routes:
        faults = sorted(_faults(scope, route), key=lambda each: (-each[0].severity, each[0].text))
        if not faults:
            continue
        worst, parent = faults[0]
        yield scope.finding(
            reason=ROUTE_NOT_READY,
            related=HTTPROUTES.ref(route),
            cause=worst.cause,
            text=f"HTTPRoute {route.name}: {worst.text}",
            severity=worst.severity,
            transition=worst.transition,
            created=route.created,
            independent=parent is None or not is_of_istiod(scope, parent),
        )


def accepts(scope: LlmScope) -> bool:
    """Tell whether there is a route, and nothing is wrong with any."""
    return bool(scope.routes) and not any(probe_route(scope))


def _missing(scope: LlmScope) -> Iterator[Finding]:
    for each in scope.wanted.own_routes:
        place = each.namespace or scope.place
        known = scope.snapshot.absence_known(HTTPROUTES, place, each.name)
        if known and scope.snapshot[HTTPROUTES].get(place, each.name) is None:
            yield scope.finding(
                reason=ROUTE_NOT_READY,
                related=HTTPROUTES.ref_named(place, each.name),
                cause=f"HTTPRoute {each.name} missing",
                text=f"HTTPRoute {place}/{each.name}, which spec.router.route names, does not exist",
                severity=_MISSING,
                independent=True,
                by_spec=True,
            )


def _faults(scope: LlmScope, route: HttpRoute) -> Iterator[tuple[ParentFault, Parent | None]]:
    if not any(each.backend_refs for each in route.spec.rules or ()):
        yield ParentFault("no backend", "no rule of it has a backend", _NO_BACKEND), None
    parents = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    if not parents:
        yield ParentFault("no parent", "it names no parent Gateway", _NO_STATUS), None
    for parent in sorted(parents):
        if parent.is_gateway and at_fault(scope, parent):
            continue
        fault = _of_parent(route, parent)
        if fault is not None:
            yield fault, parent


def _of_parent(route: HttpRoute, parent: Parent) -> ParentFault | None:
    """Judge what one parent says; entries without Accepted are of controllers of policies."""
    entries = [
        each
        for each in route.status.parents or ()
        if parent_of(each.parent_ref, route.namespace) == parent and each.condition("Accepted")
    ]
    if not entries:
        return ParentFault(
            "not accepted", f"no controller has accepted it for {parent}", _NO_STATUS
        )
    fault = judge_entries(parent, entries)
    if fault is None and not any(
        is_of(each.condition("Accepted"), route.metadata.generation) for each in entries
    ):
        text = f"{parent} has not looked at its present spec"
        return ParentFault("stale status", text, _STALE)
    return fault
