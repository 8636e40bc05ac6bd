"""The path to the pods: InferencePool, endpoint picker and tokenizer, HTTPRoutes and Gateways."""

from collections.abc import Iterator

from reporter.catalogue import resources as r
from reporter.catalogue.needs import is_of_istio
from reporter.diagnosis.reach import selects_ready
from reporter.model import objects as o
from reporter.model.finding import Finding
from reporter.served.ways import deployment_down, refused_way
from reporter.stacks.llmisvc import reasons
from reporter.stacks.llmisvc.derived import is_of, is_programmed
from reporter.stacks.llmisvc.scope import LlmScope
from reporter.workload import endpoint_pickers, routing
from reporter.workload.deployment import is_available
from reporter.workload.gateway_controllers import Untaken, why_untaken
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts

_MISSING, _NO_SERVICE, _SELECTS_NONE, _REFUSED, _SILENT = 40, 30, 25, 20, 10


def probe_pool(scope: LlmScope) -> Iterator[Finding]:
    absent = scope.snapshot.absent(r.INFERENCEPOOLS)
    if scope.wanted.scheduler is None or absent:
        return
    pool = scope.pool
    if pool is None:
        yield from _missing(scope)
        return
    for cause, text, severity in _flaws(scope, pool):
        yield scope.finding(
            reason=reasons.POOL_NOT_READY,
            related=r.INFERENCEPOOLS.ref(pool),
            cause=cause,
            text=f"InferencePool {pool.name} {text}",
            severity=severity,
            created=pool.created,
            independent=True,
            by_spec=severity == _NO_SERVICE,
        )
    if scope.wanted.route is None and not is_accepted(scope) and not _leads_here(scope, pool):
        gateways = (scope.gateway(each) for each in scope.gateways)
        causes = (why_untaken(each, scope.snapshot, of_pool=True) for each in gateways if each)
        untaken = next((each for each in causes if each.text), Untaken())
        yield scope.finding(
            reason=reasons.POOL_NOT_READY,
            related=untaken.related or r.INFERENCEPOOLS.ref(pool),
            cause="no route",
            text=f"no HTTPRoute of the namespace leads to InferencePool {pool.name}, no Gateway "
            f"has accepted it, and without spec.router.route KServe makes no route{untaken.text}",
            severity=_SILENT,
            created=pool.created,
            independent=True,
        )
    for parent in sorted(scope.parents - _accepting(scope)):
        if not at_fault(scope, parent):
            yield _unaccepted(scope, pool, parent)


def is_accepted(scope: LlmScope) -> bool:
    """Return True if Gateways accept the pool, so that requests come through it.

    If KServe knows no route, one Gateway is enough, of spec.router.gateway.refs or any other.
    """
    if scope.pool is None:
        return False
    accepting = _accepting(scope)
    return scope.parents <= accepting if scope.parents else bool(accepting)


def _accepting(scope: LlmScope) -> frozenset[routing.Parent]:
    return frozenset(
        parent
        for parent, each in scope.pool_entries
        if is_true(each.condition("Accepted")) and not is_false(each.condition("ResolvedRefs"))
    )


def missing_service(scope: LlmScope) -> str:
    """Return the Service that the pool names for its endpoint picker, if it does not exist."""
    return endpoint_pickers.missing_picker_service(scope.pool, scope.snapshot) if scope.pool else ""


def _missing(scope: LlmScope) -> Iterator[Finding]:
    name = scope.wanted.own_pool
    if not name or not scope.snapshot.absence_known(r.INFERENCEPOOLS, scope.place, name):
        return
    if scope.former_pool is None and scope.snapshot.known(r.FORMER_POOLS):
        yield scope.finding(
            reason=reasons.POOL_NOT_READY,
            related=r.INFERENCEPOOLS.ref_named(scope.place, name),
            cause=f"InferencePool {name} missing",
            text=f"InferencePool {name}, which spec.router.scheduler.pool names, does not exist",
            severity=_MISSING,
            independent=True,
            by_spec=True,
        )


