"""Revisions of components in Knative mode, and traffic that does not follow the spec."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.finding import Finding
from reporter.model.objects import Deployment
from reporter.model.text import detail
from reporter.stacks.kserve import reasons
from reporter.stacks.kserve.derived.conditions import PROGRESSING, UNKNOWN
from reporter.stacks.kserve.derived.revisions import (
    WHOLE,
    Conclusion,
    asked_traffic,
    latest_entry,
    read_component,
    strays,
    total,
)
from reporter.stacks.kserve.objects import Component, ComponentStatus, KnativeCondition
from reporter.stacks.kserve.probes.scope import (
    InferenceServiceScope,
    named,
    others_with_traffic,
    with_traffic,
)
from reporter.workload.owners import is_false, is_true, words

_ROLLOUT: Final = timedelta(seconds=reasons.ROLLOUT_SECONDS)
_NEVER: Final = "Initial scale was never achieved"
_MEANINGS: Final = (
    (
        _NEVER,
        (
            "no pod was Ready within Knative's progress deadline (600 s, or the annotation "
            "serving.knative.dev/progress-deadline), so it was scaled to zero and is not tried "
            "again: once the cause is mended, make a new revision"
        ),
    ),
    (
        "failed to resolve image to digest",
        (
            "Knative's controller asks the registry itself, not the node: it needs the address, "
            "the certificates and the pull Secret of the ServiceAccount"
        ),
    ),
    (
        "Waiting for load balancer to be ready",
        (
            "Knative asks the pods of the gateway for the route, and they do not answer as it "
            "expects: a NetworkPolicy, strict mTLS or an authorization may refuse it"
        ),
    ),
)
"""Knative's messages and their meaning (knative/serving: `revision_lifecycle.go`, `resolve.go`)."""

_REQUEST: Final = re.compile(r'\b(?:GET|HEAD) '
    r'"?https?://([a-z0-9.-]{1,253}(?::\d{1,5})?)[^\s"]{0,2000}"?:', re.IGNORECASE)  # fmt: skip
_NONE_SERVES, _FAILED, _STARTING = 20, 10, 5


def probe_revisions(scope: InferenceServiceScope) -> Iterator[Finding]:
    if not scope.in_knative_mode:
        yield from _stalled(scope)
        return
    for component in scope.components:
        status, percent = scope.status_of(component), scope.canary_percent(component)
        shown = read_component(status, percent)
        others = others_with_traffic(status, status.latest_ready_revision)
        if Conclusion.NEWEST_NOT_READY in shown:
            yield _not_ready(scope, component, status)
        elif Conclusion.ROLLOUT_NOT_FINISHED in shown and _may_be_stuck(scope, component, status):
            yield _stuck(scope, component, status)
        ready, served = status.latest_ready_revision, " and ".join(others)
        if Conclusion.ROLLED_BACK in shown and others:
            yield scope.finding(
                reason=reasons.ROLLED_BACK,
                related=scope.object_ref(component),
                cause=f"back to {status.latest_rolledout_revision}",
                text=f"{component} is rolled back: requests go to {served}, none to {ready}, which "
                "is ready",
            )
        asked = Conclusion.ROLLOUT_NOT_FINISHED not in shown and not strays(status, percent)
        if Conclusion.CANARY in shown and others and asked:
            entry = latest_entry(status)
            yield scope.finding(
                reason=reasons.CANARY_IN_PROGRESS,
                related=scope.object_ref(component),
                cause=f"canary {ready}",
                text=f"{component}: revision {ready} gets {entry.percent if entry else 0} percent "
                f"of the requests, {served} the rest",
            )


def _not_ready(
    scope: InferenceServiceScope, component: Component, status: ComponentStatus
) -> Finding:
    """Return the finding about a newest revision that failed or is still starting."""
    condition = scope.condition(component.configuration_ready)
    failed = is_false(condition)
    newest = status.latest_created_revision
    serving = others_with_traffic(status, newest)
    if serving:
        serves = f"{named(serving, 'serve')} meanwhile"
    elif status.latest_ready_revision:
        serves = "no revision gets requests"
    else:
        serves = "no revision was ever ready"
    late = _too_late(scope, newest, condition) if failed else ""
    what = f"has failed, {_in_words(condition)}{late}" if failed else "is not ready yet"
    revision = _FAILED if failed else _STARTING
    return scope.finding(
        reason=reasons.REVISION_NOT_READY,
        related=scope.object_ref(component),
        cause=f"{newest} {'failed' if failed else 'not ready yet'}",
        text=f"{component}: newest revision {newest} {what}; {serves}",
        severity=revision if serving else revision + _NONE_SERVES,
        transition=condition.last_transition_time if condition and failed else None,
        created=scope.made(newest),
        budget=None if failed else scope.startup(component),
    )


