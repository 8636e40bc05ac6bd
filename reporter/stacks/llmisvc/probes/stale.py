"""What the status of an LLMInferenceService should be by its objects, and what keeps no request from being answered.

llminferenceserviceStatusStale, ...ScalingNotReady, ...GroupDegraded and ...ModelNameShadowed. Kinds are read
one after the other, and KServe takes a moment to follow: a status that differs from objects that changed a
second ago is no fault yet. It need not differ since then: a replica that goes, or a kind that is served
again, leaves no time.

The route that KServe makes sends the paths of completions to the InferencePool and all else, such as
`/v1/models`, to the Service of the pods; older releases send all to the pool
(github.com/kserve/kserve, config/llmisvcconfig/config-llm-router-route.yaml). That a model can be listed
says nothing of completions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from reporter.catalogue.resources import (
    FORMER_POOLS,
    GATEWAYS,
    HTTPROUTES,
    INFERENCEPOOLS,
    SCALEDOBJECTS,
)
from reporter.model.finding import Derived, Finding
from reporter.model.objects import Condition, Gateway, HttpRoute, InferencePool, Pod
from reporter.model.objects.gateway import RouteRule
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import Scope
from reporter.served.role import Workload, parts_of
from reporter.served.scaledobjects import judge_scalers
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.llmisvc.derived import (
    Counted,
    PassStage,
    Worked,
    derived_status,
    gateways_ready,
    pool_ready,
    routes_ready,
)
from reporter.stacks.llmisvc.objects import WorkloadsStatus
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.reasons import (
    GROUP_DEGRADED,
    LEADERWORKERSETS,
    LLMS,
    MODEL_NAME_SHADOWED,
    SCALING_NOT_READY,
    STATUS_STALE,
)
from reporter.workload.owners import is_false, is_true, last_written, spec_written, words
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


_OF_ROUTER: Final = frozenset(
    {
        "RouterReady",
        "GatewaysReady",
        "HTTPRoutesReady",
        "InferencePoolReady",
        "SchedulerWorkloadReady",
        "TokenizerReady",
    }
)


def probe_stale(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if KServe lags behind the spec, or the status behind the objects."""
    status = scope.llm.status
    if not status.conditions and status.observed_generation is None:
        return
    fields = tuple(contradicted(scope))
    if not scope.observed:
        cause, text = "observedGeneration", "KServe has not looked at its newest spec"
        since, changed = spec_written(scope.llm), scope.llm.created
    elif fields:
        cause, text = fields[0], f"its status does not match its objects, in {', '.join(fields)}"
        text += "".join(f"; {each}" for each in _seen(scope, fields))
        since, changed = None, last_change(scope, fields)
    else:
        return
    yield scope.finding(
        reason=STATUS_STALE,
        related=scope.ref,
        cause=cause,
        text=text,
        transition=since,
        created=changed,
    )


def contradicted(scope: LlmScope) -> Iterator[str]:
    """Yield the conditions and counts that differ from the objects.

    An error ends KServe's pass, and leaves what would have come after it as it was. That a route or
    Gateway is missing may be said of one that is there: KServe reads them from a cache.
    """
    stages, said = _reached(scope), _refer_to_nothing(scope)
    for each in worked(scope) if stages else ():
        condition = scope.condition(each.type)
        if condition is None or each.ready is None:
            continue
        if each.stage not in stages and not (each.type in said and each.ready):
            continue
        if is_true(condition) is not each.ready:
            yield each.type
    if PassStage.ROUTER in stages:
        yield from _miscounted(scope)


