"""When what the status of an LLMInferenceService follows from has last changed.

Kinds are read one after the other, and KServe takes a moment to follow: a status that differs from
objects that changed a second ago is no fault yet. It need not differ since then: a replica that goes,
or a kind that is served again, leaves no time.

What follows for the status of an LLMInferenceService from the objects that it has.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import FORMER_POOLS, GATEWAYS, HTTPROUTES, INFERENCEPOOLS
from reporter.model.objects import Condition, Gateway, HttpRoute, InferencePool, Pod
from reporter.served.role import Workload, parts_of
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.derived import (
    Counted,
    PassStage,
    Worked,
    gateways_ready,
    pool_ready,
    routes_ready,
)
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import (
    LEADERWORKERSETS,
)
from reporter.workload.owners import is_true, last_written
from reporter.workload.routing import Parent


def last_change(scope: LlmScope, fields: Iterable[str]) -> datetime | None:
    """Return when anything of what its status follows from last changed, as far as times tell."""
    parts, routes = tuple(_parts(scope)), tuple(_routes(scope))
    entries = (entry for each in routes for entry in each.status.parents or ())
    said = (*(each.status for each in parts), *entries)
    times = (
        *map(last_written, (scope.llm, *parts, *routes)),
        *(each.last_transition_time for status in said for each in status.conditions or ()),
        *(_moved(scope.condition(name)) for name in fields),
    )
    return max((each for each in times if each is not None), default=None)


def _parts(scope: LlmScope) -> Iterator[Workload | Pod | Gateway]:
    gateways = (scope.snapshot[GATEWAYS].get(each.namespace, each.name) for each in scope.parents)
    for each in (*parts_of(scope.roles), scope.epp, scope.tokenizer, *gateways):
        if each is not None:
            yield each
    yield from scope.pods


def _routes(scope: LlmScope) -> Iterator[HttpRoute | InferencePool]:
    yield from scope.routes
    for each in (scope.pool, scope.former_pool):
        if each is not None:
            yield each


def _moved(condition: Condition | None) -> datetime | None:
    return condition.last_transition_time if condition else None


_CONDITION: Final = {
    (False, False): "MainWorkloadReady",
    (False, True): "WorkerWorkloadReady",
    (True, False): "PrefillWorkloadReady",
    (True, True): "PrefillWorkerWorkloadReady",
}


def worked(scope: LlmScope) -> Iterator[Worked]:
    """Yield the conditions that follow from what is there, in KServe's order."""
    for role in scope.roles:
        if role.ref is not None:
            kind = _CONDITION[role.name == "prefill", role.resource is LEADERWORKERSETS]
            available = role.workload is not None and is_true(
                role.workload.status.condition("Available")
            )
            seen = f"{role.ref.kind} {role.ref.name} is {'' if available else 'not '}available"
            yield Worked(kind, PassStage.WORKLOADS, available, seen)
    for kind in _scaled(scope):
        yield Worked(kind, PassStage.WORKLOADS, _as_stored(scope, kind))
    yield from _of_router(scope)
    for kind, deployment in (
        ("SchedulerWorkloadReady", scope.epp),
        ("TokenizerReady", scope.tokenizer),
    ):
        if deployment is not None:
            yield Worked(kind, PassStage.ROUTER, deployment.status.available_replicas > 0)


def counted(scope: LlmScope) -> Iterator[Counted]:
    """Yield the entries of `status.workloads` with a count."""
    for role in scope.roles:
        if role.ref is not None:
            entry = "prefill" if role.name == "prefill" else "primary"
            yield Counted(entry, role.ref.name, role.available)


def _scaled(scope: LlmScope) -> Iterator[str]:
    wanted = scope.wanted
    if wanted.main.scaling is not None:
        yield "ScalingReady"
    if wanted.prefill is not None and wanted.prefill.scaling is not None:
        yield "PrefillScalingReady"


def _as_stored(scope: LlmScope, kind: str) -> bool | None:
    """Return what KServe says itself: HPAs are not read."""
    condition = scope.condition(kind)
    return None if condition is None else is_true(condition)


def _of_router(scope: LlmScope) -> Iterator[Worked]:
    wanted = scope.wanted
    if wanted.gateways:
        yield Worked("GatewaysReady", PassStage.ROUTER, _gateways_ready(scope))
    if wanted.route is not None:
        ready = _routes_ready(scope)
        seen = _accepted(scope) if ready else ""
        yield Worked("HTTPRoutesReady", PassStage.ROUTER, ready, seen)
    if wanted.scheduler is not None:
        yield Worked("InferencePoolReady", PassStage.ROUTER, _pool_ready(scope))


def _gateways_ready(scope: LlmScope) -> bool | None:
    refs = tuple(
        Parent("Gateway", each.namespace or scope.place, each.name)
        for each in scope.wanted.gateways
    )
    if not _can_tell(scope) or any(_gateway(scope, each) is None for each in refs):
        return None  # of a reference to nothing the probe of Gateways tells
    found = (_gateway(scope, each) for each in scope.parents)
    return gateways_ready(each for each in found if each is not None)


def _routes_ready(scope: LlmScope) -> bool | None:
    missing = any(_gateway(scope, each) is None for each in scope.parents)
    all_there = len(scope.routes) >= len(scope.wanted.own_routes)
    if missing or not all_there or not _can_tell(scope) or not scope.known(HTTPROUTES):
        return None  # of what is missing other probes tell
    return routes_ready(scope.routes)


def _accepted(scope: LlmScope) -> str:
    """Return in words that the routes are accepted by Gateways, which exist."""
    routes = ", ".join(sorted(f"HTTPRoute {each.name}" for each in scope.routes))
    gateways = ", ".join(sorted(f"{each.namespace}/{each.name}" for each in scope.parents))
    return f"{routes} is accepted, and Gateway {gateways} exists"


def _pool_ready(scope: LlmScope) -> bool | None:
    unread = (INFERENCEPOOLS, FORMER_POOLS)
    if scope.pool is None or not _can_tell(scope) or not all(map(scope.known, unread)):
        return None
    return pool_ready(scope.parents, (scope.pool, scope.former_pool))


def _can_tell(scope: LlmScope) -> bool:
    """Tell whether KServe, and we, can read what leads to it."""
    kinds = (HTTPROUTES, GATEWAYS)
    return all(scope.snapshot.state(each).served is Served.SERVED for each in kinds)


def _gateway(scope: LlmScope, parent: Parent) -> Gateway | None:
    return scope.snapshot[GATEWAYS].get(parent.namespace, parent.name)
