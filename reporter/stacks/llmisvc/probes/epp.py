"""llminferenceserviceEPPNotReady: the endpoint picker and the tokenizer."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS, SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import Deployment, LabelSelector, Service
from reporter.snapshot.decode import selected_by
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import EPP_NOT_READY
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.pod import is_ready
from reporter.workload.routing import missing_picker_service

_DOWN: Final = 2
_UNREACHED: Final = 1


def probe_epp(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker, its Service or the tokenizer does not work.

    Of several pickers only the leader is ever ready, so one that is available is enough.
    """
    if scope.wanted.scheduler is None or scope.wanted.own_pool:
        return
    if scope.epp is not None and not is_available(scope.epp):
        yield _down(scope, scope.epp, f"endpoint picker; {_effect(scope)}")
    elif scope.epp is not None and (service := unreached_service(scope)) is not None:
        yield scope.finding(
            reason=EPP_NOT_READY,
            related=SERVICES.ref(service),
            cause=f"Service {service.name} selects no ready pod",
            text=f"Service {service.name} selects no ready pod of the endpoint picker; {_effect(scope)}",
            severity=_UNREACHED,
            created=service.created,
        )
    if scope.tokenizer is not None and not is_available(scope.tokenizer):
        yield _down(scope, scope.tokenizer, "tokenizer; the endpoint picker cannot count tokens")


def _down(scope: LlmScope, deployment: Deployment, what: str) -> Finding:
    fault = judge_deployment(deployment, scope.snapshot)
    available = deployment.status.condition("Available")
    since = available if available is not None and available.status == "False" else None
    return scope.finding(
        reason=EPP_NOT_READY,
        related=DEPLOYMENTS.ref(deployment),
        cause=fault.cause if fault else "not available",
        text=f"Deployment {deployment.name} is down{f': {fault.detail}' if fault else ''} ({what})",
        severity=_DOWN,
        transition=since.last_transition_time if since else None,
        created=deployment.created,
        passing=fault is None or fault.passing,
        lost_node=fault.lost_node if fault else "",
        diagnosis=fault.diagnosis if fault else None,
        started=fault.started if fault else True,
    )


def _effect(scope: LlmScope) -> str:
    """Say what becomes of requests; FailClose is the default of the pool's API."""
    reference = scope.pool.spec.endpoint_picker_ref if scope.pool else None
    if reference is None:
        return "what becomes of requests, failureMode of its pool says"
    if reference.failure_mode == "FailOpen":
        return "a Gateway that honours failureMode FailOpen sends requests to any pod"
    default = "" if reference.failure_mode else ", the default"
    return f"requests fail without it, by failureMode FailClose{default}"


def picker_service(scope: LlmScope) -> Service | None:
    """Return the Service that the pool names for its endpoint picker; None if it is not there."""
    reference = scope.pool.spec.endpoint_picker_ref if scope.pool else None
    if reference is None:
        return None
    return scope.snapshot[SERVICES].get(scope.place, reference.name)


def missing_service(scope: LlmScope) -> str:
    """Return the Service that the pool names for its endpoint picker, if it is known not to exist."""
    return missing_picker_service(scope.pool, scope.snapshot) if scope.pool else ""


def unreached_service(scope: LlmScope) -> Service | None:
    """Return the Service of the endpoint picker if it is there and selects no ready pod of it."""
    service = picker_service(scope)
    if service is None or not service.spec.selector:
        return None
    selector = LabelSelector(match_labels=service.spec.selector)
    if not scope.snapshot.absence_known(PODS, scope.place, sought=selected_by(selector)):
        return None
    pods = scope.snapshot[PODS].labelled(scope.place, *min(service.spec.selector.items()))
    reached = any(selector.matches(each.metadata.labels) and is_ready(each) for each in pods)
    return None if reached else service
