"""inferencesetEPPNotReady: the endpoint picker in front of the model's pods."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, PODS, SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import Deployment, LabelSelector
from reporter.stacks.kaito.probes.scope import InferenceSetScope
from reporter.stacks.kaito.reasons import MODEL_EPP
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.pod import is_ready
from reporter.workload.standing import MISSING, WorkloadFault


def probe_epp(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each endpoint picker that is missing, down or degraded."""
    for name in scope.epp_names if scope.wants_traffic else ():
        deployment = scope.epp(name)
        fault = _fault(scope, name, deployment)
        if fault is None:
            continue
        yield scope.finding(
            reason=MODEL_EPP,
            related=DEPLOYMENTS.ref(deployment)
            if deployment
            else DEPLOYMENTS.ref_named(scope.place, name),
            cause=fault.cause,
            text=f"endpoint picker Deployment {deployment.name if deployment else name} is "
            f"{_state(fault)}",
            severity=fault.severity,
            transition=fault.transition,
            created=deployment.created if deployment else None,
            passing=fault.passing,
            lost_node=fault.lost_node,
            diagnosis=fault.diagnosis,
            started=fault.started,
        )


def is_missing(scope: InferenceSetScope, name: str) -> bool:
    """Tell whether an endpoint picker is told to be missing."""
    return _fault(scope, name, scope.epp(name)) == MISSING


def has_pickers(scope: InferenceSetScope) -> bool:
    """Tell whether each endpoint picker is there, available and without fault."""
    return all(_works(scope, name) for name in scope.epp_names)


def is_picked(scope: InferenceSetScope) -> bool:
    """Tell whether some endpoint picker serves, be it degraded."""
    return any(_picks(scope, name) for name in scope.epp_names)


def _picks(scope: InferenceSetScope, name: str) -> bool:
    if name in scope.missing_services:
        return False
    deployment = scope.epp(name)
    return is_available(deployment) if deployment is not None else _is_served(scope, name)


def _works(scope: InferenceSetScope, name: str) -> bool:
    if name in scope.missing_services:
        return False
    deployment = scope.epp(name)
    if deployment is None:
        return _is_served(scope, name)
    return is_available(deployment) and _fault(scope, name, deployment) is None


def _fault(
    scope: InferenceSetScope, name: str, deployment: Deployment | None
) -> WorkloadFault | None:
    """Return what is wrong with an endpoint picker, None if nothing is or nobody can tell.

    One that a user made may be behind a Service of another name than its own. Where that Service is
    gone, nobody can tell which Deployment it was: the pool is at fault.
    """
    if deployment is not None:
        return judge_deployment(deployment, scope.snapshot)
    known = scope.snapshot.absence_known(DEPLOYMENTS, scope.place, name) and (
        name == scope.default_epp_name
        or (
            name not in scope.missing_services
            and scope.snapshot.absence_known(SERVICES, scope.place, name)
        )
    )
    return MISSING if known and not _is_served(scope, name) else None


def _is_served(scope: InferenceSetScope, name: str) -> bool:
    """Tell whether a ready pod is behind the Service, which some other workload may have made."""
    service = scope.snapshot[SERVICES].get(scope.place, name)
    if service is None or not service.spec.selector:
        return False
    selector = LabelSelector(match_labels=service.spec.selector)
    return any(map(is_ready, scope.snapshot[PODS].selected(scope.place, selector)))


def _state(fault: WorkloadFault) -> str:
    return fault.detail if fault == MISSING else f"{fault.standing}: {fault.detail}"
