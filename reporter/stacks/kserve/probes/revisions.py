"""Revisions of components in Knative mode, and traffic that does not follow the spec."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.finding import Finding
from reporter.model.objects import Deployment
from reporter.model.text import detail
from reporter.stacks.kserve import reasons
from reporter.stacks.kserve.derived import revisions
from reporter.stacks.kserve.derived.conditions import PROGRESSING, UNKNOWN
from reporter.stacks.kserve.objects import KnativeCondition
from reporter.stacks.kserve.probes.scope import InferenceServiceScope, ServedComponent, named
from reporter.workload.owners import is_false, is_true, words

_ROLLOUT: Final = timedelta(seconds=reasons.ROLLOUT_SECONDS)
_NEVER: Final = "Initial scale was never achieved"
_MEANINGS: Final = {
    _NEVER: "no pod was Ready within Knative's progress deadline (600 s, or the annotation "
    "serving.knative.dev/progress-deadline), so it was scaled to zero and is not tried again: once "
    "the cause is mended, make a new revision",
    "failed to resolve image to digest": "Knative's controller asks the registry itself, not the "
    "node: it needs the address, the certificates and the pull Secret of the ServiceAccount",
    "Waiting for load balancer to be ready": "Knative asks the pods of the gateway for the route, "
    "and they do not answer as it expects: a NetworkPolicy, strict mTLS or an authorization may "
    "refuse it",
}
"""Knative's messages and their meaning (knative/serving: `revision_lifecycle.go`, `resolve.go`)."""

_REQUEST: Final = re.compile(
    r'\b(?:GET|HEAD) "?https?://([a-z0-9.-]{1,253}(?::\d{1,5})?)[^\s"]{0,2000}"?:', re.IGNORECASE
)
_NONE_SERVES, _FAILED, _STARTING = 20, 10, 5


def probe_revisions(scope: InferenceServiceScope) -> Iterator[Finding]:
    found = _of_revisions if scope.in_knative_mode else _stalled
    for each in scope.components:
        yield from found(each)


def _of_revisions(component: ServedComponent) -> Iterator[Finding]:
    status, shown = component.status, component.shown
    ready = status.latest_ready_revision
    others = status.serving(without=ready)
    served = " and ".join(others)
    if shown.newest_not_ready:
        yield _not_ready(component)
    elif shown.rollout_not_finished and _may_be_stuck(component):
        but = f"requests still go to {served}" if others else "is not recorded as rolled out"
        yield component.finding(
            reason=reasons.ROLLOUT_STUCK,
            cause=f"{ready} not rolled out",
            text=f"revision {ready} is ready, and {but}{_of_route(component)}",
            created=component.moved,
            budget=_ROLLOUT,
        )
    if shown.rolled_back and others:
        yield component.scope.finding(
            reason=reasons.ROLLED_BACK,
            related=component.ref,
            cause=f"back to {status.latest_rolledout_revision}",
            text=f"{component.kind} is rolled back: requests go to {served}, none to {ready}, "
            "which is ready",
        )
    asked = not (shown.rollout_not_finished or revisions.strays(status, component.canary_percent))
    if shown.canary and others and asked:
        entry = revisions.latest_entry(status)
        yield component.finding(
            reason=reasons.CANARY_IN_PROGRESS,
            cause=f"canary {ready}",
            text=f"revision {ready} gets {entry.percent if entry else 0} percent of the requests, "
            f"{served} the rest",
        )


