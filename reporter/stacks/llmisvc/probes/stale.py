"""llminferenceserviceStatusStale: the stored status is not what the objects show.

What keeps no request from being answered.

llminferenceserviceScalingNotReady, llminferenceserviceGroupDegraded and
llminferenceserviceModelNameShadowed.

Which way requests for completions take.

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

from reporter.catalogue.resources import HTTPROUTES, INFERENCEPOOLS, SCALEDOBJECTS
from reporter.model.finding import Derived, Finding
from reporter.model.objects import HttpRoute
from reporter.model.objects.gateway import RouteRule
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import Scope
from reporter.served.scaledobjects import judge_scalers
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.llmisvc.derived import PassStage, derived_status
from reporter.stacks.llmisvc.objects import WorkloadsStatus
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors, invalid_presets
from reporter.stacks.llmisvc.probes.worked import counted, last_change, worked
from reporter.stacks.llmisvc.reasons import (
    GROUP_DEGRADED,
    LLMS,
    MODEL_NAME_SHADOWED,
    SCALING_NOT_READY,
    STATUS_STALE,
)
from reporter.workload.owners import is_false, is_true, spec_written, words

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
