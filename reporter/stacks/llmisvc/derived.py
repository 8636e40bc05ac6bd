"""The status that an LLMInferenceService should have, by KServe's rules.

These are the conditions and counts that KServe would write now, as far as they follow from objects.
From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc, at aaac4e2: a Deployment's workload
is ready if it is Available (workload_single_node.go), a LeaderWorkerSet's likewise, and the
scheduler's if it has an available replica (scheduler.go); routes, Gateways and pools are judged as
in router.go; WorkloadsReady, RouterReady and Ready sum up
(pkg/apis/serving/v1alpha2/llm_inference_service_lifecycle.go). An unknown answer, for example
because releases differ, is None.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from reporter.catalogue import resources as r
from reporter.model.finding import Derived
from reporter.model.objects import Condition, Gateway, HttpRoute, ParentStatus
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.reasons import LEADERWORKERSETS
from reporter.stacks.llmisvc.scope import LlmScope
from reporter.workload.owners import is_false, is_true
from reporter.workload.routing import entries_of, named

OF_ROUTER: Final = frozenset({
    "RouterReady", "GatewaysReady", "HTTPRoutesReady", "InferencePoolReady",
    "SchedulerWorkloadReady", "TokenizerReady",
})  # fmt: skip
"""The conditions of the later stage of KServe's pass; those of workloads come before. An error ends
the pass, and later conditions stay as they were."""

SCALING: Final = ("ScalingReady", "PrefillScalingReady")

_CONDITION: Final = {
    (False, False): "MainWorkloadReady",
    (False, True): "WorkerWorkloadReady",
    (True, False): "PrefillWorkloadReady",
    (True, True): "PrefillWorkerWorkloadReady",
}


class Worked(NamedTuple):
    """A condition that follows from objects: whether it should be True, None if unknown; and the
    evidence, such as `LeaderWorkerSet big-kserve-mn is available`, which may be empty.
    """

    type: str
    ready: bool | None
    seen: str = ""


def worked(scope: LlmScope) -> Iterator[Worked]:
    """Yield the conditions that follow from the objects, in KServe's order."""
    wanted = scope.wanted
    for role in scope.roles:
        if role.ref is not None:
            kind = _CONDITION[role.name == "prefill", role.resource is LEADERWORKERSETS]
            available = role.workload.status.condition("Available") if role.workload else None
            works = is_true(available)
            seen = f"{role.ref.kind} {role.ref.name} is {'' if works else 'not '}available"
            yield Worked(kind, works, seen)
    for kind, workload in zip(SCALING, wanted.workloads, strict=False):
        if workload.scaling is not None:
            # KServe's own condition counts, because HPAs are not read.
            condition = scope.condition(kind)
            yield Worked(kind, None if condition is None else is_true(condition))
    if wanted.gateways:
        yield Worked("GatewaysReady", _gateways_ready(scope))
    if wanted.route is not None:
        ready = _routes_ready(scope)
        routes = ", ".join(sorted(f"HTTPRoute {each.name}" for each in scope.routes))
        gateways = ", ".join(sorted(f"{each.namespace}/{each.name}" for each in scope.parents))
        seen = f"{routes} is accepted, and Gateway {gateways} exists" if ready else ""
        yield Worked("HTTPRoutesReady", ready, seen)
    if wanted.scheduler is not None:
        yield Worked("InferencePoolReady", _pool_ready(scope))
    for kind, deployment in (
        ("SchedulerWorkloadReady", scope.epp),
        ("TokenizerReady", scope.tokenizer),
    ):
        if deployment is not None:
            yield Worked(kind, deployment.status.available_replicas > 0)


def counted(scope: LlmScope) -> Mapping[str, tuple[str, int]]:
    """Return name and ready replicas of each role's workload, by entry of `status.workloads`."""
    return {
        "prefill" if role.name == "prefill" else "primary": (role.ref.name, role.available)
        for role in scope.roles
        if role.ref is not None
    }


