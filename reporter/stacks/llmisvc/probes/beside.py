"""What keeps no request from being answered.

llminferenceserviceScalingNotReady, llminferenceserviceGroupDegraded and
llminferenceserviceModelNameShadowed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from reporter.catalogue.resources import HTTPROUTES, SCALEDOBJECTS
from reporter.model.finding import Finding
from reporter.model.subject import ObjectRef
from reporter.probes.pods import startup_budget
from reporter.probes.scope import Scope
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import (
    GROUP_DEGRADED,
    MODEL_NAME_SHADOWED,
    SCALING_NOT_READY,
)
from reporter.stacks.llmisvc.resources import LLMS
from reporter.workload.owners import is_false, is_true, words

_SCALING: Final = ("ScalingReady", "PrefillScalingReady")
_ENOUGH: Final = 2
"""Routes of one name that are compared with; see `_first_of_names`."""

ValueT = TypeVar("ValueT")

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


@dataclass(frozen=True, slots=True)
class _Serving:
    """An LLMInferenceService that runs and asks for a route, as others of its namespace see it.

    Attributes:
        name: its own.
        ref: to it.
        group: of routes that share requests by weight; empty for none.
        weight: in its group.
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
