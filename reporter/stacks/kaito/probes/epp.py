"""inferencesetEPPNotReady: the endpoint picker in front of the model's pods."""

from collections.abc import Iterator

from reporter.catalogue.reasons import MODEL_EPP
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.model.objects import InferenceSet
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.scope import epp_name, finding_about, wants_traffic
from reporter.workload.deployment import judge_deployment
from reporter.workload.standing import MISSING, WorkloadFault


def probe_epp(
    inferenceset: InferenceSet,
    snapshot: Snapshot,
    settings: EvaluationSettings,  # noqa: ARG001 - every probe has the same parameters
) -> Iterator[Finding]:
    """Yield a finding if the endpoint picker is missing, down or degraded."""
    fault = epp_fault(inferenceset, snapshot)
    if fault is None:
        return
    name = epp_name(inferenceset)
    deployment = snapshot[DEPLOYMENTS].get(inferenceset.namespace, name)
    yield finding_about(
        inferenceset,
        snapshot,
        reason=MODEL_EPP,
        related=DEPLOYMENTS.ref(deployment)
        if deployment
        else DEPLOYMENTS.ref_named(inferenceset.namespace, name),
        cause=fault.cause,
        text=f"endpoint picker Deployment {name} is {_state(fault)}",
        severity=fault.severity,
        transition=fault.transition,
        created=deployment.created if deployment else None,
    )


def epp_fault(inferenceset: InferenceSet, snapshot: Snapshot) -> WorkloadFault | None:
    """Return what is wrong with the endpoint picker, None if nothing is or it is not wanted."""
    if not wants_traffic(inferenceset, snapshot):
        return None
    deployment = snapshot[DEPLOYMENTS].get(inferenceset.namespace, epp_name(inferenceset))
    if deployment is not None:
        return judge_deployment(deployment, snapshot)
    return MISSING if snapshot.absence_known(DEPLOYMENTS, inferenceset.namespace) else None


def _state(fault: WorkloadFault) -> str:
    return fault.detail if fault == MISSING else f"{fault.standing}: {fault.detail}"
