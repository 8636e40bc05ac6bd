"""Components, ingress and the whole, by their conditions; and a status that differs from derived.

A status has no timestamp for changes that KServe has not written yet. Kinds are listed one after
the other, so a changed object may be seen next to a slightly older status; without a time, that
difference would be reported as if it had lasted.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Finding, Sureness
from reporter.model.objects import Deployment, Pod
from reporter.served.pods import not_ready
from reporter.served.ways import dark_gateway
from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve import reasons
from reporter.stacks.kserve.derived.conditions import (
    AVAILABLE,
    PROGRESSING,
    REPLICA_FAILURE,
    UNKNOWN,
)
from reporter.stacks.kserve.derived.derive import differs
from reporter.stacks.kserve.probes.scope import GRADUAL, InferenceServiceScope
from reporter.workload.gateway_controllers import Dark, unprogrammed
from reporter.workload.owners import is_false, is_true, last_written, latest, warning_about, words

_OF_KSERVE: Final = frozenset(
    {"ReconcileFailed", "InvalidGPUAllocation", "InvalidWorkerSpecNotSet", "Stopped"}
)
"""Reasons that have a finding of their own."""

_SEVERITY: Final = {
    api.Component.PREDICTOR: 30,
    api.Component.TRANSFORMER: 20,
    api.Component.EXPLAINER: 10,
}
"""Nothing is answered without a predictor; each request passes through the transformer."""


def probe_conditions(scope: InferenceServiceScope) -> Iterator[Finding]:
    yield from _components(scope)
    yield from _ingress(scope)
    yield from _whole(scope)
    yield from _canaries(scope)


def _components(scope: InferenceServiceScope) -> Iterator[Finding]:
    for component in scope.components:
        ready = scope.condition(component.ready)
        lacks = _lacks(scope, component)
        if lacks and (is_true(ready) or (ready is None and scope.shows_ready)):
            yield scope.finding(
                reason=reasons.COMPONENT_NOT_READY,
                related=scope.object_ref(component),
                cause=f"{component} has no Knative Service",
                text=f"{component}: {lacks}; {ready.type if ready else api.READY} is True all the "
                "same",
                severity=_SEVERITY[component],
            )
        if is_true(ready) and scope.at_zero(component) and not scope.wants_none:
            yield _at_zero(scope, component)
        if lacks and not scope.object.status.conditions:
            continue  # KServe wrote no conditions at all, which is the fault to report
        waits = _stays_unknown(scope, component)
        if ready is None or not (is_false(ready) or waits) or ready.reason in _OF_KSERVE:
            continue
        ignored = component is not api.Component.PREDICTOR or scope.object.frozen
        although = "; Ready is True all the same" if scope.shows_ready and ignored else ""
        why = lacks if lacks and not ready.reason else words(ready)
        yield scope.finding(
            reason=reasons.COMPONENT_NOT_READY,
            related=scope.object_ref(component),
            cause=f"{component} {ready.reason or 'not ready'}",
            text=f"{component}: {ready.type} is {ready.status}, {why}{although}",
            severity=_SEVERITY[component],
            transition=ready.last_transition_time or not_ready_since(scope, component),
            budget=scope.startup(component) if waits or scope.starts(component) else None,
        )


def _stays_unknown(scope: InferenceServiceScope, component: api.Component) -> bool:
    """True if Ready of a component is Unknown and no other reason covers that.

    Ready of the whole follows the predictor; a revision or a route that does not become ready has a
    reason of its own.
    """
    ready, status = scope.condition(component.ready), scope.status_of(component)
    if component is api.Component.PREDICTOR or ready is None or ready.status != UNKNOWN:
        return False
    if status.latest_created_revision != status.latest_ready_revision:
        return False
    route = scope.condition(component.route_ready)
    return not status.latest_ready_revision or route is None or is_true(route)


def _at_zero(scope: InferenceServiceScope, component: api.Component) -> Finding:
    """Return the finding for a component scaled to zero while the predictor is not."""
    deployment = scope.at_zero(component)[0]
    return scope.finding(
        reason=reasons.COMPONENT_NOT_READY,
        related=DEPLOYMENTS.ref(deployment),
        cause=f"{component} scaled to zero",
        text=f"{component}: its Deployment {deployment.name} wants 0 replicas; {component.ready} "
        "is True all the same",
        severity=_SEVERITY[component],
        created=last_written(deployment),
    )


def _lacks(scope: InferenceServiceScope, component: api.Component) -> str:
    name = scope.object_ref(component).name
    if scope.in_knative_mode:
        # The mode may be a guess; a Knative Service exists for sure only if KServe wrote the mode.
        known = scope.facts.services is not None and scope.object.status.deployment_mode
        missing = (
            known
            and not scope.facts.without_knative
            and component not in (scope.facts.services or {})
        )
        return f"its Knative Service {name} does not exist" if missing else ""
    if scope.facts.mode is not api.Mode.STANDARD or scope.facts.deployments is None:
        return ""
    there = scope.facts.deployments.get(component, ())
    if name not in {each.name for each in there}:
        return f"its Deployment {name} does not exist"
    wanted = api.wanted_deployments(scope.object.spec, component)
    return "the Deployment of its workers does not exist" if len(there) < wanted else ""


def _ingress(scope: InferenceServiceScope) -> Iterator[Finding]:
    stored = scope.object.status
    if scope.shows_ready and not stored.url:
        yield scope.finding(
            reason=reasons.INGRESS_NOT_READY,
            related=scope.ref,
            cause="no URL",
            text="Ready is True, and it has no URL",
        )
    ingress = stored.condition(api.INGRESS_READY, "False")
    dark = _dark(scope)
    if dark and (scope.shows_ready or (ingress and ingress.reason == _UNSEEN)):
        yield dark_gateway(scope, dark, reason=reasons.INGRESS_NOT_READY)
        return
    if ingress is None or ingress.reason in _OF_KSERVE or scope.says_no_more(ingress):
        return
    why, refused = words(ingress), None
    if ingress.reason == "UnsupportedValue" and len((ingress.message or "").split()) <= 1:
        refused = _UNSUPPORTED.of()
    if not (ingress.reason or ingress.message):  # KServe may have said it in an Event instead
        why = warning_about(scope.snapshot, scope.ref) or why
    yield scope.finding(
        reason=reasons.INGRESS_NOT_READY,
        related=scope.ref,
        cause=ingress.reason or "ingress not ready",
        text=f"IngressReady is False, {why}",
        transition=latest(
            ingress.last_transition_time,
            _became_ready(scope) if scope.follows_components(ingress) else None,
        ),
        diagnosis=refused,
    )


_UNSEEN: Final = "ParentStatusNotAvailable"
"""Reason while no controller has looked at a route (kserve, reconcilers/ingress)."""


def _dark(scope: InferenceServiceScope) -> Dark | None:
    """Return a route of its own whose Gateway is not programmed, or None."""
    for route in scope.snapshot[HTTPROUTES].in_namespace(scope.place):
        own = route.metadata.owned_by(scope.object.metadata.uid)
        if own and (found := unprogrammed(route, scope.snapshot)):
            return found
    return None


_UNSUPPORTED: Final = Wording("route-field",
    "the Gateway does not support something in the HTTPRoute that KServe makes, such as its "
    "timeouts (GKE's does not)", "the route has what the Gateway does not support",
    "Set disableHTTPRouteTimeout in ingress of inferenceservice-config, if it is the timeouts.",
    Sureness.LIKELY)  # fmt: skip
"""For a Gateway that gives no message; kserve/kserve#5311."""