def _flaws(scope: LlmScope, pool: o.InferencePool) -> Iterator[tuple[str, str, int]]:
    if name := missing_service(scope):
        yield (
            f"Service {name} missing",
            f"names Service {name} for its endpoint picker, which does not exist",
            _NO_SERVICE,
        )
    for flaw in endpoint_pickers.flaws(pool, scope.snapshot, scope.epp):
        yield flaw.cause, flaw.text, _SELECTS_NONE
    own = [each for each in scope.pods if counts(each)]
    selector = pool.spec.selector
    if selector is None or not own or not scope.known(r.PODS):
        return
    if not any(selector.matches(each.metadata.labels) for each in own):
        yield "selects no pod", "selects none of the pods that serve", _SELECTS_NONE
    for fault in routing.wrong_port(pool, scope.snapshot):
        yield fault.cause, fault.text, _SELECTS_NONE


def _leads_here(scope: LlmScope, pool: o.InferencePool) -> bool:
    """Return True if a route may lead to the pool: some Gateways write no status of pools."""
    return not scope.known(r.HTTPROUTES) or bool(_to_pool(scope, pool))


def _to_pool(scope: LlmScope, pool: o.InferencePool) -> tuple[o.HttpRoute, ...]:
    return tuple(
        route
        for each in (r.INFERENCEPOOLS, r.FORMER_POOLS)
        for route in routing.routes_to(scope.snapshot, scope.place, pool.name, group=each.group)
    )


def _unaccepted(scope: LlmScope, pool: o.InferencePool, parent: routing.Parent) -> Finding:
    entries = (each for of, each in scope.pool_entries if of == parent)
    found = (each.condition(name) for each in entries for name in ("Accepted", "ResolvedRefs"))
    refused, gateway = next(filter(is_false, found), None), scope.gateway(parent)
    why, untaken = "it has written no status", Untaken()
    if refused:
        why = f"{refused.type} is False, {words(refused)}"
    elif gateway:
        untaken = why_untaken(gateway, scope.snapshot, of_pool=True)
    return scope.finding(
        reason=reasons.POOL_NOT_READY,
        related=untaken.related or r.INFERENCEPOOLS.ref(pool),
        cause=f"not accepted by {parent}",
        text=f"InferencePool {pool.name} is not accepted by {parent}: {why}{untaken.text}",
        severity=_REFUSED if refused else _SILENT,
        transition=refused.last_transition_time if refused else None,
        created=pool.created,
        independent=not is_of_istiod(scope, parent),
    )


_DOWN, _UNREACHED = 2, 1


