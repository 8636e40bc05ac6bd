"""Explain why a Gateway does not take the InferencePools of a route.

Its conditions do not say. A controller whose inference extension is disabled reports InvalidKind
for each pool. A controller that does not look again keeps reporting BackendNotFound after the pool
was created (llm-d-incubation/llm-d-modelservice#65).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import FORMER_POOLS, HTTPROUTES, INFERENCEPOOLS
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Condition, HttpRoute, InferencePool
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot

_TAKES_NO_POOL: Final = Wording("pool-kind", "this Gateway takes no InferencePool of {group}",
    "takes no InferencePool", "{action}", Sureness.LIKELY)  # fmt: skip
STALE: Final = "route-stale"
_DOES_NOT_LOOK: Final = Wording(STALE,
    "InferencePool {name} exists by now, so that its controller probably has not looked again",
    "does not look again",
    "Change the route, such as by an annotation, or restart the Gateway's controller.",
    Sureness.LIKELY)  # fmt: skip
_NOT_FOUND: Final = Wording(STALE,
    "InferencePool {name} exists, and its controller does not find it by this reference",
    "does not find the pool",
    "Give the backendRef the pool's port, which some controllers need; else restart the Gateway's "
    "controller.", Sureness.LIKELY)  # fmt: skip
_READS_NONE: Final = Wording(STALE,
    "InferencePool {name} exists: its controller reads pools only where its chart has them "
    "switched on", "reads no pools",
    "Set inferenceExtension.enabled=true in the chart of agentgateway.",
    Sureness.LIKELY)  # fmt: skip
_SWITCHED: Final = ("agentgateway.dev/", "kgateway.dev/agentgateway")
"""Controllers that keep an empty list of pools unless they are switched on, and else see each
change (agentgateway/website#479)."""

_ELSEWHERE: Final = Wording("route-namespace",
    "names InferencePool {name} of its own namespace, which has none; it is in {place}",
    "InferencePool of {place}",
    "Set the namespace of the backendRef, with a ReferenceGrant in {place}, or make the route in "
    "{place}.", Sureness.LIKELY)  # fmt: skip

_EXTENSIONS: Final = (
    ("istio.io/",
        "Set ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true on istiod, which reads no pool without."),
    ("gateway.envoyproxy.io/",
        "Install the extension of Envoy AI Gateway: Envoy Gateway takes a pool only through it."),
    ("kgateway.dev/", "Switch on the inference extension of kgateway."),
    ("", "Use a Gateway that implements the Gateway API Inference Extension, or switch it on."),
)  # fmt: skip
"""How to make a controller take InferencePools, by the prefix of its name."""

_NAME_THE_NEWER: Final = "Name the pool in group {group} if it has one there; else: "


def why_refused(
    condition: Condition, route: HttpRoute, controller: str, *, snapshot: Snapshot
) -> Diagnosis | None:
    """Return why a parent does not take the backends of a route, or None if unknown.

    The condition names no backend, so all backends of the route must be InferencePools.
    """
    pools = frozenset(_pools(route))
    if not pools or condition.type != "ResolvedRefs":
        return None
    if condition.reason == "InvalidKind":
        group = min(group for group, _, _ in pools)
        action = next(does for begins, does in _EXTENSIONS if controller.startswith(begins))
        if group == FORMER_POOLS.group:
            action = _NAME_THE_NEWER.format(group=INFERENCEPOOLS.group) + action
        return _TAKES_NO_POOL.of(group=group, action=action)
    if condition.reason == "BackendNotFound" and all(_exists(each, snapshot) for each in pools):
        found = condition.last_transition_time
        late = found is None or (last_made(route, snapshot) or found) > found
        why = _DOES_NOT_LOOK if late else _NOT_FOUND
        if controller.startswith(_SWITCHED):
            why = _READS_NONE
        return why.of(name=min(name for _, _, name in pools))
    return None


def last_made(route: HttpRoute, snapshot: Snapshot) -> datetime | None:
    made = (
        snapshot[each].get(namespace, name)
        for each in (INFERENCEPOOLS, FORMER_POOLS)
        for _, namespace, name in _pools(route)
    )
    return max((each.created for each in made if each and each.created), default=None)


def _pools(route: HttpRoute) -> Iterator[tuple[str, str, str]]:
    """Yield group, namespace and name of each backend; nothing unless all are InferencePools."""
    every = [each for rule in route.spec.rules or () for each in rule.backend_refs or ()]
    if all(each.kind == INFERENCEPOOLS.kind for each in every):
        for each in every:
            yield each.group or "", each.namespace or route.namespace, each.name


def _exists(pool: tuple[str, str, str], snapshot: Snapshot) -> bool:
    group, namespace, name = pool
    of = (each for each in (INFERENCEPOOLS, FORMER_POOLS) if each.group == group)
    return any(snapshot[each].get(namespace, name) is not None for each in of)


def elsewhere(pool: InferencePool, snapshot: Snapshot) -> Iterator[tuple[HttpRoute, Diagnosis]]:
    """Yield the routes that name a pool of this name in their own namespace, which has none.

    They may be meant for another pool of that name, so this only counts if no route leads to the
    pool.
    """
    for route in snapshot.entry("routes by name of pool", pool.name, _by_pool) or ():
        missing = all(
            snapshot.lacks(each, route.namespace, pool.name) or snapshot.absent(each)
            for each in (INFERENCEPOOLS, FORMER_POOLS)
        )
        if route.namespace != pool.namespace and missing:
            yield route, _ELSEWHERE.of(name=pool.name, place=pool.namespace)


def _by_pool(snapshot: Snapshot) -> Mapping[str, tuple[HttpRoute, ...]]:
    return grouped(
        (name, route)
        for route in snapshot[HTTPROUTES]
        for name in {name for _, place, name in _pools(route) if place == route.namespace}
    )
