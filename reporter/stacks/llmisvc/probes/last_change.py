"""When what the status of an LLMInferenceService follows from has last changed.

Kinds are read one after the other, and KServe takes a moment to follow: a status that differs from
objects that changed a second ago is no fault yet. It need not differ since then: a replica that goes,
or a kind that is served again, leaves no time.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from reporter.catalogue.resources import GATEWAYS
from reporter.model.objects import Condition, Deployment, Gateway, HttpRoute, InferencePool, Pod
from reporter.stacks.llmisvc.objects import LeaderWorkerSet
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.workload.owners import last_written


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


def _parts(scope: LlmScope) -> Iterator[Deployment | LeaderWorkerSet | Pod | Gateway]:
    gateways = (scope.snapshot[GATEWAYS].get(each.namespace, each.name) for each in scope.parents)
    runs_on = (part for role in scope.roles for part in (role.deployment, role.group_set))
    for each in (*runs_on, scope.epp, scope.tokenizer, *gateways):
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