def probe_epp(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker, its Service or the tokenizer does not work.

    Of several pickers only the leader is ever ready, so one available replica is enough.
    """
    if scope.wanted.scheduler is None or scope.wanted.own_pool:
        return
    effect = _effect(scope)
    if scope.epp is not None and not is_available(scope.epp):
        yield _down(scope, scope.epp, what="endpoint picker", effect=effect)
    elif scope.epp is not None and (service := unreached_service(scope)) is not None:
        yield scope.finding(
            reason=reasons.EPP_NOT_READY,
            related=r.SERVICES.ref(service),
            cause=f"Service {service.name} selects no ready pod",
            text=f"Service {service.name} selects no ready pod of the endpoint picker; {effect}",
            severity=_UNREACHED,
            created=service.created,
        )
    if scope.tokenizer is not None and not is_available(scope.tokenizer):
        effect = "the endpoint picker cannot count tokens"
        yield _down(scope, scope.tokenizer, what="tokenizer", effect=effect)


def _down(scope: LlmScope, deployment: o.Deployment, *, what: str, effect: str) -> Finding:
    unavailable = deployment.status.condition("Available", "False")
    return deployment_down(
        scope,
        deployment,
        what=what,
        effect=f"; {effect}",
        reason=reasons.EPP_NOT_READY,
        severity=_DOWN,
        transition=unavailable.last_transition_time if unavailable else None,
        independent=False,
    )


def _effect(scope: LlmScope) -> str:
    """Return what happens to requests; FailClose is the default of the pool's API."""
    reference = scope.pool.spec.endpoint_picker_ref if scope.pool else None
    if reference is None:
        return "what becomes of requests, failureMode of its pool says"
    if reference.failure_mode == "FailOpen":
        return "a Gateway that honours failureMode FailOpen sends requests to any pod"
    default = "" if reference.failure_mode else ", the default"
    return f"requests fail without it, by failureMode FailClose{default}"


def unreached_service(scope: LlmScope) -> o.Service | None:
    """Return the Service of the endpoint picker if it exists and selects no ready pod of it."""
    reference = scope.pool.spec.endpoint_picker_ref if scope.pool else None
    service = scope.snapshot[r.SERVICES].get(scope.place, reference.name) if reference else None
    unreached = service is not None and selects_ready(service, scope.snapshot) is False
    return service if unreached else None


_NO_ROUTE, _NO_BACKEND, _NO_STATUS, _STALE = 40, 30, 24, 10


def probe_route(scope: LlmScope) -> Iterator[Finding]:
    if scope.wanted.route is None or scope.snapshot.absent(r.HTTPROUTES):
        return
    for each in scope.wanted.own_routes:
        place = each.namespace or scope.place
        if scope.snapshot.lacks(r.HTTPROUTES, place, each.name):
            yield scope.finding(
                reason=reasons.ROUTE_NOT_READY,
                related=r.HTTPROUTES.ref_named(place, each.name),
                cause=f"HTTPRoute {each.name} missing",
                text=f"HTTPRoute {place}/{each.name}, which spec.router.route names, does not "
                "exist",
                severity=_NO_ROUTE,
                independent=True,
                by_spec=True,
            )
    for route in scope.routes:
        faults = list(_faults(scope, route))
        if not faults:
            continue
        worst, parent = min(faults, key=lambda each: (-each[0].severity, each[0].text))
        yield scope.finding(
            reason=reasons.ROUTE_NOT_READY,
            related=r.HTTPROUTES.ref(route),
            cause=worst.cause,
            text=f"HTTPRoute {route.name}: {worst.text}",
            severity=worst.severity,
            transition=worst.transition,
            created=route.created,
            independent=parent is None or not is_of_istiod(scope, parent),
            diagnosis=worst.diagnosis,
        )


def probe_others_route(scope: LlmScope) -> Iterator[Finding]:
    """Yield the faults of routes that KServe does not know, if no route leads to the pool.

    Without spec.router.route, the user creates the route to the pool.
    """
    pool = scope.pool
    if scope.wanted.route is not None or pool is None or scope.snapshot.absent(r.HTTPROUTES):
        return
    routes = _to_pool(scope, pool)
    if is_accepted(scope) or routing.is_reachable(routes):
        return
    found = [
        (route, fault)
        for route in routes
        for fault in routing.route_faults(route, scope.snapshot)
        if fault.condition is not None
    ]
    for route, fault in found or ([] if routes else [*routing.astray(pool, scope.snapshot)]):
        ref = r.HTTPROUTES.ref(route)
        yield refused_way(
            scope, ref, fault, reason=reasons.ROUTE_NOT_READY, made=route.created or pool.created
        )


def accepts(scope: LlmScope) -> bool:
    return bool(scope.routes) and not any(probe_route(scope))


def _faults(
    scope: LlmScope, route: o.HttpRoute
) -> Iterator[tuple[routing.ParentFault, routing.Parent | None]]:
    yield from ((each, None) for each in routing.other_group(route, scope.snapshot))
    if not any(each.backend_refs for each in route.spec.rules or ()):
        yield routing.ParentFault("no backend", "no rule of it has a backend", _NO_BACKEND), None
    parents = sorted(routing.named(route))
    if not parents:
        yield routing.ParentFault("no parent", "it names no parent Gateway", _NO_STATUS), None
    for parent in parents:
        dark = parent.is_gateway and at_fault(scope, parent)
        if not dark and (fault := _of_parent(scope, route, parent)):
            yield fault, parent


def _of_parent(
    scope: LlmScope, route: o.HttpRoute, parent: routing.Parent
) -> routing.ParentFault | None:
    """Judge the status of one parent; policy controllers write the entries without Accepted."""
    written = (each for of, each in routing.entries_of(route) if of == parent)
    entries = [(each, accepted) for each in written if (accepted := each.condition("Accepted"))]
    if not entries:
        gateway = scope.gateway(parent)
        untaken = why_untaken(gateway, scope.snapshot).text if gateway else ""
        text = f"no controller has accepted it for {parent}{untaken}"
        return routing.ParentFault("not accepted", text, _NO_STATUS)
    fault = routing.judge_entries(parent, [each for each, _ in entries])
    if fault is not None:
        return routing.explained(fault, route, scope.snapshot)
    if any(is_of(each, route.metadata.generation) for _, each in entries):
        return None
    text = f"{parent} has not looked at its present spec"
    return routing.ParentFault("stale status", text, _STALE)


def probe_gateways(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway that is missing or not programmed for its current spec."""
    if scope.snapshot.absent(r.GATEWAYS):
        return
    for parent in scope.gateways:
        gateway = scope.gateway(parent)
        if gateway is None:
            if scope.snapshot.absence_known(r.GATEWAYS, parent.namespace, parent.name):
                yield scope.finding(
                    reason=reasons.GATEWAY_NOT_READY,
                    related=r.GATEWAYS.ref_named(parent.namespace, parent.name),
                    cause=f"{parent} is missing",
                    text=f"{parent} does not exist, so no request comes from outside",
                    severity=1,
                    independent=True,
                    by_spec=True,
                )
        elif not is_programmed(gateway):
            yield _not_programmed(scope, parent, gateway)
    for refused in scope.refers_to_nothing if not (scope.routes or scope.gateways) else ():
        yield scope.finding(
            reason=reasons.GATEWAY_NOT_READY,
            cause=f"{refused.type} {refused.reason}",
            text=f"KServe makes no route: {refused.type} is False, {words(refused)}",
            transition=refused.last_transition_time,
            independent=True,
            by_spec=True,
        )


def at_fault(scope: LlmScope, parent: routing.Parent) -> bool:
    """Return True if a Gateway is missing or not programmed; its status does not count then."""
    gateway = scope.gateway(parent)
    gone = scope.snapshot.lacks(r.GATEWAYS, parent.namespace, parent.name)
    return gone or (gateway is not None and not is_programmed(gateway))


def is_of_istiod(scope: LlmScope, parent: routing.Parent) -> bool:
    """Return True if Istio writes the status of a Gateway and of the objects that refer to it."""
    gateway = scope.gateway(parent)
    return gateway is not None and is_of_istio(gateway, scope.snapshot)


def _not_programmed(scope: LlmScope, parent: routing.Parent, gateway: o.Gateway) -> Finding:
    programmed = gateway.status.condition("Programmed")
    lags = is_true(programmed)
    why = "its present spec has not been looked at" if lags else f"{words(programmed)}"
    untaken = why_untaken(gateway, scope.snapshot)
    return scope.finding(
        reason=reasons.GATEWAY_NOT_READY,
        related=untaken.related or r.GATEWAYS.ref(gateway),
        cause=f"{parent} is not programmed",
        text=f"{parent} is not programmed, {why}{untaken.text or '; KServe does not show it'}",
        transition=programmed.last_transition_time if programmed and not lags else None,
        created=gateway.created,
        independent=not is_of_istiod(scope, parent),
    )
