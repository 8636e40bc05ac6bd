"""What KServe makes of routes, Gateways and pools.

From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc/router.go, at aaac4e2. Where that cannot be
told, as where releases differ, the answer is None.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from reporter.model.objects import Condition, Gateway, HttpRoute, InferencePool, ParentStatus
from reporter.workload.owners import is_false, is_true
from reporter.workload.routing import Parent, parent_of

_OF_ROUTE: Final = ("Accepted", "ResolvedRefs")


def gateways_ready(gateways: Iterable[Gateway]) -> bool | None:
    """Return GatewaysReady: whether those that the routes lead to are programmed; none is True."""
    answers = []
    for each in gateways:
        programmed = each.status.condition("Programmed")
        current = is_of(programmed, each.metadata.generation)
        answers.append(is_true(programmed) if current or not is_true(programmed) else None)
    return all_of(answers)


def routes_ready(routes: Iterable[HttpRoute]) -> bool | None:
    """Return HTTPRoutesReady: whether all parents have accepted all routes; no route is True."""
    return all_of(_route_ready(each) for each in routes)


def pool_ready(parents: Collection[Parent], pools: Iterable[InferencePool | None]) -> bool | None:
    """Return InferencePoolReady: whether the Gateways of routes accept the pool, of either group.

    Releases up to v0.19 ask for any Gateways instead, of which all accept it. Where the two differ it
    is not known.
    """
    said = [
        (parent_of(each.parent_ref, pool.namespace), is_true(each.condition("Accepted")))
        for pool in pools
        if pool is not None
        for each in pool.status.parents or ()
    ]
    accepting = {parent for parent, accepted in said if accepted}
    now = bool(parents) and accepting.issuperset(parents)
    before = bool(said) and all(accepted for _, accepted in said)
    return now if now is before else None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all are True; None where that hangs on one that is not known."""
    found = tuple(answers)
    if False in found:
        return False
    return None if None in found else True


def is_of(condition: Condition | None, generation: int) -> bool:
    """Tell whether a condition is that of a generation; one that names none is."""
    seen = condition.observed_generation if condition else None
    return not isinstance(seen, int) or seen >= generation


def _route_ready(route: HttpRoute) -> bool | None:
    entries = [each for each in route.status.parents or () if each.condition("Accepted")]
    there = {parent_of(each.parent_ref, route.namespace) for each in entries}
    asked = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    if not asked <= there:
        return False
    return all_of(answer for each in entries for answer in _entry_ready(each, route))


def _entry_ready(entry: ParentStatus, route: HttpRoute) -> Iterator[bool | None]:
    for name in _OF_ROUTE:
        condition = entry.condition(name)
        if condition is None:
            yield None
        elif is_false(condition) or not is_of(condition, route.metadata.generation):
            yield False
        else:
            yield is_true(condition)
