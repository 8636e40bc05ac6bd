"""Whether the status matches the objects, and faults that do not keep requests from being answered.

Kinds are read one after the other, and KServe takes a moment to follow: a status that differs from
objects that changed a second ago is not a fault yet. The difference may be newer than the last
change: a replica that goes, or a kind that is served again, leaves no timestamp.

KServe's route sends the paths of completions to the InferencePool and all others, such as
`/v1/models`, to the Service of the pods; older releases send everything to the pool
(github.com/kserve/kserve, config/llmisvcconfig/config-llm-router-route.yaml). So a model that can
be listed proves nothing about completions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.objects import Gateway, HttpRoute, InferencePool, KubeObject, Pod
from reporter.model.objects.gateway import RouteRule
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import Scope
from reporter.served.role import Workload, all_serve
from reporter.served.scaledobjects import judge_scalers
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.llmisvc import reasons
from reporter.stacks.llmisvc.derived import OF_ROUTER, SCALING, counted, worked
from reporter.stacks.llmisvc.objects import WorkloadsStatus
from reporter.stacks.llmisvc.scope import LlmScope
from reporter.workload.owners import is_false, is_true, last_written, latest, spec_written, words


def last_change(scope: LlmScope, fields: Iterable[str]) -> datetime | None:
    """Return when anything that its status depends on last changed, as far as timestamps show."""
    found: list[Workload | Gateway | Pod | None] = [scope.epp, scope.tokenizer, *scope.pods]
    found += [*(each.workload for each in scope.roles), *map(scope.gateway, scope.parents)]
    parts = [each for each in found if each is not None]
    pools = (each for each in (scope.pool, scope.former_pool) if each is not None)
    routes: tuple[HttpRoute | InferencePool, ...] = (*scope.routes, *pools)
    entries = (entry for each in routes for entry in each.status.parents or ())
    statuses = (*(each.status for each in parts), *entries)
    return latest(
        *map(last_written, (scope.object, *parts, *routes)),
        *(each.last_transition_time for status in statuses for each in status.conditions or ()),
        *(each.last_transition_time for each in map(scope.condition, fields) if each),
    )


def probe_stale(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if KServe lags behind the spec, or the status behind the objects."""
    status = scope.object.status
    if not status.conditions and status.observed_generation is None:
        return
    fields = tuple(contradicted(scope))
    if not scope.observed:
        cause, text = "observedGeneration", "KServe has not looked at its newest spec"
        since, changed = spec_written(scope.object), scope.object.created
    elif fields:
        seen = [each.seen for each in worked(scope) if each.seen and each.type in fields]
        text = "; ".join((f"its status does not match its objects, in {', '.join(fields)}", *seen))
        cause, since, changed = fields[0], None, last_change(scope, fields)
    else:
        return
    yield scope.finding(
        reason=reasons.STATUS_STALE,
        cause=cause,
        text=text,
        transition=since,
        created=changed,
    )


def contradicted(scope: LlmScope) -> Iterator[str]:
    """Yield the conditions and counts that differ from the objects.

    An error ends KServe's pass, and later fields stay as they were. KServe may report a route or
    Gateway as missing although it exists: it reads them from a cache.
    """
    missing = {each.type for each in scope.refers_to_nothing}
    failed = {each.type for each in scope.errors} | missing
    if not scope.observed or scope.invalid_presets is not None or not failed <= OF_ROUTER:
        return
    for each in worked(scope):
        condition = scope.condition(each.type)
        frozen = bool(failed) and each.type in OF_ROUTER
        if condition is None or each.ready is None:
            continue
        if frozen and not (each.type in missing and each.ready):
            continue
        if is_true(condition) is not each.ready:
            yield each.type
    if not failed:
        yield from _miscounted(scope)


def _miscounted(scope: LlmScope) -> Iterator[str]:
    stored = scope.object.status.workloads or WorkloadsStatus()
    by_entry = {"primary": stored.primary, "prefill": stored.prefill}
    for entry, (name, ready) in counted(scope).items():
        count = by_entry[entry]
        if count is not None and count.name == name and count.ready_replicas not in {None, ready}:
            yield f"workloads.{entry}.readyReplicas"


_ENOUGH: Final = 2
"""How many routes are kept per model name; see `_first_of_names`."""

ValueT = TypeVar("ValueT")

_ALTHOUGH: Final = "; its pods serve although Ready is False for it"