def _seen(scope: LlmScope, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield what the objects of conditions that differ say."""
    return (each.seen for each in worked(scope) if each.seen and each.type in fields)


def _reached(scope: LlmScope) -> frozenset[PassStage]:
    """Return the stages that KServe's last pass came through."""
    if not scope.observed or invalid_presets(scope) is not None:
        return frozenset()
    failed = {each.type for each in errors(scope)} | _refer_to_nothing(scope)
    if not failed:
        return frozenset(PassStage)
    return frozenset({PassStage.WORKLOADS}) if failed <= _OF_ROUTER else frozenset()


def _refer_to_nothing(scope: LlmScope) -> frozenset[str]:
    """Return the conditions that say that a route or Gateway is missing: KServe looks at no more then."""
    return frozenset(
        name
        for name in _OF_ROUTER
        if (condition := scope.condition(name)) is not None and condition.reason == "RefsInvalid"
    )


def _miscounted(scope: LlmScope) -> Iterator[str]:
    stored = scope.llm.status.workloads or WorkloadsStatus()
    told = {"primary": stored.primary, "prefill": stored.prefill}
    for each in counted(scope):
        entry = told.get(each.entry)
        if entry is None or entry.ready_replicas is None or entry.name != each.name:
            continue
        if entry.ready_replicas != each.replicas:
            yield f"workloads.{each.entry}.readyReplicas"


def derived(scope: LlmScope) -> tuple[Derived, ...]:
    """Return the status that it should have, while KServe could write one."""
    found = tuple(worked(scope))
    if not any(each.stage is PassStage.WORKLOADS for each in found) or invalid_presets(scope):
        return ()
    status = derived_status(scope.llm.metadata.generation, found, counted(scope))
    return (Derived(scope.ref, status),)


_SCALING: Final = ("ScalingReady", "PrefillScalingReady")
_ENOUGH: Final = 2
"""Routes of one name that are compared with; see `_first_of_names`."""

ValueT = TypeVar("ValueT")

_ALTHOUGH: Final = "; its pods serve although Ready is False for it"


def probe_scaling(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject that KEDA cannot use, else for what KServe says of it."""
    serves = _ALTHOUGH if scope.serves else ""
    failing = tuple(
        judge_scalers(
            scope,
            scope.made(SCALEDOBJECTS),
            reason=SCALING_NOT_READY,
            serves=serves,
            budget=startup_budget(scope),
        )
    )
    yield from failing
    if not failing and scope.wanted.scaling:
        yield from _by_condition(scope, serves)


def _by_condition(scope: LlmScope, serves: str) -> Iterator[Finding]:
    for name in _SCALING:
        condition = scope.condition(name)
        if condition is None or not is_false(condition):
            continue
        if (condition.reason or "").endswith("Progressing"):
            continue
        yield scope.finding(
            reason=SCALING_NOT_READY,
            related=scope.ref,
            cause=f"{name} {condition.reason or 'is False'}",
            text=f"{name} is False, {words(condition)}{serves}",
            transition=condition.last_transition_time,
            budget=startup_budget(scope),
        )


@dataclass(frozen=True, slots=True)
class _Serving:
    """An LLMInferenceService that runs and asks for a route, as others of its namespace see it.

    Attributes:
        group: of routes that share requests by weight; empty for none.
        names: of the models that it serves by a route of KServe's.
        route: the name of that route; empty where it is not seen.
        created: when that route was made, where it is known.

    """

    name: str
    ref: ObjectRef
    group: str
    weight: int | None
    names: frozenset[str]
    route: str
    created: datetime | None


def _all_serving(
    place: str, settings: EvaluationSettings, snapshot: Snapshot
) -> tuple[_Serving, ...]:
    """Return those of a namespace, by name: worked out once for all of them."""

    def find(snapshot: Snapshot) -> tuple[_Serving, ...]:
        cluster = Scope(snapshot=snapshot, settings=settings)
        running = (
            LlmScope.of(LLMS, each, cluster)
            for each in snapshot[LLMS].in_namespace(place)
            if not (each.deleting or each.stopped)
        )
        return tuple(each for each in map(_serving, running) if each is not None)

    return snapshot.once(("serving", place), find)


def _serving(scope: LlmScope) -> _Serving | None:
    route, made = scope.wanted.route, scope.managed_route
    if route is None:
        return None
    own = scope.wanted.own_routes or (made is None and scope.known(HTTPROUTES))
    return _Serving(
        scope.name,
        scope.ref,
        route.group or "",
        route.weight,
        names=frozenset() if own else scope.wanted.names,
        route=made.name if made else "",
        created=made.created if made else None,
    )


def _weights(place: str, settings: EvaluationSettings, snapshot: Snapshot) -> Mapping[str, bool]:
    """Return the groups of a namespace of which some member gets requests."""
    return {
        each.group: True for each in _all_serving(place, settings, snapshot) if each.weight != 0
    }


def _first_of_names(
    place: str, settings: EvaluationSettings, snapshot: Snapshot
) -> Mapping[str, tuple[_Serving, ...]]:
    """Return who takes the requests for each model: the oldest routes, and those of unknown age.

    The first ones of two groups are enough to tell each other one who is before it.
    """
    found: dict[str, list[_Serving]] = defaultdict(list)
    for each in sorted(_all_serving(place, settings, snapshot), key=_precedence):
        for name in each.names:
            alike = [one for one in found[name] if (one.created is None) is (each.created is None)]
            is_same = bool(alike) and each.group and each.group == alike[0].group
            if len(alike) < _ENOUGH and not is_same:
                found[name].append(each)
    return {name: tuple(each) for name, each in found.items()}


def _precedence(each: _Serving) -> tuple[bool, float, str, str]:
    """Return the order in which routes get requests: by age, then by name (Gateway API, HTTPRoute, `spec.rules.matches`)."""
    made = each.created
    return made is None, made.timestamp() if made else 0, each.route, each.name


def probe_group(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if the group that it is in is degraded, or gets no request."""
    route = scope.wanted.route
    if route is None or not route.group:
        return
    said = scope.condition("GroupDegraded")
    if is_true(said):
        cause, text = (
            (said.reason if said else "") or "GroupDegraded",
            f"GroupDegraded, {words(said)}",
        )
    elif route.weight == 0 and not _of_namespace(scope, route.group, _weights):
        cause, text = (
            "no weight",
            f"no member of group {route.group} that runs has a weight above 0",
        )
    else:
        return
    yield scope.finding(
        reason=GROUP_DEGRADED,
        related=scope.ref,
        cause=cause,
        text=text,
        transition=said.last_transition_time if is_true(said) and said else None,
    )


def probe_names(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for the one whose route gets the requests for a model that it serves too.

    One that has no route yet takes nothing from others, and nothing is taken from it.
    """
    mine = _serving(scope)
    if mine is None:
        return
    for model in sorted(mine.names):
        for each in _of_namespace(scope, model, _first_of_names) or ():
            is_other = each.name != mine.name and not (mine.group and mine.group == each.group)
            unsure = mine.created is None or each.created is None
            if is_other and (unsure or _precedence(each) < _precedence(mine)):
                yield _shadowed(scope, each, model)
                break


def _of_namespace(
    scope: LlmScope,
    key: str,
    make: Callable[[str, EvaluationSettings, Snapshot], Mapping[str, ValueT]],
) -> ValueT | None:
    find = partial(make, scope.place, scope.settings)
    return scope.snapshot.entry((make, scope.place), key, find)


def _shadowed(scope: LlmScope, other: _Serving, model: str) -> Finding:
    mine = scope.managed_route
    which = "the older of the two routes"
    if mine and mine.created and other.created:
        is_older = other.created < mine.created
        why = "is older and" if is_older else "is as old, comes first by name and"
        which = f"its route {other.route} {why}"
    return scope.finding(
        reason=MODEL_NAME_SHADOWED,
        related=other.ref,
        cause=f"model {model} of {other.name} too",
        text=f"LLMInferenceService {other.name} serves model {model} too: {which} "
        "gets the requests by that name",
        created=mine.created if mine else None,
    )


_COMPLETIONS: Final = "completions"


def avoids_pools(routes: Iterable[HttpRoute]) -> bool:
    """Tell whether completions have a way to the pods that leads through no InferencePool."""
    return any(
        backend.kind != INFERENCEPOOLS.kind
        for route in routes
        for rule in _with_completions(route)
        for backend in rule.backend_refs or ()
    )


def _with_completions(route: HttpRoute) -> Iterator[RouteRule]:
    """Yield the rules of a route for completions: those with such a path come before all others."""
    rules = route.spec.rules or ()
    named = [each for each in rules if any(_COMPLETIONS in path for path in _paths(each))]
    yield from named or rules


def _paths(rule: RouteRule) -> Iterator[str]:
    for match in rule.matches or ():
        if match.path is not None:
            yield match.path.value
