"""Whether requests come through HTTPRoutes and InferencePools, by what their parents say of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reporter.catalogue.resources import GATEWAYS, HTTPROUTES, INFERENCEPOOLS, SERVICES
from reporter.model.finding import Entrance
from reporter.model.objects import HttpRoute, InferencePool
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.conditions import is_true
from reporter.workload.parents import Parent, ParentFault, judge_entries, parent_of, serves

GATEWAY_GONE: Final = 30
NO_PARENT: Final = 24
"""Severities, on the scale of those of what parents say."""


def route_faults(route: HttpRoute, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Yield what is wrong with a route, parent by parent."""
    wanted = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    if not wanted:
        yield ParentFault("no parent", "names no parent Gateway", NO_PARENT)
    for parent in sorted(wanted):
        gateway = snapshot[GATEWAYS].get(parent.namespace, parent.name)
        if parent.is_gateway and gateway is not None and gateway.deleting:
            continue
        known = snapshot.absence_known(GATEWAYS, parent.namespace, parent.name)
        if parent.is_gateway and gateway is None and known:
            yield ParentFault(f"{parent} is gone", f"{parent} does not exist", GATEWAY_GONE)
            continue
        entries = [
            each
            for each in route.status.parents or ()
            if parent_of(each.parent_ref, route.namespace) == parent
        ]
        if not entries:
            text = f"{parent} has not accepted it: status.parents has no entry"
            yield ParentFault("no status of its parent", text, NO_PARENT)
            continue
        fault = judge_entries(parent, entries)
        if fault is not None:
            yield fault


def pool_faults(pool: InferencePool, snapshot: Snapshot) -> Iterator[ParentFault]:
    """Judge what parents say of a pool; entries of a Gateway that is gone are left over."""
    entries = pool.status.parents or ()
    for parent in sorted({parent_of(each.parent_ref, pool.namespace) for each in entries}):
        known = snapshot.absence_known(GATEWAYS, parent.namespace, parent.name)
        if parent.is_gateway and known:
            gateway = snapshot[GATEWAYS].get(parent.namespace, parent.name)
            if gateway is None or gateway.deleting:
                continue
        own = [each for each in entries if parent_of(each.parent_ref, pool.namespace) == parent]
        fault = judge_entries(parent, own)
        if fault is not None:
            yield fault


def is_accepted(route: HttpRoute) -> bool:
    """Tell whether every parent that the route names serves it."""
    wanted = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    serving = {
        parent_of(each.parent_ref, route.namespace)
        for each in route.status.parents or ()
        if serves(each)
    }
    return bool(wanted) and wanted <= serving


def entrances_of(routes: Iterable[HttpRoute]) -> frozenset[Entrance]:
    """Return the Gateways that requests of some routes come through.

    A Gateway of another namespace is one only if it has accepted the route: anybody may name it.
    """
    return frozenset(
        (parent.namespace, parent.name)
        for route in routes
        for parent in parents_of(route)
        if parent.is_gateway
    )


def parents_of(route: HttpRoute) -> Iterator[Parent]:
    """Yield the parents that a route names and that are of its namespace, or have accepted it."""
    accepted = {
        parent_of(each.parent_ref, route.namespace)
        for each in route.status.parents or ()
        if is_true(each.condition("Accepted"))
    }
    for reference in route.spec.parent_refs or ():
        parent = parent_of(reference, route.namespace)
        if parent.namespace == route.namespace or parent in accepted:
            yield parent


def routes_to(
    snapshot: Snapshot, namespace: str, pool: str, *, group: str
) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes of a namespace that lead to one of its InferencePools, by name."""

    def index(snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[HttpRoute, ...]]:
        found: dict[tuple[str, str], list[HttpRoute]] = defaultdict(list)
        for route in snapshot[HTTPROUTES].in_namespace(namespace):
            for backend in set(_pools(route)):
                found[backend].append(route)
        return {backend: tuple(routes) for backend, routes in found.items()}

    return snapshot.entry(("routes to pools", namespace), (group, pool), index) or ()


def pool_names(route: HttpRoute, group: str) -> tuple[str, ...]:
    """Return the names of the InferencePools of a group in its own namespace that a route leads to."""
    return tuple(name for of, name in _pools(route) if of == group)


def _pools(route: HttpRoute) -> Iterator[tuple[str, str]]:
    """Yield group and name of each InferencePool in its own namespace that a route leads to."""
    for rule in route.spec.rules or ():
        for each in rule.backend_refs or ():
            if each.kind == INFERENCEPOOLS.kind and each.namespace in (None, "", route.namespace):
                yield each.group or INFERENCEPOOLS.group, each.name


def is_reachable(routes: Iterable[HttpRoute]) -> bool:
    """Tell whether some parent of some route lets requests through."""
    return any(
        serves(each)
        for route in routes
        for each in route.status.parents or ()
        if parent_of(each.parent_ref, route.namespace)
        in {parent_of(named, route.namespace) for named in route.spec.parent_refs or ()}
    )


def fails_open(pool: InferencePool | None) -> bool:
    """Tell whether requests get through without the endpoint picker of a pool.

    A pool that does not say so fails closed (Gateway API Inference Extension, `failureMode`).
    """
    reference = pool.spec.endpoint_picker_ref if pool else None
    return reference is not None and reference.failure_mode == "FailOpen"


def missing_picker_service(pool: InferencePool, snapshot: Snapshot) -> str:
    """Return the Service that a pool names for its endpoint picker, if it is known not to exist.

    Empty where it is there, where nobody can tell, and where the pool names none. The reference has
    no namespace, and without group and kind it is to a Service of the core group (Gateway API
    Inference Extension, api/v1/inferencepool_types.go, `EndpointPickerRef`).
    """
    reference = pool.spec.endpoint_picker_ref
    if reference is None or not reference.name:
        return ""
    if reference.group or (reference.kind or SERVICES.kind) != SERVICES.kind:
        return ""
    place, name = pool.namespace, reference.name
    gone = snapshot[SERVICES].get(place, name) is None
    return name if gone and snapshot.absence_known(SERVICES, place, name) else ""