def _became_ready(scope: InferenceServiceScope) -> datetime | None:
    """Return when the last component became ready; KServe updates the rest a moment later."""
    services = (scope.facts.services or {}).values()
    deployments = chain.from_iterable((scope.facts.deployments or {}).values())
    conditions = chain(
        (each.status.condition(api.READY) for each in services),
        (each.status.condition(AVAILABLE) for each in deployments),
    )
    return latest(*(each.last_transition_time for each in conditions if is_true(each)))


def _whole(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding if the InferenceService is not Ready; it has the lowest priority."""
    ready = scope.object.status.condition(api.READY)
    moves_slowly = ready is not None and (ready.status, ready.reason) == (UNKNOWN, GRADUAL)
    if is_true(ready) or moves_slowly:
        return
    found = not_ready(
        scope,
        scope.object.status,
        writer="KServe",
        startup=scope.startup(),
        starts=scope.starting,
        changed=_became_ready(scope),
    )
    by_config = any(each in found.message for each in _OF_CONFIG)
    yield replace(found, diagnosis=_CONFIG.of()) if by_config else found


_OF_CONFIG: Final = ("invalid ingress config", "invalid deploy config", "config json")
_CONFIG: Final = Wording("kserve-config", "KServe cannot use its configuration",
    "KServe's configuration",
    "Correct ConfigMap inferenceservice-config in the namespace of KServe's controller.",
)  # fmt: skip
"""For errors of KServe about its own configuration (pkg/apis/serving/v1beta1/configmap.go)."""


def _canaries(scope: InferenceServiceScope) -> Iterator[Finding]:
    status = scope.object.status
    condition = status.condition(api.CANARY_PREDICTOR_READY, "False")
    if condition is None or condition.reason != "CanariesNotReady":
        return
    waiting = [each for each in status.canary_statuses or () if not each.ready]
    served = any(each.traffic_percent for each in waiting)
    names = ", ".join(each.name for each in waiting if each.name) or "not named"
    yield scope.finding(
        reason=reasons.CANARY_NOT_READY,
        related=scope.ref,
        cause=f"canary {names}",
        text=f"canaries without an available replica: {names}"
        + ("; they get a part of the requests" if served else ""),
        severity=int(served),
        transition=condition.last_transition_time,
        budget=scope.startup(),
    )


_NOT_READY: Final = frozenset(
    {(AVAILABLE, "False"), (PROGRESSING, "False"), (REPLICA_FAILURE, "True")}
)
"""Conditions of a Deployment that make a component's Ready False."""


def not_ready_since(scope: InferenceServiceScope, component: api.Component) -> datetime | None:
    if scope.in_knative_mode:
        service = (scope.facts.services or {}).get(component)
        ready = service.status.condition("Ready") if service else None
        return ready.last_transition_time if ready and not is_true(ready) else None
    times = (
        each.last_transition_time
        for deployment in (scope.facts.deployments or {}).get(component, ())
        for each in deployment.status.conditions or ()
        if (each.type, each.status) in _NOT_READY
    )
    return min(filter(None, times), default=None)


def last_change(scope: InferenceServiceScope, *, pods: bool) -> datetime | None:
    """Return when an input of its status last changed, as far as changes have times.

    `pods` says whether pods are among the inputs.
    """
    found: list[api.KnativeService | Deployment | Pod] = [
        *((scope.facts.pods or ()) if pods else ())
    ]
    if scope.in_knative_mode:
        found += (scope.facts.services or {}).values()
    else:
        found += chain.from_iterable((scope.facts.deployments or {}).values())
    conditions = (each for one in found for each in one.status.conditions or ())
    return latest(
        *map(last_written, (scope.object, *found)),
        *(each.last_transition_time for each in conditions),
    )


_MOST_NAMED: Final = 5
_OF_PODS: Final = "modelStatus."
"""Prefix of fields that depend on pods."""


def probe_stale(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding if the stored status differs from the derived one; skip an empty status.

    The fault cannot be older than the last change. That is not its transition: most fields change
    without a condition, so the last known change may be long ago.
    """
    stored = scope.object.status
    if not stored.conditions:
        return
    fields = differs(stored, scope.derivation)
    if not fields:
        return
    more = f" and {len(fields) - _MOST_NAMED} more" if len(fields) > _MOST_NAMED else ""
    yield scope.finding(
        reason=reasons.STATUS_STALE,
        related=scope.ref,
        cause=fields[0],
        text=f"its status does not match its objects, in {', '.join(fields[:_MOST_NAMED])}{more}",
        created=last_change(scope, pods=any(each.startswith(_OF_PODS) for each in fields)),
    )