def probe_scaling(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each scaler that does not work, else for KServe's scaling conditions."""
    serves = _ALTHOUGH if all_serve(scope.roles) and is_false(scope.condition("Ready")) else ""
    kinds: tuple[Resource[KubeObject], ...] = (r.DEPLOYMENTS, reasons.LEADERWORKERSETS)
    made = [(kind.kind, each.name) for kind in kinds for each in scope.made(kind)]
    named, budget = scope.made(r.SCALEDOBJECTS), startup_budget(scope)
    failing = tuple(judge_scalers(scope, made, also=named, serves=serves, budget=budget))
    yield from failing
    scaled = any(each.scaling for each in scope.wanted.workloads)
    for condition in map(scope.condition, SCALING):
        if failing or not scaled or not is_false(condition):
            continue
        if not (condition.reason or "").endswith("Progressing"):
            yield scope.finding(
                reason=reasons.SCALING_NOT_READY,
                cause=f"{condition.type} {condition.reason or 'is False'}",
                text=f"{condition.type} is False, {words(condition)}{serves}",
                transition=condition.last_transition_time,
                budget=startup_budget(scope),
            )


@dataclass(frozen=True, slots=True)
class _Serving:
    """A running LLMInferenceService with a route, as others of its namespace see it."""

    name: str
    ref: ObjectRef
    group: str  # of routes that share requests by weight; empty for none
    weight: int | None
    names: frozenset[str]  # of the models that it serves by a route of KServe's
    route: str  # the name of that route; empty if it is not seen
    created: datetime | None  # when that route was created, if known


def _all_serving(
    place: str, settings: EvaluationSettings, snapshot: Snapshot
) -> tuple[_Serving, ...]:
    """Return the services of a namespace, by name; computed once for all of them."""

    def find(snapshot: Snapshot) -> tuple[_Serving, ...]:
        cluster = Scope(snapshot=snapshot, settings=settings)
        running = (
            LlmScope.of(reasons.LLMS, each, cluster)
            for each in snapshot[reasons.LLMS].in_namespace(place)
            if not (each.deleting or each.stopped)
        )
        return tuple(each for each in map(_serving, running) if each is not None)

    return snapshot.once(("serving", place), find)


def _serving(scope: LlmScope) -> _Serving | None:
    route, made = scope.wanted.route, scope.managed_route
    if route is None:
        return None
    own = scope.wanted.own_routes or (made is None and scope.known(r.HTTPROUTES))
    return _Serving(
        scope.name,
        scope.ref,
        route.group or "",
        route.weight,
        names=frozenset() if own else scope.served_names,
        route=made.name if made else "",
        created=made.created if made else None,
    )


def _first_of_names(
    place: str, settings: EvaluationSettings, snapshot: Snapshot
) -> Mapping[str, tuple[_Serving, ...]]:
    """Return who gets the requests for each model: the oldest routes, and those of unknown age.

    The first routes of two groups are enough: every other route can be compared with one of them.
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
    """Return a sort key: older routes get requests first, then by name (Gateway API, HTTPRoute)."""
    made = each.created
    return made is None, made.timestamp() if made else 0, each.route, each.name


def probe_group(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if its group is degraded, or gets no requests."""
    route = scope.wanted.route
    if route is None or not route.group:
        return
    degraded = scope.condition("GroupDegraded")
    since: datetime | None = None
    if is_true(degraded):
        cause, text = degraded.reason or "GroupDegraded", f"GroupDegraded, {words(degraded)}"
        since = degraded.last_transition_time
    elif route.weight == 0 and not _of_namespace(scope, route.group, _weights):
        cause = "no weight"
        text = f"no member of group {route.group} that runs has a weight above 0"
    else:
        return
    yield scope.finding(
        reason=reasons.GROUP_DEGRADED, related=scope.ref, cause=cause, text=text, transition=since
    )


def _weights(place: str, settings: EvaluationSettings, snapshot: Snapshot) -> Mapping[str, bool]:
    """Return the groups of a namespace that have a member which gets requests."""
    every = _all_serving(place, settings, snapshot)
    return {each.group: True for each in every if each.weight != 0}


def probe_names(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if another route gets the requests for a model that it serves too.

    A service without a route takes no requests from others, and loses none.
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
        reason=reasons.MODEL_NAME_SHADOWED,
        related=other.ref,
        cause=f"model {model} of {other.name} too",
        text=f"LLMInferenceService {other.name} serves model {model} too: {which} "
        "gets the requests by that name",
        created=mine.created if mine else None,
    )


def avoids_pools(routes: Iterable[HttpRoute]) -> bool:
    """Return True if completions can reach the pods without an InferencePool.

    Rules with a path for completions take precedence over the other rules of a route.
    """
    for route in routes:
        rules = route.spec.rules or ()
        named = [each for each in rules if any("completions" in path for path in _paths(each))]
        for rule in named or rules:
            if any(each.kind != r.INFERENCEPOOLS.kind for each in rule.backend_refs or ()):
                return True
    return False


def _paths(rule: RouteRule) -> Iterator[str]:
    return (match.path.value for match in rule.matches or () if match.path is not None)
