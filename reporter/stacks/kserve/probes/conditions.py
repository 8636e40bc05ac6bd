"""Components, ingress and the whole, by their conditions; and a status that differs from derived.

A status has no timestamp for changes that KServe has not written yet. Kinds are listed one after
the other, so a changed object may be seen next to a slightly older status; without a time, that
difference would be reported as if it had lasted.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Finding, Sureness
from reporter.model.objects import Condition, Deployment, Pod
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
from reporter.stacks.kserve.derived.derive import FAILED_PASS, STOPPED, differs
from reporter.stacks.kserve.probes.scope import GRADUAL, InferenceServiceScope, ServedComponent
from reporter.workload.gateway_controllers import unprogrammed
from reporter.workload.owners import is_false, is_true, last_written, latest, warning_about, words

_OF_KSERVE: Final = FAILED_PASS | {STOPPED}
"""Reasons that have a finding of their own."""

_SEVERITY: Final = dict(zip(api.Component, (30, 20, 10), strict=True))
"""Nothing is answered without a predictor; each request passes through the transformer."""


def probe_conditions(scope: InferenceServiceScope) -> Iterator[Finding]:
    for each in scope.components:
        yield from _component(scope, each)
    yield from _ingress(scope)
    yield from _whole(scope)
    yield from _canaries(scope)


def _component(scope: InferenceServiceScope, component: ServedComponent) -> Iterator[Finding]:
    kind, ready, lacks = component.kind, component.ready, _lacks(component)
    finding = partial(
        component.finding, reason=reasons.COMPONENT_NOT_READY, severity=_SEVERITY[kind]
    )
    if lacks and (is_true(ready) or (ready is None and scope.shows_ready)):
        type_ = ready.type if ready else api.READY
        cause, text = f"{kind} has no Knative Service", f"{lacks}; {type_} is True all the same"
        yield finding(cause=cause, text=text)
    if is_true(ready) and component.at_zero and not scope.wants_none:
        deployment = component.at_zero[0]
        yield finding(
            related=DEPLOYMENTS.ref(deployment),
            cause=f"{kind} scaled to zero",
            text=f"its Deployment {deployment.name} wants 0 replicas; {kind.ready} is True all the "
            "same",
            created=last_written(deployment),
        )
    if lacks and not scope.object.status.conditions:
        return  # KServe wrote no conditions at all, which is the fault to report
    waits = _stays_unknown(component)
    if ready is None or not (is_false(ready) or waits) or ready.reason in _OF_KSERVE:
        return
    ignored = kind is not api.Component.PREDICTOR or scope.object.frozen
    although = "; Ready is True all the same" if scope.shows_ready and ignored else ""
    why = lacks if lacks and not ready.reason else words(ready)
    yield finding(
        cause=f"{kind} {ready.reason or 'not ready'}",
        text=f"{ready.type} is {ready.status}, {why}{although}",
        transition=ready.last_transition_time or _not_ready_since(component),
        budget=component.startup if waits or component.starts else None,
    )


def _stays_unknown(component: ServedComponent) -> bool:
    """True if Ready of a component is Unknown and no other reason covers that.

    Ready of the whole follows the predictor; a revision or a route that does not become ready has a
    reason of its own.
    """
    ready, status, route = component.ready, component.status, component.route
    predicts = component.kind is api.Component.PREDICTOR
    if predicts or ready is None or ready.status != UNKNOWN:
        return False
    if status.latest_created_revision != status.latest_ready_revision:
        return False
    return not status.latest_ready_revision or route is None or is_true(route)


def _lacks(component: ServedComponent) -> str:
    """Return what a component should run on and does not exist, or an empty string."""
    scope, name = component.scope, component.ref.name
    facts, there = scope.facts, component.deployments
    if scope.in_knative_mode:
        # The mode may be a guess; a Knative Service exists for sure only if KServe wrote the mode.
        known = facts.services is not None and scope.object.status.deployment_mode
        missing = known and not facts.without_knative and component.service is None
        return f"its Knative Service {name} does not exist" if missing else ""
    if facts.mode is not api.Mode.STANDARD or facts.deployments is None:
        return ""
    if name not in {each.name for each in there}:
        return f"its Deployment {name} does not exist"
    wanted = api.wanted_deployments(scope.object.spec, component.kind)
    return "the Deployment of its workers does not exist" if len(there) < wanted else ""


def _ingress(scope: InferenceServiceScope) -> Iterator[Finding]:
    stored = scope.object.status
    if scope.shows_ready and not stored.url:
        yield scope.finding(
            reason=reasons.INGRESS_NOT_READY,
            cause="no URL",
            text="Ready is True, and it has no URL",
        )
    ingress = stored.condition(api.INGRESS_READY, "False")
    routes = scope.snapshot[HTTPROUTES].in_namespace(scope.place)
    own = (each for each in routes if each.metadata.owned_by(scope.object.metadata.uid))
    dark = next(filter(None, (unprogrammed(each, scope.snapshot) for each in own)), None)
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


_UNSUPPORTED: Final = Wording("route-field",
    "the Gateway does not support something in the HTTPRoute that KServe makes, such as its "
    "timeouts (GKE's does not)", "the route has what the Gateway does not support",
    "Set disableHTTPRouteTimeout in ingress of inferenceservice-config, if it is the timeouts.",
    Sureness.LIKELY)  # fmt: skip
"""For a Gateway that gives no message; kserve/kserve#5311."""


def _became_ready(scope: InferenceServiceScope) -> datetime | None:
    """Return when the last component became ready; KServe updates the rest a moment later."""
    conditions: list[Condition | None] = []
    for each in scope.components:
        conditions += [each.service.status.condition(api.READY)] if each.service else []
        conditions += [deployment.status.condition(AVAILABLE) for deployment in each.deployments]
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
        startup=scope.startup(scope.pods),
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
        cause=f"canary {names}",
        text=f"canaries without an available replica: {names}"
        + ("; they get a part of the requests" if served else ""),
        severity=int(served),
        transition=condition.last_transition_time,
        budget=scope.startup(scope.pods),
    )


_NOT_READY: Final = ((AVAILABLE, "False"), (PROGRESSING, "False"), (REPLICA_FAILURE, "True"))
"""Conditions of a Deployment that make a component's Ready False."""


def _not_ready_since(component: ServedComponent) -> datetime | None:
    if component.scope.in_knative_mode:
        ready = component.service.status.condition("Ready") if component.service else None
        return ready.last_transition_time if ready and not is_true(ready) else None
    times = (
        each.last_transition_time
        for deployment in component.deployments
        for each in deployment.status.conditions or ()
        if (each.type, each.status) in _NOT_READY
    )
    return min(filter(None, times), default=None)


def _last_change(scope: InferenceServiceScope, *, pods: bool) -> datetime | None:
    """Return when an input of its status last changed, as far as changes have times.

    `pods` says whether pods are among the inputs.
    """
    found: list[api.KnativeService | Deployment | Pod] = [*(scope.facts.pods or ())] if pods else []
    for each in scope.components:
        if not scope.in_knative_mode:
            found += each.deployments
        elif each.service:
            found.append(each.service)
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
        cause=fields[0],
        text=f"its status does not match its objects, in {', '.join(fields[:_MOST_NAMED])}{more}",
        created=_last_change(scope, pods=any(each.startswith(_OF_PODS) for each in fields)),
    )
