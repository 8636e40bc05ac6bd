"""inferencesetEPPNotReady: the endpoint picker in front of the model's pods."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.stacks.kaito.probes.scope import InferenceSetScope
from reporter.stacks.kaito.reasons import MODEL_EPP
from reporter.workload.deployment import judge_deployment
from reporter.workload.standing import MISSING, WorkloadFault


def probe_epp(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker is missing, down or degraded."""
    fault = epp_fault(scope)
    if fault is None:
        return
    name = scope.epp_name
    deployment = scope.snapshot[DEPLOYMENTS].get(scope.place, name)
    yield scope.finding(
        reason=MODEL_EPP,
        related=DEPLOYMENTS.ref(deployment)
        if deployment
        else DEPLOYMENTS.ref_named(scope.place, name),
        cause=fault.cause,
        text=f"endpoint picker Deployment {name} is {_state(fault)}",
        severity=fault.severity,
        transition=fault.transition,
        created=deployment.created if deployment else None,
    )


def epp_fault(scope: InferenceSetScope) -> WorkloadFault | None:
    """Return what is wrong with the endpoint picker, None if nothing is or it is not wanted."""
    if not scope.wants_traffic:
        return None
    deployment = scope.snapshot[DEPLOYMENTS].get(scope.place, scope.epp_name)
    if deployment is not None:
        return judge_deployment(deployment, scope.snapshot)
    known = scope.snapshot.absence_known(DEPLOYMENTS, scope.place, scope.epp_name)
    return MISSING if known else None


def _state(fault: WorkloadFault) -> str:
    return fault.detail if fault == MISSING else f"{fault.standing}: {fault.detail}"