def derived(scope: LlmScope) -> tuple[Derived, ...]:
    """Return the status that it should have, without unknown conditions, if KServe could write one.

    Without a router, RouterReady is True.
    """
    found = {each.type: each.ready for each in worked(scope)}
    if found.keys() <= OF_ROUTER or scope.invalid_presets:
        return ()
    workloads = _all_of(ready for type_, ready in found.items() if type_ not in OF_ROUTER)
    router = _all_of(ready for type_, ready in found.items() if type_ in OF_ROUTER)
    whole = _all_of((workloads, router))
    found |= {"WorkloadsReady": workloads, "RouterReady": router, "Ready": whole}
    status = {
        "observedGeneration": scope.object.metadata.generation,
        "conditions": [
            {"type": type_, "status": str(ready)}
            for type_, ready in found.items()
            if ready is not None
        ],
        "workloads": {
            entry: {"name": name, "readyReplicas": ready}
            for entry, (name, ready) in counted(scope).items()
        },
    }
    return (Derived(scope.ref, status),)


def _gateways_ready(scope: LlmScope) -> bool | None:
    """Return whether the Gateways of the routes are programmed; True without any."""
    # `probe_gateways` reports references to missing Gateways.
    if not (_can_tell(scope) and all(map(scope.gateway, scope.referred_gateways))):
        return None
    return _all_of(is_programmed(each) for each in map(scope.gateway, scope.parents) if each)


def is_programmed(gateway: Gateway) -> bool | None:
    """Return whether the data plane of a Gateway has its spec; None if it had an older one."""
    programmed = gateway.status.condition("Programmed")
    lags = is_true(programmed) and not is_of(programmed, gateway.metadata.generation)
    return None if lags else is_true(programmed)


def _routes_ready(scope: LlmScope) -> bool | None:
    """Return whether all parents accept all routes; True without routes."""
    gateways_there = all(map(scope.gateway, scope.parents))
    all_there = len(scope.routes) >= max(len(scope.wanted.own_routes), 1)
    if not (gateways_there and all_there and _can_tell(scope) and scope.known(r.HTTPROUTES)):
        return None  # other probes report missing objects
    return _all_of(map(_route_ready, scope.routes))


def _route_ready(route: HttpRoute) -> bool | None:
    entries = [each for each in entries_of(route) if each[1].condition("Accepted")]
    if not named(route) <= {parent for parent, _ in entries}:
        return False
    return _all_of(answer for _, each in entries for answer in _entry_ready(each, route))


def _entry_ready(entry: ParentStatus, route: HttpRoute) -> Iterator[bool | None]:
    for name in ("Accepted", "ResolvedRefs"):
        condition = entry.condition(name)
        if condition is None:
            yield None
        elif is_false(condition) or not is_of(condition, route.metadata.generation):
            yield False
        else:
            yield is_true(condition)


def _pool_ready(scope: LlmScope) -> bool | None:
    """Return whether the Gateways of routes accept the pool, of either group.

    Releases up to v0.19 require any Gateways instead, which must all accept it. If the two rules
    differ, the answer is None.
    """
    kinds = (r.INFERENCEPOOLS, r.FORMER_POOLS)
    if scope.pool is None or not _can_tell(scope) or not all(map(scope.known, kinds)):
        return None
    entries = [(parent, is_true(each.condition("Accepted"))) for parent, each in scope.pool_entries]
    accepting = {parent for parent, accepted in entries if accepted}
    now = bool(scope.parents) and accepting >= scope.parents
    before = bool(entries) and all(accepted for _, accepted in entries)
    return now if now is before else None


def _can_tell(scope: LlmScope) -> bool:
    """Return True if the cluster serves routes and Gateways, so that KServe can read them."""
    kinds = (r.HTTPROUTES, r.GATEWAYS)
    return all(scope.snapshot.state(each).served is Served.SERVED for each in kinds)


def _all_of(answers: Iterable[bool | None]) -> bool | None:
    """Return False if any answer is False, None if any other is unknown, else True."""
    found = tuple(answers)
    if False in found:
        return False
    return None if None in found else True


def is_of(condition: Condition | None, generation: int) -> bool:
    """Return True if a condition is about a generation; one without a generation counts."""
    seen = condition.observed_generation if condition else None
    return not isinstance(seen, int) or seen >= generation