_PULLED: Final = re.compile(r"^Successfully pulled image .{1,500}? in ([0-9hms.]{2,20}) ")


def _too_late(
    scope: InferenceServiceScope, revision: str, condition: KnativeCondition | None
) -> str:
    """Return a suffix if a revision's image was pulled only after its deadline, from pod Events."""
    stored = scope.object.status.condition(condition.type) if condition else None
    passed = stored.last_transition_time if stored else None
    if condition is None or passed is None or _NEVER not in (condition.message or ""):
        return ""
    evidence, place = scope.snapshot.evidence, scope.place
    names = evidence.names_of(place, PODS.kind)
    events = (
        each
        for name in names
        if name.startswith(f"{revision}-deployment-")
        for each in evidence.events_about(place, PODS.kind, name)
        if each.reason == "Pulled" and each.last and each.last > passed
    )
    found = next((match for each in events if (match := _PULLED.match(each.message))), None)
    return f"; its image was pulled only after that, in {found[1]}" if found else ""


def _in_words(condition: KnativeCondition | None) -> str:
    """Return a condition's message with its meaning; requests are cut to their host, not a link."""
    if condition is None or not condition.message:
        return words(condition)
    text = detail(condition.reason, _REQUEST.sub(r"\1:", condition.message))
    meanings = (means for needle, means in _MEANINGS if needle in condition.message)
    return "; ".join((text, *meanings))


def _of_route(scope: InferenceServiceScope, component: Component) -> str:
    """Return a suffix that says what a component's route waits for; empty if it is ready."""
    route = scope.condition(component.route_ready)
    return "" if route is None or is_true(route) else f"; {route.type}: {_in_words(route)}"


def _may_be_stuck(
    scope: InferenceServiceScope, component: Component, status: ComponentStatus
) -> bool:
    """True if other revisions get requests; if none does, the traffic probe reports that."""
    percents = {each.percent for each in status.traffic or ()}
    someone = any(with_traffic(status)) or percents == {None}
    return someone and not scope.moves_slowly(component)


def _stuck(scope: InferenceServiceScope, component: Component, status: ComponentStatus) -> Finding:
    ready = status.latest_ready_revision
    others = " and ".join(others_with_traffic(status, ready))
    but = f"requests still go to {others}" if others else "is not recorded as rolled out"
    return scope.finding(
        reason=reasons.ROLLOUT_STUCK,
        related=scope.object_ref(component),
        cause=f"{ready} not rolled out",
        text=f"{component}: revision {ready} is ready, and {but}{_of_route(scope, component)}",
        created=scope.moved(component),
        budget=_ROLLOUT,
    )


