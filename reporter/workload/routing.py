"""Whether requests come through HTTPRoutes and InferencePools, by what their parents say of them."""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.catalogue.resources import GATEWAYS, SERVICES
from reporter.model.finding import Entrance
from reporter.model.objects import HttpRoute, InferencePool
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.parents import ParentFault, judge_entries, parent_of, serves

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
    """Return the Gateways that requests of some routes come through."""
    parents = (
        parent_of(each, route.namespace)
        for route in routes
        for each in route.spec.parent_refs or ()
    )
    return frozenset((each.namespace, each.name) for each in parents if each.is_gateway)


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
