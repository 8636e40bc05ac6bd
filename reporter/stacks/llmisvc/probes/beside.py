"""What keeps no request from being answered.

llminferenceserviceScalingNotReady, llminferenceserviceGroupDegraded and
llminferenceserviceModelNameShadowed.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.catalogue.resources import HTTPROUTES, SCALEDOBJECTS
from reporter.model.finding import Finding
from reporter.probes.pods import startup_budget
from reporter.snapshot.malformed import belongs_to
from reporter.stacks.llmisvc.objects import LLMInferenceService
from reporter.stacks.llmisvc.probes.scope import NAME, LlmScope
from reporter.stacks.llmisvc.reasons import (
    GROUP_DEGRADED,
    MODEL_NAME_SHADOWED,
    SCALING_NOT_READY,
)
from reporter.stacks.llmisvc.resources import LLMS
from reporter.workload.conditions import is_false, is_true, words

_SCALING: Final = ("ScalingReady", "PrefillScalingReady")
_ALTHOUGH: Final = "; its pods serve although Ready is False for it"


def probe_scaling(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject that KEDA cannot use, else for what KServe says of it."""
    serves = _ALTHOUGH if scope.serves else ""
    failing = [
        each for each in scope.made(SCALEDOBJECTS) if is_false(each.status.condition("Ready"))
    ]
    for each in failing:
        ready = each.status.condition("Ready")
        yield scope.finding(
            reason=SCALING_NOT_READY,
            related=SCALEDOBJECTS.ref(each),
            cause=f"ScaledObject {each.name} is not ready",
            text=f"ScaledObject {each.name} is not ready, {words(ready)}{serves}",
            transition=ready.last_transition_time if ready else None,
            created=each.created,
            budget=startup_budget(scope),
        )
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


def siblings(scope: LlmScope) -> tuple[LLMInferenceService, ...]:
    """Return the other LLMInferenceServices of the namespace that run."""
    found = scope.snapshot[LLMS].in_namespace(scope.place)
    return tuple(
        each for each in found if each.name != scope.name and not (each.deleting or each.stopped)
    )


def probe_group(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if the group that it is in is degraded, or gets no request."""
    route = scope.wanted.route
    if route is None or not route.group:
        return
    said = scope.condition("GroupDegraded")
    weights = [route.weight, *(_weight(scope, each, route.group) for each in siblings(scope))]
    if is_true(said):
        cause, text = (
            (said.reason if said else "") or "GroupDegraded",
            f"GroupDegraded, {words(said)}",
        )
    elif all(each == 0 for each in weights):
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


def _weight(scope: LlmScope, sibling: LLMInferenceService, group: str) -> int | None:
    """Return the weight of a member of a group; 0 of what is none, None where nothing is set."""
    route = scope.wanted_of(sibling).route
    return route.weight if route is not None and route.group == group else 0


def probe_names(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each other one that serves a model of the same name by a route that wins.

    One that has no route yet takes nothing from others, and nothing is taken from it.
    """
    route = scope.wanted.route
    if route is None or scope.wanted.own_routes:
        return
    for each in siblings(scope):
        other = scope.wanted_of(each)
        if other.route is None or other.own_routes:
            continue
        if route.group and route.group == other.route.group:
            continue
        names = sorted(scope.wanted.names & other.names)
        if names and _may_lose(scope, each):
            yield from _shadowed(scope, each, names)


def _shadowed(
    scope: LlmScope, other: LLMInferenceService, names: Iterable[str]
) -> Iterator[Finding]:
    mine, others = scope.managed_route, scope.managed_route_of(other.name)
    which = "the older of the two routes"
    if mine and others and mine.created and others.created:
        is_older = others.created < mine.created
        why = "is older and" if is_older else "is as old, comes first by name and"
        which = f"its route {others.name} {why}"
    for name in names:
        yield scope.finding(
            reason=MODEL_NAME_SHADOWED,
            related=LLMS.ref(other),
            cause=f"model {name} of {other.name} too",
            text=f"LLMInferenceService {other.name} serves model {name} too: {which} "
            "gets the requests by that name",
            created=mine.created if mine else None,
        )


def _may_lose(scope: LlmScope, other: LLMInferenceService) -> bool:
    """Tell whether its route gives way to another one's, as far as is known.

    The oldest route wins, of routes of one age the first by namespace and name (Gateway API, HTTPRoute,
    `spec.rules.matches`).
    """
    mine, others = scope.managed_route, scope.managed_route_of(other.name)
    if mine is None or others is None:
        return not all(
            scope.snapshot.absence_known(HTTPROUTES, scope.place, sought=belongs_to(name, NAME))
            for name in (scope.name, other.name)
        )
    if mine.created is None or others.created is None:
        return True
    return (others.created, others.name) < (mine.created, mine.name)