def _stalled(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment whose rollout passed its deadline (Standard mode)."""
    for component, deployments in (scope.facts.deployments or {}).items():
        for deployment in deployments:
            progressing = deployment.status.condition(PROGRESSING, "False")
            if progressing is None or not progressing.message:
                continue
            yield scope.finding(
                reason=reasons.ROLLOUT_STUCK,
                related=DEPLOYMENTS.ref(deployment),
                cause=f"{component} {progressing.reason or PROGRESSING}",
                text=f"{component}: the rollout of Deployment {deployment.name} does not progress, "
                f"{words(progressing)}{_available(deployment)}",
                transition=progressing.last_transition_time,
                created=deployment.created,
                # Neither KServe's nor Knative's controller rolls out a Deployment.
                independent=True,
            )


def _available(deployment: Deployment) -> str:
    status = deployment.status
    if not status.available_replicas:
        return ""
    older = status.replicas > status.updated_replicas
    return "; older pods serve" if older else "; some of its pods serve"


_MISSING, _UNASSIGNED, _NO_TARGET, _INCOMPLETE, _OTHER, _WAITS = 40, 30, 20, 15, 10, 5


@dataclass(frozen=True, slots=True)
class _Fault:
    cause: str
    text: str
    severity: int
    budget: timedelta | None = None
    began: datetime | None = None


def probe_traffic(scope: InferenceServiceScope) -> Iterator[Finding]:
    """Yield the worst fault of each component's route; Knative mode."""
    if not scope.in_knative_mode:
        return
    for component in scope.components:
        fault = _judge(scope, component)
        if fault is None:
            continue
        yield scope.finding(
            reason=reasons.TRAFFIC,
            related=scope.object_ref(component),
            cause=fault.cause,
            text=f"{component}: {fault.text}{_of_route(scope, component)}",
            severity=fault.severity,
            created=fault.began or scope.moved(component),
            budget=fault.budget,
            # A controller that is down does not explain a deleted revision.
            independent=fault.severity == _MISSING,
        )


def _judge(scope: InferenceServiceScope, component: Component) -> _Fault | None:
    status = scope.status_of(component)
    if not status.latest_ready_revision:
        return None
    if not status.traffic:
        return _Fault("no traffic", "no revision gets requests", _UNASSIGNED)
    percent = scope.canary_percent(component)
    wait, began = (
        max(scope.startup(component), _ROLLOUT),
        scope.made(status.latest_created_revision),
    )
    if is_false(scope.condition(component.configuration_ready)):
        wait, began = _ROLLOUT, None
    fault = (
        _missing_target(scope, status)
        or _incomplete(status)
        or _without_target(status, percent, wait, began=began)
    )
    if fault is not None or scope.moves_slowly(component):
        return fault
    # An unfinished rollout has a reason of its own.
    rolls = Conclusion.ROLLOUT_NOT_FINISHED in read_component(status, percent)
    route = scope.condition(component.route_ready)
    if fault := _not_as_asked(status, percent, is_rolling_out=rolls):
        return fault
    if route is None or route.status != UNKNOWN or rolls:
        return None
    how = _WAITS_FOR.get(route.reason or "", "")
    return _Fault("route not ready", f"its route does not become ready{how}", _WAITS, _ROLLOUT)


_WAITS_FOR: Final = {
    "IngressNotConfigured": ": no ingress controller of Knative, such as net-istio or net-kourier, "
    "has taken it up",
    "Uninitialized": ": the gateway that Knative probes does not answer for it",
}
"""What a route waits for, by its condition's reason (knative/serving, pkg/apis/serving/v1)."""


def _missing_target(scope: InferenceServiceScope, status: ComponentStatus) -> _Fault | None:
    """Return the fault of a route to a revision that does not exist."""
    if not scope.revisions:  # unknown, or none has the label
        return None
    there = {each.name for each in scope.revisions}
    gone = sorted({each.revision_name for each in with_traffic(status)} - there - {""})
    if not gone:
        return None
    names = ", ".join(gone)
    return _Fault(f"revision {names} missing",
        f"requests go to revision {names}, which does not exist", _MISSING)  # fmt: skip


def _incomplete(status: ComponentStatus) -> _Fault | None:
    percents = [each.percent for each in status.traffic or () if each.percent is not None]
    if not percents or sum(percents) == WHOLE:
        return None
    text = f"the percents of its route add up to {sum(percents)}, not 100"
    return _Fault(f"{sum(percents)} percent assigned", text, _INCOMPLETE)


def _without_target(
    status: ComponentStatus, percent: int | None, wait: timedelta, *, began: datetime | None
) -> _Fault | None:
    """Return the fault of a canary percent while all requests go to a single revision.

    A canary also begins like this, while its newer revision is not ready: then it has the time
    `wait`, counted from `began`.
    """
    shown = read_component(status, percent)
    if percent is None or percent >= WHOLE or Conclusion.SPLIT_OVER_ONE not in shown:
        return None
    revision = status.latest_ready_revision
    starts = Conclusion.NEWEST_NOT_READY in shown
    if Conclusion.NO_FALLBACK in shown and not starts:
        return _Fault(
            "no revision to go back to",
            f"canaryTrafficPercent is {percent}, and there is no earlier revision to go back to: "
            f"all requests go to {revision}",
            _NO_TARGET,
        )
    return _Fault(
        f"all requests go to {revision}",
        f"canaryTrafficPercent is {percent}, and all requests still go to {revision}",
        _OTHER,
        wait if starts else _ROLLOUT,
        began if starts else None,
    )


def _not_as_asked(
    status: ComponentStatus, percent: int | None, *, is_rolling_out: bool
) -> _Fault | None:
    """Return the fault of a route whose latest ready revision does not get its wanted percent.

    If no entry follows that revision, the sum of all its entries counts.
    """
    ready = status.latest_ready_revision
    entry = latest_entry(status)
    if entry is None and is_rolling_out:
        return None
    gets = entry.percent if entry else total(status.traffic or (), ready)
    asked = asked_traffic(percent, status.latest_rolledout_revision)[0].percent
    if gets is None:
        return None
    if gets == asked:
        return _stray(status, percent)
    return _Fault(
        f"{gets} percent instead of {asked}",
        f"revision {ready} gets {gets} percent of the requests, and the spec asks for {asked}",
        _OTHER,
        _ROLLOUT,
    )


def _stray(status: ComponentStatus, percent: int | None) -> _Fault | None:
    """Return the fault of a route that gives the rest to a revision that the spec does not name."""
    found = strays(status, percent)
    if not found:
        return None
    shares = " and ".join(f"revision {name} gets {share} percent" for name, share in found)
    asked = status.latest_rolledout_revision
    return _Fault(
        f"{found[0][0]} instead of {asked}",
        f"{shares} of the requests, and the spec asks for {asked}",
        _OTHER,
        _ROLLOUT,
    )