def _not_ready(component: ServedComponent) -> Finding:
    """Return the finding about a newest revision that failed or is still starting."""
    scope, status, condition = component.scope, component.status, component.configuration
    failed, newest = is_false(condition), status.latest_created_revision
    serving = status.serving(without=newest)
    serves = "no revision was ever ready"
    if serving:
        serves = f"{named(serving, 'serve')} meanwhile"
    elif status.latest_ready_revision:
        serves = "no revision gets requests"
    late = _too_late(scope, newest, condition) if failed else ""
    what = f"has failed, {_in_words(condition)}{late}" if failed else "is not ready yet"
    created = scope.revision(newest)
    return component.finding(
        reason=reasons.REVISION_NOT_READY,
        cause=f"{newest} {'failed' if failed else 'not ready yet'}",
        text=f"newest revision {newest} {what}; {serves}",
        severity=(_FAILED if failed else _STARTING) + (0 if serving else _NONE_SERVES),
        transition=condition.last_transition_time if condition and failed else None,
        created=created.created if created else None,
        budget=None if failed else component.startup,
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
    meanings = (means for needle, means in _MEANINGS.items() if needle in condition.message)
    return "; ".join((text, *meanings))


def _of_route(component: ServedComponent) -> str:
    """Return a suffix that says what a component's route waits for; empty if it is ready."""
    route = component.route
    return "" if route is None or is_true(route) else f"; {route.type}: {_in_words(route)}"


def _may_be_stuck(component: ServedComponent) -> bool:
    """True if other revisions get requests; if none does, the traffic probe reports that."""
    percents = {each.percent for each in component.status.traffic or ()}
    someone = any((each or 0) > 0 for each in percents) or percents == {None}
    return someone and not component.moves_slowly


def _stalled(component: ServedComponent) -> Iterator[Finding]:
    """Yield a finding for each Deployment whose rollout passed its deadline (Standard mode)."""
    for deployment in component.deployments:
        progressing = deployment.status.condition(PROGRESSING, "False")
        if progressing is None or not progressing.message:
            continue
        yield component.finding(
            reason=reasons.ROLLOUT_STUCK,
            related=DEPLOYMENTS.ref(deployment),
            cause=f"{component.kind} {progressing.reason or PROGRESSING}",
            text=f"the rollout of Deployment {deployment.name} does not progress, "
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
    for component in scope.components if scope.in_knative_mode else ():
        found = _faults(component) if component.status.latest_ready_revision else ()
        for fault in islice(found, 1):
            yield component.finding(
                reason=reasons.TRAFFIC,
                cause=fault.cause,
                text=f"{fault.text}{_of_route(component)}",
                severity=fault.severity,
                created=fault.began or component.moved,
                budget=fault.budget,
                # A controller that is down does not explain a deleted revision.
                independent=fault.severity == _MISSING,
            )


def _faults(component: ServedComponent) -> Iterator[_Fault]:
    """Yield the faults of a route, the worst first."""
    status, percent, traffic = component.status, component.canary_percent, component.status.traffic
    if not traffic:
        yield _Fault("no traffic", "no revision gets requests", _UNASSIGNED)
        return
    there = {each.name for each in component.scope.revisions or ()}
    gone = ", ".join(sorted({*status.serving()} - there)) if there else ""  # else unknown
    if gone:
        text = f"requests go to revision {gone}, which does not exist"
        yield _Fault(f"revision {gone} missing", text, _MISSING)
    percents = [each.percent for each in traffic if each.percent is not None]
    if percents and sum(percents) != revisions.WHOLE:
        text = f"the percents of its route add up to {sum(percents)}, not 100"
        yield _Fault(f"{sum(percents)} percent assigned", text, _INCOMPLETE)
    if percent is not None and percent < revisions.WHOLE and component.shown.split_over_one:
        yield _without_target(component)
    if not component.moves_slowly:
        yield from _not_as_asked(component)


def _without_target(component: ServedComponent) -> _Fault:
    """Return the fault of a canary percent while all requests go to a single revision.

    A canary also begins like this, while its newer revision is not ready: then it has the time of a
    start, counted from that revision's creation, unless it has failed.
    """
    shown, status = component.shown, component.status
    revision = status.latest_ready_revision
    set_to = f"canaryTrafficPercent is {component.canary_percent}"
    if shown.no_fallback and not shown.newest_not_ready:
        text = f"there is no earlier revision to go back to: all requests go to {revision}"
        return _Fault("no revision to go back to", f"{set_to}, and {text}", _NO_TARGET)
    cause, text = f"all requests go to {revision}", f"all requests still go to {revision}"
    fault = _Fault(cause, f"{set_to}, and {text}", _OTHER, _ROLLOUT)
    if not shown.newest_not_ready or is_false(component.configuration):
        return fault
    newest = component.scope.revision(status.latest_created_revision)
    wait = max(component.startup, _ROLLOUT)
    return replace(fault, budget=wait, began=newest.created if newest else None)


def _not_as_asked(component: ServedComponent) -> Iterator[_Fault]:
    """Yield the faults of a route whose revisions do not get what the spec asks for.

    If no entry follows the latest ready revision, the sum of all its entries counts. The rest may
    go to a revision that the spec does not name. An unfinished rollout has a reason of its own.
    """
    status, route, rolls = component.status, component.route, component.shown.rollout_not_finished
    ready, rolled_out = status.latest_ready_revision, status.latest_rolledout_revision
    entry = revisions.latest_entry(status)
    gets = entry.percent if entry else revisions.total(status.traffic or (), ready)
    asked = revisions.asked_percent(component.canary_percent, rolled_out)
    if gets is not None and (entry or not rolls):
        found = revisions.strays(status, component.canary_percent)
        if gets != asked:
            cause, text = f"{gets} percent instead of {asked}", f"and the spec asks for {asked}"
            text = f"revision {ready} gets {gets} percent of the requests, {text}"
            yield _Fault(cause, text, _OTHER, _ROLLOUT)
        elif found:
            shares = " and ".join(f"revision {name} gets {share} percent" for name, share in found)
            text = f"{shares} of the requests, and the spec asks for {rolled_out}"
            yield _Fault(f"{found[0][0]} instead of {rolled_out}", text, _OTHER, _ROLLOUT)
    if route and route.status == UNKNOWN and not rolls:
        how = _WAITS_FOR.get(route.reason or "", "")
        yield _Fault("route not ready", f"its route does not become ready{how}", _WAITS, _ROLLOUT)


_WAITS_FOR: Final = {
    "IngressNotConfigured": ": no ingress controller of Knative, such as net-istio or net-kourier, "
    "has taken it up",
    "Uninitialized": ": the gateway that Knative probes does not answer for it",
}
"""What a route waits for, by its condition's reason (knative/serving, pkg/apis/serving/v1)."""
